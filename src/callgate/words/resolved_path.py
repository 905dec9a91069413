"""The result of resolving a path: its spelling, its target and the symbolic links on the way."""

from typing import Literal

from callgate.words.noun import noun

PathKind = Literal["file", "folder", "missing", "device", "other"]
"""``device``: a device, pipe or socket, on which reading or writing may block."""


@noun
class ResolvedPath:
    """A path as one resolver found it. All fields but ``spelled`` are absolute, with ``/`` between the parts.

    spelled   the path as it was given
    hops      one path for each step: the spelled path made absolute and normalised lexically, then the path after each
              symbolic link; the last one is ``resolved``
    resolved  the target
    inside    whether every hop is the root or below it
    fault     the reason why the path must not be used: a loop, a NUL, a name that looks like another one
    folds     whether the file system ignores case and the composition of accents, so that names are folded before
              they are compared
    """

    spelled: str
    hops: tuple[str, ...]
    resolved: str
    inside: bool
    kind: PathKind = "missing"
    fault: str | None = None
    folds: bool = False

"""The result of resolving a path: the path as written, its target and the symbolic links on the way."""

from typing import Literal

from callgate.words.noun import noun

PathKind = Literal["file", "folder", "missing", "device", "other"]
"""``device``: a device, pipe or socket, on which reading or writing may block."""


@noun
class ResolvedPath:
    """The result of resolving a path. All fields except ``spelled`` are absolute and separated by ``/``.

    spelled   the path as written
    hops      the paths after each step: first ``spelled``, made absolute and normalised lexically, then the path after
              each symbolic link; the last one is ``resolved``
    resolved  the target
    inside    True if every hop is the root or below the root
    fault     the reason why the path must not be used: a loop, a NUL, a name that looks like a different name
    folds     True if the file system ignores case and the composition of accents; names are then compared in
              the same way
    """

    spelled: str
    hops: tuple[str, ...]
    resolved: str
    inside: bool
    kind: PathKind = "missing"
    fault: str | None = None
    folds: bool = False

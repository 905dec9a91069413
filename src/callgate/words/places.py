"""A path once it has been looked at: how it was spelled, where it leads, and over which links."""

from typing import Literal

from callgate.words.noun import noun

PlaceKind = Literal["file", "folder", "missing", "device", "other"]
"""``device`` is anything but a file or folder that reading or writing may hang on: devices, pipes, sockets."""


@noun
class Place:
    """A path as one resolver sees it. All but ``spelled`` are absolute, with ``/`` between their parts.

    ``hops`` are the whole paths on the way, the spelled one first (made absolute, ``.`` and ``..`` taken out without
    looking) and ``resolved`` last; one more for every symbolic link that was followed. ``inside`` says that every hop
    is the root or beneath it. ``fault`` says in words why the path must not be used at all: a loop, a NUL, a name
    that is not what it looks like. ``folds``: for the file system, names that differ only in case or in the
    composition of accents are the same, so they must be folded before they are compared.
    """

    spelled: str
    hops: tuple[str, ...]
    resolved: str
    inside: bool
    kind: PlaceKind = "missing"
    fault: str | None = None
    folds: bool = False

"""A path once it has been looked at: how it was spelled, where it leads, and over which links."""

from typing import Literal

from callgate.words.noun import noun

PlaceKind = Literal["file", "folder", "missing", "device", "other"]
"""``device`` is anything but a file or folder that reading or writing may hang on: devices, pipes, sockets."""


@noun
class Place:
    """What one resolver says about a path. All but ``spelled`` are absolute, with ``/`` between their parts.

    ``hops`` are the whole paths on the way, the spelled one first (made absolute, ``.`` and ``..`` taken out without
    looking) and ``resolved`` last; one more for every symbolic link that was followed. ``inside`` says that every hop
    is the root or beneath it. ``fault`` says in words why nobody should use the path at all: a loop, a NUL, a name
    that is not what it looks like. ``folds``: the file system takes names for the same that differ in case or in the
    composition of accents, so whoever compares must fold them first.
    """

    spelled: str
    hops: tuple[str, ...]
    resolved: str
    inside: bool
    kind: PlaceKind = "missing"
    fault: str | None = None
    folds: bool = False

"""A section of a unified diff: from its headers as they stand there to one file and what happens to it."""

from dataclasses import dataclass, field
from typing import Literal

from callgate.changes.patch.headers import Prefixes, shared, shorter
from callgate.changes.patch.hunks import Hunk
from callgate.changes.patch.spot import Spot, named, quoted
from callgate.words.noun import noun

# "either": a plain diff of a file that need not be there, as long as it only adds lines.
Deed = Literal["change", "create", "delete", "rename", "copy", "either"]


@noun
class Section:
    """What happens to one file. ``old`` and ``new`` are its names before and after; ``mode`` are the permission bits
    it gets, if the patch says so."""

    line: int
    deed: Deed
    old: str
    new: str
    mode: int | None
    hunks: tuple[Hunk, ...]


@dataclass(slots=True)
class Draft:
    """A section while it is read; names are as they stand there, None where there is no file."""

    line: int
    git: bool
    path: str = ""
    names: tuple[bytes, bytes] | None = None
    deeds: set[Deed] = field(default_factory=set[Deed])
    source: bytes | None = None
    target: bytes | None = None
    old: bytes | None = None
    new: bytes | None = None
    headed: bool = False
    stamps: tuple[bool, bool] = (False, False)
    modes: dict[bytes, int] = field(default_factory=dict[bytes, int])
    hunks: list[Hunk] = field(default_factory=list[Hunk])

    def called(self, name: bytes | None) -> None:
        """What errors call it from now on."""
        self.path = self.path if name is None else name.decode("utf-8", "surrogateescape")


def name_of_both(draft: Draft) -> tuple[bytes, Prefixes] | None:
    """The name that both sides share, where there are two; a side that does not exist has one after ``diff --git``."""
    if draft.source is not None or draft.target is not None:
        return None
    old, new = draft.names or (None, None)
    if (draft.old or old) == old and (draft.new or new) == new and old is not None and new is not None:
        return shared(old, new)
    return None if draft.old is None or draft.new is None else shared(draft.old, draft.new)


def settled(draft: Draft, prefixes: tuple[set[bytes], set[bytes]]) -> Section:
    spot = Spot(draft.line, draft.path)
    deed = _deed(draft, spot)
    if deed in ("rename", "copy"):
        old, new = _sides(draft, spot)
    else:
        old = new = _name(draft, deed, prefixes, spot)
    mode = draft.modes.get(b"new mode ")
    if draft.modes.get(b"new file mode ") == 0o755 or (deed == "copy" and draft.modes.get(b"index ") == 0o755):
        mode = 0o755
    same = mode is None or mode == draft.modes.get(b"old mode ", mode)
    if not draft.hunks and deed == "change" and same:
        raise spot.fault("The section changes nothing.", "Leave it out, or give it hunks.")
    old, new = named(old, draft.line), named(new, draft.line)
    for hunk in draft.hunks:
        if (deed == "create" and hunk.old) or (deed == "delete" and hunk.new):
            what = "A new file has no old lines." if deed == "create" else "A deleted file has no new lines."
            raise Spot(hunk.line, new).fault(what, "Name both sides of a file that is changed, and not /dev/null.")
    return Section(draft.line, deed, old, new, mode, tuple(draft.hunks))


def _deed(draft: Draft, spot: Spot) -> Deed:
    if draft.headed and draft.old is None and draft.new is None:
        raise spot.fault("Both sides are /dev/null.", "Name the file on one of them.")
    if not draft.git:
        if draft.old is None or draft.new is None:
            return "create" if draft.old is None else "delete"
        return "create" if draft.stamps[0] else "delete" if draft.stamps[1] else "either"
    deeds = draft.deeds - {"change"} or {"change"}
    if len(deeds) > 1:
        raise spot.fault(f"The headers contradict each other: {' and '.join(sorted(deeds))}.", "Keep one of them.")
    deed = deeds.pop()
    wanted = {"create": (True, False), "delete": (False, True)}.get(deed, (False, False))
    found = draft.headed and draft.old is None, draft.headed and draft.new is None
    if draft.headed and found != wanted:
        raise spot.fault(
            f"/dev/null and the headers do not agree on whether this is to {deed} the file.",
            "A new file has the header `new file mode 100644` and `--- /dev/null`, "
            "a deleted one `deleted file mode 100644` and `+++ /dev/null`, every other one neither.",
        )
    return deed


def _sides(draft: Draft, spot: Spot) -> tuple[bytes, bytes]:
    """The names of a rename or a copy, which have headers of their own."""
    if draft.source is None or draft.target is None:
        raise spot.fault("One of the two names is missing.", "Write both `rename from` and `rename to`.")
    for name, header in ((draft.source, draft.old), (draft.target, draft.new)):
        if header is not None and name not in (header, header.partition(b"/")[2]):
            raise spot.fault(f"The headers name {quoted(name)} and {quoted(header)}.", "Make them the same.")
    return draft.source, draft.target


def _name(draft: Draft, deed: Deed, prefixes: tuple[set[bytes], set[bytes]], spot: Spot) -> bytes:
    both = name_of_both(draft)
    if both is not None:
        return both[0]
    if draft.old is not None and draft.new is not None:
        name = None if draft.git else shorter(draft.old, draft.new)
        if name is None:
            raise spot.fault(
                f"The two names are of different files: {quoted(draft.old)} and {quoted(draft.new)}.",
                "Name the same file twice; to rename it, write `diff --git`, `rename from` and `rename to`.",
            )
        return name
    side, name = (1, draft.new) if deed == "create" else (0, draft.old)
    if name is None:
        raise spot.fault("The name of the file is missing.", "Write `--- a/file` and `+++ b/file`.")
    prefix, _, rest = name.partition(b"/")
    return rest if prefix and rest and prefix in prefixes[side] else name

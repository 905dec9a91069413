"""Three-way merge (diff3) of two versions of a file. The result is the merged file or its conflicts.

Changes of the two sides are independent if an unchanged line of the base is between them. The same change on both sides
is made once. Among repeated lines the place of a change is ambiguous: the change is moved to the place that ``git``
selects, so that the same change has the same place on both sides.
"""

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise

from callgate.changes.matching import matches
from callgate.words.noun import noun

_EFFORT = 500_000
"""The most steps of the search for common lines, which take some tenths of a second."""

_Lines = list[int]
"""Each line as a number; equal lines have equal numbers."""
_Change = tuple[int, int, int]
"""The replaced lines ``[start, end)`` of the base, and the number of lines by which the replacement is longer."""

Span = tuple[int, int]
"""The first and the last line of a range, numbered from 1. For an empty range, the last line is one before the
first."""


@noun
class Region:
    """A range of lines that both sides changed differently, with its place in each version."""

    ours: Span
    theirs: Span
    base: Span

    def text(self) -> str:
        """Return a description of the conflict, with line numbers of ``ours``, the current file."""
        first, last = self.ours
        if last < first:
            place = f"after line {last}" if last else "at the start"
            return f"lines deleted {place} were changed by the other side"
        lines = f"line {first} was" if first == last else f"lines {first}-{last} were"
        if self.base[1] < self.base[0]:
            return f"{lines} inserted where the other side inserted other lines"
        if self.theirs[1] < self.theirs[0]:
            return f"{lines} changed, and deleted by the other side"
        return f"{lines} changed by both"


@noun
class Conflict:
    """The conflict of a merge. If there are no regions, ``reason`` describes the conflict."""

    regions: tuple[Region, ...]
    reason: str = ""

    def text(self) -> str:
        """Return a description of the conflict for display, with line numbers of the current file."""
        return self.reason or "; ".join(region.text() for region in self.regions)


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | Conflict:
    """Return ``ours`` with the changes from ``base`` to ``theirs``, or a Conflict.

    Lines end at ``\\n`` and are compared byte for byte, so line endings, and a missing line ending at the end, are
    preserved. Content with a NUL byte is not merged: one side is returned if the other side is unchanged or both are
    equal.

    Do not call this function on the event loop, because it may take long. If the search for common lines exceeds its
    limit, whole blocks are treated as changed: this may cause conflicts, but loses no line.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    if any(b"\0" in data for data in (base, ours, theirs)):
        return Conflict((), "both sides changed the file, and it is not text")
    texts = tuple(BytesIO(data).readlines() for data in (base, ours, theirs))
    numbers: dict[bytes, int] = {}
    old, *new = ([numbers.setdefault(line, len(numbers)) for line in text] for text in texts)
    mine, other = (_changes(old, lines) for lines in new)
    merged: list[bytes] = []
    regions: list[Region] = []
    done = 0
    for part in _parts(mine, other):
        left = texts[1][part.ours.start : part.ours.stop]
        right = texts[2][part.theirs.start : part.theirs.stop]
        if len(part.changed_by) > 1 and left != right:
            regions.append(Region(_span(part.ours), _span(part.theirs), _span(part.base)))
        merged += texts[0][done : part.base.start]
        merged += left if 0 in part.changed_by else right
        done = part.base.stop
    merged += texts[0][done:]
    return Conflict(tuple(regions)) if regions else b"".join(merged)


@noun
class _Part:
    """A contiguous changed part of the base, with the lines of each side and the sides that changed it (0 is ours, 1 is
    theirs)."""

    base: range
    ours: range
    theirs: range
    changed_by: set[int]


def _parts(ours: list[_Change], theirs: list[_Change]) -> Iterator[_Part]:
    """Yield the changed parts. Adjacent changes are joined, because their order would be ambiguous."""
    changes = sorted((start, end, side, growth) for side in (0, 1) for start, end, growth in (ours, theirs)[side])
    # By how many lines each side is longer than the base, up to where we are.
    before, after = [0, 0], [0, 0]
    at = 0
    while at < len(changes):
        start = end = changes[at][0]
        changed_by: set[int] = set()
        while at < len(changes) and changes[at][0] <= end:
            _, reaches, side, growth = changes[at]
            end = max(end, reaches)
            after[side] += growth
            changed_by.add(side)
            at += 1
        mine, other = (range(start + before[side], end + after[side]) for side in (0, 1))
        yield _Part(range(start, end), mine, other, changed_by)
        before = after.copy()


def _span(lines: range) -> Span:
    return lines.start + 1, lines.stop


def _changes(old: _Lines, new: _Lines) -> list[_Change]:
    # The positions of common lines, with a stop before the first line and one after the last.
    kept_old, kept_new = [-1], [-1]
    for start, begin, length in matches(old, new, effort=_EFFORT):
        kept_old += range(start, start + length)
        kept_new += range(begin, begin + length)
    kept_old.append(len(old))
    kept_new.append(len(new))
    _slide(old, kept_old, kept_new)
    _slide(new, kept_new, kept_old)
    return [
        (old_from + 1, old_to, (new_to - new_from) - (old_to - old_from))
        for (old_from, old_to), (new_from, new_to) in zip(pairwise(kept_old), pairwise(kept_new), strict=True)
        if old_to - old_from > 1 or new_to - new_from > 1
    ]


def _slide(lines: _Lines, kept: _Lines, partner: _Lines) -> None:
    """Move each change of ``lines`` to its canonical place. ``kept`` is modified, ``partner`` is only read.

    A change followed by a copy of its first line can also start one line lower, and so on. The change is moved to the
    lowest possible place that touches a change in ``partner``; without such a place, to the lowest possible place.
    Changes that become adjacent are joined.
    """
    gap = 0
    while gap < len(kept) - 1:
        if kept[gap + 1] - kept[gap] > 1:
            gap = _slid(lines, kept, partner, gap)
        gap += 1


def _slid(lines: _Lines, kept: _Lines, partner: _Lines, gap: int) -> int:
    """Move the change before the common line ``gap + 1`` and return the gap that contains the change afterwards."""
    while True:
        size = kept[gap + 1] - kept[gap]
        while gap > 0 and lines[kept[gap]] == lines[kept[gap + 1] - 1]:
            kept[gap] = kept[gap + 1] - 1
            gap -= 1
        beside = gap if partner[gap + 1] - partner[gap] > 1 else None
        while gap < len(kept) - 2 and lines[kept[gap] + 1] == lines[kept[gap + 1]]:
            kept[gap + 1] = kept[gap] + 1
            gap += 1
            beside = gap if partner[gap + 1] - partner[gap] > 1 else beside
        if kept[gap + 1] - kept[gap] == size:
            break
        # It was joined with another change, so the result may move further.
    while beside is not None and gap > beside:
        kept[gap] = kept[gap + 1] - 1
        gap -= 1
    return gap

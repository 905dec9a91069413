"""Two versions of a file that both come from a third: one that has the changes of both, or where they collide.

The outcome is that of ``git merge-file``: the same bytes where it merges, a conflict where it has one. Changes of the
two sides are independent if a line of the base lies between them that neither has changed; the same change on both
sides is made once.
"""

from collections.abc import Iterator
from io import BytesIO

from callgate.changes.merge_align import Hunk, hunks
from callgate.words.noun import noun

Span = tuple[int, int]
"""The first and the last line, counted from 1. Where there are no lines, the last is one before the first."""


@noun
class Region:
    """Lines that both sides changed, each in its own way, and where they are in each version."""

    ours: Span
    theirs: Span
    base: Span

    def text(self) -> str:
        """Names the lines as they are now (``ours``)."""
        first, last = self.ours
        if last < first:
            place = f"after line {last}" if last else "at the start"
            return f"what was deleted {place} was changed by the other side"
        lines = f"line {first} was" if first == last else f"lines {first}-{last} were"
        if self.base[1] < self.base[0]:
            return f"{lines} inserted where the other side inserts something else"
        if self.theirs[1] < self.theirs[0]:
            return f"{lines} changed, and deleted by the other side"
        return f"{lines} changed by both"


@noun
class Merged:
    """The file with the changes of both sides."""

    data: bytes


@noun
class Conflict:
    """The changes collide. Where that is not a matter of lines there are no regions, and ``reason`` says why."""

    regions: tuple[Region, ...]
    reason: str = ""

    def text(self) -> str:
        """For a person; the lines are those of the file as it is now."""
        return self.reason or "; ".join(region.text() for region in self.regions)


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merged | Conflict:
    """The changes from ``base`` to ``theirs``, made in ``ours``.

    Works on lines, which end at ``\\n`` and are equal only byte for byte: line ends, and a missing last one, survive as
    they are. Content with a NUL byte is never merged: it is taken whole if one side did not change it, or both changed
    it to the same.

    Pure computation, milliseconds as a rule, but not for the event loop: work is bounded by the lines times
    ``merge_align.PATIENCE``, which is some seconds for ten thousand shuffled lines. Beyond that bound the alignment of
    lines is no longer the shortest, and no line is lost by it; for very long files (``merge_align.MANY``) it is given
    up, which is a conflict.
    """
    if ours in (base, theirs):
        return Merged(theirs)
    if base == theirs:
        return Merged(ours)
    if any(b"\0" in data for data in (base, ours, theirs)):
        return Conflict((), "both sides changed it, and it is not text")
    texts = tuple(BytesIO(data).readlines() for data in (base, ours, theirs))
    numbers: dict[bytes, int] = {}
    old, *new = ([numbers.setdefault(line, len(numbers)) for line in text] for text in texts)
    mine, other = (hunks(old, lines) for lines in new)
    if mine is None or other is None:
        return Conflict((), "both sides changed it, and too much to be compared line by line")
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
    return Conflict(tuple(regions)) if regions else Merged(b"".join(merged))


@noun
class _Part:
    """A part of the base that is changed from end to end, and where it is on each side (0 is ours, 1 theirs)."""

    base: range
    ours: range
    theirs: range
    changed_by: set[int]


def _parts(ours: list[Hunk], theirs: list[Hunk]) -> Iterator[_Part]:
    """Changes that touch each other belong together: nothing says which of them comes first."""
    changes = sorted((hunk.start, hunk.end, side, hunk.growth) for side in (0, 1) for hunk in (ours, theirs)[side])
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

"""A file while hunks are put into it, each where ``git apply`` would put it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from callgate.changes.patch.hunks import Hunk
from callgate.changes.patch.seek import Effort, Lines
from callgate.changes.patch.similar import closest, sought
from callgate.changes.patch.spot import Spot
from callgate.words.errors import ToolFailure

AGAIN = "Read the file again and write the lines as they are there."


def patched(data: bytes, hunks: Sequence[Hunk], path: str, effort: Effort) -> bytes:
    """The file with every hunk in it. A hunk may have moved, but all its context must be there."""
    image = _Image(data, path, effort)
    for hunk in hunks:
        image.put(hunk)
    return image.whole()


class _Image:
    """Keeps the lines as they were, and what was put in place of some of them: ``_starts`` and ``_ends`` are in order
    and never overlap, since no hunk may touch what another one has put there. ``_shifts`` says for each of them by how
    much the lines after it have moved."""

    def __init__(self, data: bytes, path: str, effort: Effort) -> None:
        self._path = path
        self._effort = effort
        self._lines = _lines(data)
        self._searched: Lines | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._shifts: list[int] = []
        self._new: list[tuple[bytes, ...]] = []

    def whole(self) -> bytes:
        parts: list[bytes] = []
        at = 0
        for start, end, new in zip(self._starts, self._ends, self._new, strict=True):
            parts += self._lines[at:start]
            parts += new
            at = end
        return b"".join(parts + self._lines[at:])

    def put(self, hunk: Hunk) -> None:
        start = self._place(hunk)
        if start is None:
            raise self._not_found(hunk)
        index = bisect_left(self._starts, start)
        self._effort.spend((len(self._starts) - index) // 8, Spot(hunk.line, self._path))
        self._starts.insert(index, start)
        self._ends.insert(index, start + len(hunk.old))
        self._new.insert(index, hunk.new)
        before = self._shifts[index - 1] if index else 0
        shift = len(hunk.new) - len(hunk.old)
        self._shifts[index:] = [before + shift, *(each + shift for each in self._shifts[index:])]

    def _place(self, hunk: Hunk) -> int | None:
        last = len(self._lines) - len(hunk.old)
        if not hunk.old:
            return self._place_for_new(hunk)
        if hunk.old_at <= 1:
            return 0 if (not hunk.open or last == 0) and self._stands(hunk, 0) else None
        if hunk.open:
            return last if self._stands(hunk, last) else None
        moved = self._shifts[-1] if self._shifts else 0
        aim = min(max(hunk.new_at - 1, 0), len(self._lines) + moved)
        if aim - moved >= (self._ends[-1] if self._ends else 0) and self._stands(hunk, aim - moved):
            return aim - moved
        found = self._search().nearest(hunk.old, aim, self._now, Spot(hunk.line, self._path))
        return next((start for start in found if self._free(start, len(hunk.old))), None)

    def _place_for_new(self, hunk: Hunk) -> int | None:
        """Lines without any context go into an empty file, or to the end of one that ends where the header says."""
        end = len(self._lines)
        if self._ends and self._ends[-1] == end:
            return None
        if end == 0:
            return 0
        return end if hunk.old_at == end > 1 and self._lines[-1].endswith(b"\n") else None

    def _stands(self, hunk: Hunk, start: int) -> bool:
        there = self._lines[start : start + len(hunk.old)] if start >= 0 else []
        return there == list(hunk.old) and self._free(start, len(hunk.old))

    def _free(self, start: int, count: int) -> bool:
        """No other hunk has been here."""
        index = bisect_left(self._starts, start + count)
        return not index or self._ends[index - 1] <= start

    def _now(self, start: int) -> int:
        """Where this line is by now."""
        index = bisect_right(self._starts, start)
        return start + (self._shifts[index - 1] if index else 0)

    def _search(self) -> Lines:
        self._searched = self._searched or Lines(self._lines, self._effort)
        return self._searched

    def _not_found(self, hunk: Hunk) -> ToolFailure:
        spot = Spot(hunk.line, self._path)
        if not hunk.old:
            return spot.fault(
                "The hunk adds lines to a file that is not empty, and has no context.",
                "Give it at least one line of context, best three before and three after.",
            )
        start = self._search().first(hunk.old, 0, spot)
        if start is None:
            return spot.fault(
                f"These lines are not in the file:\n{sought(hunk.old)}\n{closest(self._lines, hunk.old)}", AGAIN
            )
        if not self._free(start, len(hunk.old)):
            return spot.fault(
                f"An earlier hunk of the patch is about the same lines (line {start + 1} of the file).",
                "Make one hunk of the two.",
            )
        wanted = "at the end of the file" if hunk.old_at > 1 else "at the beginning of the file"
        return spot.fault(
            f"The hunk's lines are at line {start + 1} of the file, but it says that it is {wanted}.",
            "A hunk that starts at line 1 is for the beginning of a file, one without context after its changes for "
            "the end: correct the line number, or add the lines that come next as context.",
        )


def _lines(data: bytes) -> list[bytes]:
    """With their ends; only a newline ends one."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]

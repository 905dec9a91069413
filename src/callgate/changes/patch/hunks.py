"""The hunks of a unified diff, read as strictly as ``git apply`` does."""

import re
from collections.abc import Sequence

from callgate.changes.patch.spot import Spot, quoted
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

HEADER = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
# "\ No newline at end of file", in whatever language.
MARKER = re.compile(rb"\\ .{9}")
# Where a hunk ends, whatever its header says.
BEGINNING = (b"@@ ", b"diff --git ", b"--- ", b"-- ")


@noun
class Hunk:
    """Lines with their ends: ``old`` makes room for ``new``. ``open``: it ends with a change and not with context, so
    that it can only belong at the end of the file."""

    line: int
    old_at: int
    new_at: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    open: bool


def read_hunk(lines: Sequence[bytes], at: int, path: str) -> tuple[Hunk, int]:
    """The hunk whose header is at this index, and the index of what comes after it."""
    header = HEADER.match(lines[at])
    if header is None:
        raise Spot(at + 1, path).fault(
            f"{quoted(lines[at])} is not the header of a hunk.",
            "Write `@@ -line,count +line,count @@`, or use the `*** Begin Patch` form, which has no line numbers.",
        )
    old_at, old_count, new_at, new_count = (1 if each is None else int(each) for each in header.groups())
    body = _Body(path)
    end = at + 1
    while len(body.old) < old_count or len(body.new) < new_count:
        if end == len(lines) or not body.take(lines[end], end + 1):
            break
        end += 1
    if (len(body.old), len(body.new)) != (old_count, new_count):
        raise _miscounted(lines, at, path)
    if end < len(lines) and MARKER.match(lines[end]):
        body.take(lines[end], end + 1)
        end += 1
    if not body.changes:
        raise Spot(at + 1, path).fault("The hunk changes nothing.", "Leave it out, or mark its lines with `-` and `+`.")
    body.check(Spot(at + 1, path))
    return Hunk(at + 1, old_at, new_at, tuple(body.old), tuple(body.new), body.sign in b"-+"), end


class _Body:
    """The lines of a hunk while they are read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.old: list[bytes] = []
        self.new: list[bytes] = []
        self.sign = b" "
        self.marked = True
        self.changes = 0

    def take(self, line: bytes, number: int) -> bool:
        """False: this is no line of a hunk."""
        sign = line[:1] or b" "
        if MARKER.match(line):
            self._mark(Spot(number, self.path))
            return True
        if sign not in (b" ", b"-", b"+"):
            return False
        self.sign, self.marked = sign, False
        self.changes += sign != b" "
        if sign != b"+":
            self.old.append(line[1:] + b"\n")
        if sign != b"-":
            self.new.append(line[1:] + b"\n")
        return True

    def _mark(self, spot: Spot) -> None:
        """The line before has no newline."""
        if self.marked:
            raise spot.fault("There is no line that this could be about.", "Leave it out.")
        self.marked = True
        for side, others in ((self.old, b"+"), (self.new, b"-")):
            if self.sign != others:
                side[-1] = side[-1][:-1]

    def check(self, spot: Spot) -> None:
        """Git would join the two lines into one, which nobody can mean."""
        for side in (self.old, self.new):
            if not all(line.endswith(b"\n") for line in side[:-1]):
                raise spot.fault(
                    "`\\ No newline at end of file` stands after a line that is not the last one.",
                    "Put it after the last line only, once for the old and once for the new one.",
                )


def _miscounted(lines: Sequence[bytes], at: int, path: str) -> ToolFailure:
    old = new = 0
    for line in lines[at + 1 :]:
        if line[:1] not in b" -+\\" or line.startswith(BEGINNING):
            break
        old += line[:1] in b" -"
        new += line[:1] in b" +"
    return Spot(at + 1, path).fault(
        f"The header {quoted(lines[at])} does not fit the lines below it: there are {old} old and {new} new ones.",
        "Context and `-` lines are old, context and `+` lines are new; each begins with a space, `-` or `+`.",
    )

"""Checks that a log is unchanged: checksums, chain, numbering, session id, line endings.

Only one line is in memory at a time. A line is valid if it follows the line with the highest number so far. After a
repair, a line that follows the line directly before it is also valid. For other lines a fault contains the place and
the kind of the change: changed, removed, moved, duplicated or cut off.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from callgate.transcript.codec import START, BadLine, LogEntry, checked, read_line
from callgate.transcript.reader import Damage, LogReader, Raw, raw_lines
from callgate.words.events import LinesQuarantined
from callgate.words.noun import noun

MOST_FAULTS = 1000
"""The maximum number of listed faults; others are only counted."""

_SHORTEST_LINE = 180
"""The fewest bytes of a line of the log."""

_NUMBERED = re.compile(rb'\{"v":\d+,"n":(\d{1,15}),')


@noun
class LogFault:
    """A fault in a log.

    line       the line number in the file, from 1
    n          the number in the line itself, or the expected number
    on_record  the time when the log recorded this damage and was continued
    """

    line: int
    n: int | None
    offset: int
    what: str
    length: int = 0
    on_record: float | None = None


@noun
class Verified:
    """The result of a check.

    lines     the number of intact lines; ``head`` is the checksum of the last intact line
    noted_at  the number of the line with the checksum that was searched for, or None
    cut       the bytes of incomplete lines that were cut off, as recorded in the log
    more      the number of faults that are not listed
    unknown   the number of intact lines of a newer version
    missing   lines were removed
    """

    session: str
    lines: int
    head: str
    faults: tuple[LogFault, ...]
    size: int
    noted_at: int | None = None
    cut: int = 0
    more: int = 0
    unknown: int = 0
    missing: bool = False

    @property
    def sound(self) -> bool:
        """True if the log has lines and no faults."""
        return self.lines > 0 and not (self.faults or self.more)


def verify(fd: int, *, session: str | None = None, head: str | None = None) -> Verified:
    """Check every line of an open log. ``session`` is the expected session id, ``head`` a checksum to search for."""
    size = os.fstat(fd).st_size
    check = _Check(session, head)
    for number, (start, end, data) in enumerate(raw_lines(fd, 0, size), start=1):
        check.number = number
        if not data.strip():
            check.fault(None, start, "an empty line, which is not allowed in a log", len(data))
            continue
        ended = end - start > len(data)
        pieces = _pieces(fd, start, end, data)
        for piece in pieces:
            if isinstance(piece, Damage):
                check.damage(piece, _number(fd, piece), ended)
            else:
                check.line(piece, ended)
        if all(isinstance(piece, Raw) and len(piece.data) < len(data.removesuffix(b"\r")) for piece in pieces):
            check.fault(None, start, "a line is not separated by a line ending", len(data))
    for gap in check.gaps:
        numbers = f"n {gap.first}" if gap.first == gap.last else f"n {gap.first} to {gap.last}"
        what = f"removed: {numbers} should stand before line {gap.line}"
        check.fault(gap.first, gap.offset, what, line=gap.line)
    return Verified(
        session=check.session or "",
        lines=check.lines,
        head=check.last.sum,
        faults=tuple(sorted(check.faults, key=lambda fault: (fault.line, fault.offset))),
        size=size,
        noted_at=check.noted_at,
        cut=sum(length for _, length in check.recorded),
        more=check.more,
        unknown=check.unknown,
        missing=bool(check.gaps),
    )


class _Place(NamedTuple):
    n: int
    sum: str
    line: int
    offset: int


class _Gap(NamedTuple):
    """A range of missing line numbers, and the line after the gap."""

    first: int
    last: int
    line: int
    offset: int


class _Check:
    def __init__(self, session: str | None, head: str | None) -> None:
        self.number = 0
        self.lines = 0
        self.session = session
        self.faults: list[LogFault] = []
        self.more = self.unknown = 0
        self.noted_at: int | None = None
        self.recorded: set[tuple[int, int]] = set()  # recorded damage that is not in the file any more
        self.gaps: list[_Gap] = []
        self.front = self.last = _Place(0, START, 0, 0)  # the line with the highest number, and the newest
        self._head = head
        self._most = 0  # highest number of any line, including lines of other sessions
        self._broken = 0  # damaged lines since the last intact one
        self._lost = 0  # their bytes

    def fault(self, n: int | None, offset: int, what: str, length: int = 0, line: int = 0) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(LogFault(line or self.number, n, offset, what, length))
        else:
            self.more += 1

    def damage(self, found: Damage, n: int | None, ended: bool) -> None:
        if found.why == "a byte order mark":
            what = "a byte order mark before the first line"
        elif not ended:
            what = "torn: the file ends inside this line"
        elif found.why == "zeros instead of text":
            what = "overwritten: zeros instead of text"
        else:
            what = f"changed or torn: {found.why}"
        self.fault(n, found.offset, what, found.length)
        self._broken += 1
        self._lost += found.length

    def line(self, raw: Raw, ended: bool) -> None:
        try:
            entry = read_line(raw.data, raw.sum)
        except BadLine as why:
            self.fault(None, raw.start, f"changed: its checksum matches, but {why}", len(raw.data))
            self._broken += 1
            return
        here = _Place(entry.n, raw.sum, self.number, raw.start)
        self.lines += 1
        self.unknown += entry.event is None
        if raw.sum == self._head and self.noted_at is None:
            self.noted_at = self.number
        if not ended:
            self.fault(here.n, raw.start, "torn: the last line has no line ending, but is otherwise complete")
        elif raw.end - raw.start - len(raw.data) == 2:
            self.fault(here.n, raw.start, "its line ending is not a single newline")
        if isinstance(entry.event, LinesQuarantined):
            for each in entry.event.ranges:
                self._put_on_record(each, entry.at)
        self._place(here, entry, len(raw.data))
        self.last = here
        self._most = max(self._most, here.n)
        self._broken = self._lost = 0

    def _place(self, here: _Place, entry: LogEntry, length: int) -> None:
        if entry.session != self.session:
            if self.session is not None and self.lines > 1:
                self.fault(here.n, here.offset, f"foreign: the line belongs to session {entry.session!r}", length)
                return
            if self.session is not None:
                what = f"the whole file belongs to another session: {entry.session!r} instead of {self.session!r}"
                self.fault(here.n, here.offset, what)
            self.session = entry.session
        if here.sum == self.last.sum:
            self.fault(here.n, here.offset, f"repeated: the line is a copy of line {self.last.line}", length)
        elif here.n > self.front.n:
            self._advance(here, entry.prev)
        else:
            self._fill(here, length)

    def _advance(self, here: _Place, prev: str) -> None:
        front, self.front = self.front, here
        follows = here.n == front.n + 1 and prev == front.sum
        if follows or (prev == self.last.sum and here.n == self._most + 1):
            return
        missing = here.n - front.n - 1
        if self._broken < missing <= self._lost // _SHORTEST_LINE and self.faults:
            lost = f"{self.faults[-1].what}; n {front.n + 1} to {here.n - 1} are lost"
            self.faults[-1] = replace(self.faults[-1], what=lost)
        if prev == self.last.sum:
            self.fault(
                here.n, here.offset, f"renumbered: the line follows the previous line, whose number is {self.last.n}"
            )
        elif missing > max(self._broken, self._lost // _SHORTEST_LINE):  # more lines than fit in the damaged bytes
            self.gaps.append(_Gap(front.n + 1, here.n - 1, here.line, here.offset))
        elif not self._broken and front.line == 0:
            self.fault(here.n, here.offset, "changed together with its checksum: the first line does not start a log")
        elif not self._broken:
            what = f"changed or replaced together with its checksum: line {here.line} was written after another line"
            self.fault(front.n, front.offset, what, line=front.line)

    def _fill(self, here: _Place, length: int) -> None:
        gap = next((each for each in self.gaps if each.first <= here.n <= each.last), None)
        if gap is None:
            self.fault(here.n, here.offset, "repeated or inserted: a line before it has the same number", length)
            return
        self.gaps.remove(gap)
        parts = (gap._replace(last=here.n - 1), gap._replace(first=here.n + 1))
        self.gaps += (each for each in parts if each.first <= each.last)
        self.fault(here.n, here.offset, f"moved: the line belongs before line {gap.line}", length)

    def _put_on_record(self, where: tuple[int, int], at: float) -> None:
        for i, fault in enumerate(self.faults):
            if (fault.offset, fault.length) == where:
                self.faults[i] = replace(fault, on_record=at)
                return
        self.recorded.add(where)


def _pieces(fd: int, start: int, end: int, data: bytes) -> Sequence[Raw | Damage]:
    try:
        return [Raw(start, end, data, checked(data))]
    except BadLine:
        reader = LogReader(fd)
        found = list(reader.lines([(start, end)]))
    return sorted([*found, *reader.damages], key=lambda each: each.start if isinstance(each, Raw) else each.offset)


def _number(fd: int, damage: Damage) -> int | None:
    found = _NUMBERED.match(os.pread(fd, min(damage.length, 40), damage.offset))
    return None if found is None else int(found[1])

"""The check that a log is as written: sums, chain, numbering, session, line ends. One line is in memory at a time.

The chain has a front, the line with the highest number so far. A line fits when it follows the front, or follows the
line right before it as a writer does that found the file like this. Any other is put into words: what was changed,
removed, moved, repeated or torn, and where.
"""

import os
import re
from collections.abc import Iterator, Sequence
from json import JSONDecoder
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

from callgate.transcript.codec import START, TYPES, VERSION, BadLine, checked
from callgate.transcript.lock import open_log
from callgate.transcript.reader import Damage, Raw, Reader, raw_lines
from callgate.words.noun import noun

MOST = 1000
"""Faults that are put into words; of more only the number is known."""

_NUMBERED = re.compile(rb'\{"v":\d+,"n":(\d{1,15}),')
_STATED = re.compile(rb',"sum":"([0-9a-f]{32})"\}\r?$')


@noun
class Fault:
    """``line`` counts the lines of the file from 1; ``n`` is the number the line gives itself, or would have had.
    ``on_record``: when the log itself noted it as damage and went on without these bytes."""

    line: int
    n: int | None
    offset: int
    what: str
    length: int = 0
    on_record: float | None = None


@noun
class Verified:
    """``lines`` are intact, ``head`` is the sum of the last of them. ``noted_at`` is the line with the sum that
    was asked for. ``cut``: bytes of torn ends that were cut off and noted. ``more``: faults that are not listed.
    ``unknown``: intact lines of a newer version, which this one does not read."""

    session: str
    lines: int
    head: str
    faults: tuple[Fault, ...]
    size: int
    noted_at: int | None = None
    cut: int = 0
    more: int = 0
    unknown: int = 0

    @property
    def sound(self) -> bool:
        """A file without a line is no log."""
        return self.lines > 0 and not (self.faults or self.more)


def verify(source: int | Path, *, session: str | None = None, head: str | None = None) -> Verified:
    """Check every line of a log. ``session`` is the expected session id, if known; ``head`` a sum to look for."""
    if isinstance(source, Path):
        fd = open_log(source, os.O_RDONLY)
        try:
            return verify(fd, session=session, head=head)
        finally:
            os.close(fd)
    size = os.fstat(source).st_size
    check = _Check(session, head)
    for number, (start, end, data) in enumerate(raw_lines(source, 0, size), start=1):
        check.number = number
        if not data.strip():
            check.fault(None, start, "an empty line, which no log has", len(data))
            continue
        ended = end - start > len(data)
        pieces = _pieces(source, start, end, data)
        for piece in pieces:
            if isinstance(piece, Damage):
                check.damage(piece, _number(source, piece), ended)
            else:
                check.line(piece, ended)
        if all(isinstance(piece, Raw) and len(piece.data) < len(data.removesuffix(b"\r")) for piece in pieces):
            check.fault(None, start, "something else than a line end is around a line, or nothing at all", len(data))
    check.name_repeated(source, size)
    faults = tuple(sorted(check.faults, key=lambda fault: (fault.line, fault.offset)))
    cut = sum(length for _, length in check.recorded)
    return Verified(
        session=check.session or "",
        lines=check.lines,
        head=check.last.sum,
        faults=faults,
        size=size,
        noted_at=check.noted_at,
        cut=cut,
        more=check.more,
        unknown=check.unknown,
    )


class _Place(NamedTuple):
    """A line of the chain: its number, its sum, and where it stands."""

    n: int
    sum: str
    line: int
    offset: int


class _Gap(NamedTuple):
    """Numbers that are missing, and the line before which they are."""

    first: int
    last: int
    line: int
    offset: int


class _Check:
    """The state after the lines so far."""

    def __init__(self, session: str | None, head: str | None) -> None:
        self.number = 0
        self.lines = 0
        self.session = session
        self.faults: list[Fault] = []
        self.more = self.unknown = 0
        self.noted_at: int | None = None
        self.recorded: set[tuple[int, int]] = set()  # damage on record that is not in the file any more
        self.front = self.last = _Place(0, START, 0, 0)
        self._head = head
        self._most = 0  # highest number of any line, foreign ones included
        self._gaps: list[_Gap] = []
        self._broken: list[int | None] = []  # numbers of damaged lines since the last intact one, where readable
        self._repeated: dict[int, str] = {}  # places in faults, of lines whose number was there before; their sums

    def fault(self, n: int | None, offset: int, what: str, length: int = 0, line: int = 0) -> None:
        if len(self.faults) < MOST:
            self.faults.append(Fault(line or self.number, n, offset, what, length))
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
        self._broken.append(n)

    def line(self, raw: Raw, ended: bool) -> None:
        """An intact line, as far as its sum tells."""
        try:
            read = _read(raw.data)
        except BadLine as why:
            self.fault(None, raw.start, f"changed: its checksum fits, but {why}", len(raw.data))
            self._broken.append(None)
            return
        here = _Place(read.n, raw.sum, self.number, raw.start)
        self.lines += 1
        self.unknown += not read.known
        if raw.sum == self._head and self.noted_at is None:
            self.noted_at = self.number
        if not ended:
            self.fault(read.n, raw.start, "torn: the last line has no line end; nothing else of it is missing")
        elif raw.end - raw.start - len(raw.data) == 2:
            self.fault(read.n, raw.start, "its line end is not the one byte that it should be")
        for each in read.quarantined:
            self._put_on_record(each, read.at)
        self._place(here, read, len(raw.data))
        self.last = here
        self._most = max(self._most, read.n)
        self._broken = []

    def name_repeated(self, fd: int, size: int) -> None:
        """Say where the line stands that a repeated one repeats: that takes a second look at the file."""
        if not self._repeated:
            return
        wanted = set(self._repeated.values())
        first: dict[str, int] = {}
        for number, (_, _, data) in enumerate(raw_lines(fd, 0, size), start=1):
            stated = _STATED.search(data[-48:])
            if stated is not None and (summed := stated[1].decode()) in wanted:
                first.setdefault(summed, number)
        for at, summed in self._repeated.items():
            fault = self.faults[at]
            if (same := first.get(summed, fault.line)) < fault.line:
                self.faults[at] = _said(fault, f"repeated: it is line {same} again")

    def _place(self, here: _Place, read: "_Read", length: int) -> None:
        if read.session != self.session:
            if self.session is None or (self.lines == 1 and self.last.line == 0):
                if self.session is not None:
                    what = f"the whole file is of another session: {read.session!r} instead of {self.session!r}"
                    self.fault(here.n, here.offset, what)
                self.session = read.session
            else:
                self.fault(here.n, here.offset, f"foreign: it is a line of session {read.session!r}", length)
                return
        if here.sum == self.last.sum:
            self.fault(here.n, here.offset, f"repeated: it is line {self.last.line} again", length)
        elif here.n > self.front.n:
            self._advance(here, read.prev)
        elif not self._fill(here, length):
            if len(self.faults) < MOST:
                self._repeated[len(self.faults)] = here.sum
            self.fault(here.n, here.offset, "inserted: a line before it has the same number", length)

    def _advance(self, here: _Place, prev: str) -> None:
        front, self.front = self.front, here
        follows = here.n == front.n + 1 and prev == front.sum
        if follows or (prev == self.last.sum and here.n == self._most + 1):
            return
        if prev == self.last.sum:
            self.fault(here.n, here.offset, f"renumbered: it follows the line before it, whose number is {self.last.n}")
            return
        missing = _without(front.n + 1, here.n - 1, self._broken)
        if missing and None in self._broken:
            self._lost_with_damage(missing)
        elif missing:
            for first, last in missing:
                self._miss(_Gap(first, last, here.line, here.offset))
        elif not self._broken and front.line == 0:
            self.fault(here.n, here.offset, "changed together with its checksum: the first line follows no other")
        elif not self._broken:
            what = f"changed or replaced together with its checksum: line {here.line} was written after another line"
            self.fault(front.n, front.offset, what, line=front.line)

    def _fill(self, here: _Place, length: int) -> bool:
        """True if this line was missed before: it was moved."""
        gap = next((each for each in self._gaps if each.first <= here.n <= each.last), None)
        if gap is None:
            return False
        self._gaps.remove(gap)
        at = next((i for i, each in enumerate(self.faults) if each.what == _removed(*gap[:3])), None)
        if at is not None:
            del self.faults[at]
            self._repeated = {i - (i > at): summed for i, summed in self._repeated.items()}
        for first, last in ((gap.first, here.n - 1), (here.n + 1, gap.last)):
            if first <= last:
                self._miss(gap._replace(first=first, last=last))
        self.fault(here.n, here.offset, f"moved: it belongs before line {gap.line}", length)
        return True

    def _miss(self, gap: _Gap) -> None:
        if len(self._gaps) < MOST:
            self._gaps.append(gap)
        self.fault(gap.first, gap.offset, _removed(*gap[:3]), line=gap.line)

    def _lost_with_damage(self, missing: list[tuple[int, int]]) -> None:
        lost = " and ".join(_numbers(first, last) for first, last in missing)
        for at in reversed(range(len(self.faults))):
            if self.faults[at].length and self.faults[at].n is None:
                self.faults[at] = _said(self.faults[at], f"{self.faults[at].what}; {lost} stood here")
                return

    def _put_on_record(self, where: tuple[int, int], at: float) -> None:
        for i, fault in enumerate(self.faults):
            if (fault.offset, fault.length) == where:
                self.faults[i] = Fault(fault.line, fault.n, fault.offset, fault.what, fault.length, at)
                return
        self.recorded.add(where)


class _Read(NamedTuple):
    n: int
    at: float
    session: str
    prev: str
    quarantined: tuple[tuple[int, int], ...]
    known: bool


def _pieces(fd: int, start: int, end: int, data: bytes) -> Sequence[Raw | Damage]:
    """The line itself, or whatever the reader makes of it, in order."""
    try:
        return [Raw(start, end, data, checked(data))]
    except BadLine:
        reader = Reader(fd)
        found = list(reader.lines([(start, end)]))
    return sorted([*found, *reader.damages], key=lambda each: each.start if isinstance(each, Raw) else each.offset)


def _number(fd: int, damage: Damage) -> int | None:
    found = _NUMBERED.match(os.pread(fd, min(damage.length, 40), damage.offset))
    return None if found is None else int(found[1])


def _read(data: bytes) -> _Read:
    """The fields the chain needs. Only JSON is read, not the event in it: that would take several times as long."""
    try:
        found = _decode(data.decode())
        n, session, prev, at = found["n"], found["session"], found["prev"], found["at"]
        sound = type(n) is int and isinstance(session, str) and isinstance(prev, str) and isinstance(at, int | float)
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise BadLine(f"it is no line of a log ({type(error).__name__}: {error})") from None
    if not sound:
        raise BadLine("its fields are not what they should be")
    quarantined: tuple[tuple[int, int], ...] = ()
    if found.get("type") == "lines_quarantined":
        quarantined = tuple(_ranges(found.get("data")))
    known = found.get("v") == VERSION and found.get("type") in TYPES
    return _Read(n, float(at), session, prev, quarantined, known)


def _ranges(data: Any) -> Iterator[tuple[int, int]]:
    ranges = cast(dict[str, Any], data).get("ranges") if isinstance(data, dict) else None
    for each in cast(list[Any], ranges) if isinstance(ranges, list) else []:
        match each:
            case [int(offset), int(length)]:
                yield offset, length
            case _:
                pass


def _without(first: int, last: int, broken: list[int | None]) -> list[tuple[int, int]]:
    """The numbers from first to last that are not those of damaged lines."""
    out: list[tuple[int, int]] = []
    for n in sorted(n for n in broken if n is not None and first <= n <= last):
        if first < n:
            out.append((first, n - 1))
        first = n + 1
    return [*out, (first, last)] if first <= last else out


def _numbers(first: int, last: int) -> str:
    return f"n {first}" if first == last else f"n {first} to {last}"


def _removed(first: int, last: int, line: int) -> str:
    return f"removed: {_numbers(first, last)} should stand before line {line}"


def _said(fault: Fault, what: str) -> Fault:
    return Fault(fault.line, fault.n, fault.offset, what, fault.length, fault.on_record)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = JSONDecoder(parse_constant=_no_constant).decode

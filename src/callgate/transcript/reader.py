"""Splits a log into lines. Intact lines are returned; damaged bytes are reported with offset and length.

Lines are split only at line feeds. A line with a wrong checksum may still contain intact lines, for example several
lines without line feeds between them, or a line after an incomplete line.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from callgate.transcript.codec import BadLine, LogEntry, checked, read_line
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"
_BEGIN = late_pattern(rb'\{"v":')
_END = late_pattern(rb',"sum":"[0-9a-f]{32}"\}')
_PATIENCE = 200  # times the length of a broken line: limits the time for a malicious line


@noun
class Damage:
    """A range of bytes in a log that is not an intact line."""

    offset: int
    length: int
    why: str


class Raw(NamedTuple):
    """An intact line without its line ending, and its checksum. ``end`` is the offset after the line ending."""

    start: int
    end: int
    data: bytes
    sum: str


def raw_lines(fd: int, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield each line with its start offset and the offset of the next line. The last line may lack a line ending."""
    at = position = start
    rest: list[bytes] = []  # joined once, so that one endless line does not take quadratic time
    while position < end:
        chunk = os.pread(fd, min(_CHUNK, end - position), position)
        if not chunk:  # the file was truncated meanwhile
            break
        position += len(chunk)
        pieces = chunk.split(b"\n")
        rest.append(pieces[0])
        if len(pieces) > 1:
            pieces[0] = b"".join(rest)
            rest = [pieces.pop()]
            for data in pieces:
                after = at + len(data) + 1
                yield at, after, data
                at = after
    data = b"".join(rest)
    if data:
        yield at, at + len(data), data


class LogReader:
    """Reads ranges of one log file and collects the damages."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.damages: list[Damage] = []

    def lines(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Raw]:
        """Yield the intact lines in these byte ranges of the file."""
        for begin, end in ranges:
            for start, after, data in raw_lines(self._fd, begin, end):
                if data[-1:] == b"\r":
                    data = data[:-1]
                if start == 0 and data[:3] == _BOM:
                    self.damages.append(Damage(0, 3, "a byte order mark"))
                    start, data = 3, data[3:]
                try:
                    yield Raw(start, after, data, checked(data))
                except BadLine as why:
                    yield from self._salvaged(start, data, str(why))

    def _salvaged(self, start: int, data: bytes, why: str) -> Iterator[Raw]:
        done, patience = 0, _PATIENCE * len(data)
        for found in _END.finditer(data):
            begins = [each.start() for each in _BEGIN.finditer(data, done, found.start())]
            for begin in reversed(begins):
                record = data[begin : found.end()]
                patience -= len(record)
                summed = None
                with suppress(BadLine):
                    summed = checked(record) if patience > 0 else None
                if summed is not None:
                    self._damage(start + done, data[done:begin], why)
                    yield Raw(start + begin, start + found.end(), record, summed)
                    done = found.end()
                if summed is not None or patience <= 0:
                    break
        self._damage(start + done, data[done:], why)

    def _damage(self, offset: int, lost: bytes, why: str) -> None:
        if lost.strip():
            zeros = not lost.strip(b"\0\r\n ")
            self.damages.append(Damage(offset, len(lost), "zeros instead of text" if zeros else why))


def all_entries(fd: int) -> Iterator[LogEntry]:
    """Yield every intact line in file order, including lines of abandoned branches, without consecutive duplicates."""
    before = ""
    for raw in LogReader(fd).lines([(0, os.fstat(fd).st_size)]):
        with suppress(BadLine):
            entry = read_line(raw.data, raw.sum)
            if entry.sum != before:
                before = entry.sum
                yield entry

"""The events of a session as they are written to its log, read without a lock. Everything here blocks."""

import os
from collections.abc import Sequence
from pathlib import Path

from callgate.transcript.codec import BadLine, read_line
from callgate.transcript.lock import open_log
from callgate.transcript.reader import LogReader
from callgate.words.errors import JournalError
from callgate.words.events import Durable

_CHUNK = 1 << 16


class LogFollower:
    """Reads a log from its beginning. Each ``read`` gives the events of whole lines that are there since the last one,
    dead branches included; what cannot be read is counted in ``damaged``. Closed by ``close``."""

    def __init__(self, log: Path) -> None:
        try:
            self._fd = open_log(log, os.O_RDONLY)
        except OSError as error:
            raise JournalError(f"{log} cannot be opened: {error.strerror or error}") from None
        self._at = 0
        self._before = ""
        self.damaged = 0

    def read(self) -> Sequence[Durable]:
        end = self._whole()
        reader = LogReader(self._fd)
        found: list[Durable] = []
        for raw in reader.lines([(self._at, end)]):
            try:
                entry = read_line(raw.data, raw.sum)
            except BadLine:
                self.damaged += 1
                continue
            if entry.sum != self._before and entry.event is not None:
                found.append(entry.event)
            self._before = entry.sum
        self.damaged += len(reader.damages)
        self._at = end
        return found

    def close(self) -> None:
        os.close(self._fd)

    def _whole(self) -> int:
        """The offset behind the last line end: a line that is being written is read with the next look."""
        size = os.fstat(self._fd).st_size
        if size < self._at:  # cut back after a failed write
            self._at = size
        end = size
        while end > self._at:
            begin = max(self._at, end - _CHUNK)
            at = os.pread(self._fd, end - begin, begin).rfind(b"\n")
            if at >= 0:
                return begin + at + 1
            end = begin
        return self._at

"""The log of a server: its standard error, its log messages, and events of its connection.

The last lines are kept in memory. All lines are written to a file in the data folder, up to a size limit; the file is
replaced at each start.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import localtime, strftime

from callgate.formats.display import visible
from callgate.host.files import make_folders
from callgate.mcp.tool_definitions import clean

FOLDER = "mcp-logs"
LARGEST = 1 << 20
"""The most bytes of a log file."""
_LINES = 500
_LONGEST = 2_000
_MOST_REFUSED = 20
_LONGEST_SAMPLE = 200


class ServerLog:
    """The log of one server. Lines may be added from any thread; the file is written only in threads, by the reader of
    standard error and by ``flush``.

    mask  returns a line with secrets masked
    """

    def __init__(
        self, server: str, folder: Path | None, now: Callable[[], float], mask: Callable[[str], str] = str
    ) -> None:
        self.path = None if folder is None else folder / FOLDER / f"{server}.log"
        self._now = now
        self._mask = mask
        self._lock = Lock()
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._unwritten: list[str] = []
        self._written = -1  # nothing yet: the file will be replaced
        self._partial = b""
        self._refused, self._first = 0, ""

    def lines(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._lines)

    def say(self, text: str) -> None:
        line = f"{strftime('%H:%M:%S', localtime(self._now()))} {visible(self._mask(text)[:_LONGEST])}"
        with self._lock:
            self._lines.append(line)
            if self._written < LARGEST and len(self._unwritten) < _LINES:
                self._unwritten.append(line)

    def refuse(self, text: str) -> None:
        """Count a piece of output that is not a message. Only the first such pieces are logged."""
        self._refused += 1
        self._first = self._first or clean(self._mask(text), _LONGEST_SAMPLE)
        if self._refused <= _MOST_REFUSED:
            self.say(f"no message: {self._mask(text)[:_LONGEST_SAMPLE]}")

    @property
    def noise(self) -> str:
        """A text with the number of outputs that were not messages, and the first of these outputs; empty if there
        were none."""
        first = f"{self._refused:,}, first: {self._first!r}"
        return f"invalid lines in its output: {first}" if self._refused else ""

    def take(self, data: bytes) -> None:
        """Add a chunk of standard error to the log. Called in a thread."""
        *whole, rest = (self._partial + data).split(b"\n")
        self._partial = rest[-_LONGEST:]
        for line in whole:
            self.say(line[: 2 * _LONGEST].decode("utf-8", "replace"))
        self._write()

    async def flush(self) -> None:
        if self._unwritten:
            await asyncio.to_thread(self._write)

    def _write(self) -> None:
        with self._lock:
            lines, self._unwritten = self._unwritten, []
            if self.path is None or not lines or self._written >= LARGEST:
                return
            data = "".join(f"{line}\n" for line in lines).encode()[: LARGEST - max(self._written, 0)]
            try:
                if self._written < 0:
                    make_folders(self.path.parent, 0o700)
                with open(self.path, "wb" if self._written < 0 else "ab", opener=_private) as file:
                    file.write(data)
                self._written = max(self._written, 0) + len(data)
            except OSError:  # a full disk: only the lines in memory remain
                self._written = LARGEST


def _private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)  # the file may exist with another mode
    return descriptor

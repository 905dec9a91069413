"""Appends bytes to a file and retries after failures at the same offset.

Bytes stay in memory until they are synced. A failed sync may have lost any byte after the last successful sync, so
all these bytes are written again.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from errno import EACCES, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOSPC, EROFS
from pathlib import Path
from typing import TypeVar

from callgate.words.errors import JournalError

T = TypeVar("T")

PATIENCE = (0.05, 0.25, 1.0)
"""The pauses before each retry, in seconds."""

_ADVICE = {
    ENOSPC: "free some space on that disk",
    EDQUOT: "free some of your quota",
    EIO: "check that disk for errors",
    EFBIG: "raise the limit on the size of files (ulimit -f)",
    EROFS: "make that disk writable",
    EACCES: "make that folder writable",
    EMFILE: "raise the limit on open files (ulimit -n)",
    ENFILE: "close some programs: the system has too many open files",
}
_MUCH = 8 << 20
_fdatasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def patiently(work: Callable[[], T], patience: tuple[float, ...], pause: Callable[[float], object], path: Path) -> T:
    """Call ``work`` again after an OSError, with pauses between the attempts. After the last attempt, raise
    JournalError with advice."""
    for wait in (*patience, None):
        try:
            return work()
        except OSError as error:
            if wait is None:
                advice = _ADVICE.get(error.errno or 0, "fix the cause")
                raise JournalError(
                    f"the record cannot be written: {error.strerror or error} ({path}). "
                    f"Everything acknowledged before is safe; {advice}, then send Continue()."
                ) from error
            pause(wait)
    raise AssertionError


class Tape:
    """The append position of one open file. ``end`` is the offset of the next byte."""

    def __init__(self, fd: int, offset: int, path: Path) -> None:
        self.fd = fd
        self.path = path
        self.end: int = offset
        self._written: int = offset
        self._safe: int = offset
        self._dirty = False  # bytes of a failed write may follow the written ones
        self._pending: list[bytes] = []
        self._unsynced: list[bytes] = []

    @property
    def unsynced(self) -> bool:
        return self._safe < self.end

    @property
    def crowded(self) -> bool:
        """True if the number of buffered bytes is so large that a sync is due."""
        return self.end - self._safe > _MUCH

    def put(self, data: bytes) -> None:
        self._pending.append(data)
        self.end += len(data)

    def write(self) -> None:
        """Write all buffered bytes to the file. After an OSError, call the method again; the bytes are written again
        at the same offset."""
        if not self._pending:
            return
        size = self._checked_size()
        if size != self._written:
            if not self._dirty or size < self._written:
                raise JournalError(
                    f"another program changed {self.path}: it has {size:,} bytes instead of {self._written:,}. "
                    "Close this session and resume it: all intact lines will be read."
                )
            os.ftruncate(self.fd, self._written)
        data = memoryview(b"".join(self._pending))
        done: int = 0
        self._dirty = True
        try:
            while done < len(data):
                done += os.pwrite(self.fd, data[done:], self._written + done)
        except OSError:
            self._cut()
            raise
        self._dirty = False
        self._written += done
        self._unsynced += self._pending
        self._pending = []

    def _checked_size(self) -> int:
        """Return the size of the file. Raise JournalError if the log was removed or replaced. Renaming the folder of
        the log is allowed."""
        status = os.fstat(self.fd)
        try:
            there = os.path.samestat(status, os.stat(self.path, follow_symlinks=False))
        except FileNotFoundError:
            there = status.st_nlink > 0 and not os.path.exists(os.path.dirname(self.path))
        if not there:
            raise JournalError(
                f"another program removed or replaced {self.path} while this session had it open, so new events "
                "cannot be stored there. Close this session; a resumed session reads the file that is there "
                "now."
            )
        return status.st_size

    def sync(self) -> None:
        """Sync all written bytes to disk. After an OSError, all these bytes must be written again."""
        if self._safe == self._written:
            return
        try:
            _fdatasync(self.fd)
        except OSError:
            self._pending = [*self._unsynced, *self._pending]
            self._unsynced = []
            self._written, self._dirty = self._safe, True
            raise
        self._safe = self._written
        self._unsynced = []

    def _cut(self) -> None:
        """Remove an incomplete last line. Errors are ignored, because the next attempt or the next start removes the
        line."""
        with suppress(OSError):
            os.ftruncate(self.fd, self._written)
            self._dirty = False

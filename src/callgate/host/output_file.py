"""Writes the output file of a command while the command runs."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

_NEW = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_LONGEST_LINE = 1 << 16
MOST_BYTES = 5_000_000_000
"""The maximum size of one output, so that an endless one does not fill the disk."""


class LocalOutput:
    """An OutputFile on disk.

    clean  a callback that removes secrets; it gets complete lines, so that no secret is split, and an incomplete line
           is buffered
    """

    def __init__(self, path: Path, clean: Callable[[bytes], bytes] | None, *, exists: bool = False) -> None:
        self.path = str(path)
        self.fault = ""
        self._clean = clean
        self._held = b""
        self._lock = Lock()
        self._descriptor = os.open(path, _NEW if exists else _NEW | os.O_EXCL, 0o600)

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self._descriptor)

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def append(self, data: bytes) -> None:
        with self._lock:
            if self._clean is not None:
                data = self._held + data
                whole = data.rfind(b"\n") + 1 or (len(data) if len(data) > _LONGEST_LINE else 0)
                data, self._held = data[:whole], data[whole:]
            self._write(data)

    def read(self, at: int, most: int) -> bytes:
        return os.pread(self._descriptor, most, at)

    def finish(self) -> None:
        with self._lock:
            held, self._held = self._held, b""
            self._write(held)

    def _write(self, data: bytes) -> None:
        if not data or self.fault:
            return
        data = data if self._clean is None else self._clean(data)
        try:
            if self.size + len(data) > MOST_BYTES:
                raise OSError(f"the limit of {MOST_BYTES:,} bytes is reached")
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self.fault = str(error)

"""Writes lines to standard output in a thread, so that a slow or closed pipe does not block the event loop."""

import asyncio
import os
import select
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from callgate.cli.terminal import write_all

_MOST_LINES = 1_000  # lines that wait before the session is held up


class LineWriter:
    """Writes lines in order. ``gone`` is called on the event loop when the pipe is closed or a write fails."""

    def __init__(self, fd: int, gone: Callable[[], None]) -> None:
        self._fd = fd
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._fewer = asyncio.Event()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._failure: OSError | None = None
        self._wake, self._woken = os.pipe()
        for work in (self._write, self._watch):
            Thread(target=work, name="callgate-out", daemon=True).start()

    def put(self, line: bytes) -> None:
        self._lines.put(line)

    async def room(self) -> None:
        """Wait while too many lines are queued."""
        while self._lines.qsize() > _MOST_LINES and not self._done.done():
            self._fewer.clear()
            await self._fewer.wait()

    async def aclose(self) -> None:
        """Wait until all lines are written or the pipe is closed. Raise OSError if they cannot be written for another
        reason, such as a full disk."""
        self._lines.put(None)
        await self._done
        os.close(self._woken)
        if self._failure is not None:
            raise self._failure

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                write_all(self._fd, line)
                if self._lines.qsize() == _MOST_LINES // 2:
                    self._tell(self._fewer.set)
        except (BrokenPipeError, ConnectionResetError):
            self._tell(self._gone)
        except OSError as error:
            self._failure = type(error)(error.errno, error.strerror, "standard output")
            self._tell(self._gone)
        self._tell(self._end)

    def _watch(self) -> None:
        """Wait until the reader closes the pipe, and report it at once instead of at the next write."""
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._fd, 0)  # errors and hang-ups are always reported
            poll.register(self._wake, 0)
            if any(number == self._fd for number, _ in poll.poll()):
                self._tell(self._gone)
                poll.unregister(self._fd)
                poll.poll()
        os.close(self._wake)

    def _tell(self, callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(callback)

    def _end(self) -> None:
        self._fewer.set()
        if not self._done.done():
            self._done.set_result(None)

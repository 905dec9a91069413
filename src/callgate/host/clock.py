"""A clock that uses the time of the event loop."""

import time
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable

from callgate.core.ports import Timer

_LATE_SECONDS = 0.1
CATCH_UP_SECONDS = 0.5


class LoopClock:
    """The Clock of the running event loop, which may be a virtual loop.

    A clock can outlive its loop, so the running loop is looked up again after the cached loop has stopped. It is not
    looked up at each use, because each lookup calls getpid.
    """

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None

    now = staticmethod(time.time)

    def monotonic(self) -> float:
        loop = self._loop
        if loop is None or not loop.is_running():
            try:
                loop = self._loop = get_running_loop()
            except RuntimeError:  # a worker thread: use the time of the loop that started it
                return time.monotonic() if loop is None else loop.time()
        return loop.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call the callback after the delay. If the process was stopped meanwhile (SIGSTOP, Ctrl-Z), call it
        CATCH_UP_SECONDS later, so that events of the time in between are handled first."""
        return _LoopTimer(get_running_loop(), delay, callback)


class _LoopTimer:
    __slots__ = ("_callback", "_due", "_handle", "_loop")

    def __init__(self, loop: AbstractEventLoop, delay: float, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._due = loop.time() + delay
        self._handle = loop.call_later(delay, self._fire)

    def cancel(self) -> None:
        self._handle.cancel()

    def _fire(self) -> None:
        if self._loop.time() - self._due > _LATE_SECONDS:
            self._handle = self._loop.call_later(CATCH_UP_SECONDS, self._callback)
        else:
            self._callback()

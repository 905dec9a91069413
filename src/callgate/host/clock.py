"""A clock that uses the time of the event loop."""

import time
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable

from callgate.core.ports import Timer


class LoopClock:
    """The Clock of the running event loop, which may be a virtual one.

    A clock can outlive its loop, so the running loop is looked up again after the cached loop has stopped. It is not
    looked up on each use, because each lookup calls getpid.
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
        return get_running_loop().call_later(delay, callback)

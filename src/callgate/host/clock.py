"""Time as the event loop tells it."""

import time
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable

from callgate.core.ports import Timer


class LoopClock:
    """The Clock of whichever event loop is running; on a virtual loop it tells virtual time.

    One clock may outlive its loop, so the loop is looked up anew when the last one has stopped. Looking it up every
    time would cost more than all else here: it asks the system for the process id.
    """

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None

    now = staticmethod(time.time)

    def monotonic(self) -> float:
        loop = self._loop
        if loop is None or not loop.is_running():
            try:
                loop = self._loop = get_running_loop()
            except RuntimeError:  # a worker thread comparing with a deadline: the time of the loop that started it
                return time.monotonic() if loop is None else loop.time()
        return loop.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return get_running_loop().call_later(delay, callback)

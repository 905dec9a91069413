"""Time as the event loop tells it."""

import time
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable

from callgate.core.ports import Timer


class LoopClock:
    """The Clock of whichever event loop is running.

    The loop is looked up on every use: one clock may outlive its loop, and on a virtual loop it tells virtual time.
    """

    def __init__(self) -> None:
        self._seen: AbstractEventLoop | None = None

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        try:
            loop = self._seen = get_running_loop()
        except RuntimeError:  # a worker thread comparing with a deadline: the time of the loop that started it
            loop = self._seen
        return time.monotonic() if loop is None else loop.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return get_running_loop().call_later(delay, callback)

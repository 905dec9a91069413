"""An idle timeout that uses the Clock port, so that a virtual clock can control it."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from callgate.core.ports import Clock, Timer

T = TypeVar("T")


class SilentTooLong(Exception):
    """Raised if the server sends nothing until the idle timeout."""


class Watchdog:
    """A timeout for each wait for the server. The time between two waits, while the consumer is busy, is not measured.

    One timer serves many waits: when it fires, it is started again for the remaining time of the current wait.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._timer: Timer | None = None
        self._task: asyncio.Task[Any] | None = None
        self._since = 0.0
        self._fired = False

    async def wait(self, coming: Awaitable[T]) -> T:
        """Wait for an awaitable and return its result. After the timeout, cancel the awaitable and raise
        SilentTooLong."""
        self._task = task = asyncio.current_task()
        self._since = self._clock.monotonic()
        if self._timer is None:
            self._timer = self._clock.call_later(self._seconds, self._due)
        try:
            return await coming
        except asyncio.CancelledError:
            if self._fired and (task is None or task.uncancel() == 0):
                raise SilentTooLong from None
            raise
        finally:
            self._task = None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        if self._task is None:
            return  # the next wait starts it again
        left = self._seconds - (self._clock.monotonic() - self._since)
        if left > 0:
            self._timer = self._clock.call_later(left, self._due)
        else:
            self._fired = True
            self._task.cancel()

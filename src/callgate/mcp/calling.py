"""Calls of a server that run: each within its time, which stands still while a person is asked."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from callgate.core.ports import Clock, Timer


class RunningCall:
    """``expired``: its time is over, and its task was cancelled for that. ``declined``: the person said no to a
    question of the server, and is not asked another one in this call."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.expired = False
        self.declined = False
        self._clock = clock
        self._seconds = seconds
        self._task = asyncio.current_task()
        self._timer: Timer | None = clock.call_later(seconds, self._expire)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """A person is asked: the time begins anew afterwards."""
        self.stop()
        try:
            yield
        finally:
            self._timer = self._clock.call_later(self._seconds, self._expire)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        if self._task is not None and not self._task.done():
            self.expired = True
            self._task.cancel()

    def end(self) -> None:
        self.stop()
        if self.expired and self._task is not None:
            self._task.uncancel()


class CallsUnderWay:
    """Those of one server, oldest first."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._calls: list[RunningCall] = []

    @property
    def newest(self) -> RunningCall | None:
        """The one that a question of the server is put in: the protocol does not always say which it is about."""
        return self._calls[-1] if self._calls else None

    @contextmanager
    def begun(self) -> Generator[RunningCall]:
        call = RunningCall(self._clock, self._seconds)
        self._calls.append(call)
        try:
            yield call
        finally:
            self._calls.remove(call)
            call.end()

"""Time for tests: a clock that the test advances, and an event loop that never waits for a timer."""

import asyncio
import heapq
import math
import selectors
import threading
from asyncio import Future
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context
from itertools import count
from typing import Any, TypeVar

from callgate.core.ports import wait_seconds

T = TypeVar("T")
Ready = list[tuple[selectors.SelectorKey, int]]


class ManualTimer:
    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self._callback: Callable[[], None] | None = callback

    @property
    def waiting(self) -> bool:
        return self._callback is not None

    def cancel(self) -> None:
        self._callback = None

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class ManualClock:
    """A Clock whose time changes only when a test advances it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._start = now
        self._time = 0.0
        self._order = count()
        self._timers: list[tuple[float, int, ManualTimer]] = []

    def now(self) -> float:
        return self._start + self._time

    def monotonic(self) -> float:
        return self._time

    def call_later(self, delay: float, callback: Callable[[], None]) -> ManualTimer:
        """Schedule a callback. It runs in the next ``advance``, even with a delay of 0."""
        timer = ManualTimer(self._time + max(delay, 0.0), callback)
        heapq.heappush(self._timers, (timer.when, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        await wait_seconds(self, seconds)

    @property
    def next_timer(self) -> float | None:
        """The monotonic time of the next timer, or None if no timer is set."""
        while self._timers and not self._timers[0][2].waiting:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, seconds: float) -> None:
        """Advance the clock and fire due timers in order, each at its own time. Tasks that the timers wake run
        afterwards."""
        end = self._time + seconds
        while (due := self.next_timer) is not None and due <= end:
            self._fire(due)
        self._time = end

    async def advance_and_settle(self, seconds: float) -> None:
        """Advance the clock in the same way as real time: tasks that a timer wakes run before the next timer fires."""
        end = self._time + seconds
        await settle()
        while (due := self.next_timer) is not None and due <= end:
            self._fire(due)
            await settle()
        self._time = end

    def _fire(self, due: float) -> None:
        self._time = due
        heapq.heappop(self._timers)[2].fire()


async def settle(rounds: int = 100) -> None:
    """Let every task run until the task waits for a timer, a thread or I/O. The function is exact on a VirtualLoop;
    on other event loops it yields ``rounds`` times."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        await loop.idle()
    else:
        for _ in range(rounds):
            await asyncio.sleep(0)


class StuckError(AssertionError):
    """Raised if the test would wait forever: no task is ready, no timer is set, and no thread or I/O can wake the
    event loop."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that jumps to the time of the next timer when no task is ready.

    Work in threads takes no virtual time: if a timer is set, the loop jumps and does not wait for the thread.
    Exceptions are threads of ``run_in_executor`` (``asyncio.to_thread``) and the block of ``hold()``, for which the
    loop waits. If no timer is set, the loop waits ``patience`` real seconds and then raises StuckError. If no thread
    or file could wake the loop, it raises StuckError at once.
    """

    def __init__(self, patience: float = 30.0) -> None:
        self.patience = patience
        self._time = 0.0
        self._holds = 0
        self._due: list[float] = []
        self._idlers: list[Future[None]] = []
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._time

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        heapq.heappush(self._due, when)
        return super().call_at(when, callback, *args, context=context)

    @contextmanager
    def hold(self) -> Generator[None]:
        """Stop virtual time inside the ``with`` block: the loop waits for threads and I/O."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    async def idle(self) -> None:
        """Wait until every other task waits for a timer, a thread or I/O. No virtual time passes."""
        waiter = self.create_future()
        self._idlers.append(waiter)
        await waiter

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> Future[T]:
        self._holds += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._release)
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        with self.hold():  # its timeout must not expire while a thread is joined
            await super().shutdown_default_executor(*args)

    def _release(self, _future: Future[Any]) -> None:
        self._holds -= 1

    def pass_time(self, timeout: float | None, select: Callable[[float], Ready], files: int) -> Ready:
        """Advance virtual time instead of waiting ``timeout`` seconds. Called when no task is ready; ``select``
        waits for the files of the loop."""
        if self._idlers:
            idlers, self._idlers = self._idlers, []
            for waiter in idlers:
                if not waiter.done():
                    waiter.set_result(None)
            return select(0)
        if timeout is not None and not self._holds:
            ready = select(0)
            if not ready:
                self._jump(self._time + timeout)
            return ready
        return self._wait(select, files)

    def _jump(self, goal: float) -> None:
        # asyncio fires timers up to a clock tick early and computes the timeout with a rounding error; landing on
        # the recorded times makes elapsed times exact and never shorter than what was asked for.
        tick = max(2e-9, 4 * math.ulp(goal))
        landing = goal
        while self._due and self._due[0] < landing + tick:
            when = heapq.heappop(self._due)
            if when > goal - tick:  # earlier ones were cancelled
                landing = when
        if (
            landing + 1e-9 == landing
        ):  # at large times a tick is below the float precision, and asyncio compares with it
            landing = math.nextafter(landing, math.inf)
        self._time = max(self._time, landing)

    def _wait(self, select: Callable[[float], Ready], files: int) -> Ready:
        alone = threading.active_count() == 1 and files == 1  # the one file is the loop's own
        ready = select(0 if alone else self.patience)
        if ready:
            return ready
        waiting = [f"{task.get_name()} in {task.get_coro()}" for task in asyncio.all_tasks(self)]
        raise StuckError("no task can run and no timer is set; waiting tasks: " + "; ".join(waiting))


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Ready:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        return self._loop.pass_time(timeout, super().select, len(self.get_map()))


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like ``asyncio.run``, in virtual time: a sleep of an hour takes no real time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)

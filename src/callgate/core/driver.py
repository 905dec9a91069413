"""Performs what the board says, in order, and waits for what a call waits for.

The one place where things are awaited on behalf of a call, except for its tool itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from threading import get_ident
from typing import Any

from callgate.core.board import Board, Do
from callgate.core.call import Call
from callgate.core.gate import going_down
from callgate.core.outlet import Outlet
from callgate.core.ports import Gate, Host
from callgate.core.record import CallRecord
from callgate.words.events import InterruptibleChanged
from callgate.words.limits import ExecutorSettings

Then = Callable[[Call, Any, BaseException | None], None]
"""Goes on with the value that was waited for, or with what was raised instead."""


class Driver:
    """State that the parts of an executor share. ``handlers`` perform the actions of the board, one for each kind."""

    def __init__(
        self,
        gate: Gate,
        host: Host,
        record: CallRecord,
        settings: ExecutorSettings,
        lineage: tuple[str, ...],
        deps: Any = None,
    ) -> None:
        self.gate = gate
        self.host = host
        self.clock = host.clock
        self.record = record
        self.settings = settings
        self.lineage = lineage
        self.deps = deps
        self.outlet = Outlet()
        self.board: Board[Call] = Board(settings.max_concurrency, settings.start)
        self.calls: dict[str, Call] = {}
        self.changes = 0  # calls with effects that have begun
        self.handlers: dict[Do, Callable[[Call, Any], None]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._changed: asyncio.Future[None] | None = None  # waits for anything a reader might want to look at
        self.going: Callable[[], None] | None = None  # called once, when it goes on without a person or is through
        self._performing = self._interruptible = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that runs this message, looked up once."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._thread = get_ident()
        return self._loop

    def perform(self) -> None:
        """Do what the board has queued, in order. What happens meanwhile queues more, so this never nests."""
        if self._performing:
            return
        self._performing = True
        actions, handlers = self.board.actions, self.handlers
        try:
            while actions:
                do, call, result = actions.popleft()
                handlers[do](call, result)
        finally:
            self._performing = False
        if self._interruptible is not self.board.interruptible:
            self._interruptible = self.board.interruptible
            if self.record.has_listeners:
                self.record.tell(InterruptibleChanged(self.clock.now(), self._interruptible))
        if self.going is not None and (self.board.moving or self.board.closed):
            going, self.going = self.going, None
            going()
        if self._changed is not None:
            self.tell_change()

    def soon(self, feed: Callable[[], None]) -> bool:
        """Feed the board from whichever thread this is. False when the loop of this message is closed."""
        if get_ident() == self._thread:
            feed()
            self.perform()
            return True
        try:
            self.loop.call_soon_threadsafe(lambda: self.soon(feed))
        except RuntimeError:
            return False
        return True

    def begin(self, call: Call, body: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Make the body the task of a call."""
        call.task = task = (self._loop or self.loop).create_task(body)
        self.tasks.add(task)
        return task

    def follow(self, call: Call, work: Awaitable[Any], then: Then) -> None:
        """Wait for something on behalf of a call, then go on."""
        self.begin(call, self._follow(call, work, then))

    async def _follow(self, call: Call, work: Awaitable[Any], then: Then) -> None:
        task = asyncio.current_task()
        value: Any = None
        error: BaseException | None = None
        try:
            value = await work
        except BaseException as raised:
            error = raised
        try:
            if call.task is task:  # otherwise the call has let go of it
                call.task = None
                then(call, value, error)
                self.perform()
            if error is not None and going_down(error):
                raise error
        finally:
            self.forget(task)

    def forget(self, task: asyncio.Task[None] | None) -> None:
        if task is not None:
            self.tasks.discard(task)
            self.tell_change()

    def give_up(self, call: Call) -> None:
        """Let go of what a call waits for. Work that does not listen to the cancel is not waited for beyond the grace
        period."""
        task, call.task = call.task, None
        if task is not None and not task.done():
            # Not at once: a task that was never begun would leave the coroutines inside it unawaited.
            self.loop.call_soon(task.cancel)
            timer = self.clock.call_later(self.settings.grace, lambda: self.forget(task))
            task.add_done_callback(lambda _: timer.cancel())

    def tell_change(self) -> None:
        """Wake those that wait for a change."""
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    async def change(self) -> None:
        """Wait until something has changed."""
        if self._changed is None:
            self._changed = self.loop.create_future()
        await asyncio.shield(self._changed)


class Part:
    """A part of an executor: what it needs of the others, by short names."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._board = driver.board
        self._gate = driver.gate
        self._host = driver.host
        self._clock = driver.clock
        self._record = driver.record
        self._ledger = driver.record.ledger
        self._settings = driver.settings
        self._outlet = driver.outlet

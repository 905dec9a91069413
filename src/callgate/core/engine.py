"""The engine performs the actions of the board for the calls of one message, and passes the outcomes back to the board.

    decide    reads arguments, asks the gate and the user
    engine    locks, starts, cancels, settles and releases calls
    perform   runs tools, hooks and toolboxes, and converts their exceptions to results

Actions are performed in order and are never nested: an action may pass an input to the board, which queues more
actions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from threading import Event, get_ident
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from callgate.core import outcomes
from callgate.core.board import LOCKING, READY, RUNNING, STARTING, STOPPING, STRAY, Board
from callgate.core.call import Call, CallSetup
from callgate.core.decide import Decider
from callgate.core.gate import is_shutdown
from callgate.core.locks import Claim
from callgate.core.perform import TOOLS_LOG, Performer
from callgate.core.sizes import cut_progress, cut_to
from callgate.words import events
from callgate.words.calls import Result
from callgate.words.errors import JournalError, StateError, in_words
from callgate.words.noun import maker
from callgate.words.plain import plain_json

if TYPE_CHECKING:
    from callgate.core.loop_watch import LoopWatch

_LONGEST_STEP = 1.0  # seconds without a step of the event loop until it counts as blocked
_make_started, _make_settled = maker(events.CallStarted), maker(events.CallSettled)


class Engine:
    """The board of one message and the performer of its actions.

    tasks        the running tasks of calls that are not settled
    on_resumed   called once, when a message that waited for the user continues or has settled
    on_progress  called with the progress of a call, before the listeners of the record are called
    is_silent    True if the message was discarded, so that no event is published any more
    """

    def __init__(self, setup: CallSetup) -> None:
        self._settings = settings = setup.settings
        self.board: Board[Call] = Board(settings.max_concurrency, settings.start)
        self.tasks: set[asyncio.Task[None]] = set()
        self.on_resumed: Callable[[], None] | None = None
        self.on_progress: Callable[[events.CallProgressed], None] | None = None
        self.is_silent = False
        self._clock = setup.host.clock
        self._locks = setup.host.locks
        self._record = setup.record
        self._lineage = setup.lineage
        self._performer = Performer(setup, self._progress)
        self.decider = Decider(setup, self.board, self._performer, self.follow, self.perform)
        self.judge, self.ask = self.decider.judge, self.decider.ask
        self._changed: asyncio.Future[None] | None = None
        self._performing = self._interruptible = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    # ---- the actions of the board, in order ---------------------------------------------------------------------

    def perform(self) -> None:
        """Perform all queued actions. Return at once if the method is already running."""
        if self._performing:
            return
        self._performing = True
        actions = self.board.actions
        try:
            while actions:
                action, call = actions.popleft()
                getattr(self, action)(call)
        finally:
            self._performing = False
        if self._interruptible is not self.board.interruptible:
            self._interruptible = self.board.interruptible
            if self._record.has_listeners:
                self._record.publish(events.InterruptibleChanged(self._clock.now(), self._interruptible))
        if self.on_resumed is not None and (self.board.moving or self.board.is_settled):
            on_resumed, self.on_resumed = self.on_resumed, None
            on_resumed()
        if self._changed is not None:
            self.notify()

    def notify(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    async def change(self) -> None:
        """Wait until the stage of a call has changed."""
        if self._changed is None:
            self._changed = self.loop.create_future()
        await asyncio.shield(self._changed)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._thread = get_ident()
        return self._loop

    def begin(self, call: Call, body: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        call.task = task = (self._loop or self.loop).create_task(body)
        self.tasks.add(task)
        return task

    def follow(self, call: Call, body: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine as the task of a call that has no decision yet."""
        self.begin(call, body).add_done_callback(self.forget)

    def forget(self, task: asyncio.Task[None] | None) -> None:
        if task is not None:
            self.tasks.discard(task)
            self.notify()

    # ---- lock ---------------------------------------------------------------------------------------------------

    def lock(self, call: Call) -> None:
        """Request all locks of a call. If a lock is not available, the call waits in the queue for the locks."""
        if call.stage is not LOCKING:
            return
        if call.bound != self._performer.changes and self.decider.rebound(call):
            self.unlock(call)
            return
        if call.claim is None:
            call.claim = Claim(call, call.locks, self._granted, (*self._lineage, call.id))
            held = self._locks.enter(call.claim)
        else:
            held = self._locks.retry(call.claim)
        if held:
            self.board.granted(call)
        else:
            self.board.lock_busy(call)
            self.limit_wait(call)

    def limit_wait(self, call: Call) -> None:
        """Start the timeout for the locks of a call. The time also runs while the call waits for a free place."""
        if call.late:
            self._locked_out(call)
        elif call.timer is None:
            call.timer = self._clock.call_later(self._patience_of(call), lambda: self._overdue(call))

    def _patience_of(self, call: Call) -> float:
        return call.case.traits.timeout or self._settings.lock_wait

    def _granted(self, call: Call) -> None:
        """Continue a call that received its locks, on the thread of its event loop."""
        if get_ident() == self._thread:
            if call.stage is LOCKING:
                self.board.granted(call)
                self.perform()
            return
        try:
            self.loop.call_soon_threadsafe(self._granted, call)
        except RuntimeError:  # the loop is closed
            if call.claim is not None:
                self._locks.leave(call.claim)

    def _overdue(self, call: Call) -> None:
        call.timer = None
        call.late = True
        if call.stage is LOCKING:
            self._locked_out(call)
            self.perform()

    def _locked_out(self, call: Call) -> None:
        holders = self.board.running_without_locks() if call.claim is None else self._locks.holders(call.claim)
        self.board.expired(call, outcomes.locked_out(self._patience_of(call), holders))

    def defer(self, call: Call) -> None:
        if call.stage is READY and call.claim is not None:
            self._locks.defer(call.claim)

    def unlock(self, call: Call) -> None:
        call.stop_timer()
        call.late = False
        claim, call.claim = call.claim, None
        if claim is not None:
            self._locks.leave(claim)

    def withdraw(self, call: Call) -> None:
        """Cancel the lock request and the task of a call that has not started.

        A task that does not end within the grace period is no longer tracked.
        """
        self.unlock(call)
        task, call.task = call.task, None
        if task is not None and not task.done():
            # Not at once: the coroutines in a task that has not begun would never be awaited.
            self.loop.call_soon(task.cancel)
            timer = self._clock.call_later(self._settings.grace, lambda: self.forget(task))
            task.add_done_callback(lambda _: timer.cancel())

    # ---- run ----------------------------------------------------------------------------------------------------

    def start(self, call: Call) -> None:
        if call.stage is STARTING:
            call.stop_timer()
            call.body = self.begin(call, self._run(call))

    async def _run(self, call: Call) -> None:
        """Record the start of a call, run its tool and settle the call. Do nothing more if the call was settled in
        the meantime."""
        task, performer = call.body, self._performer
        result: Result | None = None
        error: BaseException | None = None
        try:
            result = await self._begin(call)
            if call.stage is RUNNING and call.run is not None:
                timeout = call.case.traits.timeout
                if timeout is not None:
                    self._watch.add(call, timeout)
                try:
                    call.finished = result = await performer.run(call, call.run)
                finally:
                    if timeout is not None:
                        self._watch.remove(call)
                if call.result is None:  # otherwise it is a stray
                    if call.reason is None:
                        call.stop_timer()
                    result = await performer.finish(call, result)
                    if call.reason == "discarded":  # perhaps while a hook ran
                        result = outcomes.discarded(result, call.because, call.case.traits.effects)
        except BaseException as raised:
            error = raised
        self.tasks.discard(task)
        del call.body  # frees the task
        try:
            if call.task is task:  # otherwise the call was withdrawn
                call.task = None
                self._ended(call, result, error)
                self.perform()
        finally:
            self.notify()
        if error is not None and is_shutdown(error):
            raise error

    async def _begin(self, call: Call) -> Result | None:
        """Record the start of a call. For a call with effects, wait until the event is durable. Return a Result on
        failure."""
        if call.stage is not STARTING:
            return None
        event = _make_started(self._clock.now(), call.id, call.attempt, call.index, len(self.board.calls))
        try:
            if call.early:
                self._record.write(event)
            else:
                self._performer.changes += 1
                waiting = self._record.write_first(event)
                if waiting is not None:
                    await waiting
        except Exception as error:
            return outcomes.unrecorded(error)
        if call.stage is STARTING:
            self._started(call)
        return None

    def _started(self, call: Call) -> None:
        call.started = started = self._clock.monotonic()
        self.board.started(call)
        run = self._performer.make_run(call)
        timeout = call.case.traits.timeout
        if timeout is not None:
            call.timer = self._clock.call_later(timeout, lambda: self._timed_out(call, timeout))
            run.deadline = started + timeout

    @cached_property
    def _watch(self) -> LoopWatch:
        from callgate.core.loop_watch import LoopWatch  # only for calls with a timeout

        return LoopWatch(self._report_blocked)

    def _report_blocked(self, call: Call) -> None:
        """Report a call that cannot be cancelled by its timeout because it blocks the event loop. Runs in a thread."""
        with suppress(RuntimeError):  # the loop is closed
            task = asyncio.current_task(self.loop)
            who, timeout = call.name, f"its timeout of {call.case.traits.timeout:g} s"
            if task is None or task is not call.task:
                stepped = Event()
                self.loop.call_soon_threadsafe(stepped.set)
                if stepped.wait(_LONGEST_STEP):
                    return
                made = None if task is None else task.get_coro()
                who = f"the task {made.__qualname__}" if isinstance(made, CoroutineType) else "a callback"
                timeout = f"the timeout of {call.name}"
            if call.reason is not None:
                return
            call.blocks = f"{who} blocks the event loop, so {timeout} cannot stop it"
            text = f"{call.blocks}: define it without async, or await in it"
            noted = events.Noted(self._clock.now(), text, "warning", call.id)
            self.loop.call_soon_threadsafe(self._record.write, noted)
            TOOLS_LOG.warning(text)

    def _timed_out(self, call: Call, timeout: float) -> None:
        self.board.cancelled(call, "timed_out", f"Timed out after {timeout:g} s.")
        self.perform()

    def _progress(self, call_id: str, text: str, current: float | None, total: float | None) -> None:
        if not self.is_silent:
            event = events.CallProgressed(self._clock.now(), call_id, cut_progress(text), current, total)
            self._record.publish(event)
            if self.on_progress is not None:
                self.on_progress(event)
                self.notify()

    def _ended(self, call: Call, result: Result | None, error: BaseException | None) -> None:
        if call.stage is STRAY:
            self.board.ended(call)
            try:
                self._record.write(events.StrayEnded(self._clock.now(), call.id))
            except (StateError, JournalError):  # the session is closed
                return
        elif error is not None or result is not None:
            self.board.settled(call, result or self._performer.broken_off(call))

    # ---- cancel -------------------------------------------------------------------------------------------------

    def cancel_tool(self, call: Call) -> None:
        """Cancel the tool of a call. If the tool has not ended after the grace period, settle the call; its locks
        are released when the tool ends."""
        if call.stage is not STOPPING:
            return
        call.stop_timer()
        call.timer = self._clock.call_later(self._settings.grace, lambda: self._abandon(call))
        if call.run is not None:
            call.run.cancelled = True
        if call.finished is None and call.task is not None:
            call.task.cancel()

    def _abandon(self, call: Call) -> None:
        if call.stage is not STOPPING:
            return
        assert call.reason is not None
        self._record.write(events.StrayFound(self._clock.now(), call.id, call.name))
        late = call.finished
        if late is None:
            late = outcomes.unstoppable(call.reason, call.because, call.case.traits.effects)
            late = self._performer.with_progress(call, late)
        self.board.overdue(call, self._performer.cut(call, late))
        self.forget(call.task)
        self.perform()

    # ---- settle -------------------------------------------------------------------------------------------------

    def settle(self, call: Call) -> None:
        result = call.result
        assert result is not None
        call.stop_timer()
        if call.run is not None:
            call.run.open = False
            call.run = None
        if result.is_error:
            result = cut_to(result, self._settings.max_error_chars)
        call.update = result.context_update
        if call.update is not None:  # a function is recorded when it is evaluated
            data = None if callable(call.update) else plain_json(call.update)
            result = replace(result, context_update=data)
        taken = None if call.started is None else (self._clock.monotonic() - call.started) * 1000
        self._record.write(
            _make_settled(
                at=self._clock.now(),
                call_id=call.id,
                result=result,
                duration_ms=taken,
                held=call.held,
                index=call.index,
                of=len(self.board.calls),
            )
        )

    def release(self, call: Call) -> None:
        """Apply the context update of a call. If the result was held, publish its release."""
        if call.update is not None:
            self.update_context(call)
        if call.held and self._record.has_listeners and not self.is_silent:
            self._record.publish(events.CallReleased(self._clock.now(), call.id, call.index))

    def update_context(self, call: Call) -> None:
        update, call.update = call.update, None
        if update is None:
            return
        try:
            data = self._performer.evaluate(update)
        except BaseException as error:
            note = f"{call.name}: its context update was not applied: {in_words(error)}"
            self._record.write(events.Noted(self._clock.now(), note, "error", call.id))
            if isinstance(error, KeyboardInterrupt):
                raise
        else:
            self._record.write(events.ContextUpdated(self._clock.now(), call.id, data))

"""A decided call from its locks to its one result: lock, start, run, cancel, settle, release."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from json import dumps, loads
from types import MappingProxyType
from typing import Any

from callgate.core import outcomes
from callgate.core.approval import Approval
from callgate.core.board import LOCKING, READY, RUNNING, STARTING, STOPPING, STRAY
from callgate.core.call import Call
from callgate.core.driver import Driver, Part
from callgate.core.gate import going_down
from callgate.core.locks import Claim
from callgate.core.outlet import cut_to
from callgate.core.perform import Performer, broken_off
from callgate.words.calls import ContextUpdate, Result
from callgate.words.errors import JournalError, StateError, in_words
from callgate.words.events import (
    CallReleased,
    CallSettled,
    CallStarted,
    ContextUpdated,
    Noted,
    StrayEnded,
    StrayFound,
)
from callgate.words.noun import maker
from callgate.words.plain import NotPlain, plain_copy, plain_json

_make_started, _make_settled = maker(CallStarted), maker(CallSettled)


class Runs(Part):
    """Each public method performs one action of the board."""

    def __init__(self, driver: Driver, approval: Approval, performer: Performer) -> None:
        super().__init__(driver)
        self._approval = approval
        self._performer = performer
        self._locks = driver.host.locks

    # ---- lock ---------------------------------------------------------------------------------------------------

    def lock(self, call: Call, _: None = None) -> None:
        """All its locks at once, or a place in the queue for them."""
        if call.stage is not LOCKING:
            return
        if call.bound != self._driver.changes and self._approval.rebound(call):
            self.unlock(call)
            return
        if call.claim is None:
            call.claim = Claim(call, call.locks, self._granted, (*self._driver.lineage, call.id))
            held = self._locks.enter(call.claim)
        else:
            held = self._locks.retry(call.claim)
        if held:
            self._board.granted(call)
        else:
            self._board.lock_busy(call)
            self.limit_waiting(call)

    def limit_waiting(self, call: Call, _: None = None) -> None:
        """From the first time it has to wait; a slot that is not free meanwhile gives it no more time."""
        if call.late:
            self._locked_out(call)
        elif call.timer is None:
            call.timer = self._clock.call_later(self._patience_of(call), lambda: self._overdue(call))

    def _patience_of(self, call: Call) -> float:
        return call.case.traits.timeout or self._settings.lock_wait

    def _granted(self, call: Call) -> None:
        """From any thread."""
        if not self._driver.soon(lambda: self._take_locks(call)) and call.claim is not None:
            self._locks.leave(call.claim)  # its loop is closed

    def _take_locks(self, call: Call) -> None:
        if call.stage is LOCKING:
            self._board.granted(call)

    def _overdue(self, call: Call) -> None:
        call.timer = None
        call.late = True
        if call.stage is LOCKING:
            self._locked_out(call)
            self._driver.perform()

    def _locked_out(self, call: Call) -> None:
        holders = self._board.in_the_way() if call.claim is None else self._locks.holders(call.claim)
        self._board.expired(call, outcomes.locked_out(self._patience_of(call), holders))

    def defer(self, call: Call, _: None = None) -> None:
        if call.stage is READY and call.claim is not None:
            self._locks.leave(call.claim)

    def unlock(self, call: Call, _: None = None) -> None:
        if call.timer is not None:
            call.stop_timer()
        call.late = False
        claim, call.claim = call.claim, None
        if claim is not None:
            self._locks.leave(claim)

    def withdraw(self, call: Call, _: None = None) -> None:
        """Let go of whatever a call that has not started waits for."""
        self.unlock(call)
        self._driver.give_up(call)

    # ---- run ----------------------------------------------------------------------------------------------------

    def start(self, call: Call, _: None = None) -> None:
        if call.stage is STARTING:
            if call.timer is not None:
                call.stop_timer()
            call.body = self._driver.begin(call, self._run(call))

    async def _run(self, call: Call) -> None:
        """The task of a call: from its start on record to its one result, None if it has settled before it began."""
        task, performer = call.body, self._performer
        result: Result | None = None
        error: BaseException | None = None
        try:
            result = self._begin(call) if call.early else await self._begin_durably(call)
            if call.stage is RUNNING and call.run is not None:
                call.finished = result = await performer.run(call, call.run)
                if call.result is None:  # otherwise it was given up
                    if call.reason is None and call.timer is not None:
                        call.stop_timer()
                    finished = performer.finish(call, result)
                    result = finished if isinstance(finished, Result) else await finished
                    if call.reason == "discarded":  # perhaps while a hook was at work
                        result = _discarded(call, result)
        except BaseException as raised:
            error = raised
        self._driver.tasks.discard(task)
        del call.body  # the call may outlive its task by far
        try:
            if call.task is task:  # otherwise the call has let go of it
                call.task = None
                self._ended(call, result, error)
                self._driver.perform()
        finally:
            self._driver.tell_change()
        if error is not None and going_down(error):
            raise error

    def _begin(self, call: Call) -> Result | None:
        """Puts its start on record. A Result if that cannot be."""
        if call.stage is STARTING:
            try:
                self._record.write(self._start_of(call))
            except Exception as error:
                return outcomes.unrecorded(error)
            self._started(call)
        return None

    async def _begin_durably(self, call: Call) -> Result | None:
        """That a call with effects starts is durable before it does."""
        if call.stage is not STARTING:
            return None
        self._driver.changes += 1
        try:
            waiting = self._record.write_first(self._start_of(call))
            if waiting is not None:
                await waiting
        except Exception as error:
            return outcomes.unrecorded(error)
        if call.stage is STARTING:
            self._started(call)
        return None

    def _start_of(self, call: Call) -> CallStarted:
        return _make_started(self._clock.now(), call.id, call.attempt, call.index, len(self._board.slots))

    def _started(self, call: Call) -> None:
        call.started = started = self._clock.monotonic()
        self._board.started(call)
        run = self._performer.make_run(call)
        timeout = call.case.traits.timeout
        if timeout is not None:
            self._limit(call, timeout)
            run.deadline = started + timeout

    def _limit(self, call: Call, timeout: float) -> None:
        def over() -> None:
            self._board.cancelled(call, "timed_out", f"Timed out after {timeout:g} s.")
            self._driver.perform()

        call.timer = self._clock.call_later(timeout, over)

    def _ended(self, call: Call, result: Result | None, error: BaseException | None) -> None:
        if call.stage is STRAY:
            self._board.ended(call)
            try:
                self._record.write(StrayEnded(self._clock.now(), call.id))
            except (StateError, JournalError):  # the session was closed meanwhile
                return
        elif error is not None or result is not None:
            self._board.settled(call, result or broken_off(call))

    # ---- cancel -------------------------------------------------------------------------------------------------

    def cancel(self, call: Call, _: None = None) -> None:
        """Tell it to stop. If it does not within the grace period, it settles without."""
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
        self._record.write(StrayFound(self._clock.now(), call.id, call.name))
        late = outcomes.unstoppable(call.reason, call.because, call.case.traits.effects)
        self._board.overdue(call, late if call.finished is None else self._performer.cut(call, call.finished))
        self._driver.forget(call.task)
        self._driver.perform()

    # ---- settle -------------------------------------------------------------------------------------------------

    def settle(self, call: Call, result: Result) -> None:
        """Put the one result on record."""
        if call.timer is not None:
            call.stop_timer()
        if call.run is not None:
            call.run.open = False
            call.run = None
        if result.is_error:
            result = cut_to(result, self._settings.max_error_chars)
        call.update = result.context_update
        if call.update is not None:  # on record as data; a function once it is evaluated
            data = None if callable(call.update) else plain_json(call.update)
            result = replace(result, context_update=data)
        taken = None if call.started is None else (self._clock.monotonic() - call.started) * 1000
        known = len(self._board.slots)
        self._record.write(
            _make_settled(
                at=self._clock.now(),
                call_id=call.id,
                result=result,
                duration_ms=taken,
                held=call.held,
                index=call.index,
                of=known,
            )
        )

    def release(self, call: Call, _: None = None) -> None:
        """Let the result leave, with its context update."""
        if call.update is not None:
            self.update_context(call)
        if self._outlet.open:
            self._outlet.release(self._ledger.calls[call.id])
            if call.held and self._record.has_listeners:
                self._record.tell(CallReleased(self._clock.now(), call.id, call.index))

    def update_context(self, call: Call) -> None:
        update, call.update = call.update, None
        if update is None:
            return
        try:
            data = self._evaluated(update)
        except BaseException as error:
            note = f"{call.name}: its context update was not applied: {in_words(error)}"
            self._record.write(Noted(self._clock.now(), note, "error", call.id))
            if isinstance(error, KeyboardInterrupt):
                raise
        else:
            self._record.write(ContextUpdated(self._clock.now(), call.id, data))

    def _evaluated(self, update: ContextUpdate) -> Mapping[str, Any]:
        context = self._ledger.context
        data: Mapping[str, Any] = update(MappingProxyType(deepcopy(dict(context)))) if callable(update) else update
        try:
            return plain_copy(dict(data))
        except (NotPlain, RecursionError):
            return loads(dumps(dict(data), allow_nan=False))


def _discarded(call: Call, result: Result) -> Result:
    """The result of a call that was discarded: it has its effects, or says that it was stopped."""
    if not result.is_error or result.code == "discarded":
        return result
    known = "none" if result.effects == "none" else call.case.traits.effects
    return outcomes.stopped("discarded", call.because, known)

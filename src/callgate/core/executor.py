"""The executor runs the calls of one message and produces exactly one result for each call.

executor  the interface for turns; ``callgate.assembly.Executor`` extends it for programs without a session
engine    performs the actions of the board
board     decides the next step of each call, without I/O and event loop
"""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable, Iterable, Mapping
from os import urandom
from typing import Any, Self

from callgate.core import outcomes
from callgate.core.board import ASKED
from callgate.core.call import Call, CallSetup
from callgate.core.engine import Engine
from callgate.core.ports import Gate, Host, ToolSource
from callgate.core.record import CallRecord
from callgate.words.calls import HOOK_STOP, Result, ToolCall
from callgate.words.decisions import Confirmation, Deny, Question
from callgate.words.errors import StateError, UsageError
from callgate.words.limits import ExecutorSettings
from callgate.words.model import WHOLE
from callgate.words.traits import Traits


class CallExecutor:
    """Runs the calls of one message while the message is streaming.

    Pass each complete call to ``add``, call ``close`` at the end of the message, and await ``stalled``. The executor is
    a context manager: on exit it cancels unsettled calls, or leaves them open in the record if it is ``resumable``.

    record         the record of the session
    lineage        call ids from the root to the call that contains this executor
    confirmations  answers given in advance
    path           names of the agents from the root to this session, for questions
    skip           returns a Result if a call with this name and these traits must not run now, otherwise None
    deps           the object that tools get as ``run.deps``
    """

    def __init__(
        self,
        toolbox: ToolSource,
        gate: Gate,
        *,
        host: Host,
        record: CallRecord,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        confirmations: Iterable[Confirmation] = (),
        resumable: bool = False,
        path: tuple[str, ...] = (),
        skip: Callable[[str, Traits], Result | None] | None = None,
        deps: Any = None,
    ) -> None:
        self._record = record
        self._ledger = record.ledger
        # Call ids are unique in one session only: a random root distinguishes the calls of two sessions.
        self._lineage = lineage or (f"~{urandom(8).hex()}",)
        settings = (settings or ExecutorSettings()).checked()
        setup = CallSetup(
            toolbox=toolbox,
            gate=gate,
            host=host,
            record=record,
            settings=settings,
            lineage=self._lineage,
            confirmations=tuple(confirmations),
            path=path,
            deps=deps,
        )
        self._engine = engine = Engine(setup)
        self._board = engine.board
        self._calls: dict[str, Call] = {}
        self._skip = skip
        self._resumable = resumable
        self._closed = self._discarded = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # ---- calls in -----------------------------------------------------------------------------------------------

    def add(self, call: ToolCall, *, refused: Result | None = None, attempt: int = 1) -> None:
        """Add a complete call. A call of a resumed message or batch keeps its decision.

        refused  the result of a call that must not run
        """
        if self._discarded or self._closed:
            how = "discarded" if self._discarded else "closed"
            raise StateError(f"call {call.id} was added after the message was {how}")
        if call.id in self._calls:
            raise StateError(f"call {call.id} was added already")
        if call.result is not None:
            raise StateError(f"call {call.id} is settled and has a result, so it is not run again")
        taken = Call(call, attempt)
        refused = self._engine.decider.arrive(taken, refused)
        if refused is None and self._skip is not None and self._board.refuses(taken) is None:
            refused = self._skip(taken.name, taken.case.traits)
        self._calls[call.id] = taken
        self._board.arrived(taken, refused)
        self._engine.perform()

    def recall(self, call: ToolCall, *, updated: bool) -> None:
        """Add a settled call of a resumed message, so that results and context updates keep their order.

        updated  True if the context update of the call was applied
        """
        result = call.result
        if result is None:
            raise StateError(f"call {call.id} has no recorded result")
        self._calls[call.id] = settled = Call(call)
        settled.update = None if updated else result.context_update
        self._board.recalled(settled, result)
        if HOOK_STOP in result.details or (isinstance(call.decision, Deny) and call.decision.stop):
            self._board.stop("The turn was stopped.")
        self._engine.perform()

    def close(self, stop_reason: str = "tool_calls") -> None:
        """End the message. If its stop reason says that it is incomplete, cancel each call that has not started."""
        if not self._closed:
            self._closed = True
            self._board.over(whole=stop_reason in WHOLE)
            self._engine.perform()

    # ---- wait ---------------------------------------------------------------------------------------------------

    async def stalled(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait until every call has settled or waits for the user, or until the condition is true. The condition is
        evaluated after each change and after each call of ``wake``."""
        await self._unless_cancelled(lambda: self._board.moving == 0 or is_over())

    def wake(self) -> None:
        self._engine.notify()

    def has_task(self, task: Task[Any] | None) -> bool:
        return task in self._engine.tasks

    async def changed(self, on_resumed: Callable[[], None] = lambda: None) -> None:
        """Wait for an answer or a cancel after ``stalled``.

        on_resumed  called when the message continues or has settled, before any call runs
        """
        seen = iter((False, True))
        self._engine.on_resumed = on_resumed
        try:
            await self._unless_cancelled(lambda: next(seen))
        finally:
            self._engine.on_resumed = None

    async def unwound(self) -> None:
        """Wait until the cancelled calls have ended, at most for the grace period. Called after ``stalled``."""
        while self._engine.tasks.difference(call.task for call in self._board.at(ASKED)):
            await self._engine.change()

    async def _unless_cancelled(self, done: Callable[[], bool]) -> None:
        try:
            while not done():
                await self._engine.change()
        except BaseException:
            await self.aclose()
            raise

    # ---- state --------------------------------------------------------------------------------------------------

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def interruptible(self) -> bool:
        """True if calls are running and a message of the user would cancel all running calls."""
        return self._board.interruptible

    @property
    def settled(self) -> bool:
        return self._board.is_settled

    @property
    def stopped(self) -> bool:
        """True if the user or a hook ended the turn."""
        return self._board.stopped

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions, in the order of their calls."""
        return tuple(call.question for call in self._board.at(ASKED) if call.question is not None)

    def calls(self) -> tuple[ToolCall, ...]:
        """Return all calls of the message in arrival order."""
        return tuple(self._ledger.call(call.id) for call in self._board.calls)

    def lineage_of(self, task: Task[Any] | None) -> tuple[str, ...]:
        """Return the lineage of the call that runs in the current task. In any other task, return the lineage of the
        only running call, or an empty tuple."""
        busy = [call for call in self._board.calls if call.task is not None and not call.task.done()]
        running = [call for call in busy if call.stage is not ASKED]
        of_task = [call for call in running if call.task is task] or running
        return (*self._lineage, of_task[0].id) if len(of_task) == 1 else ()

    # ---- answers ------------------------------------------------------------------------------------------------

    def answer(self, confirmation: Confirmation) -> str | None:
        """Answer an open question. Return None, or the reason why the answer is refused."""
        call = self._calls.get(confirmation.call_id)
        if call is None:
            return f"there is no call {confirmation.call_id}"
        if call.stage is not ASKED:
            return f"call {confirmation.call_id} has no open question"
        fault = self._engine.decider.answer(call, confirmation)
        self._engine.perform()
        return fault

    def reconsider(self) -> bool:
        """Answer all open questions that a remembered answer matches. Return True if any question was answered."""
        released = self._engine.decider.release_matching()
        self._engine.perform()
        return released

    def refused_answers(self) -> list[tuple[Confirmation, str]]:
        """Return the refused confirmations, which were given in advance, each with the reason."""
        return self._engine.decider.refused_answers()

    # ---- cancel -------------------------------------------------------------------------------------------------

    def interrupt(self, because: str = "Interrupted by the user.") -> None:
        """Cancel all calls of the message, and refuse calls that arrive later."""
        self._board.cancel_all("user", outcomes.sentence(because))
        self._engine.perform()

    def cancel(self, call_id: str, because: str = "Cancelled by the user.") -> None:
        """Cancel one call. Raise UsageError for an unknown id."""
        call = self._calls.get(call_id)
        if call is None:
            raise UsageError(f"there is no call {call_id!r} in this message")
        self._board.cancelled(call, "user", outcomes.sentence(because))
        self._engine.perform()

    def steer(self) -> bool:
        """Cancel the running calls for a message of the user, and return True.

        If a running call has the trait ``interrupt="block"``, cancel no call and return False.
        """
        if not self.interruptible:
            return False
        for call in self._board.active():
            self._board.cancelled(call, "user", "Interrupted by a message from the user.")
        self._engine.perform()
        return True

    async def discard(self) -> tuple[ToolCall, ...]:
        """Cancel all calls and publish no more events of the message. Return the calls that had or may have had
        effects."""
        if not self._discarded:
            self._discarded = self._engine.is_silent = True
            self._board.cancel_all("discarded", "The message was discarded.")
            self._engine.perform()
        await self.unwound()
        self._record.deliver()
        return tuple(self._ledger.call(call.id) for call in self._board.calls if call.had_effects)

    def apply_updates(self) -> None:
        """Apply the context updates of all settled calls, even if earlier calls are open. Used when a batch pauses."""
        for call in self._board.calls[self._board.front :]:
            if call.result is not None:
                self._engine.update_context(call)

    def leave(self, because: str) -> None:
        """Cancel the running calls. The other calls and their questions stay open in the record, so that they can be
        resumed."""
        self._board.halted(because)
        self._engine.perform()

    async def aclose(self) -> None:
        """Cancel all calls, and wait for running calls at most for the grace period."""
        because = "The program that made the call stopped waiting."
        if not self.settled and self._resumable:
            self.leave(because)
        elif not self.settled:
            self._board.cancel_all("user", because)
            self._engine.perform()
        await self.unwound()
        self._record.deliver()

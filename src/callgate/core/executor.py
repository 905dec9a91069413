"""Runs the calls of one message: performs what the board says and feeds back what happened.

    board     which call may do what next; no I/O, no event loop
    driver    performs the board's actions in order, and waits
    approval  reads, judges, asks and takes answers
    runs      locks, starts, cancels, settles and releases
    perform   foreign code; the only place where an exception becomes a Result

Here is the door to them.
"""

from __future__ import annotations

from asyncio import Task
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from os import urandom
from typing import Any

from callgate.core import outcomes
from callgate.core.approval import Approval
from callgate.core.board import ASKED, Do
from callgate.core.call import Call
from callgate.core.call_ledger import CallLedger
from callgate.core.driver import Driver
from callgate.core.perform import Performer
from callgate.core.ports import Gate, Host, ToolSource
from callgate.core.record import CallRecord, DiscardedLog
from callgate.core.runs import Runs
from callgate.words.calls import HOOK_STOP, Result, ToolCall
from callgate.words.decisions import Confirmation, Deny, Question
from callgate.words.errors import StateError, UsageError
from callgate.words.events import CallProgressed
from callgate.words.limits import ExecutorSettings
from callgate.words.model import WHOLE
from callgate.words.traits import Traits

Released = ToolCall | CallProgressed


class CallExecutor:
    """Takes the calls of one message while it streams and gives back exactly one result for each, in arrival order.

    ``add`` calls as they close, ``close`` when the message has ended, then ``remaining`` for the rest; ``completed``
    at any time for what can leave now. Use it as a context manager so that nothing runs on after it: calls that have
    not settled then are cancelled, or, if it is ``resumable``, left open on record. ``path`` labels the nested agents
    that lead here; ``skip`` says why a call of this name, with these traits, is not to be run now.
    """

    def __init__(
        self,
        toolbox: ToolSource,
        gate: Gate,
        context: Mapping[str, Any] | None = None,
        *,
        host: Host,
        record: CallRecord | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        confirmations: Iterable[Confirmation] = (),
        resumable: bool = False,
        path: tuple[str, ...] = (),
        skip: Callable[[str, Traits], Result | None] | None = None,
        deps: Any = None,
    ) -> None:
        if record is not None and context is not None:
            raise UsageError("the context of a record is in its ledger: pass context to Ledger, not to the executor")
        self._record = record = record or CallRecord(DiscardedLog(), CallLedger(context=context))
        self._ledger = record.ledger
        settings = (settings or ExecutorSettings()).checked()
        # Call ids are unique in one session only: a root of its own keeps strangers from looking like kin.
        lineage = lineage or (f"~{urandom(8).hex()}",)
        self._driver = driver = Driver(gate, host, record, settings, lineage, deps)
        self._board = driver.board
        self._outlet = driver.outlet
        performer = Performer(driver, toolbox)
        self._approval = approval = Approval(driver, performer, confirmations, path)
        self._runs = runs = Runs(driver, approval, performer)
        driver.handlers = {
            Do.JUDGE: approval.judge,
            Do.ASK: approval.ask,
            Do.LOCK: runs.lock,
            Do.WAIT: runs.limit_waiting,
            Do.DEFER: runs.defer,
            Do.START: runs.start,
            Do.CANCEL: runs.cancel,
            Do.WITHDRAW: runs.withdraw,
            Do.UNLOCK: runs.unlock,
            Do.SETTLE: runs.settle,
            Do.RELEASE: runs.release,
        }
        self._skip = skip
        self._resumable = resumable
        self._closed = self._discarded = False

    async def __aenter__(self) -> CallExecutor:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def lineage_of(self, task: Task[Any] | None) -> tuple[str, ...]:
        """The lineage of the call that runs in this task, or of the only one that runs; empty if there is none."""
        running = [call for call in self._driver.calls.values() if call.task is not None and not call.task.done()]
        of_task = [call for call in running if call.task is task] or running
        return (*self._driver.lineage, of_task[0].id) if len(of_task) == 1 else ()

    # ---- the door: calls in, results out ------------------------------------------------------------------------

    def add(self, call: ToolCall, *, refused: Result | None = None, attempt: int = 1) -> None:
        """Take a complete call. ``refused`` settles it at once with that result. A call that was decided on before
        (a resumed message, a second run of a batch) goes on from there."""
        if self._discarded or self._closed:
            how = "discarded" if self._discarded else "closed"
            raise StateError(f"call {call.id} was added after the message was {how}")
        if call.id in self._driver.calls or call.result is not None:
            raise StateError(f"call {call.id} was added before, or has settled")
        taken = Call(call, attempt)
        refused = self._approval.arrive(taken, refused)
        if refused is None and self._skip is not None and self._board.fallen is None:
            refused = self._skip(taken.name, taken.case.traits)
        self._driver.calls[call.id] = taken
        self._board.arrived(taken, refused)
        self._driver.perform()

    def recall(self, call: ToolCall, *, updated: bool) -> None:
        """A resumed message: this call had settled. It keeps its place, so that results and context updates leave in
        order; ``updated`` says whether its own update was applied."""
        result = call.result
        if result is None:
            raise StateError(f"call {call.id} has no result to recall")
        self._driver.calls[call.id] = settled = Call(call)
        settled.update = None if updated else result.context_update
        self._board.recalled(settled, result)
        if HOOK_STOP in result.details or (isinstance(call.decision, Deny) and call.decision.stop):
            self._board.stop("The turn was stopped.")
        self._driver.perform()

    def close(self, stop_reason: str = "tool_calls") -> None:
        """The message has ended. Unless it is whole, what has not started will not start."""
        if not self._closed:
            self._closed = True
            self._board.over(whole=stop_reason in WHOLE)
            self._driver.perform()

    def completed(self) -> list[Released]:
        """Progress and results that can leave now, without waiting."""
        return [*iter(self._outlet.pop, None)]

    async def remaining(self) -> AsyncIterator[Released]:
        """The rest, as it becomes ready; ends when every call's result has left."""
        if not self._closed and not self._discarded:
            raise StateError("remaining() before close(): the message may still grow")
        try:
            while True:
                item = self._outlet.pop()
                if item is not None:
                    yield item
                elif self._discarded or self.settled:
                    return
                else:
                    await self._driver.change()
        except GeneratorExit:
            raise
        except BaseException:
            await self.aclose()
            raise

    async def stalled(self) -> None:
        """Wait until nothing can move without a person's answer; at once when all has settled."""
        await self._unless_cancelled(lambda: self._board.moving == 0)

    async def changed(self, going: Callable[[], None] = lambda: None) -> None:
        """After ``stalled``: wait until an answer or a cancel changed something. ``going`` is called the moment it goes
        on without a person or is through, before any call runs."""
        seen = iter((False, True))
        self._driver.going = going
        try:
            await self._unless_cancelled(lambda: next(seen))
        finally:
            self._driver.going = None

    async def unwound(self) -> None:
        """After ``stalled``: wait, within the grace period, for what was cancelled to end."""
        while self._driver.tasks:
            await self._driver.change()

    async def _unless_cancelled(self, done: Callable[[], bool]) -> None:
        try:
            while not done():
                await self._driver.change()
        except BaseException:
            await self.aclose()
            raise

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def interruptible(self) -> bool:
        """A message of the user would interrupt: something runs, and all of it gives way."""
        return self._board.interruptible

    @property
    def settled(self) -> bool:
        return self._board.closed

    @property
    def stopped(self) -> bool:
        """A person rejected a call with "stop", or a hook stopped the turn: the turn is over."""
        return self._board.stopped

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open ones, in the order of their calls."""
        return tuple(call.question for call in self._board.at(ASKED) if call.question is not None)

    def calls(self) -> tuple[ToolCall, ...]:
        """Every call of the message as it is now, in arrival order."""
        return tuple(self._ledger.call(call.id) for call in self._board.slots)

    # ---- the door: a person, or the end -------------------------------------------------------------------------

    def answer(self, confirmation: Confirmation) -> str | None:
        """Answer an open question. None when it was taken; otherwise why not, and the question stays open."""
        call = self._driver.calls.get(confirmation.call_id)
        if call is None:
            return f"there is no call {confirmation.call_id}"
        if call.stage is not ASKED:
            return f"call {confirmation.call_id} has no open question"
        fault = self._approval.take(call, confirmation)
        self._driver.perform()
        return fault

    def reconsider(self) -> bool:
        """An answer was remembered elsewhere: release every question it matches. True if there was one."""
        released = self._approval.release()
        self._driver.perform()
        return released

    def refused_answers(self) -> list[tuple[Confirmation, str]]:
        """Confirmations given beforehand that were not taken, and why."""
        return self._approval.refused_answers()

    def interrupt(self, because: str = "Interrupted by the user.") -> None:
        """Cancel what runs, with grace; nothing else of this message starts."""
        self._board.fell("user", outcomes.sentence(because))
        self._driver.perform()

    def cancel(self, call_id: str, because: str = "Cancelled by the user.") -> None:
        """Cancel one call; the others go on."""
        call = self._driver.calls.get(call_id)
        if call is None:
            raise UsageError(f"there is no call {call_id!r} in this message")
        self._board.cancelled(call, "user", outcomes.sentence(because))
        self._driver.perform()

    def steer(self) -> bool:
        """A person typed something: make way if everything that runs gives way. True when it did."""
        if not self.interruptible:
            return False
        for call in self._board.active():
            self._board.cancelled(call, "user", "Interrupted by a message from the user.")
        self._driver.perform()
        return True

    async def discard(self) -> tuple[ToolCall, ...]:
        """Abandon the message: nothing more is emitted, nothing goes on. Gives the calls that had effects, or may
        have had, so that a retry knows."""
        if not self._discarded:
            self._discarded = True
            self._outlet.shut()
            self._board.fell("discarded", "The message was discarded.")
            self._driver.perform()
        await self.unwound()
        self._record.deliver()
        return tuple(self._ledger.call(call.id) for call in self._board.slots if call.had_effects)

    def apply_updates(self) -> None:
        """The batch pauses here: take the context updates of what has settled, although calls before it still wait.
        What runs later comes after them."""
        for call in self._board.slots[self._board.front :]:
            if call.result is not None:
                self._runs.update_context(call)

    def leave(self, because: str) -> None:
        """Cancel what runs. What has not started stays open on record, questions included, to be resumed."""
        self._board.halted(because)
        self._driver.perform()

    async def aclose(self) -> None:
        """Give every started call its bounded cancel and wait for it."""
        because = "The program stopped waiting for it."
        if not self.settled and self._resumable:
            self.leave(because)
        elif not self.settled:
            self._board.fell("user", because)
            self._driver.perform()
        await self.unwound()
        self._record.deliver()

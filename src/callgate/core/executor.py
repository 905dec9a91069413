"""Runs the calls of one message: takes them in, cancels, settles, and lets their results leave in order.

Admission decides about a call, Starter says when it begins, Performer runs its tool; here is what ties them together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from json import dumps, loads
from secrets import token_hex
from types import MappingProxyType
from typing import Any

from callgate.core import outcomes
from callgate.core.admission import Admission
from callgate.core.asking import Asking
from callgate.core.ledger import Ledger
from callgate.core.outlet import Outlet, cut_to
from callgate.core.performer import Performer
from callgate.core.ports import Gate, Host, Toolbox
from callgate.core.record import MemoryJournal, Record
from callgate.core.starter import Starter
from callgate.core.ticket import ASKED, HELD, RUNNING, SETTLED, Ticket, Tickets
from callgate.words.calls import HOOK_STOP, Result, ToolCall
from callgate.words.decisions import Confirmation, Deny, Question
from callgate.words.errors import StateError, UsageError, in_words
from callgate.words.events import (
    CallProgressed,
    CallReleased,
    CallSettled,
    ContextUpdated,
    Noted,
    StrayEnded,
    StrayFound,
)
from callgate.words.jsonable import plain_json
from callgate.words.limits import ExecutorSettings
from callgate.words.model import WHOLE
from callgate.words.traits import Traits

Released = ToolCall | CallProgressed


class Executor:
    """Takes the calls of one message while it streams and gives back exactly one result for each, in arrival order.

    ``add`` calls as they close, ``close`` when the message has ended, then ``remaining`` for the rest; ``completed``
    at any time for what can leave now. Use it as a context manager so that nothing runs on after it: calls that have
    not settled then are cancelled, or, if it is ``resumable``, left open on record.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        gate: Gate,
        context: Mapping[str, Any] | None = None,
        *,
        host: Host,
        record: Record | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        confirmations: Iterable[Confirmation] = (),
        resumable: bool = False,
        path: tuple[str, ...] = (),
        skip: Callable[[str, Traits], Result | None] | None = None,
    ) -> None:
        if record is not None and context is not None:
            raise UsageError("the context of a record is in its ledger: pass context to Ledger, not to the executor")
        self._clock = host.clock
        self._record = record or Record(MemoryJournal(), Ledger(context=context))
        self._ledger = self._record.ledger
        self._settings = (settings or ExecutorSettings()).checked()
        # Call ids are unique in one session only: a root of its own keeps strangers from looking like kin.
        lineage = lineage or (f"~{token_hex(8)}",)
        self._tickets = Tickets()
        self._outlet = Outlet()
        self._performer = Performer(
            gate, host, self._record, self._tickets, self._outlet, self._settings, lineage, cancel=self._cancel
        )
        self._starter = Starter(
            host,
            self._tickets,
            self._settings,
            lineage,
            ask=self._ask,
            begin=self._begin,
            withdraw=self._withdraw,
        )
        self._admission = Admission(
            toolbox, gate, host, self._record, self._tickets, settle=self._settle, stir=self._starter.stir
        )
        self._asking = Asking(
            gate,
            host,
            self._record,
            self._tickets,
            confirmations,
            patience=self._settings.patience,
            path=path,
            decide=self._admission.decided,
            rejudge=self._admission.rejudge,
            settle=self._settle,
            make_run=self._performer.make_run,
        )
        self._front = 0  # every ticket before it has settled and left
        self._closed = self._discarded = False
        self._resumable = resumable
        self._skip = skip  # why a call of this name, with these traits, is not to be run now
        self._fallen: tuple[str, str] | None = None  # why later arrivals do not start either
        self.stopped = False  # a person rejected a call with "stop": the turn is over

    async def __aenter__(self) -> Executor:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # ---- the door ----------------------------------------------------------------------------------------------

    def add(self, call: ToolCall, *, refused: Result | None = None, attempt: int = 1) -> None:
        """Take a complete call. ``refused`` settles it at once with that result. A call that was decided on before
        (a resumed message, a second run of a batch) goes on from there."""
        if self._discarded or self._closed:
            how = "discarded" if self._discarded else "closed"
            raise StateError(f"call {call.id} was added after the message was {how}")
        if call.id in self._tickets.by_id or call.result is not None:
            raise StateError(f"call {call.id} was added before, or has settled")
        ticket = Ticket(call, len(self._tickets.ordered))
        ticket.attempt = attempt
        self._tickets.add(ticket)
        if refused is None:
            refused = self._admission.resolve(ticket)
        else:
            self._admission.arrive(ticket, call.arguments, call.raw_arguments)
        if refused is None and self._fallen is not None:
            refused = outcomes.not_started(*self._fallen)
        if refused is None and self._skip is not None:
            refused = self._skip(ticket.name, ticket.traits)
        if refused is None:
            self._admission.decide(ticket)
        else:
            self._settle(ticket, refused)

    def recall(self, call: ToolCall, *, updated: bool) -> None:
        """A resumed message: this call had settled. It keeps its place, so that results and context updates leave in
        order; ``updated`` says whether its own update was applied."""
        result = call.result
        if result is None:
            raise StateError(f"call {call.id} has no result to recall")
        stopped = HOOK_STOP in result.details or (isinstance(call.decision, Deny) and call.decision.stop)
        ticket = Ticket(call, len(self._tickets.ordered))
        self._tickets.add(ticket)
        self._tickets.to(ticket, SETTLED)
        ticket.result = result
        ticket.update = None if updated else result.context_update
        self._release()
        if stopped:
            self._stop("The turn was stopped.")

    def close(self, stop_reason: str = "tool_calls") -> None:
        """The message has ended. Unless it is whole, what has not started will not start."""
        if self._closed:
            return
        self._closed = True
        if stop_reason in WHOLE:
            self._starter.whole = True
            for ticket in self._tickets.at(HELD):
                self._starter.stir(ticket)
        else:
            for ticket in reversed(self._tickets.ordered):
                if ticket.stage not in (RUNNING, SETTLED):
                    self._withdraw(ticket, outcomes.truncated(closed=True))
        self._tickets.changed.set()

    def completed(self) -> list[Released]:
        """What can leave now, without waiting."""
        return self._outlet.take()

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
                    self._tickets.changed.clear()
                    await self._tickets.changed.wait()
        except GeneratorExit:
            raise
        except BaseException:
            await self.aclose()
            raise

    async def stalled(self) -> None:
        """Wait until nothing can move without a person's answer; at once when all has settled."""
        try:
            while self._tickets.moving:
                self._tickets.quiet.clear()
                await self._tickets.quiet.wait()
        except BaseException:
            await self.aclose()
            raise

    async def unwound(self) -> None:
        """After ``stalled``: wait, within the grace period, for what was cancelled to end."""
        await self._tasks_done()

    async def changed(self) -> None:
        """After ``stalled``: wait until an answer or a cancel changed something."""
        try:
            self._tickets.changed.clear()
            await self._tickets.changed.wait()
        except BaseException:
            await self.aclose()
            raise

    def answer(self, confirmation: Confirmation) -> str | None:
        """Answer an open question. None when it was taken; otherwise why not, and the question stays open."""
        ticket = self._tickets.by_id.get(confirmation.call_id)
        if ticket is None:
            return f"there is no call {confirmation.call_id}"
        if ticket.stage is not ASKED:
            return f"call {confirmation.call_id} has no open question"
        return self._asking.take(ticket, confirmation)

    def reconsider(self) -> bool:
        """An answer was remembered elsewhere: release every question it matches. Whether there was one."""
        return self._asking.release()

    def interrupt(self, because: str = "Interrupted by the user.") -> None:
        """Cancel what runs, with grace; nothing else of this message starts."""
        self._fall("user", outcomes.sentence(because))

    def cancel(self, call_id: str, because: str = "Cancelled by the user.") -> None:
        """Cancel one call; the others go on."""
        ticket = self._tickets.by_id.get(call_id)
        if ticket is None:
            raise UsageError(f"there is no call {call_id!r} in this message")
        self._cancel(ticket, "user", outcomes.sentence(because))

    def steer(self) -> bool:
        """A person typed something: make way if everything that runs gives way. True when it did."""
        if not self.interruptible:
            return False
        for ticket in self._tickets.at(RUNNING):
            self._cancel(ticket, "user", "Interrupted by a message from the user.")
        return True

    async def discard(self) -> tuple[ToolCall, ...]:
        """Abandon the message: nothing more is emitted, nothing goes on. Gives the calls that had effects, or may
        have had, so that a retry knows."""
        if not self._discarded:
            self._discarded = True
            self._outlet.shut()
            self._fall("discarded", "The message was discarded.")
        await self._tasks_done()
        self._record.deliver()
        return tuple(self._ledger.call(ticket.id) for ticket in self._tickets.ordered if ticket.had_effects)

    def apply_updates(self) -> None:
        """The batch pauses here: take the context updates of what has settled, although calls before it still wait.
        What runs later comes after them."""
        for ticket in self._tickets.ordered[self._front :]:
            if ticket.result is not None and ticket.update is not None:
                self._update_context(ticket)

    def leave(self, because: str) -> None:
        """Cancel what runs. What has not started stays open on record, questions included, for whoever resumes."""
        self._starter.halted = True
        for ticket in reversed(self._tickets.ordered):
            if ticket.stage is RUNNING:
                self._cancel(ticket, "user", because)
            elif ticket.stage is not SETTLED:
                if ticket.task is not None and not ticket.task.done():
                    self._give_up(ticket.task)
                ticket.stop_timer()
                self._starter.ungrant(ticket)
                self._tickets.to(ticket, HELD)
        self._tickets.changed.set()

    async def aclose(self) -> None:
        """Give every started call its bounded cancel and wait for it."""
        if not self.settled:
            end = self.leave if self._resumable else partial(self._fall, "user")
            end("The program stopped waiting for it.")
        await self._tasks_done()
        self._record.deliver()

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def interruptible(self) -> bool:
        running = self._tickets.at(RUNNING)
        return bool(running) and all(ticket.traits.interrupt == "cancel" for ticket in running)

    @property
    def moves(self) -> bool:
        """Whether it goes on without a person, or is through."""
        return bool(self._tickets.moving) or self.settled

    @property
    def settled(self) -> bool:
        return self._front == len(self._tickets.ordered)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open ones, in the order of their calls."""
        asked = self._tickets.at(ASKED)
        return tuple(ticket.question for ticket in asked if ticket.question is not None)

    def refused_answers(self) -> list[tuple[Confirmation, str]]:
        """Confirmations given beforehand that were not taken, and why."""
        return self._asking.refused_answers()

    def calls(self) -> tuple[ToolCall, ...]:
        """Every call of the message as it is now, in arrival order."""
        return tuple(self._ledger.call(ticket.id) for ticket in self._tickets.ordered)

    # ---- run ----------------------------------------------------------------------------------------------------

    def _ask(self, ticket: Ticket) -> None:
        self._asking.ask(ticket)

    def _begin(self, ticket: Ticket) -> None:
        ticket.task = task = self._performer.loop.create_task(self._drive(ticket))
        self._tickets.tasks.add(task)

    async def _drive(self, ticket: Ticket) -> None:
        try:
            result = await self._performer.perform(ticket)
            if ticket.stage is not SETTLED and ticket.started is not None:
                ticket.finished = result
                finished = self._performer.finish(ticket, result)
                result = finished if isinstance(finished, Result) else await finished
                if ticket.reason == "discarded" and result.is_error and result.code != "discarded":
                    known = "none" if result.effects == "none" else ticket.traits.effects  # while a hook was at work
                    result = outcomes.stopped(ticket.reason, ticket.because, known)
            self._starter.let_go(ticket)
            self._settle(ticket, result)
        except BaseException:  # the program is going down: the call still gets its one result
            self._starter.let_go(ticket)
            reason = ticket.reason or "user"
            self._settle(
                ticket, ticket.finished or outcomes.stopped(reason, "The program stopped.", ticket.traits.effects)
            )
            raise
        finally:
            task, ticket.task = ticket.task, None
            assert task is not None
            self._tickets.forget(task)
            if ticket.stray:
                self._record.write(StrayEnded(self._clock.now(), ticket.id))
                self._starter.fill()

    # ---- settle -------------------------------------------------------------------------------------------------

    def _settle(self, ticket: Ticket, result: Result) -> None:
        """The one result. Whoever comes second changes nothing."""
        if ticket.stage is SETTLED:
            return
        self._tickets.to(ticket, SETTLED)
        ticket.stop_timer()
        if ticket.run is not None:
            ticket.run.mute()
            ticket.run = None
        if result.is_error:
            result = cut_to(result, self._settings.max_error_chars)
        ticket.update = result.context_update
        if ticket.update is not None:  # on record as data; a function once it is evaluated
            data = None if callable(ticket.update) else plain_json(ticket.update)
            result = replace(result, context_update=data)
        ticket.result = result
        taken = None if ticket.started is None else (self._clock.monotonic() - ticket.started) * 1000
        ticket.held = ticket.index > self._front
        self._record.write(CallSettled(self._clock.now(), ticket.id, result, taken, ticket.held))
        if result.is_error:
            self._take_along(ticket, result)
        if HOOK_STOP in result.details:
            self._stop("A hook stopped the turn.")
        if ticket.claim is not None:
            self._admission.lanes.leave(ticket.claim)
            ticket.claim = None
        self._release()
        self._starter.fill()  # there may be a free slot now
        self._tickets.changed.set()

    def _take_along(self, ticket: Ticket, result: Result) -> None:
        """A failure that cascades takes the siblings along, a rejection with "stop" the rest of the turn."""
        cascades = result.code in ("tool_error", "timed_out") and ticket.claim is not None and ticket.traits.cascade
        if cascades and self._fallen is None:
            self._fall("sibling", f"Cancelled: parallel tool call {ticket.label} errored.")
        decision = ticket.decision
        if isinstance(decision, Deny) and decision.stop:
            self._stop("The user stopped the turn." if decision.code == "denied" else "A hook stopped the turn.")

    def _stop(self, because: str) -> None:
        if not self.stopped:
            self.stopped = True
            self._fall("user", because)

    def _release(self) -> None:
        """Let results leave in arrival order, each with its context update."""
        ordered = self._tickets.ordered
        while self._front < len(ordered) and ordered[self._front].result is not None:
            ticket = ordered[self._front]
            self._front += 1
            if ticket.update is not None:
                self._update_context(ticket)
            if self._outlet.open:
                self._outlet.release(self._ledger.calls[ticket.id])
                if ticket.held and self._record.heard:
                    self._record.tell(CallReleased(self._clock.now(), ticket.id, ticket.index))

    def _update_context(self, ticket: Ticket) -> None:
        update, ticket.update = ticket.update, None
        try:
            data = (
                dict(update(MappingProxyType(deepcopy(dict(self.context))))) if callable(update) else dict(update or {})
            )
            data = loads(dumps(data, allow_nan=False))
        except BaseException as error:
            note = f"{ticket.name}: its context update was not applied: {in_words(error)}"
            self._record.write(Noted(self._clock.now(), note, "error", ticket.id))
            if isinstance(error, KeyboardInterrupt):
                raise
        else:
            self._record.write(ContextUpdated(self._clock.now(), ticket.id, data))

    # ---- cancel -------------------------------------------------------------------------------------------------

    def _fall(self, reason: str, because: str) -> None:
        """Cancel everything of the message, and what still arrives."""
        if self._fallen is None or outcomes.RANK[reason] > outcomes.RANK[self._fallen[0]]:
            self._fallen = (reason, because)
        for ticket in reversed(self._tickets.ordered):
            self._cancel(ticket, reason, because)

    def _cancel(self, ticket: Ticket, reason: str, because: str) -> None:
        if ticket.stage is SETTLED:
            return
        first = ticket.reason is None
        if ticket.reason is None or outcomes.RANK[reason] > outcomes.RANK[ticket.reason]:
            ticket.reason, ticket.because = reason, because
        if ticket.stage is not RUNNING:
            self._withdraw(ticket, outcomes.not_started(reason, because))
        elif first and ticket.started is not None:
            ticket.stop_timer()
            ticket.timer = self._clock.call_later(self._settings.grace, lambda: self._abandon(ticket))
            if ticket.run is not None:
                ticket.run.cancelled = True
            if ticket.finished is None and ticket.task is not None:
                ticket.task.cancel()

    def _withdraw(self, ticket: Ticket, result: Result) -> None:
        """Settle a call that has not started, letting go of whatever it waited for."""
        if ticket.task is not None and not ticket.task.done():
            self._give_up(ticket.task)
        self._starter.ungrant(ticket)
        self._settle(ticket, result)

    def _give_up(self, task: asyncio.Future[Any]) -> None:
        """Cancel a check or a preview; one that does not listen is not waited for beyond the grace period."""
        # Not at once: a task that was never begun would leave the coroutines inside it unawaited.
        self._performer.loop.call_soon(task.cancel)
        timer = self._clock.call_later(self._settings.grace, lambda: self._tickets.forget(task))
        task.add_done_callback(lambda _: timer.cancel())

    def _abandon(self, ticket: Ticket) -> None:
        """The grace period is over: settle without waiting. It keeps its locks until it truly ends."""
        if ticket.stage is SETTLED:
            return
        assert ticket.reason is not None
        assert ticket.task is not None
        ticket.stray = True
        self._starter.running -= 1
        self._record.write(StrayFound(self._clock.now(), ticket.id, ticket.name))
        late = outcomes.unstoppable(ticket.reason, ticket.because, ticket.traits.effects)
        self._settle(ticket, late if ticket.finished is None else self._performer.cut(ticket, ticket.finished))
        self._tickets.tasks.discard(ticket.task)
        self._tickets.changed.set()

    async def _tasks_done(self) -> None:
        while self._tickets.tasks:
            self._tickets.changed.clear()
            await self._tickets.changed.wait()

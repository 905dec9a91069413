"""A call's way to being decided: name to tool, text to arguments, checks.

Each step ends in a value. What ends a call here is handed to ``settle``; what may go on waits in stage HELD with its
decision, and the executor picks it up from there.
"""

# Tools and checks come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from callgate.core import outcomes
from callgate.core.gate import refused, unasked
from callgate.core.lanes import Claim, Lanes, place
from callgate.core.ports import Case, Gate, Host, Toolbox, Unknown, Verdict
from callgate.core.record import Record
from callgate.core.ticket import DECIDING, HELD, Ticket, Tickets
from callgate.words.arguments import Rejected, Repair
from callgate.words.calls import Result, Status
from callgate.words.decisions import (
    Allow,
    Ask,
    Decision,
    Deny,
    arguments_hash,
)
from callgate.words.events import CallArrived, CallDecided
from callgate.words.modes import MODES
from callgate.words.traits import Traits

_DECISIONS = (Allow, Ask, Deny)
_UNDECIDED = Deny("gate", "no check decided about this call")


class Admission:
    def __init__(
        self,
        toolbox: Toolbox,
        gate: Gate,
        host: Host,
        record: Record,
        tickets: Tickets,
        *,
        settle: Callable[[Ticket, Result], None],
        stir: Callable[[Ticket], None],
    ) -> None:
        self._toolbox = toolbox
        self._gate = gate
        self._clock = host.clock
        self._normal, self._place = host.normal, host.place
        self._record = record
        self._ledger = record.ledger
        self._tickets = tickets
        self._settle = settle
        self._stir = stir
        self.lanes = Lanes()

    # ---- resolve the name, repair and validate ------------------------------------------------------------------

    def resolve(self, ticket: Ticket) -> Result | None:
        """A Result when the call ends right here."""
        call = ticket.call
        written = call.raw_arguments
        raw = call.arguments if call.arguments or call.edited is not None or written is None else written
        try:
            found = self._toolbox.resolve(call.name, raw)
            if isinstance(found, Unknown):
                self.arrive(ticket, call.arguments, written)
                return outcomes.unknown_tool(call.name, found.close)
            ticket.tool = tool = found.tool
            ticket.name = tool.spec.name
            read = tool.read(found.raw)
            if isinstance(read, Rejected):
                self.arrive(ticket, call.arguments, written)
                return outcomes.invalid_arguments(ticket.name, read.errors)
            self._take_arguments(ticket, read.arguments)
        except Exception as error:
            self.arrive(ticket, call.arguments, written)
            return outcomes.raised(error, "none")
        recent = self._ledger.hashes_before(call.id)
        repairs = read.repairs or call.repairs
        self.arrive(ticket, read.arguments, written if repairs else None, repairs, ticket.hashed)
        ticket.case = self._case(ticket, recent)
        return None

    def _take_arguments(self, ticket: Ticket, arguments: Mapping[str, Any]) -> None:
        """All that follows from the arguments; raises where a tool's traits do."""
        traits = ticket.tool.traits(arguments)
        if not isinstance(traits, Traits):
            raise TypeError(f"the traits of {ticket.name} are {type(traits).__name__}, wanted Traits")
        placed = place(traits.locks, self._normal)
        hashed = arguments_hash(ticket.name, arguments)
        ticket.arguments, ticket.traits, ticket.placed, ticket.hashed = arguments, traits, placed, hashed

    def arrive(
        self,
        ticket: Ticket,
        arguments: Mapping[str, Any],
        raw: str | None,
        repairs: tuple[Repair, ...] = (),
        hashed: str | None = None,
    ) -> None:
        call = ticket.call
        if call.id in self._ledger.calls:  # resumed: on record already
            return
        if call.edited is not None:
            arguments = call.edited.before  # the decision on record brings the change
        index = call.index if call.index >= 0 else ticket.index
        asked_as = call.name if call.name != ticket.name else None
        now = self._clock.now()
        self._record.write(
            CallArrived(now, call.id, ticket.name, arguments, index, call.message_id, raw, repairs, asked_as, hashed)
        )

    # ---- decide -------------------------------------------------------------------------------------------------

    def decide(self, ticket: Ticket) -> None:
        ticket.claim = claim = Claim(ticket, ticket.placed, self._stir)
        self.lanes.enter(claim)
        before = None if ticket.call.decision is None else self._decided_before(ticket)
        if isinstance(before, Deny):  # on record; it had only not settled yet
            self.decided(ticket, None, before)
            return
        judge = self._gate.judge if before is None else self._gate.judge_again
        self._when(ticket, self._judged_by(judge, ticket.case), before)

    def _decided_before(self, ticket: Ticket) -> Decision | None:
        """What a resumed call, or one of a batch that runs on, was decided: if it was about these arguments."""
        before, question = ticket.call.decision, ticket.call.question
        if before is None or isinstance(before, Deny):
            return before
        if self._ledger.calls[ticket.id].hashed != ticket.hashed:
            return None
        asked_about = question is None or question.arguments_hash == ticket.hashed
        return before if asked_about or before.arguments == ticket.arguments else None

    def _judged_by(
        self, judge: Callable[[Case], Verdict | Awaitable[Verdict]], case: Case
    ) -> Verdict | Awaitable[Verdict]:
        try:
            return judge(case)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return refused("gate", error)

    def _when(
        self, ticket: Ticket, verdict: Decision | Awaitable[Decision | None] | None, before: Decision | None
    ) -> None:
        """Go on with the verdict, now or when it comes; None leaves what was decided before."""
        if verdict is None or isinstance(verdict, _DECISIONS):
            self.decided(ticket, verdict, before)
            return
        task = ticket.task = asyncio.ensure_future(verdict)
        self._tickets.watch(task)
        task.add_done_callback(lambda done: self._judged(ticket, done, before))

    def _judged(self, ticket: Ticket, done: asyncio.Future[Verdict], before: Decision | None) -> None:
        error = asyncio.CancelledError("cancelled") if done.cancelled() else done.exception()
        if ticket.stage is not DECIDING:
            return
        verdict = None if error is not None else done.result()
        if verdict is not None and not isinstance(verdict, _DECISIONS):
            error = TypeError(f"a check answered {type(verdict).__name__}, wanted a decision")
        self.decided(ticket, verdict if error is None else refused("gate", error), before)

    def decided(self, ticket: Ticket, verdict: Decision | None, before: Decision | None) -> None:
        decision = verdict if isinstance(verdict, Allow) else self._weighed(ticket, verdict, before)
        if not isinstance(decision, Deny) and decision.arguments not in (None, ticket.arguments):
            self._rearrange(ticket, decision)
            return
        entry = self._ledger.calls[ticket.id]
        if isinstance(decision, Ask) and entry.status is Status.EXECUTING:  # a repeat after a crash: not without asking
            self._settle(ticket, outcomes.outcome_unknown(ticket.traits.effects))
            return
        if decision is not entry.decision:
            now = self._clock.now()
            self._record.write(CallDecided(now, ticket.id, decision, ticket.case.arguments_hash))
        ticket.decision = decision
        if isinstance(decision, Deny):
            self._settle(ticket, outcomes.denied(decision.code, decision.by, decision.reason))
            return
        self._tickets.to(ticket, HELD)
        self._stir(ticket)

    def _weighed(self, ticket: Ticket, verdict: Decision | None, before: Decision | None) -> Decision:
        """What a verdict comes to, with what was decided before."""
        if isinstance(verdict, Ask) and isinstance(before, Allow) and self._answered_before(ticket, verdict):
            verdict = None  # a person said yes to just that
        decision = verdict or before or _UNDECIDED
        if isinstance(decision, Ask):
            if isinstance(before, Allow | Ask) and decision is not before:
                decision = _with_change(decision, before)
            if MODES[self._ledger.mode].never_asks:
                decision = unasked(decision, self._ledger.mode)
        return decision

    def _answered_before(self, ticket: Ticket, ask: Ask) -> bool:
        """Whether a person was asked just that about these arguments, perhaps before the program was started."""
        question = ticket.question or ticket.call.question
        return (
            question is not None
            and question.arguments_hash == ticket.hashed
            and (question.by, question.reason) == (ask.by, ask.reason)
        )

    def rejudge(self, ticket: Ticket, before: Allow) -> None:
        """It was allowed, but something changed meanwhile: what must hold for any arguments is judged again."""
        self._when(ticket, self._judged_by(self._gate.judge_again, ticket.case), before)

    def _rearrange(self, ticket: Ticket, decision: Allow | Ask) -> None:
        """Other arguments: validate, compute the locks again, judge what must hold for any arguments."""
        assert decision.arguments is not None
        assert ticket.claim is not None
        try:
            read = ticket.tool.read(decision.arguments)
            if isinstance(read, Rejected):
                name = f"{ticket.name} (changed by {decision.by})"
                self._settle(ticket, outcomes.invalid_arguments(name, read.errors))
                return
            self._take_arguments(ticket, read.arguments)
        except Exception as error:
            self._settle(ticket, outcomes.raised(error, "none"))
            return
        ticket.preview = None
        ticket.case = self._case(ticket, ticket.case.recent)
        self.lanes.relock(ticket.claim, ticket.placed)
        changed = replace(decision, arguments=read.arguments)
        self._when(ticket, self._judged_by(self._gate.judge_again, ticket.case), changed)

    def _case(self, ticket: Ticket, recent: Sequence[str]) -> Case:
        ledger = self._ledger
        return Case(
            ticket.id,
            ticket.tool,
            ticket.traits.judged_as or ticket.name,
            ticket.arguments,
            ticket.hashed,
            ticket.traits,
            ledger.policies,
            ledger.mode,
            self._clock.now(),
            recent,
            self._normal,
            self._place,
        )


def _with_change(ask: Ask, before: Allow | Ask) -> Ask:
    """A new question about a call that was changed before: the change and what hooks said of it go along."""
    if before.arguments is not None and ask.arguments is None:
        ask = replace(ask, arguments=before.arguments, changed_by=before.changed_by or before.by)
    return replace(ask, context=before.context) if before.context and not ask.context else ask

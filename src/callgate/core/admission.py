"""A call's way to being allowed: name to tool, text to arguments, checks, and the question to a person.

Each step ends in a value. What ends a call here is handed to ``settle``; what may go on waits in stage HELD with its
decision, and the executor picks it up from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from callgate.core import outcomes
from callgate.core.gate import choices_for, covers, describe
from callgate.core.lanes import Claim, Lanes, Placed, place
from callgate.core.ports import Case, Gate, Host, Toolbox, Unknown
from callgate.core.record import Record
from callgate.core.ticket import CallRun, Stage, Ticket, Tickets
from callgate.words.arguments import Rejected, Repair
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Confirmation, Decision, Deny, Question, arguments_hash
from callgate.words.events import CallArrived, CallDecided, PolicyAdded, QuestionAnswered, QuestionAsked

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
        confirmations: Iterable[Confirmation],
        *,
        settle: Callable[[Ticket, Result], None],
        stir: Callable[[Ticket], None],
        make_run: Callable[[Ticket], CallRun],
    ) -> None:
        self._toolbox = toolbox
        self._gate = gate
        self._host = host
        self._clock = host.clock
        self._record = record
        self._ledger = record.ledger
        self._tickets = tickets
        self._confirmations = {confirmation.call_id: confirmation for confirmation in confirmations}
        self._settle = settle
        self._stir = stir
        self._make_run = make_run
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
            ticket.arguments = read.arguments
            ticket.traits = tool.traits(read.arguments)
        except Exception as error:
            self.arrive(ticket, call.arguments, written)
            return outcomes.raised(error, "none")
        repairs = read.repairs or call.repairs
        self.arrive(ticket, read.arguments, written if repairs else None, repairs)
        return None

    def arrive(
        self, ticket: Ticket, arguments: Mapping[str, Any], raw: str | None, repairs: tuple[Repair, ...] = ()
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
            CallArrived(now, call.id, ticket.name, arguments, index, call.message_id, raw, repairs, asked_as)
        )

    # ---- decide -------------------------------------------------------------------------------------------------

    def decide(self, ticket: Ticket) -> None:
        ticket.case = case = self._case(ticket)
        ticket.claim = claim = Claim(ticket, self._placed(ticket), self._stir)
        self.lanes.enter(claim)
        call = ticket.call
        before = call.decision
        seen = call.question is None or call.question.arguments_hash == case.arguments_hash
        if before is not None and not isinstance(before, Deny) and seen:
            self._when(ticket, self._gate.judge_again(case), before)
        else:
            self._when(ticket, self._gate.judge(case), None)

    def _when(
        self, ticket: Ticket, verdict: Decision | Awaitable[Decision | None] | None, before: Decision | None
    ) -> None:
        """Go on with the verdict, now or when it comes; None leaves what was decided before."""
        if verdict is None or isinstance(verdict, _DECISIONS):
            self._decided(ticket, verdict, before)
            return
        task = ticket.task = asyncio.ensure_future(verdict)
        self._tickets.watch(task)
        task.add_done_callback(lambda done: self._judged(ticket, done, before))

    def _judged(self, ticket: Ticket, done: asyncio.Future[Decision | None], before: Decision | None) -> None:
        error = asyncio.CancelledError("cancelled") if done.cancelled() else done.exception()
        if ticket.stage is not Stage.DECIDING:
            return
        if error is not None:
            why = f"{type(error).__name__}: {error}"
            self._decided(ticket, Deny("gate", f"the check failed, so the call is refused: {why}"), None)
        else:
            self._decided(ticket, done.result(), before)

    def _decided(self, ticket: Ticket, verdict: Decision | None, before: Decision | None) -> None:
        decision = verdict or before or _UNDECIDED
        if isinstance(decision, Ask) and before is not None and not isinstance(before, Deny):
            decision = replace(decision, arguments=decision.arguments or before.arguments)
        if not isinstance(decision, Deny) and decision.arguments not in (None, ticket.arguments):
            self._rearrange(ticket, decision)
            return
        if decision is not self._ledger.calls[ticket.id].decision:
            now = self._clock.now()
            self._record.write(CallDecided(now, ticket.id, decision, ticket.case.arguments_hash))
        ticket.decision = decision
        if isinstance(decision, Deny):
            self._settle(ticket, outcomes.denied(decision.code, decision.by, decision.reason))
            return
        self._tickets.to(ticket, Stage.HELD)
        self._stir(ticket)

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
            traits = ticket.tool.traits(read.arguments)
        except Exception as error:
            self._settle(ticket, outcomes.raised(error, "none"))
            return
        ticket.arguments, ticket.traits, ticket.preview = read.arguments, traits, None
        ticket.case = self._case(ticket)
        self.lanes.relock(ticket.claim, self._placed(ticket))
        changed = replace(decision, arguments=read.arguments)
        self._when(ticket, self._gate.judge_again(ticket.case), changed)

    def _case(self, ticket: Ticket) -> Case:
        ledger = self._ledger
        return Case(
            ticket.id,
            ticket.tool,
            ticket.name,
            ticket.arguments,
            arguments_hash(ticket.name, ticket.arguments),
            ticket.traits,
            ledger.policies,
            ledger.mode,
            self._clock.now(),
            ledger.recent,
            self._host.normal,
        )

    def _placed(self, ticket: Ticket) -> Placed:
        return place(ticket.traits.locks, self._host.normal)

    # ---- ask ----------------------------------------------------------------------------------------------------

    def ask(self, ticket: Ticket) -> None:
        """Nothing earlier is in the way: the question can be put, unless it has its answer already."""
        ask = ticket.decision
        assert isinstance(ask, Ask)
        policy = None if ask.standing else next((p for p in self._ledger.policies if self._allows(p, ticket)), None)
        if policy is not None:
            self._release(ticket, policy)
            return
        confirmation = self._confirmations.pop(ticket.id, None)
        if confirmation is not None and confirmation.arguments_hash == ticket.case.arguments_hash:
            ticket.question = ticket.call.question
            ticket.preview = ticket.question and ticket.question.preview
            if self.take(ticket, confirmation) is None:
                return
        if ticket.tool.previews:
            self._tickets.to(ticket, Stage.PREVIEWING)
            task = ticket.task = asyncio.get_running_loop().create_task(self._preview(ticket))
            self._tickets.watch(task)
        else:
            self._put(ticket)

    async def _preview(self, ticket: Ticket) -> None:
        try:
            ticket.preview = await ticket.tool.preview(ticket.arguments, self._make_run(ticket))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if ticket.stage is Stage.PREVIEWING:
                self._settle(ticket, outcomes.from_exception(error, "none"))
            return
        if ticket.stage is Stage.PREVIEWING:
            self._put(ticket)

    def _put(self, ticket: Ticket) -> None:
        ask, case = ticket.decision, ticket.case
        assert isinstance(ask, Ask)
        ticket.question = question = Question(
            ticket.id,
            ticket.name,
            ticket.arguments,
            case.arguments_hash,
            ask.by,
            ask.reason,
            self._clock.now(),
            () if ask.standing else choices_for(case),
            ticket.preview,
            ask.risk,
        )
        self._tickets.to(ticket, Stage.ASKED)
        waiting = self._record.write_first(QuestionAsked(question.asked_at, question))
        if waiting is not None:
            self._tickets.watch(asyncio.ensure_future(waiting))
        self._tickets.changed.set()

    # ---- answer -------------------------------------------------------------------------------------------------

    def take(self, ticket: Ticket, confirmation: Confirmation) -> str | None:
        """Act on an answer; otherwise say why not, and change nothing."""
        if confirmation.arguments_hash != ticket.case.arguments_hash:
            return f"the answer was given for other arguments than those of call {ticket.id}"
        if confirmation.outcome != "no" and confirmation.arguments is not None:
            read = ticket.tool.read(confirmation.arguments)
            if isinstance(read, Rejected):
                return "the changed arguments are not valid: " + "; ".join(read.errors)
        if confirmation.always is not None and confirmation.always.tool != ticket.name:
            return f"the policy is for {confirmation.always.tool}, the question was about {ticket.name}"
        self._tickets.to(ticket, Stage.DECIDING)
        self._tickets.changed.set()
        waiting = self._record.write_first(QuestionAnswered(self._clock.now(), confirmation))
        if waiting is None:
            self._act(ticket, confirmation)
        else:
            task = ticket.task = asyncio.ensure_future(waiting)
            self._tickets.watch(task)
            task.add_done_callback(lambda done: self._act_when(ticket, confirmation, done))
        return None

    def _act_when(self, ticket: Ticket, confirmation: Confirmation, done: asyncio.Future[None]) -> None:
        if ticket.stage is not Stage.DECIDING or done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._act(ticket, confirmation)
        else:
            self._settle(ticket, outcomes.raised(error, "none"))

    def _act(self, ticket: Ticket, confirmation: Confirmation) -> None:
        if confirmation.outcome == "no":
            reason = confirmation.note or ""
            self._decided(ticket, Deny(confirmation.by, reason, stop=confirmation.stop), None)
            return
        policy = self._policy(ticket, confirmation)
        self._decided(ticket, Allow(confirmation.by, confirmation.note or "", confirmation.arguments), None)
        if policy is not None:
            self._record.write(PolicyAdded(policy.created_at, policy))
            for other in self._tickets.at(Stage.ASKED):
                ask = other.decision
                if isinstance(ask, Ask) and not ask.standing and self._allows(policy, other):
                    self._release(other, policy)

    def _policy(self, ticket: Ticket, confirmation: Confirmation) -> ApprovalPolicy | None:
        """What "always" means: the person's pick, or the narrowest of the choices they were shown."""
        ask = ticket.decision
        if confirmation.outcome != "yes_always" or not isinstance(ask, Ask) or ask.standing:
            return None
        policy = confirmation.always or ApprovalPolicy("allow", ticket.name, choices_for(ticket.case)[0].pattern)
        return replace(
            policy,
            created_at=policy.created_at or self._clock.now(),
            origin=policy.origin or f"{confirmation.by}, call {ticket.id}",
        )

    def _allows(self, policy: ApprovalPolicy, ticket: Ticket) -> bool:
        return policy.effect == "allow" and covers(policy, replace(ticket.case, now=self._clock.now()))

    def _release(self, ticket: Ticket, policy: ApprovalPolicy) -> None:
        self._tickets.to(ticket, Stage.DECIDING)
        self._decided(ticket, Allow(describe(policy), "a remembered answer allows it"), None)

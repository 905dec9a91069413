"""A call's way to being allowed: name to tool, text to arguments, checks, and the question to a person.

Each step ends in a value. What ends a call here is handed to ``settle``; what may go on waits in stage HELD with its
decision, and the executor picks it up from there.
"""

# Tools and checks come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from callgate.core import outcomes
from callgate.core.gate import going_down, policy_fault, refused
from callgate.core.lanes import Claim, Lanes, check_covered, place
from callgate.core.ports import Case, Gate, Host, Toolbox, Unknown, Verdict
from callgate.core.record import Record
from callgate.core.ticket import ASKED, DECIDING, HELD, PREVIEWING, CallRun, Ticket, Tickets
from callgate.words.arguments import Rejected, Repair
from callgate.words.calls import Result, Status
from callgate.words.decisions import (
    Allow,
    ApprovalPolicy,
    Ask,
    Confirmation,
    Decision,
    Deny,
    Origin,
    Question,
    arguments_hash,
)
from callgate.words.errors import in_words
from callgate.words.events import CallArrived, CallDecided, PolicyAdded, QuestionAnswered, QuestionAsked
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
        confirmations: Iterable[Confirmation],
        *,
        patience: float | None,
        path: tuple[str, ...],
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
        self._confirmations = list(confirmations)
        self._patience = patience  # how long a question waits for its answer
        self._path = path
        self._settle = settle
        self._stir = stir
        self._make_run = make_run
        self.lanes = Lanes()
        self.refused: list[tuple[Confirmation, str]] = []  # answers given beforehand that could not be taken

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
        recent = tuple(self._ledger.recent)
        repairs = read.repairs or call.repairs
        self.arrive(ticket, read.arguments, written if repairs else None, repairs, ticket.hashed)
        ticket.case = self._case(ticket, recent)
        return None

    def _take_arguments(self, ticket: Ticket, arguments: Mapping[str, Any]) -> None:
        """All that follows from the arguments; raises where a tool's traits do."""
        traits = ticket.tool.traits(arguments)
        if not isinstance(traits, Traits):
            raise TypeError(f"the traits of {ticket.name} are {type(traits).__name__}, wanted Traits")
        placed = place(traits.locks, self._host.normal)
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
        judge = self._gate.judge if before is None else self._gate.judge_again
        self._when(ticket, self._judged_by(judge, ticket.case), before)

    def _decided_before(self, ticket: Ticket) -> Allow | Ask | None:
        """What a resumed call, or one of a batch that runs on, was decided: if it was about these arguments."""
        before, question = ticket.call.decision, ticket.call.question
        if before is None or isinstance(before, Deny):
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
            self._decided(ticket, verdict, before)
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
        self._decided(ticket, verdict if error is None else refused("gate", error), before)

    def _decided(self, ticket: Ticket, verdict: Decision | None, before: Decision | None) -> None:
        decision = verdict or before or _UNDECIDED
        if (
            isinstance(decision, Ask)
            and isinstance(before, Allow | Ask)
            and decision.arguments is None
            and before.arguments
        ):
            decision = replace(decision, arguments=before.arguments, changed_by=before.changed_by or before.by)
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
            ticket.name,
            ticket.arguments,
            ticket.hashed,
            ticket.traits,
            ledger.policies,
            ledger.mode,
            self._clock.now(),
            recent,
            self._host.normal,
            self._host.place,
        )

    # ---- ask ----------------------------------------------------------------------------------------------------

    def ask(self, ticket: Ticket) -> None:
        """Nothing earlier is in the way: the question can be put, unless it has its answer already."""
        for confirmation in [each for each in self._confirmations if each.call_id == ticket.id]:
            ticket.question = ticket.call.question
            ticket.preview = ticket.question and ticket.question.preview
            self._confirmations.remove(confirmation)
            refusal = self.take(ticket, confirmation)
            if refusal is None:  # the first that fits wins
                return
            self.refused.append((confirmation, refusal))
        if self._allowed_by_policy(ticket):
            return
        pending = None if ticket.requested else self._requested(ticket)
        if pending is not None:
            self._tickets.to(ticket, PREVIEWING)
            task = ticket.task = asyncio.get_running_loop().create_task(self._answered_for(ticket, pending))
            self._tickets.watch(task)
        else:
            self._prepare(ticket)

    def _requested(self, ticket: Ticket) -> Awaitable[Decision | None] | None:
        ask = ticket.decision
        assert isinstance(ask, Ask)
        ticket.requested = True  # hooks run once
        try:
            return self._gate.requested(ticket.case, ask)
        except Exception as error:
            return _value(refused("gate", error))

    async def _answered_for(self, ticket: Ticket, pending: Awaitable[Decision | None]) -> None:
        """Somebody else than a person may have the answer."""
        try:
            answer = await pending
        except BaseException as error:
            if going_down(error):
                raise
            answer = refused("gate", error)
        if ticket.stage is not PREVIEWING:
            return
        if isinstance(answer, Allow | Deny):
            self._tickets.to(ticket, DECIDING)
            self._decided(ticket, answer, None)
        else:
            self._prepare(ticket)

    def _prepare(self, ticket: Ticket) -> None:
        """Everything a person has to see."""
        if ticket.tool.previews:
            self._tickets.to(ticket, PREVIEWING)
            task = ticket.task = asyncio.get_running_loop().create_task(self._preview(ticket))
            self._tickets.watch(task)
        else:
            self._put(ticket)

    async def _preview(self, ticket: Ticket) -> None:
        try:
            preview = await ticket.tool.preview(ticket.arguments, self._make_run(ticket))
            check_covered(preview, ticket.placed, self._host.normal)
            ticket.preview = preview
        except BaseException as error:
            if ticket.stage is PREVIEWING:
                self._settle(ticket, outcomes.from_exception(error, "none"))
            if going_down(error):
                raise
            return
        if ticket.stage is PREVIEWING and not self._allowed_by_policy(ticket):
            self._put(ticket)

    def _put(self, ticket: Ticket) -> None:
        ask, case = ticket.decision, ticket.case
        assert isinstance(ask, Ask)
        now, patience = self._clock.now(), self._patience
        ticket.question = question = Question(
            ticket.id,
            ticket.name,
            ticket.arguments,
            case.arguments_hash,
            ask.by,
            ask.reason,
            now,
            () if ask.standing else self._gate.choices(case),
            ticket.preview,
            ask.risk,
            self._path,
            ask.origin,
            None if patience is None else now + patience,
        )
        self._tickets.to(ticket, PREVIEWING)
        asked = QuestionAsked(question.asked_at, question)
        waiting = self._record.write_first(asked, then=lambda: self._show(ticket))
        if waiting is not None:
            self._tickets.watch(asyncio.ensure_future(self._shown(ticket, waiting)))

    def _show(self, ticket: Ticket) -> bool:
        """The question is on record: it may be seen and answered, unless the call has settled meanwhile."""
        if ticket.stage is not PREVIEWING:
            return False
        self._tickets.to(ticket, ASKED)
        self._tickets.changed.set()
        if self._patience is not None:
            ticket.timer = self._clock.call_later(self._patience, lambda: self._overdue(ticket))
        return True

    def _overdue(self, ticket: Ticket) -> None:
        """Nobody answered: the declared default is no."""
        if ticket.stage is ASKED and ticket.question is not None:
            note = f"nobody answered within {self._patience:g} s"
            self.take(ticket, ticket.question.no(note, by="deadline"))

    async def _shown(self, ticket: Ticket, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except Exception as error:  # what is not on record is not asked
            if ticket.stage is PREVIEWING:
                self._settle(ticket, outcomes.unrecorded(error))

    # ---- answer -------------------------------------------------------------------------------------------------

    def take(self, ticket: Ticket, confirmation: Confirmation) -> str | None:
        """Act on an answer; otherwise say why not, and change nothing."""
        if confirmation.outcome not in ("yes", "yes_always", "no"):
            return f"an answer is yes, yes_always or no, not {confirmation.outcome!r}"
        if confirmation.arguments_hash != ticket.case.arguments_hash:
            return f"the answer was given for other arguments than those of call {ticket.id}"
        if confirmation.outcome != "no" and confirmation.arguments is not None:
            try:
                read = ticket.tool.read(confirmation.arguments)
            except Exception as error:
                return f"the changed arguments cannot be read: {in_words(error)}"
            if isinstance(read, Rejected):
                return "the changed arguments are not valid: " + "; ".join(read.errors)
        if confirmation.always is not None:
            if confirmation.always.tool != ticket.name:
                return f"the policy is for {confirmation.always.tool}, the question was about {ticket.name}"
            wrong = policy_fault(confirmation.always)
            if wrong is not None:
                return wrong
        ticket.stop_timer()
        self._tickets.to(ticket, DECIDING)
        self._tickets.changed.set()
        entry = self._ledger.calls[ticket.id]
        waiting = None
        if entry.answer != confirmation:  # otherwise on record: given just before a crash, or while nobody was here
            given = confirmation.arguments
            edited = None if given is None else arguments_hash(ticket.name, given)
            waiting = self._record.write_first(QuestionAnswered(self._clock.now(), confirmation, edited))
        if waiting is None:
            self._act(ticket, confirmation)
        else:
            task = ticket.task = asyncio.ensure_future(waiting)
            self._tickets.watch(task)
            task.add_done_callback(lambda done: self._act_when(ticket, confirmation, done))
        return None

    def refused_answers(self) -> list[tuple[Confirmation, str]]:
        """Those that could not be taken, and those nobody asked for."""
        unasked = [(each, self._why_unasked(each.call_id)) for each in self._confirmations]
        return [*self.refused, *unasked]

    def _why_unasked(self, call_id: str) -> str:
        ticket = self._tickets.by_id.get(call_id)
        if ticket is None:
            return f"there is no call {call_id} here"
        if ticket.stage is HELD:
            return f"call {call_id} waits behind another one and is not asked about yet"
        return f"call {call_id} was answered already, or needed no answer"

    def _act_when(self, ticket: Ticket, confirmation: Confirmation, done: asyncio.Future[None]) -> None:
        if ticket.stage is not DECIDING or done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._act(ticket, confirmation)
        else:
            self._settle(ticket, outcomes.unrecorded(error))

    def _act(self, ticket: Ticket, confirmation: Confirmation) -> None:
        if confirmation.outcome == "no":
            reason = confirmation.note or ""
            denied = Deny(confirmation.by, reason, stop=confirmation.stop, origin=_at_door(confirmation))
            self._decided(ticket, denied, None)
            return
        policy = self._policy(ticket, confirmation)
        ask = ticket.decision
        context = ask.context if isinstance(ask, Ask) else ()
        allowed = Allow(
            confirmation.by, confirmation.note or "", confirmation.arguments, _at_door(confirmation), context
        )
        self._decided(ticket, allowed, None)
        if policy is not None:
            self._record.write(PolicyAdded(policy.created_at, policy))
            self.release()

    def release(self) -> None:
        """One answer releases every question that it matches."""
        for other in self._tickets.at(ASKED):
            self._allowed_by_policy(other)

    def _policy(self, ticket: Ticket, confirmation: Confirmation) -> ApprovalPolicy | None:
        """What "always" means: the person's pick, or the narrowest of the choices they were shown."""
        ask = ticket.decision
        if confirmation.outcome != "yes_always" or not isinstance(ask, Ask) or ask.standing:
            return None
        case = ticket.case
        if confirmation.arguments is not None:  # it is about what the person wanted, not about what the model wanted
            case = replace(case, arguments_hash=arguments_hash(ticket.name, confirmation.arguments))
        policy = confirmation.always or ApprovalPolicy("allow", ticket.name, self._gate.choices(case)[0].pattern)
        return replace(
            policy,
            created_at=policy.created_at or self._clock.now(),
            origin=policy.origin or f"{confirmation.by}, call {ticket.id}",
        )

    def _allowed_by_policy(self, ticket: Ticket) -> bool:
        """A remembered answer may have come since the call was judged."""
        ask = ticket.decision
        if not isinstance(ask, Ask) or ask.standing or not self._ledger.policies:
            return False
        try:
            allow = self._gate.remembered(replace(ticket.case, policies=self._ledger.policies, now=self._clock.now()))
        except Exception:  # then a person is asked, which is what was decided
            return False
        if allow is None:
            return False
        ticket.stop_timer()
        self._tickets.to(ticket, DECIDING)
        self._decided(ticket, replace(allow, context=ask.context), None)
        return True


def _at_door(confirmation: Confirmation) -> Origin | None:
    return Origin(door=confirmation.door) if confirmation.door else None


async def _value(decision: Decision) -> Decision:
    return decision

"""A question to a person, from the moment a call may be asked about to its answer.

Hooks may answer in a person's place; the question is on record before anybody sees it; the first answer wins, and one
that makes a policy releases every other question it matches.
"""

# Tools and gates come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any

from callgate.core import outcomes
from callgate.core.gate import choices_for, going_down, policy_fault, refused
from callgate.core.ports import Case, Gate, Host
from callgate.core.record import Record
from callgate.core.ticket import ASKED, DECIDING, HELD, PREVIEWING, CallRun, Ticket, Tickets, previewed
from callgate.words.arguments import Rejected
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import (
    Allow,
    ApprovalPolicy,
    Ask,
    Choice,
    Confirmation,
    Decision,
    Deny,
    Origin,
    Pattern,
    Question,
    arguments_hash,
)
from callgate.words.errors import in_words
from callgate.words.events import PolicyAdded, QuestionAnswered, QuestionAsked
from callgate.words.traits import Traits


class Asking:
    """``decide`` goes on with a decision, ``rejudge`` with one that has to be looked at again. ``patience`` is how long
    a question waits for its answer; ``path`` labels the nested agents it comes through."""

    def __init__(
        self,
        gate: Gate,
        host: Host,
        record: Record,
        tickets: Tickets,
        confirmations: Iterable[Confirmation],
        *,
        patience: float | None,
        path: tuple[str, ...],
        decide: Callable[[Ticket, Decision | None, Decision | None], None],
        rejudge: Callable[[Ticket, Allow], None],
        settle: Callable[[Ticket, Result], None],
        make_run: Callable[[Ticket], CallRun],
    ) -> None:
        self._gate = gate
        self._host = host
        self._clock = host.clock
        self._record = record
        self._ledger = record.ledger
        self._tickets = tickets
        self._confirmations = list(confirmations)
        self._patience = patience
        self._path = path
        self._decide = decide
        self._rejudge = rejudge
        self._settle = settle
        self._make_run = make_run
        self.refused: list[tuple[Confirmation, str]] = []  # answers given beforehand that could not be taken

    def ask(self, ticket: Ticket) -> None:
        """Nothing earlier is in the way: the question can be put, unless it has its answer already."""
        given = [each for each in self._confirmations if each.call_id == ticket.id]
        if given:
            ticket.question = question = ticket.call.question
            ticket.preview = ticket.preview or (question and question.whole_preview)
            if question is not None and question.preview is not None and ticket.preview is None:
                self._start(ticket, self._see_again(ticket, question))
                return
        for confirmation in given:
            self._confirmations.remove(confirmation)
            refusal = self.take(ticket, confirmation)
            if refusal is None:  # the first that fits wins
                return
            self.refused.append((confirmation, refusal))
        if self._allowed_by_policy(ticket):
            return
        pending = None if ticket.requested else self._requested(ticket)
        if pending is not None:
            self._start(ticket, self._answered_for(ticket, pending))
        else:
            self._prepare(ticket)

    def _start(self, ticket: Ticket, work: Coroutine[Any, Any, None]) -> None:
        """Something that takes its time before a person can be asked."""
        self._tickets.to(ticket, PREVIEWING)
        task = ticket.task = asyncio.get_running_loop().create_task(work)
        self._tickets.watch(task)

    async def _see_again(self, ticket: Ticket, question: Question) -> None:
        """The answer is on record, and the preview it was about is not, or not whole: it is made again. If it comes to
        something else, that is another question."""
        shown = await self._previewed(ticket)
        if shown is None:
            return
        if shown.fingerprint == question.shown:
            ticket.preview = shown
        else:
            stale = [each for each in self._confirmations if each.call_id == ticket.id]
            self.refused += [(each, "what it would change is not what was shown any more") for each in stale]
            self._confirmations = [each for each in self._confirmations if each.call_id != ticket.id]
        self._tickets.to(ticket, HELD)
        self.ask(ticket)

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
        ask = ticket.decision
        if isinstance(answer, Allow) and isinstance(ask, Ask) and not ask.standing:
            self._tickets.to(ticket, DECIDING)
            self._allow(ticket, replace(answer, context=ask.context + answer.context))
        elif isinstance(answer, Deny):
            self._tickets.to(ticket, DECIDING)
            self._decide(ticket, answer, None)
        else:
            self._prepare(ticket)

    def _allow(self, ticket: Ticket, allow: Allow) -> None:
        """Somebody says yes. What the mode forbids that was set meanwhile stays forbidden."""
        mode = self._ledger.mode
        if mode == ticket.case.mode:
            self._decide(ticket, allow, None)
        else:
            ticket.case = replace(ticket.case, mode=mode)
            self._rejudge(ticket, allow)

    def _prepare(self, ticket: Ticket) -> None:
        """Everything a person has to see."""
        if ticket.tool.previews:
            self._start(ticket, self._preview(ticket))
        else:
            self._put(ticket)

    async def _preview(self, ticket: Ticket) -> None:
        shown = await self._previewed(ticket)
        if shown is not None:
            ticket.preview = shown
            if not self._allowed_by_policy(ticket):
                self._put(ticket)

    async def _previewed(self, ticket: Ticket) -> ChangeSet | None:
        """None when the call has ended over it."""
        try:
            shown = await previewed(ticket, self._make_run(ticket))
        except BaseException as error:
            if ticket.stage is PREVIEWING:
                self._settle(ticket, outcomes.from_exception(error, "none"))
            if going_down(error):
                raise
            return None
        return shown if ticket.stage is PREVIEWING else None

    def _put(self, ticket: Ticket) -> None:
        ask, case = ticket.decision, ticket.case
        assert isinstance(ask, Ask)
        now, patience = self._clock.now(), self._patience
        ticket.question = question = Question(
            ticket.id,
            case.name,
            ticket.arguments,
            case.arguments_hash,
            ask.by,
            ask.reason,
            now,
            () if ask.standing else self._choices(case),
            ticket.preview,
            ask.risk,
            self._path,
            ask.origin,
            None if patience is None else now + patience,
            "" if case.name == ticket.name else ticket.name,
            "" if ticket.preview is None else ticket.preview.fingerprint,
        )
        self._tickets.to(ticket, PREVIEWING)
        asked = QuestionAsked(question.asked_at, question)
        waiting = self._record.write_first(asked, then=lambda: self._show(ticket))
        if waiting is not None:
            self._tickets.watch(asyncio.ensure_future(self._shown(ticket, waiting)))

    def _choices(self, case: Case) -> tuple[Choice, ...]:
        try:
            return self._gate.choices(case)
        except Exception:  # then an "always" reaches exactly these arguments
            return choices_for(replace(case, traits=Traits()))

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
            try:
                arguments_hash(ticket.name, confirmation.arguments)
            except (TypeError, ValueError) as error:
                return f"the changed arguments are not JSON: {error}"
        if confirmation.always is not None:
            choices = () if ticket.question is None else ticket.question.choices
            if confirmation.always.tool not in (ticket.case.name, *(each.tool for each in choices if each.tool)):
                return f"the policy is for {confirmation.always.tool}, the question was about {ticket.case.name}"
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
            self._decide(ticket, denied, None)
            return
        policy = self._policy(ticket, confirmation)
        if policy is not None:  # first, so that it is not lost with the program
            self._record.write(PolicyAdded(policy.created_at, policy))
        ask = ticket.decision
        context = ask.context if isinstance(ask, Ask) else ()
        self._allow(
            ticket,
            Allow(confirmation.by, confirmation.note or "", confirmation.arguments, _at_door(confirmation), context),
        )
        if policy is not None:
            self.release()

    def release(self) -> bool:
        """One answer releases every question that it matches. Whether there was one."""
        return bool([other for other in self._tickets.at(ASKED) if self._allowed_by_policy(other)])

    def _policy(self, ticket: Ticket, confirmation: Confirmation) -> ApprovalPolicy | None:
        """What "always" means: the person's pick, or the narrowest of the choices they were shown."""
        ask = ticket.decision
        if confirmation.outcome != "yes_always" or not isinstance(ask, Ask) or ask.standing:
            return None
        case, policy = ticket.case, confirmation.always
        if confirmation.arguments is not None:  # it is about what the person wanted, not about what the model wanted
            read = ticket.tool.read(confirmation.arguments)
            given = confirmation.arguments if isinstance(read, Rejected) else read.arguments
            case = replace(case, arguments_hash=arguments_hash(ticket.name, given))
            if policy is not None and policy.pattern == Pattern("exact", ticket.case.arguments_hash):
                policy = replace(policy, pattern=Pattern("exact", case.arguments_hash))
        policy = policy or ApprovalPolicy("allow", case.name, self._choices(case)[0].pattern)
        if ticket.traits.judged_as and policy.pattern is not None and policy.pattern.kind == "exact":
            policy = replace(policy, scope="session")  # the arguments name something that only this session has
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
            ledger = self._ledger
            now = replace(ticket.case, policies=ledger.policies, mode=ledger.mode, now=self._clock.now())
            allow = self._gate.remembered(now)
        except Exception:  # then a person is asked, which is what was decided
            return False
        if allow is None:
            return False
        ticket.stop_timer()
        self._tickets.to(ticket, DECIDING)
        self._decide(ticket, replace(allow, context=ask.context), None)
        return True


def _at_door(confirmation: Confirmation) -> Origin | None:
    return Origin(door=confirmation.door) if confirmation.door else None


async def _value(decision: Decision) -> Decision:
    return decision

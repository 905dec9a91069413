"""Decisions about calls: read the arguments, ask the gate, and ask the user if the gate requires it.

An immediate Allow or Deny of the gate needs no task. Every other case runs in one task of the call,
``Decider._approve``. Guarantees: a question is recorded before it is published; only the first answer is used; an
answer with a policy also answers all other open questions that the policy matches; changed arguments are judged
again.
"""

# Checks of other packages may violate their types.
# pyright: reportUnnecessaryIsInstance=false

from asyncio import Future, current_task, get_running_loop, shield
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from callgate.core import outcomes, questions
from callgate.core.board import ASKED, HELD, JUDGING, PREPARING, Board
from callgate.core.call import Call, CallSetup
from callgate.core.gate import is_shutdown, refused, unasked
from callgate.core.perform import Performer, broken_off
from callgate.core.ports import Case
from callgate.words.calls import Result, Status
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, Ask, Confirmation, Decision, Deny, Question, arguments_hash
from callgate.words.events import CallArrived, CallDecided, Noted, PolicyAdded, QuestionAnswered, QuestionAsked
from callgate.words.modes import MODES
from callgate.words.noun import maker
from callgate.words.traits import writes

_DECISIONS = (Allow, Ask, Deny)
_make_arrived, _make_decided = maker(CallArrived), maker(CallDecided)


class _Withdrawn(BaseException):
    """An exception that ends the task of a withdrawn call."""


class Decider:
    """Decides about the calls of a message.

    begin    starts a coroutine as the task of a call
    perform  performs the queued actions of the board
    """

    def __init__(
        self,
        setup: CallSetup,
        board: Board[Call],
        performer: Performer,
        begin: Callable[[Call, Coroutine[Any, Any, None]], object],
        perform: Callable[[], None],
    ) -> None:
        self._board = board
        self._gate = setup.gate
        self._performer = performer
        self._record = setup.record
        self._ledger = setup.record.ledger
        self._clock = setup.host.clock
        self._patience = setup.settings.patience
        self._answers = list(setup.confirmations)
        self._refused: list[tuple[Confirmation, str]] = []  # answers given beforehand that were refused
        self._path = setup.path
        self._begin = begin
        self._perform = perform

    # ---- arrive, be judged --------------------------------------------------------------------------------------

    def arrive(self, call: Call, refused: Result | None) -> Result | None:
        """Read the arguments of a call and record its arrival. Return a Result if the call must not run, otherwise
        None."""
        given = call.given
        arguments, raw, repairs, hashed = given.arguments, given.raw_arguments, (), None
        if refused is None:
            read = self._performer.read(call)
            if isinstance(read, Result):
                refused = read
            else:
                arguments, repairs, hashed = read.arguments, read.repairs or given.repairs, call.case.arguments_hash
                if not repairs and call.name == given.name:
                    raw = None
        if given.id not in self._ledger.calls:  # otherwise the call is resumed and already recorded
            if given.edited is not None:
                arguments = given.edited.before  # the recorded decision contains the change
            self._record.write(
                _make_arrived(
                    at=self._clock.now(),
                    call_id=given.id,
                    name=call.name,
                    arguments=arguments,
                    index=given.index if given.index >= 0 else len(self._board.calls),
                    message_id=given.message_id,
                    raw_arguments=raw,
                    repairs=repairs,
                    asked_as=given.name if given.name != call.name else None,
                    arguments_hash=hashed,
                    kept=given.kept,
                    from_text=given.from_text,
                )
            )
        self._record_note(call)
        return refused

    def _record_note(self, call: Call) -> None:
        if call.note:
            self._record.write(Noted(self._clock.now(), call.note, "warning", call.id))
            call.note = ""

    def judge(self, call: Call) -> None:
        """Ask the gate about a new call, or about a call whose paths now resolve to other files."""
        if call.stage is not JUDGING:
            return
        before = call.decision
        if before is not None:
            self._ask_gate(call, self._gate.judge, call.case, before if isinstance(before, Allow) else None)
            return
        before = self._decided_before(call)
        if isinstance(before, Deny):  # recorded, but the call had not settled
            self._decide(call, None, before)
        elif before is not None:
            self._ask_gate(call, self._gate.judge_again, call.case, before)
        else:
            self._ask_gate(call, self._gate.judge, call.case, None)

    def _decided_before(self, call: Call) -> Decision | None:
        """Return the recorded decision about a resumed or repeated call; None if the decision was about other
        arguments."""
        before, question, case = call.given.decision, call.given.question, call.case
        if before is None or isinstance(before, Deny):
            return before
        if self._ledger.calls[call.id].hashed != case.arguments_hash:
            return None
        asked_about = question is None or question.arguments_hash == case.arguments_hash
        return before if asked_about or before.arguments == case.arguments else None

    def _ask_gate(self, call: Call, judge: Callable[[Case], Any], case: Case, before: Decision | None) -> None:
        """Ask the gate and apply its verdict, at once or in a task. If the verdict is None, the decision ``before``
        stays valid."""
        verdict: Any = None
        try:
            verdict = judge(case)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            verdict = refused("gate", error)
        if verdict is None or type(verdict) in _DECISIONS:
            self._decide(call, verdict, before)
        else:
            self._begin(call, self._task(call, self._decide_later(call, verdict, before)))

    async def _decide_later(self, call: Call, pending: Awaitable[Any], before: Decision | None) -> None:
        verdict, error = await self._outcome(call, pending)
        if error is None and verdict is not None and not isinstance(verdict, _DECISIONS):
            error = TypeError(f"a check returned {type(verdict).__name__} instead of a decision")
        self._decide(call, verdict if error is None else refused("gate", error), before)

    def _decide(self, call: Call, verdict: Decision | None, before: Decision | None) -> None:
        """Record a decision and pass it to the board. If the decision changes the arguments, ask the gate about them
        first."""
        case, entry = call.case, self._ledger.calls[call.id]
        decision = verdict
        if type(decision) is not Allow:
            decision = questions.weighed(call, verdict, before)
            if isinstance(decision, Ask) and MODES[self._ledger.mode].never_asks:
                decision = unasked(decision, self._ledger.mode)
        if not isinstance(decision, Deny):
            if decision.arguments is not None and decision.arguments != case.arguments:
                self._change_arguments(call, decision)
                return
            if isinstance(decision, Ask) and entry.status is Status.EXECUTING:  # it had started before a crash
                self._board.settled(call, outcomes.outcome_unknown(case.traits.effects))
                return
        if decision is not entry.decision:
            self._record.write(_make_decided(self._clock.now(), call.id, decision, case.arguments_hash))
        call.decision = decision
        if not isinstance(decision, Deny):
            self._board.judged(call, asks=isinstance(decision, Ask) or (case.tool.previews and _writes_unjudged(call)))
            return
        whose = "The user" if decision.code == "denied" else "A hook"
        stop = f"{whose} stopped the turn." if decision.stop else ""
        self._board.settled(call, outcomes.denied(decision.code, decision.by, decision.reason), stop=stop)

    def _change_arguments(self, call: Call, decision: Allow | Ask) -> None:
        read = self._performer.read_again(call, decision)
        if isinstance(read, Result):
            self._board.settled(call, read)
            return
        self._record_note(call)
        call.preview = None
        self._board.relocked(call, call.locks)
        self._ask_gate(call, self._gate.judge_again, call.case, replace(decision, arguments=read.arguments))

    def rebound(self, call: Call) -> bool:
        """Judge a call again if its paths now resolve to other files. Return True in this case."""
        locks = self._performer.rebind_locks(call)
        if locks == call.locks:
            return False
        call.preview = None
        self._board.rebound(call, locks)
        return True

    # ---- the task of a call that waits --------------------------------------------------------------------------

    async def _task(self, call: Call, steps: Coroutine[Any, Any, None]) -> None:
        """Run the steps for a decision as the task of the call. If a step fails, settle the call. If the call has an
        open question, the call stays open in the record instead."""
        task = current_task()
        try:
            await steps
        except _Withdrawn:
            pass
        except BaseException as error:
            if call.task is task and call.result is None and call.stage is not ASKED:
                self._board.settled(call, broken_off(call) if is_shutdown(error) else outcomes.raised(error, "none"))
            if is_shutdown(error):
                raise
        finally:
            if call.task is task:
                call.task = None
            self._perform()

    async def _outcome(self, call: Call, work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
        """Await the awaitable. Return its value and None, or None and its exception. Raise _Withdrawn if the call
        was withdrawn."""
        task, value, error = current_task(), None, None
        self._perform()
        try:
            value = await work
        except BaseException as raised:
            error = raised
        if call.task is not task:
            raise _Withdrawn
        if error is not None and is_shutdown(error):
            raise error
        return value, error

    # ---- ask the user --------------------------------------------------------------------------------------------

    def ask(self, call: Call) -> None:
        """Start the task that obtains the answer to the question about a call."""
        if call.stage is PREPARING and not self.rebound(call):
            self._begin(call, self._task(call, self._approve(call)))

    async def _approve(self, call: Call) -> None:
        """Obtain the answer to the question about a call from the first available source, and apply the answer.

        1. an answer given in advance, if the preview has not changed
        2. an answer that was remembered after the gate judged the call
        3. an answer of hooks
        4. the answer of the user, who sees the preview
        """
        if isinstance(call.decision, Ask):
            if not await self._restore_preview(call):
                return
            given = self._given_answer(call)
            if given is not None:
                await self._act(call, given, self._accept(call, given))
                return
            if self._remembered(call) or await self._answered_by_hooks(call, call.decision):
                return
        if call.case.tool.previews and (call.preview is None or not _shows_files(call)):
            unjudged = _writes_unjudged(call)
            shown = await self._preview(call)
            if shown is None:
                return
            call.preview = shown
            if unjudged:
                self._judge_preview(call, shown)
                return
            if self._remembered(call):
                return
        if not await self._put_question(call):
            return
        assert call.answer is not None
        (answer, written), _ = await self._outcome(call, call.answer)
        await self._act(call, answer, written)

    async def _restore_preview(self, call: Call) -> bool:
        """Restore the preview of a call that was answered in advance. Return False if the call has settled.

        If the preview has to be made again and differs, the answer is refused.
        """
        given = [each for each in self._answers if each.call_id == call.id]
        if not given:
            return True
        call.question = question = call.given.question
        if question is None or question.preview is None:
            return True
        call.preview = call.preview or question.whole_preview
        if call.preview is not None:
            return True
        shown = await self._preview(call)
        if shown is None:
            return False
        if shown.fingerprint == question.shown:
            call.preview = shown
        else:
            call.question = None
            self._refused += [(each, "the change differs from the change that was shown") for each in given]
            self._answers = [each for each in self._answers if each.call_id != call.id]
        return True

    def _given_answer(self, call: Call) -> Confirmation | None:
        """Return the first valid answer to the call that was given in advance, or None. Invalid answers before it
        are refused."""
        for answer in [each for each in self._answers if each.call_id == call.id]:
            self._answers.remove(answer)
            fault = questions.answer_fault(call, answer)
            if fault is None:
                return answer
            self._refused.append((answer, fault))
        return None

    def refused_answers(self) -> list[tuple[Confirmation, str]]:
        """Return the refused answers, which were given in advance, each with the reason."""
        return [*self._refused, *((each, self._why_not_asked(each.call_id)) for each in self._answers)]

    def _why_not_asked(self, call_id: str) -> str:
        call = next((call for call in self._board.calls if call.id == call_id), None)
        if call is None:
            return f"unknown call {call_id}"
        if call.stage is HELD:
            return f"call {call_id} waits for another call and has no open question yet"
        return f"call {call_id} was already answered, or needed no answer"

    async def _preview(self, call: Call) -> ChangeSet | None:
        """Make the preview of a call. If the preview fails, settle the call and return None."""
        shown, _ = await self._outcome(call, self._performer.preview(call))
        if isinstance(shown, ChangeSet):
            return shown
        self._board.settled(call, shown)
        return None

    def _judge_preview(self, call: Call, shown: ChangeSet) -> None:
        """Ask the gate about the files in the preview, for a tool that does not declare the files that it writes.
        The decision is unchanged unless a check denies or asks."""
        case = call.case
        shown_case = replace(case, traits=replace(case.traits, declared_locks=writes(*shown.paths)))
        self._board.answered(call)
        self._ask_gate(call, self._gate.judge_again, shown_case, call.decision)

    async def _answered_by_hooks(self, call: Call, ask: Ask) -> bool:
        """Ask the hooks for an answer, once for each call. Return True if a hook answered."""
        if call.requested:
            return False
        call.requested = True
        answer, error = await self._outcome(call, self._request(call.case, ask))
        if error is not None:
            answer = refused("gate", error)
        if isinstance(answer, Allow) and not ask.unconditional:
            self._board.answered(call)
            self._allow(call, replace(answer, context=ask.context + answer.context))
            return True
        if isinstance(answer, Deny):
            self._board.answered(call)
            self._decide(call, answer, None)
            return True
        return False

    async def _request(self, case: Case, ask: Ask) -> Allow | Deny | None:
        pending = self._gate.requested(case, ask)
        return None if pending is None else await pending

    async def _put_question(self, call: Call) -> bool:
        """Record the question, then publish it. If a step fails, settle the call and return False."""
        ask, case = call.decision, call.case
        assert isinstance(ask, Ask)
        choices = () if ask.unconditional else questions.choices_of(self._gate, case)
        now = self._clock.now()
        call.question = question = questions.question_about(
            call, ask, choices, now=now, patience=self._patience, path=self._path
        )
        call.answer = get_running_loop().create_future()
        waiting = self._record.write_first(QuestionAsked(now, question), then=lambda: self._asked(call, question))
        if waiting is not None:
            _, error = await self._outcome(call, waiting)
            if error is not None:
                self._board.settled(call, outcomes.unrecorded(error))
                return False
        return True

    def _asked(self, call: Call, question: Question) -> bool:
        """Accept answers to a recorded question. Return False if the call has settled."""
        if call.stage is not PREPARING or call.question is not question:
            return False
        self._board.asked(call)
        patience = self._patience
        if patience is not None:
            no = question.no(f"no answer within {patience:g} s", by="deadline")
            call.timer = self._clock.call_later(patience, lambda: self._overdue(call, no))
        return True

    def _overdue(self, call: Call, no: Confirmation) -> None:
        """Answer a question with "no" after its deadline."""
        if call.stage is ASKED:
            self.answer(call, no)
            self._perform()

    # ---- act on an answer ---------------------------------------------------------------------------------------

    def answer(self, call: Call, answer: Confirmation) -> str | None:
        """Accept an answer to an open question. Return None, or the reason why the answer is refused."""
        fault = questions.answer_fault(call, answer)
        if fault is None:
            assert call.answer is not None
            call.answer.set_result((answer, self._accept(call, answer)))
        return fault

    def _accept(self, call: Call, answer: Confirmation) -> Future[None] | None:
        """Record an answer if it is not recorded yet. Return a future that is done when the answer is durable; None
        if no wait is necessary."""
        call.stop_timer()
        self._board.answered(call)
        if self._ledger.calls[call.id].answer == answer:  # given before this program started
            return None
        given = answer.arguments
        edited = None if given is None else arguments_hash(call.name, given)
        return self._record.write(QuestionAnswered(self._clock.now(), answer, edited), first=True)

    async def _act(self, call: Call, answer: Confirmation | Allow, written: Future[None] | None) -> None:
        """Apply an answer of the user, or the Allow of a new policy, when the answer is durable."""
        if written is not None:
            _, error = await self._outcome(call, shield(written))
            if error is not None:
                self._board.settled(call, outcomes.unrecorded(error))
                return
        decision = answer if isinstance(answer, Allow) else questions.decision_of(call, answer)
        if isinstance(answer, Allow) or isinstance(decision, Deny):
            self._decide(call, decision, None)
            return
        policy = questions.policy_of(call, answer, self._gate, self._clock.now())
        if policy is not None:  # before the decision, so that a crash cannot lose it
            self._record.write(PolicyAdded(policy.created_at, policy))
        self._allow(call, decision)
        if policy is not None:
            self.release_matching()

    def _allow(self, call: Call, allow: Allow) -> None:
        """Allow a call. If the permission mode may have changed since the gate judged the call, run the checks that
        apply to all arguments again."""
        mode = self._ledger.mode
        if mode == call.case.mode and not self._path:
            self._decide(call, allow, None)
        else:
            call.case = replace(call.case, mode=mode)
            self._ask_gate(call, self._gate.judge_again, call.case, allow)

    def release_matching(self) -> bool:
        """Answer every open question that a remembered answer allows. Return True if any question was answered."""
        released = False
        for call in self._board.at(ASKED):
            allow = self._remembered_answer(call)
            if allow is not None:
                assert call.answer is not None
                call.stop_timer()
                self._board.answered(call)
                call.answer.set_result((allow, None))
                released = True
        return released

    def _remembered(self, call: Call) -> bool:
        """Apply an answer that was remembered after the gate judged the call. Return True if there was such an
        answer."""
        allow = self._remembered_answer(call)
        if allow is None:
            return False
        self._board.answered(call)
        self._decide(call, allow, None)
        return True

    def _remembered_answer(self, call: Call) -> Allow | None:
        ask, ledger = call.decision, self._ledger
        if not isinstance(ask, Ask) or ask.unconditional or not ledger.policies:
            return None
        try:
            now = replace(call.case, policies=ledger.policies, mode=ledger.mode, now=self._clock.now())
            allow = self._gate.remembered(now)
        except Exception:  # then the user is asked
            return None
        return None if allow is None else replace(allow, context=ask.context)


def _shows_files(call: Call) -> bool:
    return call.case.tool.previews and call.case.traits.locks.scope != "paths"


def _writes_unjudged(call: Call) -> bool:
    """Return True if the gate has not yet checked the files that the call writes."""
    return call.preview is None and _shows_files(call)

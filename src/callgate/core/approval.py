"""A call's way to being decided: read, judged, asked about, answered.

Each step ends in an input of the board, or in something to wait for and the step that goes on from there. The question
is on record before anybody sees it; the first answer wins, and one that makes a policy releases every other question
it matches.
"""

# Checks come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from callgate.core import outcomes, questions
from callgate.core.board import ASKED, HELD, JUDGING, PREPARING
from callgate.core.call import Call
from callgate.core.driver import Driver, Part
from callgate.core.gate import refused, unasked
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


class Approval(Part):
    """``answers`` were given beforehand; ``path`` labels the nested agents that a question comes through."""

    def __init__(
        self, driver: Driver, performer: Performer, answers: Iterable[Confirmation], path: tuple[str, ...]
    ) -> None:
        super().__init__(driver)
        self._performer = performer
        self._answers = list(answers)
        self._refused: list[tuple[Confirmation, str]] = []  # answers that could not be taken
        self._path = path

    # ---- arrive, be judged --------------------------------------------------------------------------------------

    def arrive(self, call: Call, refused: Result | None) -> Result | None:
        """Read the call and put it on record. A Result when it ends right here."""
        given = call.given
        arguments, raw, repairs, hashed = given.arguments, given.raw_arguments, (), None
        if refused is None:
            read = self._performer.read(call)
            call.bound = self._driver.changes
            if isinstance(read, Result):
                refused = read
            else:
                arguments, repairs, hashed = read.arguments, read.repairs or given.repairs, call.case.arguments_hash
                if not repairs and call.name == given.name:
                    raw = None
        if given.id not in self._ledger.calls:  # otherwise resumed: on record already
            if given.edited is not None:
                arguments = given.edited.before  # the decision on record brings the change
            self._record.write(
                _make_arrived(
                    at=self._clock.now(),
                    call_id=given.id,
                    name=call.name,
                    arguments=arguments,
                    index=given.index if given.index >= 0 else len(self._board.slots),
                    message_id=given.message_id,
                    raw_arguments=raw,
                    repairs=repairs,
                    asked_as=given.name if given.name != call.name else None,
                    arguments_hash=hashed,
                    kept=given.kept,
                )
            )
        if call.note:
            self._tell_note(call)
        return refused

    def _tell_note(self, call: Call) -> None:
        self._record.write(Noted(self._clock.now(), call.note, "warning", call.id))
        call.note = ""

    def judge(self, call: Call, _: None = None) -> None:
        if call.stage is not JUDGING:
            return
        before = call.decision
        if before is None and call.given.decision is not None:
            before = self._decided_before(call)
            if isinstance(before, Deny):  # on record; it had only not settled yet
                self._decide(call, None, before)
                return
            if before is not None:
                self._ask_gate(call, self._gate.judge_again, before)
                return
        self._ask_gate(call, self._gate.judge, before)

    def _decided_before(self, call: Call) -> Decision | None:
        """The decision about a resumed call, or one of a batch that runs on, if it was about these arguments."""
        before, question, case = call.given.decision, call.given.question, call.case
        if before is None or isinstance(before, Deny):
            return before
        if self._ledger.calls[call.id].hashed != case.arguments_hash:
            return None
        asked_about = question is None or question.arguments_hash == case.arguments_hash
        return before if asked_about or before.arguments == case.arguments else None

    def _ask_gate(
        self, call: Call, judge: Callable[[Case], Any], before: Decision | None, case: Case | None = None
    ) -> None:
        """Go on with the verdict, now or when it comes; None leaves what was decided before."""
        verdict: Any = None
        try:
            verdict = judge(case or call.case)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            verdict = refused("gate", error)
        if verdict is None or type(verdict) in _DECISIONS:
            self._decide(call, verdict, before)
        else:
            self._driver.follow(call, verdict, lambda call, value, error: self._judged(call, value, error, before))

    def _judged(self, call: Call, verdict: Any, error: BaseException | None, before: Decision | None) -> None:
        if error is None and verdict is not None and not isinstance(verdict, _DECISIONS):
            error = TypeError(f"a check answered {type(verdict).__name__}, wanted a decision")
        self._decide(call, verdict if error is None else refused("gate", error), before)

    def _decide(self, call: Call, verdict: Decision | None, before: Decision | None) -> None:
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
            if isinstance(decision, Ask) and entry.status is Status.EXECUTING:  # a repeat after a crash: not unasked
                self._board.settled(call, outcomes.outcome_unknown(case.traits.effects))
                return
        if decision is not entry.decision:
            self._record.write(_make_decided(self._clock.now(), call.id, decision, case.arguments_hash))
        call.decision = decision
        if not isinstance(decision, Deny):
            asks = isinstance(decision, Ask) or (case.tool.previews and _writes_elsewhere(call))
            self._board.judged(call, asks=asks)
            return
        whose = "The user" if decision.code == "denied" else "A hook"
        stop = f"{whose} stopped the turn." if decision.stop else ""
        self._board.settled(call, outcomes.denied(decision.code, decision.by, decision.reason), stop=stop)

    def _change_arguments(self, call: Call, decision: Allow | Ask) -> None:
        """Other arguments: validate, compute the locks again, judge what must hold for any arguments."""
        read = self._performer.read_again(call, decision)
        if isinstance(read, Result):
            self._board.settled(call, read)
            return
        if call.note:
            self._tell_note(call)
        call.preview = None
        call.bound = self._driver.changes
        self._board.relocked(call, call.locks)
        self._ask_gate(call, self._gate.judge_again, replace(decision, arguments=read.arguments))

    def rebound(self, call: Call) -> bool:
        """Calls with effects have begun since its locks were bound: if its paths lead elsewhere now, over a new link
        for one, it is judged again."""
        if call.bound == self._driver.changes:
            return False
        call.bound = self._driver.changes
        locks = self._performer.places(call)
        if locks == call.locks:
            return False
        call.preview = None
        self._board.rebound(call, locks)
        self._ask_gate(call, self._gate.judge, call.decision if isinstance(call.decision, Allow) else None)
        return True

    # ---- ask a person -------------------------------------------------------------------------------------------

    def ask(self, call: Call, _: None = None) -> None:
        """Nothing earlier is in the way: the question can be put, unless it has its answer already."""
        if call.stage is not PREPARING or self.rebound(call):
            return
        if isinstance(call.decision, Allow):
            self._driver.follow(call, self._preview(call), self._judge_preview)
            return
        question = call.given.question
        if any(each.call_id == call.id for each in self._answers):
            call.question = question
            call.preview = call.preview or (question and question.whole_preview)
            if question is not None and question.preview is not None and call.preview is None:
                self._driver.follow(call, self._preview(call), self._compare_preview)
                return
        if self._take_given(call) or self._allowed_by_policy(call):
            return
        ask = call.decision
        assert isinstance(ask, Ask)
        pending = None
        if not call.requested:
            call.requested = True  # hooks run once
            try:
                pending = self._gate.requested(call.case, ask)
            except Exception as error:
                self._answered_for(call, refused("gate", error), None)
                return
        if pending is None:
            self._show(call)
        else:
            self._driver.follow(call, pending, self._answered_for)

    def _take_given(self, call: Call) -> bool:
        """Answers given beforehand: the first that fits wins."""
        for answer in [each for each in self._answers if each.call_id == call.id]:
            self._answers.remove(answer)
            fault = self.take(call, answer)
            if fault is None:
                return True
            self._refused.append((answer, fault))
        return False

    def refused_answers(self) -> list[tuple[Confirmation, str]]:
        """Answers given beforehand that were not taken, and why."""
        return [*self._refused, *((each, self._why_not_asked(each.call_id)) for each in self._answers)]

    def _why_not_asked(self, call_id: str) -> str:
        call = self._driver.calls.get(call_id)
        if call is None:
            return f"there is no call {call_id} here"
        if call.stage is HELD:
            return f"call {call_id} waits behind another one and is not asked about yet"
        return f"call {call_id} was answered already, or needed no answer"

    def _preview(self, call: Call) -> Awaitable[ChangeSet | Result]:
        return self._performer.preview(call, self._performer.make_run(call))

    def _compare_preview(self, call: Call, shown: ChangeSet | Result | None, error: BaseException | None) -> None:
        """The answer is on record, and the preview it was about is not, or not whole: it was made again. If it is
        another change now, that is another question."""
        if not isinstance(shown, ChangeSet):
            self._board.settled(call, shown or broken_off(call))
            return
        assert call.question is not None
        if shown.fingerprint == call.question.shown:
            call.preview = shown
        else:
            call.question = None
            stale = [each for each in self._answers if each.call_id == call.id]
            self._refused += [(each, "what it would change is not what was shown any more") for each in stale]
            self._answers = [each for each in self._answers if each.call_id != call.id]
        self.ask(call)

    def _answered_for(self, call: Call, answer: Decision | None, error: BaseException | None) -> None:
        """A hook may have answered in a person's place."""
        ask = call.decision
        if error is not None:
            answer = refused("gate", error)
        if isinstance(answer, Allow) and isinstance(ask, Ask) and not ask.standing:
            self._board.answered(call)
            self._allow(call, replace(answer, context=ask.context + answer.context))
        elif isinstance(answer, Deny):
            self._board.answered(call)
            self._decide(call, answer, None)
        else:
            self._show(call)

    def _show(self, call: Call) -> None:
        """Everything a person has to see: the preview first, if there is one."""
        if call.case.tool.previews and (call.preview is None or not _names_no_files(call)):
            self._driver.follow(call, self._preview(call), self._previewed)
        else:
            self._put(call)

    def _previewed(self, call: Call, shown: ChangeSet | Result | None, error: BaseException | None) -> None:
        if not isinstance(shown, ChangeSet):
            self._board.settled(call, shown or broken_off(call))
            return
        if _writes_elsewhere(call):
            self._judge_preview(call, shown, error)
            return
        call.preview = shown
        if not self._allowed_by_policy(call):
            self._put(call)

    def _judge_preview(self, call: Call, shown: ChangeSet | Result | None, error: BaseException | None) -> None:
        """The tool does not say which files it writes, and its preview shows them: the call is judged by these, before
        it runs and before a person is asked. The decision of before stands where nothing speaks against it."""
        if not isinstance(shown, ChangeSet):
            self._board.settled(call, shown or broken_off(call))
            return
        call.preview = shown
        case = call.case
        shown_case = replace(case, traits=replace(case.traits, declared_locks=writes(*shown.paths)))
        self._board.answered(call)
        self._ask_gate(call, self._gate.judge_again, call.decision, shown_case)

    def _put(self, call: Call) -> None:
        """Ask. The question is on record before anybody sees it."""
        ask, case = call.decision, call.case
        assert isinstance(ask, Ask)
        choices = () if ask.standing else questions.choices_of(self._gate, case)
        now, patience = self._clock.now(), self._settings.patience
        call.question = question = questions.question_about(
            call, ask, choices, now=now, patience=patience, path=self._path
        )
        waiting = self._record.write_first(QuestionAsked(now, question), then=lambda: self._asked(call, question))
        if waiting is not None:
            self._driver.follow(call, waiting, self._question_written)

    def _asked(self, call: Call, question: Question) -> bool:
        """The question is on record: it may be seen and answered, unless the call has settled meanwhile."""
        if call.stage is not PREPARING or call.question is not question:
            return False
        self._board.asked(call)
        patience = self._settings.patience
        if patience is not None:
            no = question.no(f"nobody answered within {patience:g} s", by="deadline")
            call.timer = self._clock.call_later(patience, lambda: self._overdue(call, no))
        return True

    def _overdue(self, call: Call, no: Confirmation) -> None:
        """No answer came in time: the default is no."""
        if call.stage is ASKED:
            self.take(call, no)
            self._driver.perform()

    def _question_written(self, call: Call, _: None, error: BaseException | None) -> None:
        if error is not None and call.stage is PREPARING:
            self._board.settled(call, outcomes.unrecorded(error))

    # ---- take an answer -----------------------------------------------------------------------------------------

    def take(self, call: Call, answer: Confirmation) -> str | None:
        """Act on an answer; otherwise say why not, and change nothing."""
        fault = questions.answer_fault(call, answer)
        if fault is not None:
            return fault
        call.stop_timer()
        self._board.answered(call)
        waiting = None
        if self._ledger.calls[call.id].answer != answer:  # otherwise on record, given before this program started
            given = answer.arguments
            edited = None if given is None else arguments_hash(call.name, given)
            waiting = self._record.write_first(QuestionAnswered(self._clock.now(), answer, edited))
        if waiting is None:
            self._act(call, answer)
        else:
            self._driver.follow(call, waiting, lambda call, _, error: self._answer_written(call, answer, error))
        return None

    def _answer_written(self, call: Call, answer: Confirmation, error: BaseException | None) -> None:
        if error is None:
            self._act(call, answer)
        else:
            self._board.settled(call, outcomes.unrecorded(error))

    def _act(self, call: Call, answer: Confirmation) -> None:
        decision = questions.decision_of(call, answer)
        if isinstance(decision, Deny):
            self._decide(call, decision, None)
            return
        policy = questions.policy_of(call, answer, self._gate, self._clock.now())
        if policy is not None:  # first, so that it is not lost with the program
            self._record.write(PolicyAdded(policy.created_at, policy))
        self._allow(call, decision)
        if policy is not None:
            self.release()

    def _allow(self, call: Call, allow: Allow) -> None:
        """A person or a hook says yes. What a mode that was set meanwhile forbids stays forbidden."""
        mode = self._ledger.mode
        if mode == call.case.mode:
            self._decide(call, allow, None)
        else:
            call.case = replace(call.case, mode=mode)
            self._ask_gate(call, self._gate.judge_again, allow)

    def release(self) -> bool:
        """One answer releases every question that it matches. True if there was one."""
        return bool([call for call in self._board.at(ASKED) if self._allowed_by_policy(call)])

    def _allowed_by_policy(self, call: Call) -> bool:
        """A remembered answer may have come since the call was judged."""
        ask, ledger = call.decision, self._ledger
        if not isinstance(ask, Ask) or ask.standing or not ledger.policies:
            return False
        try:
            now = replace(call.case, policies=ledger.policies, mode=ledger.mode, now=self._clock.now())
            allow = self._gate.remembered(now)
        except Exception:  # then a person is asked, which is what was decided
            return False
        if allow is None:
            return False
        call.stop_timer()
        self._board.answered(call)
        self._decide(call, replace(allow, context=ask.context), None)
        return True


def _names_no_files(call: Call) -> bool:
    """Only its preview shows which files it writes."""
    return call.case.tool.previews and call.case.traits.locks.scope != "paths"


def _writes_elsewhere(call: Call) -> bool:
    """It has not been judged by the files it writes."""
    return call.preview is None and _names_no_files(call)

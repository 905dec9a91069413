"""The feature ``questions``: questions to the user that belong to no call.

A question is recorded before it is shown. Every interface shows it, another program may answer it, and the first
answer is used. A question with an id survives a restart: its answer is returned once, to the next ``ask`` with the
same id.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Journal
from callgate.core.ports import Clock, Timer
from callgate.words import decisions
from callgate.words.decisions import Confirmation
from callgate.words.errors import StateError, UsageError
from callgate.words.events import FeatureRecorded, Forked, QuestionAnswered, QuestionAsked
from callgate.words.modes import MODES, Mode

NAME = "questions"
_TAKEN = "taken"
_WITHDRAWN = "The program that asked no longer waits for an answer."


class UserQuestions(FeaturePart):
    """The questions of one session that belong to no call."""

    def __init__(self, opened: OpenSession) -> None:
        self._opened = opened
        self._record = opened.record
        self._now = opened.now
        self._number = 0
        self._waiting: dict[str, asyncio.Future[decisions.Confirmation]] = {}
        self._is_closing = False
        self.modes: Callable[[], Iterable[Mode]] = lambda: (self._record.ledger.mode,)
        """Return the modes that apply to the questions. Replaced in a nested session."""
        self.folds = {
            QuestionAsked: self._asked,
            QuestionAnswered: self._answered,
            FeatureRecorded: self._recorded,
            Forked: self._forked,
        }
        self.reset()

    # ---- state --------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self._open: dict[str, decisions.Question] = {}
        self._answers: dict[str, decisions.Confirmation] = {}

    def _asked(self, event: QuestionAsked) -> None:
        name = event.question.call_id
        if not event.question.is_about_call:
            self._open[name] = event.question
            number = name.removeprefix(decisions.ASK_PREFIX)
            self._number = max(self._number, int(number) if number.isdecimal() else 0)

    def _answered(self, event: QuestionAnswered) -> None:
        if self._open.pop(event.confirmation.call_id, None) is not None:
            self._answers[event.confirmation.call_id] = event.confirmation

    def _recorded(self, event: FeatureRecorded) -> None:
        if event.feature == NAME and event.kind == _TAKEN:
            self._answers.pop(str(event.data.get("id")), None)

    def _forked(self, event: Forked) -> None:
        """Drop the questions, because they belong to the session that was forked."""
        self.reset()

    def folded(self, ledger: Ledger) -> None:
        """Answer "no" to questions that a rewind or branch has removed."""
        for name, waiting in self._waiting.items():
            if name not in self._open and not waiting.done():
                waiting.set_result(decisions.Confirmation(name, "no", "", by="callgate"))

    async def recover(self) -> None:
        """Withdraw the questions without an id that an earlier program asked."""
        for name, question in [*self._open.items()]:
            if name not in self._waiting and _is_numbered(name):
                self._withdraw(question)

    # ---- ask and answer -----------------------------------------------------------------------------------------

    @property
    def open(self) -> tuple[decisions.Question, ...]:
        """The open questions, oldest first."""
        return tuple(self._open.values())

    async def ask(
        self, fields: Sequence[decisions.AskedField], *, by: str, text: str, name: str, id: str
    ) -> tuple[decisions.FieldAnswer, ...] | None:
        """Ask the user and return the answers; None if the answer is "no". See ``Session.ask``."""
        if self._is_closing:
            raise StateError("the session is closed")
        if id.isdecimal():
            raise UsageError(f"the id of a question must not be a number: {id!r}")
        if any(MODES[mode].never_asks for mode in self.modes()):
            return None
        key = f"{decisions.ASK_PREFIX}{id or self._number + 1}"
        if key in self._waiting:
            raise StateError(f"the question {id!r} is already open")
        given = self._answers.get(key)
        if given is None:
            given = await self._wait_for_answer(self._question(key, fields, by, text, name))
        if id:
            taken = self._record.write_first(FeatureRecorded(self._now(), NAME, _TAKEN, {"id": key}))
            if taken is not None:
                await taken  # so that no later asker gets the same answer
        self._answers.pop(key, None)
        return None if given.outcome == "no" else given.answers

    def _question(
        self, key: str, fields: Sequence[decisions.AskedField], by: str, text: str, name: str
    ) -> decisions.Question:
        now, patience, arguments = self._now(), self._opened.settings.patience, {"message": text}
        return decisions.Question(
            call_id=key,
            tool=name,
            arguments=arguments,
            arguments_hash=decisions.arguments_hash(name, arguments),
            by=by,
            reason=text,
            asked_at=now,
            path=self._opened.path,
            deadline=None if patience is None else now + patience,
            asks=tuple(fields),
        )

    async def _wait_for_answer(self, question: decisions.Question) -> decisions.Confirmation:
        key, timer = question.call_id, self._timer(question)
        waiting = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            written = self._record.write_first(QuestionAsked(question.asked_at, question))
            if written is not None:
                await written
            return await waiting
        finally:
            del self._waiting[key]
            if timer is not None:
                timer.cancel()
            if key in self._open and not (self._is_closing and not _is_numbered(key)):
                self._withdraw(question)

    def _timer(self, question: decisions.Question) -> Timer | None:
        patience = self._opened.settings.patience
        if patience is None:
            return None
        no = question.no(f"no answer was given within {patience:g} s", by="deadline")
        return self._opened.host.clock.call_later(patience, lambda: self._overdue(no))

    def _overdue(self, no: decisions.Confirmation) -> None:
        if no.call_id in self._open:
            self.answer(no)

    def _withdraw(self, question: decisions.Question) -> None:
        self._record.write(QuestionAnswered(self._now(), question.no(_WITHDRAWN, by="callgate")))
        self._answers.pop(question.call_id, None)

    def answer(self, given: decisions.Confirmation) -> str | None:
        """Record an answer and pass it to the waiting ``ask``. If it is refused, return the reason and change
        nothing."""
        question = self._open.get(given.call_id)
        if question is None:
            return f"the question {given.call_id} is not open"
        fault = _fault(question, given)
        if fault is not None:
            return fault
        written = self._record.write_first(QuestionAnswered(self._now(), given))
        if written is None:
            self._pass_on(given, None)
        else:
            asyncio.ensure_future(written).add_done_callback(
                lambda done: self._pass_on(given, None if done.cancelled() else done.exception())
            )
        return None

    def _pass_on(self, given: decisions.Confirmation, error: BaseException | None) -> None:
        waiting = self._waiting.get(given.call_id)
        if waiting is None or waiting.done():
            return
        if error is None:
            waiting.set_result(given)
        else:
            waiting.set_exception(error)

    async def close(self, *, discard: bool) -> None:
        """Raise StateError in every waiting ``ask``. Questions with an id stay open in the record."""
        self._is_closing = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(StateError("the session was closed"))


def _fault(question: decisions.Question, given: decisions.Confirmation) -> str | None:
    if given.outcome not in ("yes", "yes_always", "no"):
        return f"the outcome of an answer must be yes, yes_always or no, not {given.outcome!r}"
    if given.arguments_hash != question.arguments_hash:
        return f"the answer belongs to a question other than {question.call_id}"
    if given.arguments is not None or given.always is not None:
        return (
            f"the question {question.call_id} is not about a call: its answer must be yes or no, optionally with "
            "answers to its fields"
        )
    return None if given.outcome == "no" else decisions.answers_fault(question.asks, given.answers)


def _is_numbered(key: str) -> bool:
    return key.removeprefix(decisions.ASK_PREFIX).isdecimal()


def questions_feature() -> Feature:
    """Return the feature for questions to the user that belong to no call."""
    return Feature(NAME, UserQuestions)


# ---- answers of other programs ---------------------------------------------------------------------------------------


_EVERY = 0.25  # seconds; only while a question is open


class AnswerMailbox:
    """A mailbox that polls the journal for answers of other programs while questions are open.

    take    callback for an answer; if the callback returns False, the answer stays in the mailbox
    waits   callback that returns True while a question is open
    report  callback for the error text of each answer that cannot be read
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        take: Callable[[Confirmation], bool],
        waits: Callable[[], bool],
        report: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._take = take
        self._waits = waits
        self._report = report
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def open(self) -> None:
        """Start polling. Polling stops when the last open question has an answer."""
        if self._timer is None and self._task is None and not self._closed and self._journal.session:
            self._timer = self._clock.call_later(_EVERY, self._look)

    async def aclose(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            await asyncio.wait((self._task,))

    def _forget(self, confirmation: Confirmation) -> None:
        waiting = self._journal.forget_answers((confirmation.call_id,))
        if waiting is not None:  # a failure of the record is raised where the record is waited for
            asyncio.ensure_future(waiting).add_done_callback(lambda done: done.cancelled() or done.exception())

    def _look(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._collect())

    async def _collect(self) -> None:
        try:
            answers = await self._journal.answers()
            for fault in self._journal.answer_faults():
                self._report(fault)
            for confirmation in answers:
                if not self._closed and self._take(confirmation):
                    self._forget(confirmation)
        finally:
            self._task = None
            if self._waits():
                self.open()

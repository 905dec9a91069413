"""Answers a question of a session from another program.

The answer file is written first. It decides which answer is the first answer, even if a program has the session
open. If no program has the session open, the answer is then recorded in the log. Otherwise the program that has the
session open reads the file, unless the log shows that it has just recorded another answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from difflib import get_close_matches
from json import dumps, loads
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Literal, get_args

from callgate.formats.jsonable import from_json, to_json
from callgate.transcript.answer_files import AnswerRefused, LeftAnswer, described, leave_answer, read_answer
from callgate.transcript.disk_journal import append_to_log
from callgate.transcript.loader import LoadedLog, read_log
from callgate.transcript.lock import LockHolder, holder_of, read_holder, unreadable
from callgate.transcript.question_fold import AskedQuestion, QuestionFold, which_of
from callgate.transcript.repair import locked_log, release
from callgate.words.decisions import Answered, Confirmation, Question, answers_fault, arguments_hash
from callgate.words.errors import SessionLocked, UsageError
from callgate.words.events import Durable, QuestionAnswered
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.transcript.masking import Masker  # its patterns are costly to load


_TRIES = 3


@noun
class OpenQuestion:
    """An open question of a session on disk.

    answer  the answer in the answer file, if it is not recorded yet
    exact   False if secrets are masked in the arguments
    """

    question: Question
    answer: Confirmation | None = None
    exact: bool = True


@noun
class AnswerTaken:
    """The confirmation that an answer was accepted as the first answer to its question.

    how     "recorded": the answer is in the log and is used on resume; "left": ``holder`` reads the answer from its
            file and checks it, and may have received another answer first
    holder  the process that has the session open
    """

    session: str
    question: Question
    confirmation: Confirmation
    how: Literal["recorded", "left"]
    holder: LockHolder | None = None


@noun
class InSession:
    """The questions of the current turn: open questions in the order in which they were asked, and recorded answers."""

    open: tuple[OpenQuestion, ...]
    answered: tuple[Confirmation, ...] = ()


def questions_in(log: Path) -> InSession:
    """Return the questions of a log without locking the log."""
    questions = QuestionFold(read_log(log).events)
    found = list(questions.open.values())
    if not all(map(questions.will_run, found)) and holder_of(log) is None:
        found = [asked for asked in found if questions.will_run(asked)]
    waiting = (OpenQuestion(each.question, read_answer(log, each.key), _is_exact(each.question)) for each in found)
    return InSession(tuple(waiting), tuple(answer for each in questions.answered.values() for answer in each))


def answer_question(log: Path, masker: Masker, confirmation: Confirmation) -> AnswerTaken:
    """Answer an open question. Raise AnswerRefused if the answer is not accepted, and UsageError if it is malformed.
    Changed arguments are validated later, by the program that has the tools."""
    answer = replace(_well_formed(confirmation), at=confirmation.at or time())
    _refuse_strangers(log)
    asked = _fitting(log, QuestionFold(read_log(log).events), answer)
    return _Attempt(log, masker, asked, answer).taken()


def left_answers(log: Path, masker: Masker, questions: QuestionFold) -> Iterator[Confirmation]:
    """Yield the answers in answer files that no program has read. An answer with a secret, which must not be recorded,
    is left out."""
    for asked in questions.open.values():
        answer = read_answer(log, asked.key) if questions.will_run(asked) else None
        if answer is not None and not _has_secret(masker, answer):
            yield answer


# ---- what is an answer --------------------------------------------------------------------------------------------


def _well_formed(confirmation: Confirmation) -> Confirmation:
    if confirmation.outcome not in get_args(Answered):
        raise UsageError(f"the outcome of an answer must be yes, yes_always or no, not {confirmation.outcome!r}")
    try:
        again = from_json(Confirmation, loads(dumps(to_json(confirmation), allow_nan=False)))
    except (TypeError, ValueError, RecursionError, UsageError) as error:
        raise UsageError(f"the answer is invalid: {error}") from error
    if again != confirmation:
        raise UsageError("the changed arguments are not plain JSON")
    return confirmation


def _fitting(log: Path, questions: QuestionFold, answer: Confirmation) -> AskedQuestion:
    asked = questions.open.get(which_of(answer))
    if asked is None:
        raise AnswerRefused(*_why_not(log.stem, questions, answer))
    deadline = asked.question.deadline
    if deadline is not None and max(answer.at, time()) > deadline:
        raise AnswerRefused(
            "the deadline of this question has passed, so the call was denied; the question is asked again on resume"
        )
    question = asked.question
    if answer.arguments_hash != question.arguments_hash:
        raise AnswerRefused(f"the answer is for arguments that differ from the arguments of call {answer.call_id}")
    if answer.outcome != "no" and answer.arguments is None and not _is_exact(question):
        # The user must see the arguments that run, and a mask hides them.
        raise AnswerRefused(
            f"the arguments of call {answer.call_id} are masked in the log, so the command cannot be checked "
            "here: answer yes where the session runs, or answer no"
        )
    if answer.outcome != "no" and (fault := answers_fault(question.asks, answer.answers)) is not None:
        raise AnswerRefused(fault)
    if answer.always is not None and answer.always.tool != question.tool:
        raise AnswerRefused(f"the policy is for {answer.always.tool}, but the question was about {question.tool}")
    return asked


def _why_not(session: str, questions: QuestionFold, answer: Confirmation) -> tuple[str, Confirmation | None]:
    before = questions.answered.get(which_of(answer))
    if before:
        return f"call {answer.call_id} was already answered{described(before[-1])}", before[-1]
    waiting = {call_id for _, call_id in questions.open} - {answer.call_id}
    close = get_close_matches(answer.call_id, waiting, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"no question about call {answer.call_id!r} is open in session {session}{hint}", None


def _is_exact(question: Question) -> bool:
    try:
        return arguments_hash(question.through or question.tool, question.arguments) == question.arguments_hash
    except (ValueError, RecursionError):
        return False


def _refuse_strangers(log: Path) -> None:
    """Raise AnswerRefused if the log belongs to another user, because a program of this user would ignore the answer
    file."""
    try:
        owner = os.stat(log, follow_symlinks=False).st_uid
    except OSError as error:
        raise unreadable(log, error) from error
    if owner != os.geteuid():
        raise AnswerRefused(f"session {log.stem} belongs to another user; only this user can answer its questions")


# ---- where it goes ------------------------------------------------------------------------------------------------


class _Attempt:
    """An attempt to give the first answer to a question. The answer file exists until the answer is recorded or
    refused."""

    def __init__(self, log: Path, masker: Masker, asked: AskedQuestion, answer: Confirmation) -> None:
        self._log = log
        self._masker = masker
        self._asked = asked
        self._answer = answer

    def taken(self) -> AnswerTaken:
        try:
            left = leave_answer(self._log, self._asked, self._answer)
        except AnswerRefused:
            self._if_closed(read_log(self._log).events)  # the recorded answer may differ from the answer in the file
            raise
        try:
            for _ in range(_TRIES):
                taken = self._put_on_record()
                if taken is not None:
                    left.take_back()
                    return taken
                if holder_of(self._log) is not None:  # not a program that only answered another question
                    break
            return self._handed_over(left)
        except BaseException:
            left.take_back()
            raise

    def _put_on_record(self) -> AnswerTaken | None:
        log = self._log
        try:
            fd, loaded = locked_log(log, time())
        except SessionLocked:
            return None
        with ExitStack() as refused:
            refused.callback(release, fd, log)
            already = self._if_closed(loaded.events)
            if already is not None:
                return already
            self._refuse_in_vain(loaded)
            refused.pop_all()
        append_to_log(log, self._masker, loaded, fd, [QuestionAnswered(time(), self._answer)])
        return self._as("recorded")

    def _handed_over(self, left: LeftAnswer) -> AnswerTaken:
        """Leave the answer file for the program that has the session open. Raise AnswerRefused if this program has
        recorded another answer before."""
        is_there = left.is_there  # checked first: a removed file was recorded or refused
        closed = self._if_closed(read_log(self._log).events)
        holder = read_holder(self._log)
        if closed is None and not is_there:
            raise AnswerRefused(
                f"{holder} has session {self._log.stem} open and refused the answer: see the reason there"
            )
        return self._as("left", holder) if closed is None else replace(closed, holder=holder)

    def _if_closed(self, events: Sequence[Durable]) -> AnswerTaken | None:
        """Return None while the question is open, or the result if this answer was recorded. Raise AnswerRefused if
        the question was closed for another reason."""
        questions = QuestionFold(events)
        if self._asked.key in {each.key for each in questions.open.values()}:
            return None
        if any(_is_same(event.confirmation, self._answer) for event in events if isinstance(event, QuestionAnswered)):
            return self._as("recorded")
        answers, before = questions.answered.get(which_of(self._answer), []), self._asked.answers
        if len(answers) > before:
            first = answers[before]
            raise AnswerRefused(f"call {first.call_id} was already answered{described(first)}", first)
        raise AnswerRefused(f"the question about call {self._answer.call_id} has just been closed without an answer")

    def _refuse_in_vain(self, loaded: LoadedLog) -> None:
        session, answer = self._log.stem, self._answer
        if not QuestionFold(loaded.events).will_run(self._asked):
            raise AnswerRefused(
                f"session {session} is not open, and the message with call {answer.call_id} was never "
                "completed: the call will not run with any answer"
            )
        if _has_secret(self._masker, answer):
            raise AnswerRefused(
                "the answer contains a secret, which must not be written to the log, and the session is not open "
                "to receive the answer: answer while the session is open"
            )

    def _as(self, how: Literal["recorded", "left"], holder: LockHolder | None = None) -> AnswerTaken:
        return AnswerTaken(self._log.stem, self._asked.question, self._answer, how, holder)


def _has_secret(masker: Masker, answer: Confirmation) -> bool:
    masked = masker.noun(answer)
    return (masked.arguments, masked.answers) != (answer.arguments, answer.answers)


def _is_same(one: Confirmation, other: Confirmation) -> bool:
    """Return True if the answers are equal. Texts in their fields are ignored, because secrets in the texts may be
    masked."""
    nothing: dict[str, Any] = {"note": None, "arguments": None, "always": None, "answers": ()}
    return replace(one, **nothing) == replace(other, **nothing)

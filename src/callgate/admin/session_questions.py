"""Questions of kept sessions for the commands that show and answer them; see ``archive`` for the sessions themselves.

Everything here blocks.
"""

from pathlib import Path
from shlex import quote

from callgate.admin.sessions import Archive
from callgate.transcript.answer_files import AnswerRefused
from callgate.transcript.lock import LockHolder, holder_of
from callgate.transcript.question_answers import AnswerTaken, OpenQuestion, questions_in
from callgate.transcript.store import Store
from callgate.words.decisions import Confirmation
from callgate.words.noun import noun

__all__ = [
    "AnswerRefused",
    "AnswerTaken",
    "SessionQuestions",
    "LockHolder",
    "OpenQuestion",
    "give_answer",
    "read_questions",
]


@noun
class SessionQuestions:
    """The open questions of a session. ``named`` is its name for another command; ``holder`` has it open; ``answered``
    are the answers of the turn under way."""

    log: Path
    named: str
    questions: tuple[OpenQuestion, ...]
    answered: tuple[Confirmation, ...] = ()
    holder: LockHolder | None = None

    @property
    def session(self) -> str:
        return self.log.stem


def read_questions(which: str | None) -> SessionQuestions:
    """Of the session that is meant: the latest of this workspace, an id or a beginning of one, a title or words, or the
    file of a log."""
    log = Archive().find(which)
    found = questions_in(log)
    is_file = which is not None and Path(which) == log
    holder = holder_of(log) if found.open else None
    return SessionQuestions(log, quote(which) if which and is_file else log.stem, found.open, found.answered, holder)


def give_answer(asking: SessionQuestions, confirmation: Confirmation) -> AnswerTaken:
    """AnswerRefused says why it is not taken."""
    return Store().answer(asking.log, confirmation)

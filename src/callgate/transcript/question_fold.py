"""Folds a log into the open questions of a session.

If a program ends before a question is answered, the resumed session asks the same question again. An answer that is
given in the meantime is valid. After an answer is recorded, another question about the same call is a new question.
"""

from collections.abc import Sequence
from hashlib import sha256
from json import dumps

from callgate.words import events as e
from callgate.words.decisions import ASK_PREFIX, Ask, Confirmation, Question
from callgate.words.noun import noun

Which = tuple[tuple[str, ...], str]
"""The path of a session and the id of its call; the path of the root is empty."""


@noun
class AskedQuestion:
    """An open question. ``since`` is the time when the question was first asked, ``answers`` the number of earlier
    answers about its call."""

    question: Question
    since: float
    answers: int = 0

    @property
    def key(self) -> str:
        """The key of the question: the same in every program that reads the log, and unique in the session."""
        question = self.question
        return key_of(question.path, question.call_id, question.arguments_hash, self.since, self.answers)


def key_of(path: tuple[str, ...], call_id: str, hashed: str, since: float, answers: int) -> str:
    """Return the key of a question, which can be used as a file name."""
    return sha256(dumps([path, call_id, hashed, float(since), answers]).encode()).hexdigest()[:32]


def which_of(about: Question | Confirmation) -> Which:
    return about.path, about.call_id


class QuestionFold:
    """The open questions of a session, folded from the live events of its log: questions about calls of the last
    turn, and questions without a call."""

    def __init__(self, events: Sequence[e.Durable] = ()) -> None:
        self.open: dict[Which, AskedQuestion] = {}
        self.answered: dict[Which, list[Confirmation]] = {}
        self._message_of: dict[str, str] = {}
        self._messages: set[str] = set()
        self.restart(events)

    def restart(self, events: Sequence[e.Durable]) -> None:
        self.open.clear()
        self._clear()
        starts = (at for at in reversed(range(len(events))) if isinstance(events[at], e.TurnStarted))
        start = next(starts, 0)
        for event in events[:start]:
            if isinstance(event, e.QuestionAsked | e.QuestionAnswered | e.Forked):
                self.fold(event)
        for event in events[start:]:
            self.fold(event)

    def will_run(self, asked: AskedQuestion) -> bool:
        """Return True if the call runs when the session is resumed: the message of the call is recorded, or the
        program can ask again by the id of the question."""
        if not asked.question.is_about_call:
            return not asked.question.call_id.removeprefix(ASK_PREFIX).isdecimal()
        return self._message_of.get(asked.question.call_id) in self._messages

    def fold(self, event: e.Durable) -> None:
        match event:
            case e.TurnStarted():
                self._clear()
            case e.MessageAdded():
                self._messages.add(event.message.id)
            case e.CallArrived():
                self._message_of[event.call_id] = event.message_id
            case e.CallDecided():
                self._decided(event)
            case e.QuestionAsked():
                self._asked(event.question)
            case e.QuestionAnswered():
                which = which_of(event.confirmation)
                self.open.pop(which, None)
                self.answered.setdefault(which, []).append(event.confirmation)
            case e.CallSettled():
                self.open.pop(self._about(event.call_id), None)
            case e.Forked():  # the questions belong to the original session
                self.open.clear()
            case _:
                pass

    def _about(self, call_id: str) -> Which:
        return next((which for which in self.open if which[1] == call_id), ((), call_id))

    def _asked(self, question: Question) -> None:
        which, since = which_of(question), question.asked_at
        before = self.open.pop(self._about(question.call_id), None)  # the path may have changed
        if before is not None and before.question.arguments_hash == question.arguments_hash:
            since = before.since
        self.open[which] = AskedQuestion(question, since, len(self.answered.get(which, ())))

    def _decided(self, event: e.CallDecided) -> None:
        """Close the question if the call was decided by a different answer. The decision "ask" of a resumed call
        does not close the question."""
        which = self._about(event.call_id)
        asked = self.open.get(which)
        if asked is None:
            return
        if not isinstance(event.decision, Ask) or event.arguments_hash != asked.question.arguments_hash:
            del self.open[which]

    def _clear(self) -> None:
        self.open = {which: asked for which, asked in self.open.items() if not asked.question.is_about_call}
        self.answered.clear()
        self._message_of.clear()
        self._messages.clear()

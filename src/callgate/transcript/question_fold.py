"""The open questions of a session, from its record.

One that is asked again, because the program ended before an answer came, is still the same question: an answer that
was given meanwhile is an answer to it. Once an answer is on record, any further question about the call is a new one.
"""

from collections.abc import Sequence
from hashlib import sha256
from json import dumps

from callgate.words.decisions import ASK_PREFIX, Ask, Confirmation, Question
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    Durable,
    Forked,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    TurnStarted,
)
from callgate.words.noun import noun

Which = tuple[tuple[str, ...], str]
"""A question is about a call of the agent at the end of a path; no path is the session's own."""


@noun
class AskedQuestion:
    """An open question. ``since`` is when it was first asked, ``answers`` how many its call had before."""

    question: Question
    since: float
    answers: int = 0

    @property
    def key(self) -> str:
        """The same for everybody who reads the record, and for no other question of the session."""
        question = self.question
        return key_of(question.path, question.call_id, question.arguments_hash, self.since, self.answers)


def key_of(path: tuple[str, ...], call_id: str, hashed: str, since: float, answers: int) -> str:
    """A name that is safe for a file."""
    return sha256(dumps([path, call_id, hashed, float(since), answers]).encode()).hexdigest()[:32]


def which_of(about: Question | Confirmation) -> Which:
    return about.path, about.call_id


class QuestionFold:
    """The fold of the live events of a log: the open questions about calls of the last turn, and those about no
    call."""

    def __init__(self, events: Sequence[Durable] = ()) -> None:
        self.open: dict[Which, AskedQuestion] = {}
        self.answered: dict[Which, list[Confirmation]] = {}
        self._message_of: dict[str, str] = {}
        self._messages: set[str] = set()
        self.restart(events)

    def restart(self, events: Sequence[Durable]) -> None:
        """From these events alone."""
        self.open.clear()
        self._clear()
        starts = (at for at in reversed(range(len(events))) if isinstance(events[at], TurnStarted))
        start = next(starts, 0)
        for event in events[:start]:
            if isinstance(event, QuestionAsked | QuestionAnswered | Forked):
                self.fold(event)
        for event in events[start:]:
            self.fold(event)

    def fold(self, event: Durable) -> None:
        if type(event) in _ABOUT_QUESTIONS:  # almost no event is, and all of them come by here
            self._fold(event)

    def will_run(self, asked: AskedQuestion) -> bool:
        """True if its call goes on when the session is resumed, because its message is on record, or if the program
        that asked can ask again by the id of the question."""
        if not asked.question.is_about_call:
            return not asked.question.call_id.removeprefix(ASK_PREFIX).isdecimal()
        return self._message_of.get(asked.question.call_id) in self._messages

    def _fold(self, event: Durable) -> None:
        match event:
            case TurnStarted():
                self._clear()
            case MessageAdded():
                self._messages.add(event.message.id)
            case CallArrived():
                self._message_of[event.call_id] = event.message_id
            case CallDecided():
                self._decided(event)
            case QuestionAsked():
                self._asked(event.question)
            case QuestionAnswered():
                which = which_of(event.confirmation)
                self.open.pop(which, None)
                self.answered.setdefault(which, []).append(event.confirmation)
            case CallSettled():
                self.open.pop(self._about(event.call_id), None)
            case _:  # forked: they belong to the session this one was copied from
                self.open.clear()

    def _about(self, call_id: str) -> Which:
        """A session inside another one has a path of its own, which its calls do not name."""
        return next((which for which in self.open if which[1] == call_id), ((), call_id))

    def _asked(self, question: Question) -> None:
        which, since = which_of(question), question.asked_at
        before = self.open.pop(self._about(question.call_id), None)  # perhaps under another path: nested then, not now
        if before is not None and before.question.arguments_hash == question.arguments_hash:
            since = before.since
        self.open[which] = AskedQuestion(question, since, len(self.answered.get(which, ())))

    def _decided(self, event: CallDecided) -> None:
        """The answer to another question may have decided this one. A resumed call is decided once more, to be asked
        about: that changes nothing."""
        which = self._about(event.call_id)
        asked = self.open.get(which)
        if asked is None:
            return
        if not isinstance(event.decision, Ask) or event.arguments_hash != asked.question.arguments_hash:
            del self.open[which]

    def _clear(self) -> None:
        """Forget the calls of the last turn, and the questions about them."""
        self.open = {which: asked for which, asked in self.open.items() if not asked.question.is_about_call}
        self.answered.clear()
        self._message_of.clear()
        self._messages.clear()


_ABOUT_QUESTIONS = frozenset(
    (TurnStarted, MessageAdded, CallArrived, CallDecided, QuestionAsked, QuestionAnswered, CallSettled, Forked)
)

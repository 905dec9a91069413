"""The unfinished parts of a session: questions that wait, and text of a message that never came."""

from collections.abc import Sequence
from pathlib import Path

from callgate.transcript.asked import QuestionFold
from callgate.transcript.drafts import read_draft
from callgate.words.decisions import Question
from callgate.words.events import (
    Durable,
    MessageAdded,
    TurnEnded,
    TurnStarted,
)
from callgate.words.noun import noun


@noun
class UnfinishedMessage:
    """The text of a message that was still arriving; ``texts`` stand between its calls."""

    message_id: str
    texts: tuple[str, ...]


def open_questions(events: Sequence[Durable]) -> tuple[Question, ...]:
    """The questions a person can still answer. One without its message on record is left out: its call never starts."""
    questions = QuestionFold(events)
    return tuple(asked.question for asked in questions.open.values() if questions.will_run(asked))


def unfinished(log: Path, events: Sequence[Durable]) -> UnfinishedMessage | None:
    """The message that was arriving when the last turn was left, if some of its text was kept."""
    awaited = ""
    for event in events:
        if isinstance(event, TurnStarted):
            awaited = event.message_id
        elif isinstance(event, TurnEnded) or (isinstance(event, MessageAdded) and event.message.id == awaited):
            awaited = ""
    if not awaited:
        return None
    message_id, pieces = read_draft(log)
    texts = tuple(text for _, text in pieces if text)
    return UnfinishedMessage(message_id, texts) if message_id == awaited and texts else None

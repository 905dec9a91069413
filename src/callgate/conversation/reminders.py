"""Reminders: recorded messages to the model that the user did not write. Reminders are marked as such and start no
work."""

import re
from collections.abc import Iterable

from callgate.conversation.feature import Reminder
from callgate.conversation.record import Record
from callgate.words.calls import ToolCall
from callgate.words.errors import ModelError
from callgate.words.events import MessageAdded
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Message, Text
from callgate.words.noun import noun

_TAG = "system-reminder"
_END = late_pattern(rf"<(?=\s*/\s*{_TAG})", re.IGNORECASE)


def reminder(text: str) -> str:
    """Return the text in tags that mark a reminder. End tags inside the text are escaped."""
    return f"<{_TAG}>\n{_END.sub('‹', text)}\n</{_TAG}>"


def remind(record: Record, due: Reminder, now: float) -> None:
    message = Message(f"u{record.ledger.added + 1}", "user", (Text(due.text),))
    record.write(MessageAdded(now, message, about=due.about))


@noun
class UnmadeCall:
    """A call that the model wrote as text and that was not executed. ``advice`` is empty if the model must not
    repeat the call."""

    reason: str
    advice: str = ""


CONTINUE_TEXT = reminder("Your last message was cut off while you were writing it. Continue from there.")


def called_by(program: str) -> str:
    """Return the reminder that names the program that makes the next calls."""
    return reminder(f"The next calls were made by {program}, not by you. Their results are for your information.")


def broken_off(error: ModelError, affected: Iterable[ToolCall]) -> str:
    """Return the reminder about calls that had effects before the model failed."""
    named = ", ".join(f"{call.name} ({call.id})" for call in affected)
    effects = f"These calls took effect, or may have: {named}." if named else "None of them changed anything."
    return reminder(
        f"Your last message was cut off by a failure ({error.kind}) that you did not cause. Its calls ended as their"
        f" results say. {effects} Continue from there, and do not repeat completed work."
    )

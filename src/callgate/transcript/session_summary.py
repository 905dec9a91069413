"""The summary of a session for a list, folded from its live events."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

from callgate.words import events as e
from callgate.words.messages import Message, Text
from callgate.words.noun import noun
from callgate.words.turns import CONTINUING_REASONS

_PROMPT_CHARS = 200


@noun
class Summary:
    """The summary of a session.

    messages    the number of messages, including other branches
    unfinished  a prompt without an answer, or a turn without an end
    asked       the calls with an unanswered question
    waiting     the prompts that were not delivered
    """

    created_at: float = 0.0
    updated_at: float = 0.0
    workspace: str = ""
    source: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    mode: str = ""
    model: str = ""
    first_prompt: str = ""
    last_prompt: str = ""
    messages: int = 0
    unfinished: bool = False
    asked: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    spoken: bool = False

    @property
    def asking(self) -> bool:
        """True if a question waits for the user. It can be answered only if its message is recorded (``spoken``):
        otherwise its call does not start after a restart."""
        return self.spoken and bool(self.asked)

    @property
    def name(self) -> str:
        """The title, or the first prompt."""
        return self.title or self.first_prompt or "(no prompt yet)"


_FIELDS = tuple(field.name for field in fields(cast(Any, Summary)))


class Tally:
    """Folds events into a summary. Mutable, because it is called for every line of a log."""

    def __init__(self, so_far: Summary | None = None) -> None:
        so_far = so_far or Summary()
        self.now: dict[str, Any] = {name: getattr(so_far, name) for name in _FIELDS}

    def fold(self, event: e.Durable) -> None:
        now = self.now
        if event.at > now["updated_at"]:
            now["updated_at"] = event.at
        step = _STEPS.get(event.__class__)
        if step is not None:
            step(now, event)

    def summary(self) -> Summary:
        return Summary(**self.now)


def prompt_of(message: Message) -> str:
    """Return the start of the first text on one line; later texts are attachments or were added for the model."""
    text = next((part.text for part in message.parts if isinstance(part, Text) and part.text.strip()), "")
    return " ".join(text[: 4 * _PROMPT_CHARS].split())[:_PROMPT_CHARS]


_Now = dict[str, Any]
_Step = Callable[[_Now, Any], None]


def _sets(**changes: Any) -> _Step:
    return lambda now, _event: now.update(changes)


def _copies(*names: str) -> _Step:
    return lambda now, event: now.update({name: getattr(event, name) for name in names})


def _message(now: _Now, event: e.MessageAdded) -> None:
    message = event.message
    now["messages"] += 1
    if event.about is not None:
        return  # a reminder, not a message of the user
    if message.role == "user":
        now["waiting"] = _without(now["waiting"], event.queued or "")
        now["last_prompt"] = prompt_of(message)
        now["first_prompt"] = now["first_prompt"] or now["last_prompt"]
        now["unfinished"] = True
    elif message.role == "assistant":
        now["spoken"] = True
        now["model"] = message.model or now["model"]


def _metadata(now: _Now, event: e.MetadataSet) -> None:
    if event.key == "title":
        now["title"] = str(event.value or "")
    elif event.key == "tags":
        now["tags"] = tags_of(event.value)


def _asked(now: _Now, event: e.QuestionAsked) -> None:
    call_id = event.question.call_id
    now["asked"] = (*_without(now["asked"], call_id), call_id)


def _answered(now: _Now, event: e.QuestionAnswered) -> None:
    now["asked"] = _without(now["asked"], event.confirmation.call_id)


def _settled(now: _Now, event: e.CallSettled) -> None:
    if now["asked"]:
        now["asked"] = _without(now["asked"], event.call_id)


def _queued(now: _Now, event: e.PromptQueued) -> None:
    now["waiting"] = (*_without(now["waiting"], event.id), event.id)


def _dequeued(now: _Now, event: e.PromptDequeued) -> None:
    now["waiting"] = _without(now["waiting"], event.id)


def _without(ids: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != one)


def _turn_ended(now: _Now, event: e.TurnEnded) -> None:
    now["asked"] = ()
    now["unfinished"] = event.reason in CONTINUING_REASONS


def _run_ended(now: _Now, event: e.RunEnded) -> None:
    now["asked"] = ()
    now["unfinished"] = event.reason == "paused"


def tags_of(value: Any) -> tuple[str, ...]:
    """Return the tags if the value is a list or tuple."""
    return tuple(map(str, cast(list[Any], value))) if isinstance(value, list | tuple) else ()


def _moved(now: _Now, event: e.Rewound | e.Branched) -> None:
    now["messages"] = event.counted.messages


def _forked(now: _Now, event: e.Forked) -> None:
    now["messages"] = event.counted.messages
    now["asked"] = now["waiting"] = ()  # they belong to the original


def _compacted(now: _Now, event: e.Compacted) -> None:
    now["messages"] = event.counted.messages
    now["unfinished"] = event.running or event.paused


def _opened(now: _Now, event: e.SessionOpened) -> None:
    now["created_at"] = event.at
    now["workspace"] = event.workspace
    now["source"] = event.source


_STEPS: dict[type, _Step] = {
    e.MessageAdded: _message,
    e.PromptQueued: _queued,
    e.PromptDequeued: _dequeued,
    e.TurnStarted: _sets(unfinished=True, spoken=False, asked=()),
    e.TurnEnded: _turn_ended,
    e.RunEnded: _run_ended,
    e.Paused: _sets(unfinished=True),
    e.QuestionAsked: _asked,
    e.QuestionAnswered: _answered,
    e.CallSettled: _settled,
    e.Compacted: _compacted,
    e.Rewound: _moved,
    e.Branched: _moved,
    e.Forked: _forked,
    e.SessionOpened: _opened,
    e.MetadataSet: _metadata,
    e.ModeSet: _copies("mode"),
    e.ModelSet: _copies("model"),
}

"""The summary of a session for a list, folded from the live events of the session."""

from collections.abc import Callable, Iterable, Mapping
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
    unfinished  a prompt has no answer, or a turn has no end
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
        """True if a question can be answered now: the message of the question is recorded (``spoken``). Without this
        message, the call of the question does not start after a restart."""
        return self.spoken and bool(self.asked)

    @property
    def name(self) -> str:
        """The title, or the first prompt if there is no title."""
        return self.title or self.first_prompt or "(no prompt yet)"


_FIELDS = tuple(field.name for field in fields(cast(Any, Summary)))


class Tally:
    """Folds events into a summary. The class is mutable for speed, because it processes every line of a log."""

    def __init__(self, so_far: Summary | None = None) -> None:
        so_far = so_far or Summary()
        self.now: dict[str, Any] = {name: getattr(so_far, name) for name in _FIELDS}

    def fold(self, event: e.Durable) -> None:
        now = self.now
        if event.at > now["updated_at"]:
            now["updated_at"] = event.at
        step = _STEPS.get(event.__class__)
        if step is not None:
            now.update(step(now, event))

    def fold_all(self, events: Iterable[e.Durable]) -> None:
        for event in events:
            self.fold(event)

    def summary(self) -> Summary:
        return Summary(**self.now)


def prompt_of(message: Message) -> str:
    """Return the start of the first text of a message on one line. The later texts are attachments or were added for
    the model."""
    text = next((part.text for part in message.parts if isinstance(part, Text) and part.text.strip()), "")
    return " ".join(text[: 4 * _PROMPT_CHARS].split())[:_PROMPT_CHARS]


def tags_of(value: Any) -> tuple[str, ...]:
    """Return the tags as a tuple; empty unless the value is a list or tuple."""
    return tuple(map(str, cast(list[Any], value))) if isinstance(value, list | tuple) else ()


_Now = dict[str, Any]


def _message(now: _Now, event: e.MessageAdded) -> _Now:
    message, changes = event.message, {"messages": now["messages"] + 1}
    if event.about is not None:
        return changes  # a reminder, not a message of the user
    if message.role == "user":
        last = prompt_of(message)
        first, waiting = now["first_prompt"] or last, _without(now["waiting"], event.queued or "")
        return {**changes, "waiting": waiting, "last_prompt": last, "first_prompt": first, "unfinished": True}
    if message.role == "assistant":
        return {**changes, "spoken": True, "model": message.model or now["model"]}
    return changes


def _metadata(_now: _Now, event: e.MetadataSet) -> _Now:
    if event.key == "title":
        return {"title": str(event.value or "")}
    return {"tags": tags_of(event.value)} if event.key == "tags" else {}


def _without(ids: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != one)


def _last(ids: tuple[str, ...], one: str) -> tuple[str, ...]:
    return (*_without(ids, one), one)


def _dropped(now: _Now, call_id: str) -> _Now:
    return {"asked": _without(now["asked"], call_id)} if now["asked"] else {}


_STEPS: Mapping[type, Callable[[_Now, Any], _Now]] = {
    e.MessageAdded: _message,
    e.PromptQueued: lambda now, event: {"waiting": _last(now["waiting"], event.id)},
    e.PromptDequeued: lambda now, event: {"waiting": _without(now["waiting"], event.id)},
    e.TurnStarted: lambda now, event: {"unfinished": True, "spoken": False, "asked": ()},
    e.TurnEnded: lambda now, event: {"asked": (), "unfinished": event.reason in CONTINUING_REASONS},
    e.RunEnded: lambda now, event: {"asked": (), "unfinished": event.reason == "paused"},
    e.Paused: lambda now, event: {"unfinished": True},
    e.QuestionAsked: lambda now, event: {"asked": _last(now["asked"], event.question.call_id)},
    e.QuestionAnswered: lambda now, event: _dropped(now, event.confirmation.call_id),
    e.CallSettled: lambda now, event: _dropped(now, event.call_id),
    e.Compacted: lambda now, event: {
        "messages": event.counted.messages,
        "unfinished": event.running or event.paused,
    },
    e.Rewound: lambda now, event: {"messages": event.counted.messages},
    e.Branched: lambda now, event: {"messages": event.counted.messages},
    e.Forked: lambda now, event: {"messages": event.counted.messages, "asked": (), "waiting": ()},
    e.SessionOpened: lambda now, event: {
        "created_at": event.at,
        "workspace": event.workspace,
        "source": event.source,
    },
    e.MetadataSet: _metadata,
    e.ModeSet: lambda now, event: {"mode": event.mode},
    e.ModelSet: lambda now, event: {"model": event.model},
}
"""The changes of the summary by each event."""

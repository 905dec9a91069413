"""What a list of sessions shows of one, folded from its live events."""

from dataclasses import replace
from typing import Any

from callgate.words.events import (
    Branched,
    Compacted,
    Durable,
    MessageAdded,
    MetadataSet,
    ModelSet,
    ModeSet,
    QuestionAnswered,
    QuestionAsked,
    Rewound,
    RunEnded,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from callgate.words.messages import Message
from callgate.words.noun import noun

_PROMPT_CHARS = 200


@noun
class Summary:
    """``messages``: all that were said, also on branches that were left. ``unfinished``: a prompt without its answer,
    or a turn without its end; ``asking``: a question waits for a person."""

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
    asking: bool = False

    @property
    def name(self) -> str:
        """The title a person gave, or how it began."""
        return self.title or self.first_prompt or "(no prompt yet)"

    def folded(self, event: Durable) -> "Summary":
        changes = _changes(self, event)
        if event.at > self.updated_at:
            changes["updated_at"] = event.at
        return replace(self, **changes) if changes else self


def _changes(now: Summary, event: Durable) -> dict[str, Any]:
    match event:
        case MessageAdded():
            return _message(now, event)
        case TurnStarted():
            return {"unfinished": True}
        case TurnEnded():
            return {"asking": False}
        case RunEnded():
            return {"unfinished": False, "asking": False}
        case Compacted():
            return {"unfinished": event.running, "messages": event.counted.messages}
        case Rewound() | Branched():
            return {"messages": event.counted.messages}
        case QuestionAsked():
            return {"asking": True}
        case QuestionAnswered():
            return {"asking": False}
        case SessionOpened():
            return {"created_at": event.at, "workspace": event.workspace, "source": event.source}
        case MetadataSet(key="title"):
            return {"title": str(event.value or "")}
        case MetadataSet(key="tags"):
            return {"tags": tuple(map(str, event.value or ()))}
        case ModeSet():
            return {"mode": event.mode}
        case ModelSet():
            return {"model": event.model}
        case _:
            return {}


def _message(now: Summary, event: MessageAdded) -> dict[str, Any]:
    message = event.message
    changes: dict[str, Any] = {"messages": now.messages + 1}
    if message.role == "user":
        text = prompt_of(message)
        changes |= {"last_prompt": text, "unfinished": True}
        if not now.first_prompt:
            changes["first_prompt"] = text
    elif message.model:
        changes["model"] = message.model
    return changes


def prompt_of(message: Message) -> str:
    """Its beginning, on one line."""
    return " ".join(message.text[: 4 * _PROMPT_CHARS].split())[:_PROMPT_CHARS]

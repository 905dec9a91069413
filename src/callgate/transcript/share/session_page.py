"""The content of an exported session in any format: messages with their calls, and events between them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from callgate.conversation.view import joined_parts
from callgate.transcript.share.call_stories import CallStory, gathered
from callgate.words import events as e
from callgate.words.messages import CallPart, Message, ResultPart
from callgate.words.noun import noun

_CUT = ("max_tokens", "cut_off", "paused")
"""Stop reasons of messages that the next message may continue."""


@noun
class Exported:
    """A session to export: its live events in order."""

    session: str
    title: str
    workspace: str
    events: tuple[e.Durable, ...]


@noun
class SaidMessage:
    """A message of the user or the model, numbered from 1. ``calls`` has the calls by part id."""

    number: int
    at: float
    message: Message
    calls: Mapping[str, CallStory]
    snipped: bool = False


@noun
class Mark:
    """An event between two messages. ``body`` is a longer text about the event."""

    at: float
    kind: Literal["compacted", "snipped", "note", "event", "result"]
    text: str
    body: str = ""


def moment(at: float) -> str:
    """Return a time in UTC as text, or the plain number if the time is outside the calendar."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at:g} s"


def dates(exported: Exported) -> tuple[float, float] | None:
    """Return the times of the first and the last message, or None if there are no messages. Other events may have
    later times, such as the time of an import."""
    times = [event.at for event in exported.events if isinstance(event, e.MessageAdded)]
    return (min(times), max(times)) if times else None


def is_cut_off(event: e.MessageAdded) -> bool:
    """Return True if the next message of the model continues this message."""
    return event.message.role == "assistant" and event.stop_reason in _CUT and not event.message.calls


def read_page(exported: Exported) -> tuple[SaidMessage | Mark, ...]:
    """Return messages and other events in order. A message that was cut off is joined with its continuation. A call is
    part of its message; a call without a message is shown where it arrived."""
    facts = gathered(exported.events)
    snipped = {name for event in exported.events if isinstance(event, e.Snipped) for name in event.message_ids}
    messages = {event.message.id for event in exported.events if isinstance(event, e.MessageAdded)}
    known = {call_id for _, call_id in facts}
    out: list[SaidMessage | Mark] = []
    number = 0
    cut: int | None = None  # the position of a message that the next message of the model continues
    for event in exported.events:
        if isinstance(event, e.MessageAdded) and event.about is not None:
            out.append(Mark(event.at, "note", "A reminder to the model, added by Callgate", event.message.text))
        elif isinstance(event, e.MessageAdded) and event.message.role != "tool":
            message = event.message
            calls = {call.id: CallStory(call, facts[message.id, call.id]) for call in message.calls}
            begun = out[cut] if cut is not None and message.role == "assistant" else None
            if cut is not None and isinstance(begun, SaidMessage):
                whole = replace(begun.message, parts=joined_parts(begun.message.parts, message.parts))
                out[cut] = replace(begun, message=whole, calls=calls)
            else:
                number += 1
                cut = len(out)
                out.append(SaidMessage(number, event.at, message, calls, message.id in snipped))
            cut = cut if is_cut_off(event) and message.id not in snipped else None
        elif isinstance(event, e.MessageAdded):
            out += _orphans(event, known)
        elif isinstance(event, e.CallArrived) and event.message_id not in messages:
            number += 1
            story = CallStory(event, facts[event.message_id, event.call_id])
            part = CallPart(event.call_id, event.name, event.arguments, event.raw_arguments)
            lost = Message(event.message_id, "assistant", (part,))
            out.append(SaidMessage(number, event.at, lost, {event.call_id: story}))
        else:
            mark = _mark(event)
            out += () if mark is None else (mark,)
    return tuple(out)


def _orphans(event: e.MessageAdded, known: set[str]) -> list[Mark]:
    parts = [part for part in event.message.parts if not (isinstance(part, ResultPart) and part.call_id in known)]
    results = [part for part in parts if isinstance(part, ResultPart)]
    return [Mark(event.at, "result", f"A result of {part.name} without its call", _text(part)) for part in results]


def _text(part: ResultPart) -> str:
    return "".join(getattr(item, "text", None) or "" for item in part.content)


def compacted_line(event: e.Compacted) -> str:
    """Return a description of a compaction on one line."""
    facts: list[str] = []
    if event.covered:
        facts.append(f"{event.covered} message{'' if event.covered == 1 else 's'}")
    if event.tokens_before:
        facts.append(f"about {event.tokens_before:,} tokens became {event.tokens_after:,}")
    if event.focus.strip():
        facts.append(f"with focus on {' '.join(event.focus.split())[:200]!r}")
    if event.model:
        cost = "" if event.cost is None else f" for ${event.cost:.4f}"
        facts.append(f"by {event.model}{cost}")
    about = f": {', '.join(facts)}" if facts else ""
    return f"The history was compacted ({event.trigger}){about}; from here on the model sees this summary instead"


def _mark(event: e.Durable) -> Mark | None:
    match event:
        case e.Compacted():
            return Mark(event.at, "compacted", compacted_line(event), event.summary)
        case e.Snipped():
            many = len(event.message_ids)
            return Mark(event.at, "snipped", f"Hidden from the model from here on: {many} earlier messages")
        case e.Noted():
            return Mark(event.at, "note", f"{event.level}: {event.text}")
        case _:
            text = _TEXTS[type(event)](event) if type(event) in _TEXTS else ""
            return Mark(event.at, "event", text) if text else None


_TEXTS: Mapping[type, Callable[[Any], str]] = {
    e.Paused: lambda event: f"The agent paused: {event.reason}",
    e.RunEnded: lambda event: "" if event.reason == "done" else f"The run ended: {event.sentence}",
    e.RequestRetried: lambda event: f"The model failed ({event.kind}); the request was sent again",
    e.TurnEnded: lambda event: f"The turn ended ({event.reason}): {event.detail}" if event.detail else "",
    e.ResultReplaced: lambda event: f"The result of call {event.call_id} was shortened for the model",
    e.ModeSet: lambda event: f"Mode: {event.mode}",
    e.ModelSet: lambda event: f"Model: {event.model}",
    e.PolicyAdded: lambda event: f"Remembered: {event.policy.effect} {event.policy.tool}",
    e.Forked: lambda event: f"Forked from session {event.session}",
    e.LinesQuarantined: lambda event: f"{len(event.ranges)} damaged places of the log were ignored",
}
"""The texts of events in an export; an empty text is not shown."""

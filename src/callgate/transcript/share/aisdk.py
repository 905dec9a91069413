"""A session as messages of the Vercel AI SDK, version 5 (``ModelMessage[]``)."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from callgate.transcript.share.page import Exported
from callgate.transcript.share.plain import clean_json, scrub
from callgate.transcript.share.stories import gathered
from callgate.words.events import Compacted, MessageAdded
from callgate.words.messages import (
    CallPart,
    Content,
    Image,
    Message,
    Opaque,
    Part,
    Resource,
    ResultPart,
    Text,
    Thinking,
)

_LOST = "There is no result of this call on record."


class _Slot:
    """A call of a message already written, waiting for its one result."""

    def __init__(self, call_id: str, call: CallPart) -> None:
        self.call_id = call_id
        self.call = call
        self.result: ResultPart | None = None


def to_ai_sdk(exported: Exported) -> list[dict[str, Any]]:
    """The messages, in order. Right after each message with calls stands one with exactly one result for each; a
    result without a call is left out. A summary is used only if the messages it sums up are missing."""
    messages = [event.message for event in exported.events if isinstance(event, MessageAdded)]
    facts = gathered(exported.events)
    out: list[dict[str, Any]] = []
    if (summary := _opening(exported)) is not None:
        out.append({"role": "user", "content": [_text(summary)]})
    waiting: dict[str, list[_Slot]] = {}
    told: list[tuple[dict[str, Any], str, list[_Slot]]] = []
    taken: set[str] = set()
    for message in messages:
        if message.role == "tool":
            _answer(waiting, message)
            continue
        calls = message.calls if message.role == "assistant" else ()
        slots = [_Slot(_free(call.id, taken), call) for call in calls]
        parts = _content(message, slots)
        if parts:
            out.append({"role": message.role, "content": parts})
        if slots:
            results: dict[str, Any] = {"role": "tool", "content": []}
            out.append(results)
            told.append((results, message.id, slots))
            for slot in slots:
                waiting.setdefault(slot.call.id, []).append(slot)
    for results, message_id, slots in told:
        for slot in slots:
            known = facts[message_id, slot.call.id].settled
            if slot.result is not None:
                output = _output(slot.result.content, is_error=slot.result.is_error)
            elif known is not None:
                output = _output(known.content, is_error=known.is_error)
            else:
                output = {"type": "error-text", "value": _LOST}
            results["content"].append({"type": "tool-result", **_named(slot), "output": output})
    return out


def _opening(exported: Exported) -> str | None:
    """The summary of what happened before the first message, if one was made and what it summed up is gone."""
    first: str | None = None
    summary: str | None = None
    for event in exported.events:
        if isinstance(event, MessageAdded):
            first = first or event.message.id
        elif isinstance(event, Compacted) and (first is None or event.kept == first):
            summary = event.summary
    return summary


def _answer(waiting: Mapping[str, list[_Slot]], message: Message) -> None:
    for part in message.parts:
        if isinstance(part, ResultPart):
            slot = next((slot for slot in waiting.get(part.call_id, ()) if slot.result is None), None)
            if slot is not None:
                slot.result = part


def _free(call_id: str, taken: set[str]) -> str:
    """Its id, or where that is taken the first of ``id~2``, ``id~3`` …: one result must not answer two calls."""
    call_id = free = scrub(call_id)
    n = 1
    while free in taken:
        n += 1
        free = f"{call_id}~{n}"
    taken.add(free)
    return free


def _content(message: Message, slots: Sequence[_Slot]) -> list[dict[str, Any]]:
    calls = iter(slots)
    out: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, CallPart) and (slot := next(calls, None)) is not None:
            out.append({"type": "tool-call", **_named(slot), "input": clean_json(part.arguments)})
        elif (made := _part(part, message)) is not None:
            out.append(made)
    return out


def _part(part: Part, message: Message) -> dict[str, Any] | None:
    """None for what says nothing there."""
    match part:
        case Text(text="") | CallPart() | ResultPart():
            return None
        case Text():
            return _text(part.text)
        case Image() if message.role == "user":
            return {"type": "image", "image": b64encode(part.data).decode(), "mediaType": scrub(part.media_type)}
        case Image():
            return {"type": "file", "data": b64encode(part.data).decode(), "mediaType": scrub(part.media_type)}
        case Resource(data=bytes() as data):
            kind = scrub(part.media_type or "application/octet-stream")
            return {"type": "file", "data": b64encode(data).decode(), "mediaType": kind, "filename": scrub(part.uri)}
        case Resource():
            return _text(part.uri if part.text is None else part.text)
        case Thinking():
            return _reasoning(part, message)
        case Opaque(provider="anthropic", data={"type": "redacted_thinking", "data": str(hidden)}):
            options = {"anthropic": {"redactedData": scrub(hidden)}}
            return {"type": "reasoning", "text": "", "providerOptions": options}
        case Opaque():
            return None


def _reasoning(part: Thinking, message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "reasoning", "text": scrub(part.text)}
    # The signature is of use only to the one who made it.
    if part.signature is not None and "claude" in (message.model or ""):
        out["providerOptions"] = {"anthropic": {"signature": scrub(part.signature)}}
    return out


def _output(content: Sequence[Content], *, is_error: bool) -> dict[str, Any]:
    if is_error or all(isinstance(item, Text) for item in content):
        return {"type": "error-text" if is_error else "text", "value": scrub("".join(map(_words, content)))}
    return {"type": "content", "value": [_item(item) for item in content]}


def _words(item: Content) -> str:
    match item:
        case Text():
            return item.text
        case Image():
            return f"({item.media_type}, {len(item.data)} bytes)"
        case Resource():
            return item.uri if item.text is None else item.text


def _item(item: Content) -> dict[str, Any]:
    if isinstance(item, Text) or item.data is None:
        return _text(_words(item))
    kind = scrub(item.media_type or "application/octet-stream")
    return {"type": "media", "data": b64encode(item.data).decode(), "mediaType": kind}


def _named(slot: _Slot) -> dict[str, Any]:
    return {"toolCallId": slot.call_id, "toolName": scrub(slot.call.name)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": scrub(text)}

"""Exports a session as messages of the Vercel AI SDK, version 5 (``ModelMessage[]``)."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from callgate.conversation.ledger import boundary_parts
from callgate.conversation.view import REMOVED, View, joined_parts
from callgate.transcript.share.call_stories import gathered
from callgate.transcript.share.plain import clean_json, scrub
from callgate.transcript.share.session_page import Exported, is_cut_off
from callgate.words import messages as m
from callgate.words.events import MessageAdded
from callgate.words.turns import Compacted


def to_ai_sdk(exported: Exported, note: str = "") -> list[dict[str, Any]]:
    """Return the messages in an order that every provider accepts: each message with calls is followed by one message
    with exactly one result per call.

    A summary is included only if the summarized messages are missing. ``note`` becomes a system message.
    """
    view = View()
    for message in _whole_messages(exported.events):
        view.add(message)
    for (_, call_id), facts in gathered(exported.events).items():
        if facts.sent is None and facts.settled is not None:  # its result is in no message
            part = m.ResultPart(call_id, "", facts.settled.content, facts.settled.is_error)
            view.add(m.Message("settled", "tool", (part,)))
    out: list[dict[str, Any]] = [{"role": "system", "content": scrub(note)}] if note else []
    if (summary := _first_summary(exported)) is not None:
        out.append({"role": "user", "content": [_text(summary)]})
    for message in view.history():
        parts = [made for part in message.parts if (made := _part(part, message)) is not None]
        if parts and message is not REMOVED:
            out.append({"role": message.role, "content": parts})
    return out


def _whole_messages(events: Iterable[Any]) -> Iterable[m.Message]:
    """Return the messages of the events. An incomplete message is joined with its continuation."""
    found: list[m.Message] = []
    is_cut = False  # the last message
    for event in events:
        if not isinstance(event, MessageAdded):
            continue
        message = event.message
        if is_cut and event.about is not None:  # a reminder for the continuation
            found.insert(-1, message)
            continue
        if is_cut and message.role == "assistant":
            message = replace(message, parts=joined_parts(found.pop().parts, message.parts))
        found.append(message)
        is_cut = is_cut_off(event)
    return found


def _first_summary(exported: Exported) -> str | None:
    first: str | None = None
    summary: str | None = None
    for event in exported.events:
        if isinstance(event, MessageAdded):
            first = first or event.message.id
        elif isinstance(event, Compacted) and (first is None or event.kept == first):
            summary = "".join(part.text for part in boundary_parts(event))
    return summary


def _part(part: m.Part, message: m.Message) -> dict[str, Any] | None:
    match part:
        case m.Text(text=""):
            return None
        case m.CallPart():
            return {"type": "tool-call", **_named(part.id, part.name), "input": clean_json(part.written)}
        case m.ResultPart():
            output = _output(part.content, is_error=part.is_error)
            return {"type": "tool-result", **_named(part.call_id, part.name), "output": output}
        case m.Text():
            return _text(part.text)
        case m.Image() if message.role == "user":
            return {"type": "image", "image": b64encode(part.data).decode(), "mediaType": scrub(part.media_type)}
        case m.Image():
            return {"type": "file", "data": b64encode(part.data).decode(), "mediaType": scrub(part.media_type)}
        case m.Resource(data=bytes() as data):
            kind = scrub(part.media_type or "application/octet-stream")
            return {"type": "file", "data": b64encode(data).decode(), "mediaType": kind, "filename": scrub(part.uri)}
        case m.Resource():
            return _text(part.uri if part.text is None else part.text)
        case m.Thinking():
            return _reasoning(part, message)
        case m.Opaque(provider="anthropic", data={"type": "redacted_thinking", "data": str(hidden)}):
            options = {"anthropic": {"redactedData": scrub(hidden)}}
            return {"type": "reasoning", "text": "", "providerOptions": options}
        case m.Opaque():
            return None


def _reasoning(part: m.Thinking, message: m.Message) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "reasoning", "text": scrub(part.text)}
    # Only the provider that made the signature can use it.
    if part.signature is not None and "claude" in (message.model or ""):
        out["providerOptions"] = {"anthropic": {"signature": scrub(part.signature)}}
    return out


def _output(content: Sequence[m.Content], *, is_error: bool) -> dict[str, Any]:
    if is_error or all(isinstance(item, m.Text) for item in content):
        return {"type": "error-text" if is_error else "text", "value": scrub("".join(map(_words, content)))}
    return {"type": "content", "value": [_item(item) for item in content]}


def _words(item: m.Content) -> str:
    match item:
        case m.Text():
            return item.text
        case m.Image():
            return f"({item.media_type}, {len(item.data)} bytes)"
        case m.Resource():
            return item.uri if item.text is None else item.text


def _item(item: m.Content) -> dict[str, Any]:
    if isinstance(item, m.Text) or item.data is None:
        return _text(_words(item))
    kind = scrub(item.media_type or "application/octet-stream")
    return {"type": "media", "data": b64encode(item.data).decode(), "mediaType": kind}


def _named(call_id: str, name: str) -> dict[str, Any]:
    return {"toolCallId": scrub(call_id), "toolName": scrub(name)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": scrub(text)}

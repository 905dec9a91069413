"""Content blocks of the Anthropic format as parts of a message. What has no counterpart stays as it is, unread."""

from base64 import b64decode
from collections.abc import Iterable
from json import dumps
from typing import Any, cast

from callgate.words.messages import CallPart, Content, Image, Opaque, Part, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.model import StopReason

PROVIDER = "anthropic"

STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


def kind(block: object) -> str:
    found = cast(dict[str, Any], block).get("type") if isinstance(block, dict) else None
    return found if isinstance(found, str) else ""


def parts(blocks: Iterable[Any]) -> tuple[Part, ...]:
    """The parts of a message, without empty texts and without results."""
    read = (_part(block) for block in blocks if kind(block) != "tool_result")
    return tuple(part for part in read if part != Text(""))


def call_part(block: dict[str, Any], call_id: str) -> CallPart:
    name, given = block.get("name"), block.get("input")
    name = name if isinstance(name, str) and name else "unknown"
    if isinstance(given, dict):
        return CallPart(call_id, name, cast(dict[str, Any], given))
    raw = given if isinstance(given, str) else None if given is None else dumps(given)
    return CallPart(call_id, name, {}, raw)


def result_part(call: CallPart, block: dict[str, Any] | None) -> ResultPart:
    found = None if block is None else block.get("content")
    blocks = cast(list[Any], found) if isinstance(found, list) else [] if found is None else [found]
    is_error = block is not None and block.get("is_error") is True
    return ResultPart(call.id, call.name, tuple(map(_content, blocks)), is_error)


def usage(given: object) -> Usage | None:
    if not isinstance(given, dict):
        return None
    counts = cast(dict[str, Any], given)

    def count(key: str) -> int:
        value = counts.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    return Usage(
        count("input_tokens"),
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
        count("output_tokens"),
    )


def _part(block: Any) -> Part:
    if isinstance(block, str):
        return Text(block)
    if not isinstance(block, dict):
        return Opaque(PROVIDER, {"value": block})
    data = cast(dict[str, Any], block)
    match data:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(text)}:
            signature = data.get("signature")
            return Thinking(text, signature if isinstance(signature, str) and signature else None)
        case {"type": "image" | "document", "source": dict()}:
            return _sourced(data) or Opaque(PROVIDER, data)
        case _:
            return Opaque(PROVIDER, data)


def _content(block: Any) -> Content:
    read = _part(block)
    return read if isinstance(read, Text | Image | Resource) else Text(dumps(block, ensure_ascii=False))


def _sourced(block: dict[str, Any]) -> Content | None:
    title = block.get("title")
    uri = title if isinstance(title, str) else ""
    match block["source"]:
        case {"type": "base64", "media_type": str(media_type), "data": str(text)}:
            try:
                data = b64decode(text, validate=True)
            except ValueError:
                return None
            return Image(media_type, data) if block["type"] == "image" else Resource(uri, None, data, media_type)
        case {"type": "text", "data": str(text)}:
            return Resource(uri, text, None, "text/plain")
        case {"type": "url", "url": str(address)}:
            return Resource(address)
        case _:
            return None

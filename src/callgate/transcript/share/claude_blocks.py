"""Content blocks of the Anthropic format as parts of a message. What has no counterpart stays as it is, unread."""

from base64 import b64decode
from collections.abc import Iterable
from json import dumps
from typing import Any, cast

from callgate.words.calls import Code, Result
from callgate.words.decisions import Deny
from callgate.words.messages import CallPart, Content, Image, Opaque, Part, Resource, Text, Thinking, Usage
from callgate.words.model import StopReason

PROVIDER = "anthropic"
IMPORTED = "claude-code (imported)"

STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}
_REFUSED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_INTERRUPTED = "[Request interrupted by user"
_LOST = "Outcome unknown: the imported transcript has no result for this call. Check before repeating it."


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


def result(block: dict[str, Any] | None) -> Result:
    """The result of a call; None is a call without a result on record."""
    if block is None:
        return Result.failed("outcome_unknown", _LOST, effects="unknown", started=True)
    given = block.get("content")
    if given is None:
        blocks: list[Any] = []
    else:
        blocks = cast(list[Any], given) if isinstance(given, list) else [given]
    content = tuple(_content(item) for item in blocks)
    if block.get("is_error") is not True:
        return Result(content)
    told = next((item.text for item in content if isinstance(item, Text)), "")
    code: Code = "tool_error"
    if told.startswith(_REFUSED):
        code = "denied"
    elif told.startswith(_INTERRUPTED):
        code = "cancelled_by_user"
    return Result(content, is_error=True, code=code, details={"effects": "none" if code == "denied" else "unknown"})


def denial(settled: Result) -> Deny:
    return Deny(IMPORTED, settled.text.split(".", 1)[0])


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

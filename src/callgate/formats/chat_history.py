"""Converts messages to the formats of OpenAI (Chat Completions) and Anthropic (Messages), and back.

System prompts are not part of a history, so they are left out: pass them as ``Session(system=…)``. Content that a
format cannot express raises UsageError when it is read, and is replaced by a text when it is written.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from json import dumps, loads
from typing import Any, cast

from callgate.words.errors import UsageError
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

Json = dict[str, Any]


def to_openai(messages: Iterable[Message]) -> list[Json]:
    """Return the messages for the Chat Completions API. Thinking is left out. Content of results is written as text."""
    made: list[Json] = []
    for message in messages:
        if message.role == "tool":
            results = [part for part in message.parts if isinstance(part, ResultPart)]
            made += [
                {"role": "tool", "tool_call_id": each.call_id, "content": _words(each.content)} for each in results
            ]
        elif message.role == "assistant":
            calls = [
                {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": _arguments(each)}}
                for each in message.calls
            ]
            text = message.text
            if text or calls:
                made.append({"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})})
        else:
            parts = [_to_openai_part(part) for part in message.parts if isinstance(part, Text | Image | Resource)]
            only = parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts
            made.append({"role": "user", "content": only})
    return made


def from_openai(messages: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return the messages of a Chat Completions request. Raise UsageError for a message that cannot be read."""
    made: list[Message] = []
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        place = f"message {number}"
        match cast(Any, message):
            case {"role": "system" | "developer"}:
                continue
            case {"role": "user"}:
                _add(made, "user", _parts(message.get("content"), _from_openai_part, place))
            case {"role": "assistant"}:
                calls = [_from_openai_call(each, place) for each in message.get("tool_calls") or ()]
                names.update((call.id, call.name) for call in calls)
                _add(made, "assistant", (*_parts(message.get("content"), _from_openai_part, place), *calls))
            case {"role": "tool", "tool_call_id": str(call_id)}:
                content = _parts(message.get("content"), _from_openai_part, place)
                _add_results(made, [ResultPart(call_id, names.get(call_id, ""), content)])
            case _:
                raise _unreadable(place, message)
    return tuple(made)


def to_anthropic(messages: Iterable[Message]) -> list[Json]:
    """Return the messages for the Messages API. Consecutive messages of one role are merged."""
    made: list[Json] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts if (block := _to_anthropic_block(part)) is not None]
        if made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
        elif blocks:
            made.append({"role": role, "content": blocks})
    return made


def from_anthropic(messages: Iterable[Mapping[str, Any]], model: str = "") -> tuple[Message, ...]:
    """Return the messages of a Messages API request. Raise UsageError for a message that cannot be read.

    model  the name of the model that wrote the answers; signatures of thinking are only valid for the same model
    """
    made: list[Message] = []
    names: dict[str, str] = {}

    def read(block: Any, place: str) -> Part:
        match block:
            case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": Mapping()}:
                names[call_id] = name
                return CallPart(call_id, name, {**block["input"]})
            case {"type": "tool_result", "tool_use_id": str(call_id)}:
                content = _parts(block.get("content"), read, place)
                return ResultPart(call_id, names.get(call_id, ""), content, block.get("is_error") is True)
            case _:
                return _from_anthropic_block(block, place)

    for number, message in enumerate(messages):
        place = f"message {number}"
        match cast(Any, message):
            case {"role": "system" | "developer"}:
                continue
            case {"role": "assistant"}:
                _add(made, "assistant", _parts(message.get("content"), read, place), f"anthropic/{model or 'unknown'}")
            case {"role": "user"}:
                parts = _parts(message.get("content"), read, place)
                _add_results(made, [part for part in parts if isinstance(part, ResultPart)])
                said = tuple(part for part in parts if not isinstance(part, ResultPart))
                if said:
                    _add(made, "user", said)
            case _:
                raise _unreadable(place, message)
    return tuple(made)


# ---- writing ------------------------------------------------------------------------------------------------------


def _arguments(call: CallPart) -> str:
    return dumps(dict(call.arguments), ensure_ascii=False) if call.raw_arguments is None else call.raw_arguments


def _words(content: Iterable[Content]) -> str:
    return "".join(_in_words(each) for each in content)


def _in_words(part: Content) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        return f"({part.media_type}, {len(part.data)} bytes)"
    return part.uri if part.text is None else part.text


def _to_openai_part(part: Content) -> Json:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": _data_url(part.media_type, part.data)}}
    if isinstance(part, Resource) and part.data is not None:
        kind = part.media_type or "application/octet-stream"
        return {"type": "file", "file": {"filename": part.uri, "file_data": _data_url(kind, part.data)}}
    if isinstance(part, Resource) and _is_linked_image(part):
        return {"type": "image_url", "image_url": {"url": part.uri}}
    return {"type": "text", "text": _in_words(part)}


def _to_anthropic_block(part: Part) -> Json | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text.strip() else None
        case CallPart():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.written)}
        case ResultPart():
            found = [block for each in part.content if (block := _to_anthropic_block(each)) is not None]
            made = {"type": "tool_result", "tool_use_id": part.call_id, "content": found}
            return {**made, "is_error": True} if part.is_error else made
        case Thinking():
            signed = part.signature is not None
            return {"type": "thinking", "thinking": part.text, "signature": part.signature} if signed else None
        case Image():
            return {"type": "image", "source": _base64(part.media_type, part.data)}
        case Resource(data=bytes() as data):
            source = _base64(part.media_type or "application/pdf", data)
            return {"type": "document", "source": source, "title": part.uri}
        case Resource(text=str() as text):
            source = {"type": "text", "media_type": "text/plain", "data": text}
            return {"type": "document", "source": source, "title": part.uri}
        case Resource():
            if _is_linked_image(part):
                return {"type": "image", "source": {"type": "url", "url": part.uri}}
            return {"type": "text", "text": part.uri}
        case Opaque():
            is_block = part.provider == "anthropic" and isinstance(part.data, Mapping) and "type" in part.data
            return dict(cast("Mapping[str, Any]", part.data)) if is_block else None


def _is_linked_image(part: Resource) -> bool:
    return part.text is None and part.data is None and (part.media_type or "").startswith("image/")


def _base64(kind: str, data: bytes) -> Json:
    return {"type": "base64", "media_type": kind, "data": b64encode(data).decode()}


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"


# ---- reading ------------------------------------------------------------------------------------------------------


def _unreadable(place: str, value: object) -> UsageError:
    return UsageError(f"{place} cannot be imported: {value!r:.200}")


def _add(made: list[Message], role: Any, parts: tuple[Part, ...], model: str | None = None) -> None:
    made.append(Message(f"h{len(made) + 1}", role, parts, model))


def _add_results(made: list[Message], results: Sequence[ResultPart]) -> None:
    """Add results to the last message if it has results, otherwise append a message with the results."""
    if results and made and made[-1].role == "tool":
        made[-1] = Message(made[-1].id, "tool", (*made[-1].parts, *results))
    elif results:
        _add(made, "tool", tuple(results))


def _parts(content: Any, read: Callable[[Any, str], Part], place: str) -> tuple[Any, ...]:
    """Return the parts of a content: a text, or a list of blocks, each of which ``read`` converts."""
    match content:
        case None:
            return ()
        case str(text):
            return (Text(text),)
        case [*blocks]:
            return tuple(read(block, place) for block in blocks)
        case _:
            raise _unreadable(place, content)


def _from_openai_part(part: Any, place: str) -> Part:
    match part:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return Image(*_data_of(url, place)) if url.startswith("data:") else Resource(url, media_type="image/*")
        case {"type": "file", "file": {"file_data": str(url), **file}}:
            media_type, data = _data_of(url, place)
            return Resource(file.get("filename") or "file", None, data, media_type)
        case _:
            raise _unreadable(place, part)


def _from_openai_call(call: Any, place: str) -> CallPart:
    match call:
        case {"id": str(call_id), "function": {"name": str(name), "arguments": str(text)}}:
            try:
                found = loads(text or "{}")
            except (ValueError, RecursionError):
                found = None
            arguments = cast(Json, found) if isinstance(found, dict) else {}
            raw = None if found == arguments and dumps(arguments, ensure_ascii=False) == text else text
            return CallPart(call_id, name, arguments, raw)
        case _:
            raise _unreadable(place, call)


_BLOCKS = ("text", "tool_use", "tool_result", "thinking", "image", "document")


def _from_anthropic_block(block: Any, place: str) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(text, block.get("signature"))
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return Image(kind, _decoded(data, place))
        case {"type": "document", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return Resource(block.get("title") or "document", None, _decoded(data, place), kind)
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return Resource(block.get("title") or "document", text, None, "text/plain")
        case {"type": "image" | "document" as kind, "source": {"type": "url", "url": str(url)}}:
            return Resource(url, media_type="image/*" if kind == "image" else None)
        case {"type": str(kind)} if kind not in _BLOCKS:
            return Opaque("anthropic", {name: value for name, value in block.items() if name != "cache_control"})
        case _:
            raise _unreadable(place, block)


def _data_of(url: str, place: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a data URL."""
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise UsageError(f"{place}: this is not a data URL with base64: {url:.60}")
    return head.removeprefix("data:").removesuffix(";base64"), _decoded(data, place)


def _decoded(text: str, place: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise UsageError(f"{place}: this is not base64: {error}") from None

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
_SYSTEM = ("system", "developer")


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
        reader = _Reader(f"message {number}", _object(message, f"message {number}"))
        role = reader.field("role")
        if role in _SYSTEM:
            continue
        content = reader.value.get("content")
        if role == "user":
            made.append(_named(made, "user", reader.parts(content, _from_openai_part)))
        elif role == "assistant":
            calls = [reader.openai_call(each) for each in reader.value.get("tool_calls") or ()]
            names.update((call.id, call.name) for call in calls)
            made.append(_named(made, "assistant", (*reader.parts(content, _from_openai_part), *calls)))
        elif role == "tool":
            call_id = reader.field("tool_call_id")
            result = ResultPart(
                call_id, names.get(call_id, ""), cast("tuple[Content, ...]", reader.parts(content, _from_openai_part))
            )
            _add_results(made, [result])
        else:
            raise UsageError(f"{reader.place}: unknown role {role!r}")
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
    for number, message in enumerate(messages):
        reader = _Reader(f"message {number}", _object(message, f"message {number}"))
        role = reader.field("role")
        if role in _SYSTEM:
            continue
        if role not in ("user", "assistant"):
            raise UsageError(f"{reader.place}: unknown role {role!r}")
        parts = reader.parts(reader.value.get("content"), lambda each, block: each.anthropic_block(block, names))
        if role == "assistant":
            names.update((part.id, part.name) for part in parts if isinstance(part, CallPart))
            made.append(_named(made, role, parts, f"anthropic/{model or 'unknown'}"))
            continue
        _add_results(made, [part for part in parts if isinstance(part, ResultPart)])
        said = tuple(part for part in parts if not isinstance(part, ResultPart))
        if said:
            made.append(_named(made, role, said))
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


def _named(made: Sequence[Message], role: Any, parts: tuple[Part, ...], model: str | None = None) -> Message:
    return Message(f"h{len(made) + 1}", role, parts, model)


def _add_results(made: list[Message], results: Sequence[ResultPart]) -> None:
    """Add results to the last message if it has results, otherwise append a message with the results."""
    if results and made and made[-1].role == "tool":
        made[-1] = Message(made[-1].id, "tool", (*made[-1].parts, *results))
    elif results:
        made.append(_named(made, "tool", tuple(results)))


def _object(value: Any, place: str) -> Json:
    if not isinstance(value, Mapping):
        raise UsageError(f"{place} is not an object: {value!r:.80}")
    return dict(cast("Mapping[str, Any]", value))


class _Reader:
    """Reads the fields of one message. ``place`` names the message in errors."""

    def __init__(self, place: str, value: Json) -> None:
        self.place = place
        self.value = value

    def field(self, name: str, of: Mapping[str, Any] | None = None) -> str:
        found = (self.value if of is None else of).get(name)
        if not isinstance(found, str):
            raise UsageError(f"{self.place}: {name!r} must be a text, not {found!r:.80}")
        return found

    def parts(self, content: Any, read: "Callable[[_Reader, Json], Part | None]") -> tuple[Any, ...]:
        if content is None:
            return ()
        if isinstance(content, str):
            return (Text(content),)
        if not isinstance(content, Sequence) or isinstance(content, bytes):
            raise UsageError(f"{self.place}: 'content' must be a text or a list, not {content!r:.80}")
        blocks = [_object(each, self.place) for each in cast("Sequence[Any]", content)]
        return tuple(part for block in blocks if (part := read(self, block)) is not None)

    def openai_call(self, value: Any) -> CallPart:
        call = _object(value, self.place)
        function = _object(call.get("function"), f"{self.place}: the function of a call")
        text = self.field("arguments", function)
        try:
            found = loads(text or "{}")
        except (ValueError, RecursionError):
            found = None
        arguments = cast(Json, found) if isinstance(found, dict) else {}
        raw = None if found == arguments and dumps(arguments, ensure_ascii=False) == text else text
        return CallPart(self.field("id", call), self.field("name", function), arguments, raw)

    def anthropic_block(self, block: Json, names: Mapping[str, str]) -> Part:
        kind = self.field("type", block)
        if kind == "text":
            return Text(self.field("text", block))
        if kind == "tool_use":
            given = _object(block.get("input"), f"{self.place}: the input of a call")
            return CallPart(self.field("id", block), self.field("name", block), given)
        if kind == "tool_result":
            call_id = self.field("tool_use_id", block)
            content = self.parts(block.get("content"), lambda each, inner: each.anthropic_block(inner, names))
            return ResultPart(call_id, names.get(call_id, ""), content, block.get("is_error") is True)
        if kind == "thinking":
            return Thinking(self.field("thinking", block), block.get("signature"))
        if kind in ("image", "document"):
            return self._source(kind, block)
        return Opaque("anthropic", {name: value for name, value in block.items() if name != "cache_control"})

    def _source(self, kind: str, block: Json) -> Part:
        source = _object(block.get("source"), f"{self.place}: the source of a block")
        title = block.get("title") or kind
        match source.get("type"):
            case "base64" if kind == "image":
                return Image(self.field("media_type", source), self.decoded(self.field("data", source)))
            case "base64":
                data = self.decoded(self.field("data", source))
                return Resource(title, None, data, self.field("media_type", source))
            case "text":
                return Resource(title, self.field("data", source), None, "text/plain")
            case "url":
                return Resource(self.field("url", source), media_type="image/*" if kind == "image" else None)
            case other:
                raise UsageError(f"{self.place}: a {kind} with the source {other!r} cannot be imported")

    def decoded(self, text: str) -> bytes:
        try:
            return b64decode(text, validate=True)
        except ValueError as error:
            raise UsageError(f"{self.place}: this is not base64: {error}") from None

    def data_url(self, url: str) -> tuple[str, bytes]:
        head, comma, data = url.partition(",")
        if not comma or not head.endswith(";base64"):
            raise UsageError(f"{self.place}: this is not a data URL with base64: {url:.60}")
        return head.removeprefix("data:").removesuffix(";base64"), self.decoded(data)


def _from_openai_part(reader: _Reader, part: Json) -> Part | None:
    kind = reader.field("type", part)
    if kind == "text":
        return Text(reader.field("text", part))
    if kind == "refusal":
        return Text(reader.field("refusal", part))
    if kind == "image_url":
        url = reader.field("url", _object(part.get("image_url"), f"{reader.place}: an image"))
        if url.startswith("data:"):
            return Image(*reader.data_url(url))
        return Resource(url, media_type="image/*")
    if kind == "file":
        file = _object(part.get("file"), f"{reader.place}: a file")
        media_type, data = reader.data_url(reader.field("file_data", file))
        return Resource(file.get("filename") or "file", None, data, media_type)
    raise UsageError(f"{reader.place}: content of the type {kind!r} cannot be imported")

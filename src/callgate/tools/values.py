"""Converts the return values of tools to Results."""

import json
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from os import PathLike, fspath
from typing import Any, cast

from callgate.words.calls import Display, Result, Status
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Content, Image, Resource, Text
from callgate.words.plain import NotPlain, plain_copy

_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_SURROGATE = late_pattern("[\ud800-\udfff]")


def to_result(value: object, tool: str) -> Result:
    """Return the Result for a return value of any type. Raise ToolFailure if the type cannot be sent to a model.

    A string is unchanged, None is an empty result, bytes are decoded as text if possible, content parts (or a list of
    them) are kept, and all other values become JSON: numbers, containers, dataclasses, pydantic models, enums, paths,
    dates. A structured value is not repeated in ``details``; return a Result to set ``details``.
    """
    if type(value) is str:
        return Result((Text(value if value.isascii() else _sound(value)),))
    if value is None:
        return Result()
    if isinstance(value, Result):
        return _checked(value, tool)
    return Result(_content(value, tool))


def applied(changes: ChangeSet) -> str:
    """Return the text for the model about an applied change. It is used if the tool's function returns None."""
    count = len(changes.files)
    return f"Applied: {changes.label} ({count} file{'' if count == 1 else 's'})"


def _content(value: object, tool: str) -> tuple[Content, ...]:
    if isinstance(value, Text | Image | Resource):
        return (value,)
    if isinstance(value, bytes | bytearray | memoryview):
        return (_from_bytes(bytes(cast(bytes, value)), tool),)
    if isinstance(value, list | tuple):
        items = cast(Sequence[object], value)
        # A single content part among strings marks the list as content.
        if any(isinstance(item, Text | Image | Resource) for item in items):
            return tuple(part for item in items for part in _content(item, tool))
    return (Text(_as_text(cast(object, value), tool)),)


def _as_text(value: object, tool: str) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, PathLike):
        value = fspath(cast(PathLike[str], value))
    if isinstance(value, str):
        return _sound(value)
    text = _json(value, tool)
    # A lone date, decimal or uuid reads better without the quotes that JSON puts around it.
    return json.loads(text) if text[:1] == '"' else text


def image_type(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes, or None if models do not accept the image."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((found for magic, found in _MAGIC.items() if data.startswith(magic)), None)


def _from_bytes(data: bytes, tool: str) -> Content:
    media_type = image_type(data)
    if media_type is not None:
        return Image(media_type, data)
    if b"\0" not in data:
        try:
            return Text(data.decode())
        except UnicodeDecodeError:
            pass
    return Resource(f"result:{tool}", data=data, media_type="application/octet-stream")


def _checked(result: Result, tool: str) -> Result:
    """Return the Result of the tool's author. Fields that cannot be recorded are converted."""
    content = cast(object, result.content)
    if not _is_content(content):
        parts = cast(Sequence[object], content if isinstance(content, list | tuple) else (content,))
        result = replace(result, content=tuple(part for item in parts for part in _content(item, tool)))
    if result.details:
        result = replace(result, details=plain(result.details, tool))
    if result.display:
        result = replace(result, display=tuple(_shown(item, tool) for item in result.display))
    if result.context_update is not None and not callable(result.context_update):
        result = replace(result, context_update=plain(result.context_update, tool))
    if result.is_error and result.code == "ok":
        return replace(result, code="tool_error")
    if result.status is Status.ERROR and not result.is_error:
        return replace(result, is_error=True)
    return result


def _is_content(value: object) -> bool:
    items = cast(tuple[object, ...], value)
    return isinstance(value, tuple) and all(isinstance(item, Text | Image | Resource) for item in items)


def _shown(item: Display, tool: str) -> Display:
    return item if isinstance(item.body, str) else replace(item, body=plain(item.body, tool))


def plain(value: object, tool: str) -> Any:
    """Return a copy of the value that contains only JSON types."""
    try:
        return plain_copy(value)
    except (NotPlain, RecursionError):
        return json.loads(_json(value, tool))


def _json(value: object, tool: str) -> str:
    from pydantic_core import to_jsonable_python

    if isinstance(value, Iterator | AsyncIterator | Coroutine):
        hint = "return a list, or write the tool itself as a generator function"
        raise ToolFailure(f"{tool} returned a {type(cast(object, value)).__name__}: {hint}")
    try:
        simple = to_jsonable_python(value, bytes_mode="base64", fallback=_other)
        text = _dumped(simple)
        if "NaN" in text or "Infinity" in text:
            # These have no JSON form, so they are sent as strings.
            text = _dumped(json.loads(text, parse_constant=str))
    except Exception as error:
        kind = type(value).__name__
        raise ToolFailure(f"{tool} returned a {kind} that cannot be converted to JSON: {error}") from error
    # Two backslashes in JSON are one in the string: the escape is shown, not read back as a surrogate.
    return _SURROGATE.sub(lambda match: f"\\\\u{ord(match[0]):04x}", text)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _other(value: Any) -> Any:
    """Convert a value that pydantic does not convert: a pure path, or a mapping that is not a dict."""
    if isinstance(value, PathLike):
        return fspath(cast(PathLike[str], value))
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    raise TypeError(f"no JSON for {type(value).__name__}")


def _sound(text: str) -> str:
    """Return the text with lone surrogates escaped. File names may contain them, but providers and files reject
    them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text

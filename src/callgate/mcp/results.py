"""The answer of a server to a call, as a Result. It is data: nothing in it is believed or acted on."""

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from typing import Any

from callgate.mcp.definitions import Definition
from callgate.tools.jsonschema import Schema, SchemaError, TooMuchWork
from callgate.words.calls import Result
from callgate.words.messages import Content, Image, Resource, Text

LARGEST_IMAGE = 5 << 20
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def result_of(answer: Mapping[str, Any], definition: Definition) -> Result:
    """``answer`` is a CallToolResult as JSON. Structured content that no text repeats is added as text; where it does
    not fit the schema that the server gave for it, the result says so."""
    content = [part for block in _blocks(answer) for part in _content(block)]
    structured = answer.get("structuredContent")
    if structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
        if not any(isinstance(part, Text) and _says(part.text, structured) for part in content):
            content.append(Text(text))
    if answer.get("isError"):
        return Result(tuple(content) or (Text("The server says that it failed."),), is_error=True, code="tool_error")
    fault = _misfit(structured, definition.output)
    if fault:
        content.append(Text(f"[The structured output does not fit the schema of the tool: {fault}]"))
    return Result(tuple(content))


def resource_content(contents: Sequence[Mapping[str, Any]]) -> tuple[Content, ...]:
    """The contents of a resource that was read."""
    return tuple(part for each in contents for part in _content({"type": "resource", "resource": each}))


def message_content(messages: Sequence[Mapping[str, Any]]) -> tuple[Content, ...]:
    """The messages of a prompt; those that are not the person's are named so."""
    found: list[Content] = []
    for each in messages:
        parts = _content(each.get("content") or {})
        if each.get("role") != "user":
            found.append(Text("The assistant is to have said:"))
        found += parts
    return tuple(found)


def _blocks(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return answer.get("content") or ()


def _content(block: Mapping[str, Any]) -> tuple[Content, ...]:
    match block:
        case {"type": "text", "text": str(text)}:
            return (Text(text),)
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return (_image(data, kind),)
        case {"type": "audio", "data": str(data), "mimeType": str(kind)}:
            return (Text(f"[audio: {kind}, {_size(data):,} bytes, which cannot be heard here]"),)
        case {"type": "resource_link", "uri": str(uri)}:
            named = block.get("title") or block.get("name") or ""
            return (Resource(uri, media_type=block.get("mimeType")), *((Text(f"[{named}]"),) if named else ()))
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text), **more}}:
            return (Resource(uri, text=text, media_type=more.get("mimeType")),)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob), **more}}:
            kind = str(more.get("mimeType") or "application/octet-stream")
            if kind in _IMAGES:
                return (_image(blob, kind),)
            return (Resource(uri, media_type=kind), Text(f"[{kind}, {_size(blob):,} bytes]"))
        case _:
            return (Text(f"[a part of an unknown kind: {str(block.get('type'))[:40]}]"),)


def _image(data: str, kind: str) -> Content:
    if kind not in _IMAGES:
        return Text(f"[image: {kind[:40]}, {_size(data):,} bytes, which cannot be shown]")
    if _size(data) > LARGEST_IMAGE:
        return Text(f"[image: {kind}, {_size(data):,} bytes, which is too large]")
    try:
        return Image(kind, b64decode(data, validate=True))
    except (Base64Error, ValueError):
        return Text(f"[image: {kind}, which is not base64]")


def _size(data: str) -> int:
    return len(data) * 3 // 4


def _says(text: str, value: object) -> bool:
    """True if a text is the value, or the only thing in it."""
    if value == {"result": text}:
        return True
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False


def _misfit(value: object, schema: Mapping[str, Any] | None) -> str:
    if schema is None:
        return ""
    try:
        found = Schema(schema, top=False).faults(value)
    except (SchemaError, TooMuchWork, RecursionError):
        return ""  # the schema cannot be relied on, so it says nothing
    return found[0] if found else ""

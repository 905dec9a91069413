"""Converts the responses of a server to Results. Their content is untrusted data."""

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from callgate.mcp.tool_definitions import Definition, clean
from callgate.tools.jsonschema import first_fault
from callgate.tools.values import image_type
from callgate.words.calls import Result
from callgate.words.messages import Content, Image, Resource, Text

LARGEST_IMAGE = 5 << 20
MOST_PARTS = 100
"""The most images and resources of one response. The limit on its text does not include their data and addresses."""
_LONGEST_ADDRESS = 2_000
_LONGEST_KIND = 80
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def result_of(answer: Mapping[str, Any], definition: Definition) -> Result:
    """Convert a CallToolResult in JSON to a Result.

    Structured content is added as text unless a text repeats it, with a note if it does not match the schema of the
    tool.
    """
    content = [*_contents(answer.get("content") or ())]
    structured = answer.get("structuredContent")
    if structured is not None and not _repeats(
        [each.text.removeprefix("\n") for each in content if isinstance(each, Text)], structured
    ):
        content.append(_on_own_line(Text(json.dumps(structured, ensure_ascii=False)), content))
    if answer.get("isError"):
        return Result(tuple(content) or (Text("The server says that it failed."),), is_error=True, code="tool_error")
    fault = "" if definition.output is None else first_fault(definition.output, structured)
    if fault:
        content.append(Text(f"[The structured output does not match the schema of the tool: {fault}]"))
    return Result(tuple(content))


def resource_content(contents: Sequence[Mapping[str, Any]]) -> tuple[Content, ...]:
    return _contents([{"type": "resource", "resource": each} for each in contents])


def message_content(messages: Sequence[Mapping[str, Any]]) -> tuple[Content, ...]:
    """Convert the messages of a prompt to content for the model. Messages that are not from the user are marked. Hidden
    characters are removed, because the user sends the messages unread."""
    blocks: list[Mapping[str, Any]] = []
    for each in messages:
        if each.get("role") != "user":
            blocks.append({"type": "text", "text": "The assistant is to have said:"})
        blocks.append(each.get("content") or {})
    return tuple(map(_cleaned, _contents(blocks)))


def _cleaned(part: Content) -> Content:
    match part:
        case Text(text):
            return Text(clean(text, len(text)))
        case Resource(uri, text):
            seen = None if text is None else clean(text, len(text))
            return replace(part, uri=clean(uri, len(uri)), text=seen)
        case _:
            return part


def _contents(blocks: Sequence[Mapping[str, Any]]) -> tuple[Content, ...]:
    """Convert content blocks, with a limit on images and resources. Texts are limited later, like the texts of all
    tools."""
    found: list[Content] = []
    others = 0
    for part in (part for block in blocks for part in _content(block)):
        others += not isinstance(part, Text)
        if isinstance(part, Text) or others <= MOST_PARTS:
            found.append(_on_own_line(part, found))
    more = others - MOST_PARTS
    return (*found, Text(f"[{more:,} more images and resources are omitted]")) if more > 0 else tuple(found)


def _on_own_line(part: Content, before: Sequence[Content]) -> Content:
    """Return the content part. If it is text and follows another text, the result begins on a new line."""
    last = before[-1] if before else None
    joins = isinstance(part, Text) and isinstance(last, Text) and last.text and not last.text.endswith("\n")
    return Text(f"\n{part.text}") if joins and isinstance(part, Text) else part


def _content(block: Mapping[str, Any]) -> tuple[Content, ...]:
    match block:
        case {"type": "text", "text": str(text)}:
            return (Text(text),)
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return (_image(data, kind),)
        case {"type": "audio", "data": str(data), "mimeType": str(kind)}:
            return (Text(f"[audio: {kind[:_LONGEST_KIND]}, {_size(data):,} bytes, which cannot be played]"),)
        case {"type": "resource_link", "uri": str(uri)}:
            named = block.get("title") or block.get("name") or ""
            return (_resource(uri, None, block), *((Text(f"[{named}]"),) if named else ()))
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text), **more}}:
            return (_resource(uri, text, more),)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob), **more}}:
            kind = str(more.get("mimeType") or "application/octet-stream")[:_LONGEST_KIND]
            if kind in _IMAGES:
                return (_image(blob, kind),)
            return (_resource(uri, None, more), Text(f"[{kind}, {_size(blob):,} bytes]"))
        case _:
            return (Text(f"[a part of an unknown kind: {str(block.get('type'))[:40]}]"),)


def _resource(uri: str, text: str | None, more: Mapping[str, Any]) -> Resource:
    kind: str | None = more.get("mimeType")
    cut = f"{uri[:_LONGEST_ADDRESS]}… ({len(uri):,} characters)" if len(uri) > _LONGEST_ADDRESS else uri
    return Resource(cut, text=text, media_type=kind and kind[:_LONGEST_KIND])


def _image(data: str, kind: str) -> Content:
    """Return an image with the media type detected from its bytes, because models reject a wrong type."""
    if kind not in _IMAGES:
        return Text(f"[image: {kind[:_LONGEST_KIND]}, {_size(data):,} bytes, which cannot be shown]")
    if _size(data) > LARGEST_IMAGE:
        return Text(f"[image: {kind}, {_size(data):,} bytes, which is too large]")
    try:
        decoded = b64decode(data, validate=True)
    except (Base64Error, ValueError):
        return Text(f"[image: {kind}, which is not base64]")
    found = image_type(decoded)
    return Image(found, decoded) if found else Text(f"[image: {kind}, whose {len(decoded):,} bytes are not an image]")


def _size(data: str) -> int:
    return len(data) * 3 // 4


def _repeats(texts: Sequence[str], structured: object) -> bool:
    """Return True if the texts contain the whole structured content. One of the texts may be its JSON. If the server
    wraps a value or a list as ``{"result": …}``, the texts may be the value or the items of the list."""
    read = [*map(_read, texts)]
    if not read:
        return False
    one = ({"result": texts[0]}, {"result": read[0]}) if len(read) == 1 else ()
    return structured in (*read, *one, {"result": [*texts]}, {"result": read})


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

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
    if structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
        if not any(isinstance(part, Text) and _says(part.text, structured) for part in content):
            content.append(Text(text))
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
            found.append(part)
    more = others - MOST_PARTS
    return (*found, Text(f"[{more:,} more images and resources are omitted]")) if more > 0 else tuple(found)


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


def _says(text: str, value: object) -> bool:
    if value == {"result": text}:
        return True
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False

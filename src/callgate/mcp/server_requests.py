"""Requests to one server: calls of its tools, resources and prompts.

Each request is sent once. If the connection is lost during a request, the outcome is unknown and the request is not
repeated. Answers are untrusted data; they are converted to Results.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from callgate.core.ports import Run
from callgate.mcp.link_faults import LinkFault
from callgate.mcp.rate_limit import RateLimit
from callgate.mcp.server_context import ServerContext
from callgate.mcp.server_questions import RunningCalls
from callgate.mcp.tool_definitions import Definition, clean
from callgate.tools.jsonschema import first_fault
from callgate.tools.values import image_type
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Content, Image, Resource, Text

if TYPE_CHECKING:
    from callgate.mcp.link import Link
    from callgate.mcp.server_tool import ServerTool

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


_CHANGED = "The server changed or removed its tool {} after this call was decided, so it was not sent. Call it again."
_PROGRESS = 50, 10  # progress reports of a call: burst and rate; others are dropped
_MOMENT = 5.0  # seconds for a list during completion, and for a subscription
_LONGEST_TYPED = 500
_LONGEST_PROMPT = 100_000
MOST_WATCHED = 100
"""The maximum number of resources per server whose changes are reported."""


class ServerConnection(Protocol):
    """The interface through which requests use the connection of a server."""

    @property
    def tools(self) -> Sequence[ServerTool]: ...

    async def ready(self) -> Link:
        """Return the open connection; wait while it is being opened. Raise ToolFailure if it cannot be opened."""
        ...

    def lost(self, link: Link | None, why: str) -> str:
        """Mark the connection as lost because a request failed on it, and return the reason."""
        ...


class WatchedResources:
    """The resources that were read from one server. A change of a resource is reported once after each read.

    inform  called with a sentence for the user and the model
    """

    def __init__(self, server: str, inform: Callable[[str], None]) -> None:
        self._server = server
        self._inform = inform
        self._were_read: set[str] = set()

    async def add(self, uri: str, link: Link) -> None:
        """Subscribe to a resource after it was read."""
        if uri in self._were_read or len(self._were_read) < MOST_WATCHED:
            self._were_read.add(uri)
            await link.subscribe([uri])

    async def renew(self, link: Link) -> None:
        """Repeat all subscriptions on a new connection."""
        await link.subscribe(sorted(self._were_read))

    def changed(self, uri: str) -> None:
        if uri in self._were_read:
            self._were_read.discard(uri)
            self._inform(f"the resource {clean(uri, 200)!r} of the MCP server {self._server} changed since it was read")


class ServerRequests:
    """Sends requests to one server. Each request is limited by the timeout of a call.

    calls    the requests in progress
    watched  the resources that were read
    """

    def __init__(self, name: str, connection: ServerConnection, context: ServerContext) -> None:
        self.calls = RunningCalls(context.host.clock, context.limits.call)
        self.watched = WatchedResources(name, context.inform)
        self._name = name
        self._connection = connection
        self._clock = context.host.clock
        self._seconds = context.limits.call

    async def call(self, definition: Definition, arguments: Mapping[str, Any], run: Run) -> Result:
        share = RateLimit(*_PROGRESS, self._clock.monotonic)

        def progress(current: float, total: float | None, text: str) -> None:
            if share.takes():
                run.progress(text[:500], current=current, total=total)

        async def send(link: Link) -> Any:
            if not any(each.definition == definition for each in self._connection.tools):
                return Result.failed("tool_error", _CHANGED.format(definition.given), effects="none")
            return await link.call(definition.given, arguments, progress)

        answer = await self._asked(send)
        return answer if isinstance(answer, Result) else result_of(answer, definition)

    async def resources(self) -> list[Mapping[str, Any]]:
        return _or_failure(await self._asked(lambda link: link.resources()))

    async def addresses(self) -> list[str]:
        """Return the addresses of the resources, for completion; none if the server does not answer within a few
        seconds."""
        try:
            async with asyncio.timeout(_MOMENT):
                found = await (await self._connection.ready()).resources()
        except (ToolFailure, LinkFault, TimeoutError):
            return []
        named = [str(each["uri"]) for each in found if "uri" in each]
        return [uri for uri in named if uri == clean(uri, _LONGEST_TYPED) and '"' not in uri]

    async def read(self, uri: str) -> tuple[Content, ...]:
        async def read_and_watch(link: Link) -> Sequence[Mapping[str, Any]]:
            found = await link.read(uri)
            with suppress(TimeoutError):
                async with asyncio.timeout(_MOMENT):  # a failure does not affect the content
                    await self.watched.add(uri, link)
            return found

        return resource_content(_or_failure(await self._asked(read_and_watch)))

    async def prompt_parts(self, name: str, arguments: dict[str, str]) -> tuple[Content, ...]:
        """Return the content of a prompt that the user chose. Raise ToolFailure with the reason if the request
        fails."""
        content = message_content(_or_failure(await self._asked(lambda link: link.prompt(name, arguments))))
        size = sum(len(part.text or "") for part in content if not isinstance(part, Image))
        if size > _LONGEST_PROMPT:
            raise ToolFailure(f"The prompt of the server {self._name} is too long: {size:,} characters.")
        return content

    async def _asked(self, send: Callable[[Link], Awaitable[Any]]) -> Any:
        """Return the response to a request, or a Result with the error if the request fails or its timeout passes."""
        name = self._name
        with self.calls.begun() as call:
            link = None
            try:
                link = await self._connection.ready()
                return await send(link)
            except asyncio.CancelledError:
                if not call.expired:
                    raise
            except LinkFault as fault:
                if not fault.lost:
                    return Result.failed("tool_error", f"The server {name} says: {fault}")
                why = self._connection.lost(link, str(fault))
                text = f"The server {name} disconnected during the call ({why}). It may have partly run."
                return Result.failed("tool_error", text, effects="unknown")
        text = f"The server {name} did not answer within {self._seconds:g} s, and the call was cancelled."
        return Result.failed("timed_out", text)


def _or_failure(answer: Any) -> Any:
    if isinstance(answer, Result):
        raise ToolFailure(answer.text)
    return answer

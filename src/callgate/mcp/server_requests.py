"""Requests to one server: calls of its tools, resources and prompts.

Each request is sent once. If the connection is lost during a request, the outcome is unknown and the request is not
repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from callgate.core.ports import Run
from callgate.mcp.link_faults import LinkFault
from callgate.mcp.rate_limit import RateLimit
from callgate.mcp.server_context import ServerContext
from callgate.mcp.server_questions import RunningCalls
from callgate.mcp.server_results import message_content, resource_content, result_of
from callgate.mcp.tool_definitions import Definition, clean
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Content, Image

if TYPE_CHECKING:
    from callgate.mcp.link import Link
    from callgate.mcp.server_tool import ServerTool

_CHANGED = "The server changed or removed its tool {} after this call was decided, so it was not sent. Call it again."
_PROGRESS = 50, 10  # progress reports of a call: burst and rate; others are dropped
_MOMENT = 5.0  # seconds for a list during completion, and for a subscription
_LONGEST_TYPED = 500
_LONGEST_PROMPT = 100_000
MOST_WATCHED = 100
"""The most resources of one server whose changes are reported."""


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

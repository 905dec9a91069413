"""Requests to one server: calls of its tools, its resources and prompts. Each is sent once.

If the connection is lost in the middle, the outcome is not known, and the request is not repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from callgate.core.ports import Clock, Run
from callgate.mcp.calling import CallsUnderWay
from callgate.mcp.definitions import Definition, clean
from callgate.mcp.faults import LinkFault
from callgate.mcp.rate import RateLimit
from callgate.mcp.results import message_content, resource_content, result_of
from callgate.mcp.watched import WatchedResources
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Content, Image

if TYPE_CHECKING:
    from callgate.mcp.link import Link
    from callgate.mcp.tool import ServerTool

_CHANGED = "The server changed or removed its tool {} after this call was decided, so it was not sent. Call it again."
_PROGRESS = 50, 10  # reports of a call that are told: at once, and each second; others are dropped
_MOMENT = 5.0  # seconds for a list while a person types, and for the answer to a subscription
_LONGEST_TYPED = 500
_LONGEST_PROMPT = 100_000


class Connected(Protocol):
    """The connection of a server."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def tools(self) -> Sequence[ServerTool]: ...

    async def ready(self) -> Link:
        """The connection; waits while it is being made. ToolFailure if it cannot be."""
        ...

    def lost(self, link: Link | None, why: str) -> str:
        """A request found that this connection is of no use any more; gives the reason in words."""
        ...


class ServerRequests:
    """``calls`` are those under way, each within ``seconds``; ``watched`` the resources that were read."""

    def __init__(
        self, server: Connected, calls: CallsUnderWay, watched: WatchedResources, clock: Clock, seconds: float
    ) -> None:
        self._server = server
        self._calls = calls
        self._watched = watched
        self._clock = clock
        self._seconds = seconds

    @property
    def identity(self) -> str:
        return self._server.identity

    async def call(self, definition: Definition, arguments: Mapping[str, Any], run: Run) -> Result:
        share = RateLimit(*_PROGRESS, self._clock.monotonic)

        def progress(current: float, total: float | None, text: str) -> None:
            if share.takes():
                run.progress(text[:500], current=current, total=total)

        async def send(link: Link) -> Any:
            if not any(each.definition == definition for each in self._server.tools):
                return Result.failed("tool_error", _CHANGED.format(definition.given), effects="none")
            return await link.call(definition.given, arguments, progress)

        answer = await self._asked(send)
        return answer if isinstance(answer, Result) else result_of(answer, definition)

    async def resources(self) -> list[Mapping[str, Any]]:
        return _or_failure(await self._asked(lambda link: link.resources()))

    async def addresses(self) -> list[str]:
        """Those of its resources that can be typed; none if it cannot say them within a moment."""
        try:
            async with asyncio.timeout(_MOMENT):
                found = await (await self._server.ready()).resources()
        except (ToolFailure, LinkFault, TimeoutError):
            return []
        named = [str(each["uri"]) for each in found if "uri" in each]
        return [uri for uri in named if uri == clean(uri, _LONGEST_TYPED) and '"' not in uri]

    async def read(self, uri: str) -> tuple[Content, ...]:
        """Reads a resource, and asks to be told when it changes."""

        async def read_and_watch(link: Link) -> Sequence[Mapping[str, Any]]:
            found = await link.read(uri)
            with suppress(TimeoutError):
                async with asyncio.timeout(_MOMENT):  # what was read is there, whatever becomes of this
                    await self._watched.add(uri, link)
            return found

        return resource_content(_or_failure(await self._asked(read_and_watch)))

    async def prompt_parts(self, name: str, arguments: dict[str, str]) -> tuple[Content, ...]:
        """The content of a prompt, for a person who chose it. ToolFailure in words."""
        content = message_content(_or_failure(await self._asked(lambda link: link.prompt(name, arguments))))
        size = sum(len(part.text or "") for part in content if not isinstance(part, Image))
        if size > _LONGEST_PROMPT:
            raise ToolFailure(f"The prompt of the server {self._server.name} is too long: {size:,} characters.")
        return content

    async def _asked(self, send: Callable[[Link], Awaitable[Any]]) -> Any:
        """The answer to a request within the time for a call, or a Result that says what went wrong."""
        name = self._server.name
        with self._calls.begun() as call:
            link = None
            try:
                link = await self._server.ready()
                return await send(link)
            except asyncio.CancelledError:
                if not call.expired:
                    raise
            except LinkFault as fault:
                if not fault.lost:
                    return Result.failed("tool_error", f"The server {name} says: {fault}")
                why = self._server.lost(link, str(fault))
                text = f"The server {name} was lost during the call ({why}): what it did is not known."
                return Result.failed("tool_error", text, effects="unknown")
        text = f"The server {name} did not answer within {self._seconds:g} s, and the call was cancelled."
        return Result.failed("timed_out", text)


def _or_failure(answer: Any) -> Any:
    if isinstance(answer, Result):
        raise ToolFailure(answer.text)
    return answer

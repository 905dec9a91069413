"""The connection to one server, made with the SDK. Methods return only plain data and types of Callgate.

The module is loaded when the first server connects, because the SDK is slow to import.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from callgate._version import __version__
from callgate.host.environment import scrubbed
from callgate.host.ports import Command
from callgate.mcp.http_transport import helper_headers, web_streams
from callgate.mcp.link_faults import LinkFault, innermost, sentence_of
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_context import ServerContext
from callgate.mcp.server_log import ServerLog
from callgate.mcp.stdio_transport import MOST_LISTED, SdkStream, program_streams
from callgate.mcp.tool_definitions import MOST_TOOLS, clean
from callgate.words.noun import noun

CHILD_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""The environment variables that a server inherits, in addition to the ``env`` of its entry."""
_MOST_PAGES = 100
_MOST_ANSWERS_WAITING = 1_000
_LOST = "Connection closed"  # text of the SDK; servers use the SDK's error code for errors of their own

logging.getLogger("mcp").addHandler(logging.NullHandler())  # keeps its warnings off the terminal


@noun
class LinkEvents:
    """Callbacks for messages that a server sends without a request.

    changed   called with ``tools``, ``prompts`` or ``resources`` when this list has changed
    resource  called with the address of a changed resource
    elicit    called with the JSON of an elicitation; returns an action and the content
    ended     called with a sentence when the connection is lost
    """

    changed: Callable[[str], None]
    resource: Callable[[str], None]
    elicit: Callable[[Mapping[str, Any]], Awaitable[tuple[str, Mapping[str, Any] | None]]]
    ended: Callable[[str], None]


Progress = Callable[[float, float | None, str], None]


class Link:
    """An open connection to one server."""

    def __init__(self, client: Client, events: LinkEvents, log: ServerLog) -> None:
        self._client = client
        self._events = events
        self._log = log
        self._uris: list[str] = []
        self._listening: asyncio.Task[None] | None = None
        # The SDK validates with regular expressions that may run forever; see ``server_requests``.
        setattr(client.session, "validate_tool_result", _unchecked)  # noqa: B010

    @property
    def version(self) -> str:
        return self._client.protocol_version

    @property
    def said(self) -> str:
        info = self._client.server_info
        return "" if info is None else clean(f"{info.name} {info.version}", 80).replace("\n", " ")

    async def tools(self) -> list[Mapping[str, Any]]:
        """Return the tools of the server. At most one tool more than the limit is returned, so that the caller detects
        an excess."""
        return await self._pages("list_tools", "tools", MOST_TOOLS + 1)

    async def resources(self) -> list[Mapping[str, Any]]:
        found = await self._pages("list_resources", "resources", MOST_LISTED)
        return [*found, *await self._pages("list_resource_templates", "resources", MOST_LISTED, "resourceTemplates")]

    async def prompts(self) -> list[Mapping[str, Any]]:
        return await self._pages("list_prompts", "prompts", MOST_LISTED)

    async def read(self, uri: str) -> Sequence[Mapping[str, Any]]:
        found = await self._request(lambda: self._client.read_resource(uri))
        return found["contents"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Sequence[Mapping[str, Any]]:
        found = await self._request(lambda: self._client.get_prompt(name, arguments))
        return found["messages"]

    async def subscribe(self, uris: Sequence[str]) -> None:
        """Subscribe to changes of these resources if the server supports subscriptions. A failure is logged."""
        has = self._client.server_capabilities.resources
        new = [uri for uri in uris if uri not in self._uris]
        if has is None or not has.subscribe or not new:
            return
        self._uris += new
        if self.version in MODERN_PROTOCOL_VERSIONS:
            self.listen()  # again, with more addresses
            return
        for uri in new:
            asked = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
            try:
                await self._request(lambda each=asked: self._client.session.send_request(each, types.EmptyResult))
            except LinkFault as fault:
                self._log.say(f"it does not report changes of {uri}: {fault}")
                if fault.lost:
                    return

    async def call(self, name: str, arguments: Mapping[str, Any], tell: Progress) -> Mapping[str, Any]:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            tell(progress, total, message or "")

        return await self._request(lambda: self._client.call_tool(name, dict(arguments), progress_callback=report))

    def listen(self) -> None:
        """Open the stream of list changes. Only the modern protocol needs it."""
        self.stop()
        if self.version in MODERN_PROTOCOL_VERSIONS:
            self._listening = asyncio.create_task(self._listen())

    def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    async def _listen(self) -> None:
        has = self._client.server_capabilities
        tools = has.tools is not None and bool(has.tools.list_changed)
        prompts = has.prompts is not None and bool(has.prompts.list_changed)
        if not (tools or prompts or self._uris):
            return
        try:
            async with self._client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resource_subscriptions=self._uris
            ) as heard:
                async for event in heard:
                    if isinstance(event, ToolsListChanged | PromptsListChanged):
                        self._events.changed("tools" if isinstance(event, ToolsListChanged) else "prompts")
                    elif isinstance(event, ResourceUpdated):
                        self._events.resource(event.uri)
        except Exception as error:  # changes are not noticed then, but all else works
            self._log.say(f"it does not report changes: {innermost(error)}")

    async def _pages(self, method: str, ability: str, most: int, key: str = "") -> list[Mapping[str, Any]]:
        """Return at most ``most`` entries of a list; none if the server does not offer this kind of list."""
        found: list[Mapping[str, Any]] = []
        if getattr(self._client.server_capabilities, ability, None) is None:
            return found
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._request(lambda at=cursor: getattr(self._client, method)(cursor=at))
            found += page.get(key or ability) or ()
            cursor = page.get("nextCursor")
            if cursor is None or len(found) >= most:
                break
        return found[:most]

    async def _request(self, send: Callable[[], Awaitable[Any]]) -> Mapping[str, Any]:
        """Return the response as JSON. Raise LinkFault for any error of the SDK."""
        try:
            answer = await send()
        except MCPError as error:
            text = clean(error.message, 1_000) or f"error {error.code}"
            raise LinkFault(text, lost=error.message == _LOST) from None
        except Exception as error:
            raise LinkFault(clean(sentence_of(innermost(error)), 1_000)) from None
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)


async def _unchecked(name: str, result: object) -> None: ...


@asynccontextmanager
async def open_link(
    config: ServerConfig, context: ServerContext, log: ServerLog, events: LinkEvents, auth: Any = None
) -> AsyncGenerator[Link]:
    """Connect to a server and return the connection. Raise the error of the transport, or an ExceptionGroup that
    contains it."""
    config, roots = config.expanded(context.environ), context.roots

    async def elicit(context: ClientRequestContext, params: Any) -> Any:
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        action, content = await events.elicit(asked)
        return types.ElicitResult.model_validate({"action": action, "content": content})

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        found = [types.Root.model_validate({"uri": Path(root).as_uri(), "name": Path(root).name}) for root in roots]
        return types.ListRootsResult(roots=found)

    async def log_message(params: types.LoggingMessageNotificationParams) -> None:
        log.say(clean(f"[{params.level}] {params.data}", 2_000))

    async def handle_message(message: Any) -> None:
        method = getattr(message, "method", "")
        if isinstance(message, Exception):
            if config.transport != "stdio":  # the stdio transport logs invalid lines itself
                log.refuse(str(message) or type(message).__name__)
        elif method.endswith("/list_changed"):
            events.changed(method.split("/")[1])
        elif method == "notifications/resources/updated":
            events.resource(str(message.params.uri))

    client = Client(
        _with_bounded_answers(await _streams(config, context, log, events, auth), events.ended),
        client_info=types.Implementation(name="callgate", version=__version__),
        elicitation_callback=elicit,
        list_roots_callback=list_roots,
        logging_callback=log_message,
        log_level="info",
        message_handler=handle_message,
        cache=None,
    )
    async with client:
        link = Link(client, events, log)
        link.listen()
        try:
            yield link
        finally:
            link.stop()


async def _streams(
    config: ServerConfig, context: ServerContext, log: ServerLog, events: LinkEvents, auth: Any
) -> AbstractAsyncContextManager[Any]:
    root, environ = context.roots[0], context.environ
    if config.transport == "stdio":
        env = {name: environ[name] for name in CHILD_VARIABLES if name in environ} | dict(config.env)
        return program_streams(Command((config.command, *config.args), root, env), context.host, log, events.ended)
    headers = dict(config.headers)
    if config.headers_helper:
        headers |= await helper_headers(config.headers_helper, root, scrubbed(environ), context.host.clock)
    return web_streams(config, headers, auth, events.ended)


@asynccontextmanager
async def _with_bounded_answers(
    streams: AbstractAsyncContextManager[Any], ended: Callable[[str], None]
) -> AsyncGenerator[Any]:
    async with streams as (read, write):
        yield read, _BoundedAnswers(write, ended)


class _BoundedAnswers(SdkStream):
    """A write stream that limits the number of unsent responses to requests of the server. Each unsent response is a
    task of the SDK, which sets no limit.

    ended  called with a sentence when the limit is reached
    """

    def __init__(self, inner: Any, ended: Callable[[str], None]) -> None:
        self._inner = inner
        self._ended = ended
        self._waiting = 0

    async def send(self, item: SessionMessage, /) -> None:
        if not isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            await self._inner.send(item)
            return
        if self._waiting >= _MOST_ANSWERS_WAITING:
            self._ended("it sends requests but does not read the answers")
            raise anyio.BrokenResourceError
        self._waiting += 1
        try:
            await self._inner.send(item)
        finally:
            self._waiting -= 1

    async def aclose(self) -> None:
        await self._inner.aclose()

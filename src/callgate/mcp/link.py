"""The connection to one server, on the SDK: loaded when the first server connects, because the SDK is costly to load.

Everything that comes out of here is plain data and nouns of Callgate.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from callgate._version import __version__
from callgate.core.ports import Host
from callgate.host.environment import scrubbed
from callgate.host.ports import Command
from callgate.mcp.answers import bounded_answers
from callgate.mcp.config import ServerConfig
from callgate.mcp.definitions import MOST_TOOLS, clean
from callgate.mcp.faults import LinkFault, innermost, sentence_of
from callgate.mcp.log import ServerLog
from callgate.mcp.stdio import MOST_LISTED, program_streams
from callgate.mcp.web import helper_headers, web_streams
from callgate.words.noun import noun

CHILD_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""All that a server gets of our environment, beside the ``env`` of its entry."""
_MOST_PAGES = 100
# The words of the SDK for an end of the connection. Its code for that is one that servers use for errors of their own.
_LOST = "Connection closed"  # the words of the SDK; servers use its code for errors of their own

logging.getLogger("mcp").addHandler(logging.NullHandler())  # its warnings belong into no terminal


@noun
class LinkEvents:
    """Callbacks for what a server does unasked. ``changed`` gets tools, prompts or resources, ``resource`` the address
    of one. ``elicit`` gets the JSON of an elicitation and gives an action and the
    content; ``ended`` a sentence when the connection is lost."""

    changed: Callable[[str], None]
    resource: Callable[[str], None]
    elicit: Callable[[Mapping[str, Any]], Awaitable[tuple[str, Mapping[str, Any] | None]]]
    ended: Callable[[str], None]


Progress = Callable[[float, float | None, str], None]


class Link:
    """A live connection."""

    def __init__(self, client: Client, events: LinkEvents, log: ServerLog) -> None:
        self._client = client
        self._events = events
        self._log = log
        self._uris: list[str] = []
        self._listening: asyncio.Task[None] | None = None
        # The SDK validates with a library whose regular expressions a server can make run for ever; see ``results``.
        setattr(client.session, "validate_tool_result", _unchecked)  # noqa: B010

    @property
    def version(self) -> str:
        return self._client.protocol_version

    @property
    def said(self) -> str:
        """The name and version that the server gives itself."""
        info = self._client.server_info
        return "" if info is None else clean(f"{info.name} {info.version}", 80).replace("\n", " ")

    def offers(self, what: str) -> bool:
        """True for tools, resources or prompts if the server says so."""
        return getattr(self._client.server_capabilities, what, None) is not None

    async def tools(self) -> list[Mapping[str, Any]]:
        """At most one more than are taken, so that the caller sees that there are more."""
        return await self._pages("list_tools", "tools", MOST_TOOLS + 1) if self.offers("tools") else []

    async def resources(self) -> list[Mapping[str, Any]]:
        if not self.offers("resources"):
            return []
        found = await self._pages("list_resources", "resources", MOST_LISTED)
        return [*found, *await self._pages("list_resource_templates", "resourceTemplates", MOST_LISTED)]

    async def prompts(self) -> list[Mapping[str, Any]]:
        return await self._pages("list_prompts", "prompts", MOST_LISTED) if self.offers("prompts") else []

    async def read(self, uri: str) -> Sequence[Mapping[str, Any]]:
        found = await self._request(lambda: self._client.read_resource(uri))
        return found["contents"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> Sequence[Mapping[str, Any]]:
        found = await self._request(lambda: self._client.get_prompt(name, arguments))
        return found["messages"]

    async def subscribe(self, uris: Sequence[str]) -> None:
        """Asks to be told of changes of these resources, where the server offers that; the log says if it does not."""
        has = self._client.server_capabilities.resources
        new = [uri for uri in uris if uri not in self._uris]
        if has is None or not has.subscribe or not new:
            return
        self._uris += new
        if self.version in MODERN_PROTOCOL_VERSIONS:
            self.listen()  # anew, with more addresses
            return
        for uri in new:
            asked = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
            try:
                await self._request(lambda each=asked: self._client.session.send_request(each, types.EmptyResult))
            except LinkFault as fault:
                self._log.say(f"it does not tell of changes of {uri}: {fault}")
                if fault.lost:
                    return

    async def call(self, name: str, arguments: Mapping[str, Any], tell: Progress) -> Mapping[str, Any]:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            tell(progress, total, message or "")

        return await self._request(lambda: self._client.call_tool(name, dict(arguments), progress_callback=report))

    def listen(self) -> None:
        """Hears of changes over the stream of the modern protocol; the old one tells without being asked."""
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
        except Exception as error:  # then changes are not noticed, and all else works
            self._log.say(f"it does not tell of changes: {innermost(error)}")

    async def _pages(self, method: str, key: str, most: int) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._request(lambda at=cursor: getattr(self._client, method)(cursor=at))
            found += page.get(key) or ()
            cursor = page.get("nextCursor")
            if cursor is None or len(found) >= most:
                break
        return found[:most]

    async def _request(self, send: Callable[[], Awaitable[Any]]) -> Mapping[str, Any]:
        """The answer as JSON; LinkFault for whatever the SDK says."""
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
    config: ServerConfig,
    *,
    host: Host,
    roots: Sequence[str],
    environ: Mapping[str, str],
    log: ServerLog,
    events: LinkEvents,
    auth: Any = None,
) -> AsyncGenerator[Link]:
    """Connects; raises what the transport raises, or an ExceptionGroup of it."""
    config = config.expanded(environ)

    async def elicit(context: ClientRequestContext, params: Any) -> Any:
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        action, content = await events.elicit(asked)
        return types.ElicitResult.model_validate({"action": action, "content": content})

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        found = [types.Root.model_validate({"uri": Path(root).as_uri(), "name": Path(root).name}) for root in roots]
        return types.ListRootsResult(roots=found)

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        log.say(clean(f"[{params.level}] {params.data}", 2_000))

    async def heard(message: Any) -> None:
        method = getattr(message, "method", "")
        if isinstance(message, Exception):
            if config.transport != "stdio":  # lines of a program are refused where they are read
                log.refuse(str(message) or type(message).__name__)
        elif method.endswith("/list_changed"):
            events.changed(method.split("/")[1])
        elif method == "notifications/resources/updated":
            events.resource(str(message.params.uri))

    client = Client(
        bounded_answers(await _streams(config, host, roots[0], environ, log, events, auth), events.ended),
        client_info=types.Implementation(name="callgate", version=__version__),
        elicitation_callback=elicit,
        list_roots_callback=list_roots,
        logging_callback=logged,
        log_level="info",
        message_handler=heard,
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
    config: ServerConfig,
    host: Host,
    root: str,
    environ: Mapping[str, str],
    log: ServerLog,
    events: LinkEvents,
    auth: Any,
) -> Any:
    if config.transport == "stdio":
        env = {name: environ[name] for name in CHILD_VARIABLES if name in environ} | dict(config.env)
        return program_streams(Command((config.command, *config.args), root, env), host, log, events.ended)
    headers = dict(config.headers)
    if config.headers_helper:
        headers |= await helper_headers(config.headers_helper, root, scrubbed(environ), host.clock)
    return web_streams(config, headers, auth, events.ended)

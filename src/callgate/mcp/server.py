"""One server: a background task keeps the server connected and the lists of its tools and prompts current.

The task connects with a timeout and retries with growing delays. A failure affects only the calls of this server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from callgate.core.ports import wait_seconds
from callgate.mcp.link_faults import INSTALL, ConnectionFault, LinkFault, NotInstalled, fault_of
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_context import ServerContext, ServerState, ServerStatus
from callgate.mcp.server_log import ServerLog
from callgate.mcp.server_questions import ServerQuestions
from callgate.mcp.server_requests import ServerRequests
from callgate.mcp.server_tool import ServerTool, ToolServer, prompts_of, tools_of
from callgate.mcp.tool_definitions import MOST_TOOLS
from callgate.words.errors import ToolFailure

if TYPE_CHECKING:
    from callgate.mcp.link import Link

_ATTEMPTS = 5
_LONGEST_PAUSE = 60.0
_STEADY = 60.0  # seconds after which the loss of a connection resets the count of failures
_MOST_WARNINGS = 10  # shown to the user; all are logged
_REFRESH = 1.0  # least seconds between two refreshes of a list


class Server:
    """A configured server and its connection. Used on the event loop of the session.

    requests  sends requests to the server
    """

    def __init__(self, config: ServerConfig, context: ServerContext) -> None:
        self.config = config
        self.name = config.name
        self.log = ServerLog(config.name, context.data, context.host.clock.now, context.mask)
        self.state = ServerState("connecting", since=context.host.clock.now())
        self.tools: tuple[ServerTool, ...] = ()
        self.prompts: tuple[Mapping[str, Any], ...] = ()
        self._context = context
        self._clock = context.host.clock
        self._link: Link | None = None
        self._life: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._stale: set[str] = set()
        self._lost = ""
        self._warnings = 0
        self._moved = asyncio.Event()
        self.requests = ServerRequests(config.name, self, context)
        self._questions = ServerQuestions(config.name, self.requests.calls, context.person, self._warn)

    @property
    def identity(self) -> str:
        """The key under which approvals and tokens are stored. For a project's server it includes the project
        folder."""
        where = self._context.roots[0] if self.config.origin.layer == "project" else ""
        return f"{self.name}@{where}" if where else self.name

    # ---- its life -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start connecting in a task. A disabled or failed server can be started again."""
        if self._keeping is None or self._keeping.done():
            self._become("connecting")
            self._keeping = asyncio.create_task(self._keep(), name=f"mcp {self.name}")

    async def end(self, state: ServerStatus = "disabled") -> None:
        """Close the connection, end the server's program and wait for both."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({keeping})
        self._become(state)
        await self._context.approved.written()
        await self.log.flush()

    async def reconnect(self) -> None:
        await self.end("connecting")
        self.begin()

    async def settled(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        while self.state.is_late:
            await self.moved()

    async def moved(self) -> None:
        """Wait until the state or the tools of the server change."""
        await self._moved.wait()

    async def _keep(self) -> None:
        failures = 0
        while True:
            self._become("connecting", self.state.reason if failures else "")
            began = self._clock.monotonic()
            fault = await self._live()
            await self.log.flush()
            if self.state.status == "connected" and self._clock.monotonic() - began > _STEADY:
                failures = 0
            failures += 1
            if failures == 1:
                hint = "callgate mcp login" if fault.login else "see callgate mcp test"
                self._context.note(f"the MCP server {self.name} is not connected: {fault.text}; {hint} {self.name}")
            if fault.final or failures >= _ATTEMPTS:
                self._become("needs login" if fault.login else "failed", fault.text)
                return
            pause = min(2.0 ** (failures - 1), _LONGEST_PAUSE)
            self._become("connecting", fault.text)
            await wait_seconds(self._clock, pause)

    async def _live(self) -> ConnectionFault:
        """Open one connection, wait until it ends and return the reason."""
        self._lost = ""
        life = self._life = asyncio.create_task(self._connected())

        def give_up() -> None:
            # Before the cancel, which ends the program: its exit status is not the reason then.
            self._lost = self._lost or f"it did not answer within {self._context.limits.connect:g} s"
            life.cancel()

        self._timer = self._clock.call_later(self._context.limits.connect, give_up)
        try:
            await asyncio.wait({life})
        finally:
            self._timer.cancel()
            if not life.done():
                life.cancel()
                await asyncio.wait({life})
            self._link = self._life = None
        if life.cancelled():
            fault = ConnectionFault(self._lost or "the connection was cancelled")
        elif (error := life.exception()) is None:
            fault = ConnectionFault(self._lost or "the connection ended")
        else:
            fault = fault_of(error, self._lost, self.config.url)
        noise = "" if self.state.status == "connected" else self.log.noise
        return replace(fault, text=f"{fault.text}; {noise}") if noise else fault

    async def _connected(self) -> None:
        try:
            module = await asyncio.to_thread(import_module, "callgate.mcp.link")
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2"):
                raise
            raise NotInstalled(INSTALL) from None
        began = self._clock.monotonic()
        await asyncio.to_thread(self._context.approved.load)
        events = module.LinkEvents(
            changed=self.list_changed,
            resource=self.requests.watched.changed,
            elicit=self._questions.elicit,
            ended=self._ended,
        )
        async with module.open_link(self.config, self._context, self.log, events, await self._auth()) as link:
            self._stale = {"tools", "prompts"}
            await self._refresh(link)
            self._timer.cancel()
            self._link = link
            took = self._clock.monotonic() - began
            self.log.say(f"connected: {link.said or 'no name'}, protocol {link.version}, {len(self.tools)} tools")
            self._become("connected", seconds=took, version=link.version, said=link.said)
            renewing = asyncio.create_task(self.requests.watched.renew(link))
            try:
                await self._stay(link)
            finally:
                renewing.cancel()
                await asyncio.wait({renewing})

    async def _stay(self, link: Link) -> None:
        """Refresh changed lists until the connection is lost: at most once a second, less often while changes
        continue."""
        pause, looked = _REFRESH, -_STEADY
        while not self._lost:
            await self._woken.wait()
            self._woken.clear()
            if self._stale and not self._lost:
                now = self._clock.monotonic()
                pause = min(pause * 2, _LONGEST_PAUSE) if now - looked < pause * 2 else _REFRESH
                looked = now
                await self._look_again(link)
                self._become("connected", keep=True)
                await wait_seconds(self._clock, pause)

    async def _look_again(self, link: Link) -> None:
        """Refresh the changed lists. If this fails, keep the old lists, so that running calls are not affected, and
        retry later."""
        stale = self._stale.copy()
        try:
            async with asyncio.timeout(self._context.limits.connect):
                await self._refresh(link)
            return
        except TimeoutError:
            why = "no answer"
        except LinkFault as fault:
            if fault.lost:
                raise
            why = str(fault)
        self.log.say(f"the server announced changed lists, but listing them failed: {why}")
        self._stale |= stale
        self._woken.set()

    async def _refresh(self, link: Link) -> None:
        stale, self._stale = self._stale, set()
        if "tools" in stale:
            listed = await link.tools()
            if len(listed) > MOST_TOOLS:
                self._warn(
                    f"the server {self.name} has more than {MOST_TOOLS} tools: only the first {MOST_TOOLS} are used"
                )
            call, approved = self.requests.call, self._context.approved
            server = ToolServer(self.name, self.identity, approved, call, trusted=self.config.trusted)
            # In a thread, because the schemas of a server may take long to compile.
            self.tools = await asyncio.to_thread(tools_of, listed[:MOST_TOOLS], server, self.log.say)
        if "prompts" in stale:
            try:
                self.prompts = prompts_of(await link.prompts(), self.log.say)
            except LinkFault as fault:
                if fault.lost:
                    raise
                self.log.say(f"it has no prompts: {fault}")

    def _become(self, status: ServerStatus, reason: str = "", *, keep: bool = False, **facts: Any) -> None:
        before = self.state
        if status not in ("connecting", "connected"):
            self.tools, self.prompts = (), ()
        if keep:
            self.state = replace(before, tools=len(self.tools))
        else:
            now = self._clock.now()
            self.state = ServerState(status, reason, len(self.tools), since=now, **facts)
        if reason and reason != before.reason:
            self.log.say(reason)
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def list_changed(self, what: str) -> None:
        """Handle the server's announcement that a list changed."""
        if what in ("tools", "prompts"):
            self._stale.add(what)
            self._woken.set()

    def _ended(self, why: str) -> None:
        self._lost = self._lost or why
        self._woken.set()
        if self._link is None and self._life is not None:
            self._life.cancel()  # it was still connecting

    def _warn(self, text: str) -> None:
        self.log.say(text)
        if self._warnings < _MOST_WARNINGS:
            self._warnings += 1
            self._context.note(text)

    async def log_in(self) -> str:
        """Connect during a call, so that the user can be asked to log in. Raise ToolFailure if the server is not
        connected afterwards."""
        with self.requests.calls.begun() as call, call.waiting():
            self.begin()
            await self.ready()
        return f"The server {self.name} is connected; it has {len(self.tools)} tools."

    async def ready(self) -> Link:
        while self._link is None and self.state.status == "connecting" and self._keeping is not None:
            await self.moved()
        if self._link is None:
            raise ToolFailure(f"The server {self.name} is not connected ({self.state.status}). {self.state.reason}")
        return self._link

    def lost(self, link: Link | None, why: str) -> str:
        if link is self._link:  # otherwise there is a new connection already
            self._ended(why)
        return self._lost or why

    async def _auth(self) -> Any:
        if self.config.transport == "stdio" or self._context.tokens is None:
            return None
        login = await asyncio.to_thread(import_module, "callgate.mcp.oauth")
        config = self.config.expanded(self._context.environ)
        show = self._questions.show_login
        return await login.login_auth(self.identity, config.url, self._context.tokens, show, config.client)

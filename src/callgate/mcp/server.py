"""One server: a task keeps it connected and its lists current; ``requests`` are what it can be asked.

It connects with a deadline and again after a failure, later each time. Whatever it does, it costs its own calls alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from callgate.mcp.calling import CallsUnderWay
from callgate.mcp.config import ServerConfig
from callgate.mcp.definitions import MOST_TOOLS
from callgate.mcp.faults import INSTALL, ConnectionFault, LinkFault, NotInstalled, fault_of
from callgate.mcp.listing import prompts_of, tools_of
from callgate.mcp.log import ServerLog
from callgate.mcp.place import ServerPlace, ServerState, ServerStatus
from callgate.mcp.questions import ServerQuestions
from callgate.mcp.requests import ServerRequests
from callgate.mcp.tool import ServerTool
from callgate.mcp.watched import WatchedResources
from callgate.words.errors import ToolFailure

if TYPE_CHECKING:
    from callgate.mcp.link import Link

_ATTEMPTS = 5
_LONGEST_PAUSE = 60.0
_STEADY = 60.0  # seconds after which a connection that is lost is a new failure
_MOST_WARNINGS = 10  # for people; the log has all
_REFRESH = 1.0  # seconds between two looks at a list that changes


class Server:
    """``config`` says what to connect to. Used on the event loop of the session."""

    def __init__(self, config: ServerConfig, place: ServerPlace) -> None:
        self.config = config
        self.name = config.name
        self.log = ServerLog(config.name, place.data, place.host.clock.now)
        self.state = ServerState("connecting", since=place.host.clock.now())
        self.tools: tuple[ServerTool, ...] = ()
        self.prompts: tuple[Mapping[str, Any], ...] = ()
        self._place = place
        self._clock = place.host.clock
        self._link: Link | None = None
        self._life: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._stale: set[str] = set()
        self._lost = ""
        self._warnings = 0
        self._settled = asyncio.Event()
        self._moved = asyncio.Event()
        self._calls = CallsUnderWay(place.host.clock, place.limits.call)
        self._questions = ServerQuestions(config.name, self._calls, place.person, self._warn)
        self._watched = WatchedResources(config.name, place.inform)
        self.requests = ServerRequests(self, self._calls, self._watched, self._clock, place.limits.call)

    @property
    def identity(self) -> str:
        """The name of the server in what is kept: one of a project is another one than a person's own."""
        where = self._place.roots[0] if self.config.origin.layer == "project" else ""
        return f"{self.name}@{where}" if where else self.name

    # ---- its life -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Connects in a task of its own, or again after it was disabled or has failed."""
        if self._keeping is None or self._keeping.done():
            self._settled.clear()
            self._become("connecting")
            self._keeping = asyncio.create_task(self._keep(), name=f"mcp {self.name}")

    async def end(self, state: ServerStatus = "disabled") -> None:
        """Ends the connection and the program, and waits for that."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({keeping})
        self._become(state)
        await self._place.approved.written()
        await self.log.flush()

    async def reconnect(self) -> None:
        await self.end("connecting")
        self.begin()

    async def settled(self) -> None:
        """Waits until it is connected, or until it is known that it cannot be."""
        await self._settled.wait()

    async def moved(self) -> None:
        """Waits until its state or its tools change."""
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
                self._place.note(f"the MCP server {self.name} is not connected: {fault.text}; {hint} {self.name}")
            if fault.final or failures >= _ATTEMPTS:
                self._become("needs login" if fault.login else "failed", fault.text)
                return
            pause = min(2.0 ** (failures - 1), _LONGEST_PAUSE)
            self._become("connecting", fault.text)
            await self._sleep(pause)

    async def _live(self) -> ConnectionFault:
        """One connection from its beginning to its end, which is given."""
        self._lost = ""
        life = self._life = asyncio.create_task(self._connected())

        def give_up() -> None:
            # Before the cancel, which ends the program: its exit status is not the reason then.
            self._lost = self._lost or f"it did not answer within {self._place.limits.connect:g} s"
            life.cancel()

        self._timer = self._clock.call_later(self._place.limits.connect, give_up)
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
        await asyncio.to_thread(self._place.approved.load)
        events = module.LinkEvents(
            changed=self.heard_of,
            resource=self._watched.changed,
            elicit=self._questions.elicit,
            ended=self._ended,
        )
        async with module.open_link(
            self.config,
            host=self._place.host,
            roots=self._place.roots,
            environ=self._place.environ,
            log=self.log,
            events=events,
            auth=await self._auth(),
        ) as link:
            self._stale = {"tools", "prompts"}
            await self._refresh(link)
            self._timer.cancel()
            self._link = link
            took = self._clock.monotonic() - began
            self.log.say(f"connected: {link.said or 'no name'}, protocol {link.version}, {len(self.tools)} tools")
            self._become("connected", seconds=took, version=link.version, said=link.said)
            renewing = asyncio.create_task(self._watched.renew(link))
            try:
                await self._stay(link)
            finally:
                renewing.cancel()
                await asyncio.wait({renewing})

    async def _stay(self, link: Link) -> None:
        """Looks at lists that changed, at most once a second and less often while they go on changing, until the
        connection is lost."""
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
                await self._sleep(pause)

    async def _look_again(self, link: Link) -> None:
        """A server that does not list anew keeps what it had, because calls that run are not to end for that; it is
        asked again later."""
        stale = self._stale.copy()
        try:
            async with asyncio.timeout(self._place.limits.connect):
                await self._refresh(link)
            return
        except TimeoutError:
            why = "no answer"
        except LinkFault as fault:
            if fault.lost:
                raise
            why = str(fault)
        self.log.say(f"it said that its lists changed, and does not list them: {why}")
        self._stale |= stale
        self._woken.set()

    async def _refresh(self, link: Link) -> None:
        stale, self._stale = self._stale, set()
        if "tools" in stale:
            listed = await link.tools()
            if len(listed) > MOST_TOOLS:
                self._warn(f"the server {self.name} has more than {MOST_TOOLS} tools: the first {MOST_TOOLS} are taken")
            make = partial(
                tools_of, listed[:MOST_TOOLS], self.name, self.requests, self._place.approved, say=self.log.say
            )
            # In a thread, because schemas of a stranger may take long to compile.
            self.tools = await asyncio.to_thread(make, trusted=self.config.trusted)
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
        if status != "connecting" or reason:
            self._settled.set()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def heard_of(self, what: str) -> None:
        """A list of the server is another one now."""
        if what in ("tools", "prompts"):
            self._stale.add(what)
            self._woken.set()

    def _ended(self, why: str) -> None:
        """The connection is of no use any more."""
        self._lost = self._lost or why
        self._woken.set()
        if self._link is None and self._life is not None:
            self._life.cancel()  # it was still connecting

    def _warn(self, text: str) -> None:
        self.log.say(text)
        if self._warnings < _MOST_WARNINGS:
            self._warnings += 1
            self._place.note(text)

    async def _sleep(self, seconds: float) -> None:
        over = asyncio.Event()
        timer = self._clock.call_later(seconds, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()

    async def log_in(self) -> str:
        """Connects while a call runs, in which the person can be asked to log in. ToolFailure if it is in vain."""
        with self._calls.begun() as call, call.waiting():
            self.begin()
            await self.ready()
        return f"The server {self.name} is connected; it has {len(self.tools)} tools."

    async def ready(self) -> Link:
        """The connection; waits while it is being made."""
        while self._link is None and self.state.status == "connecting" and self._keeping is not None:
            await self.moved()
        if self._link is None:
            raise ToolFailure(f"The server {self.name} is not connected ({self.state.status}). {self.state.reason}")
        return self._link

    def lost(self, link: Link | None, why: str) -> str:
        """A request found that this connection is of no use any more; gives the reason in words."""
        if link is self._link:  # otherwise it is connected again already
            self._ended(why)
        return self._lost or why

    async def _auth(self) -> Any:
        if self.config.transport == "stdio" or self._place.tokens is None:
            return None
        login = await asyncio.to_thread(import_module, "callgate.mcp.login")
        config = self.config.expanded(self._place.environ)
        show = self._questions.show_login
        return await login.login_auth(self.identity, config.url, self._place.tokens, show, config.client)

"""One server: a task keeps it connected, and the tools it has now can be called.

It connects with a deadline and again after a failure, later each time. Whatever it does, it costs its own calls alone.
A call is sent once: if the connection is lost in the middle, its outcome is not known, and it is not repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from callgate.core.ports import Run
from callgate.mcp.calling import CallsUnderWay, ProgressShare
from callgate.mcp.config import ServerConfig
from callgate.mcp.definitions import MOST_TOOLS, Definition, clean
from callgate.mcp.faults import INSTALL, ConnectionFault, LinkFault, NotInstalled, fault_of
from callgate.mcp.listing import prompts_of, tools_of
from callgate.mcp.log import ServerLog
from callgate.mcp.place import ServerPlace, ServerState, ServerStatus
from callgate.mcp.questions import ServerQuestions
from callgate.mcp.results import message_content, resource_content, result_of
from callgate.mcp.tool import ServerTool
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Content

if TYPE_CHECKING:
    from callgate.mcp.link import Link

_ATTEMPTS = 5
_LONGEST_PAUSE = 60.0
_STEADY = 60.0  # seconds after which a connection that is lost is a new failure
_MOST_SUBSCRIBED = 100
_MOST_WARNINGS = 10  # for people; the log has all
_CHANGED = "The server changed or removed its tool {} after this call was decided, so it was not sent. Call it again."
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
        self._were_read: set[str] = set()
        self._settled = asyncio.Event()
        self._moved = asyncio.Event()
        self._calls = CallsUnderWay(place.host.clock, place.limits.call)
        self._questions = ServerQuestions(config.name, self._calls, place.person, self._warn)

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
            return ConnectionFault(self._lost or f"it did not answer within {self._place.limits.connect:g} s")
        error = life.exception()
        return ConnectionFault(self._lost or "the connection ended") if error is None else fault_of(error, self._lost)

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
            resource=self.resource_changed,
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
            await self._stay(link)

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
                await self._refresh(link)
                self._become("connected", keep=True)
                await self._sleep(pause)

    async def _refresh(self, link: Link) -> None:
        stale, self._stale = self._stale, set()
        if "tools" in stale:
            listed = await link.tools()
            if len(listed) > MOST_TOOLS:
                self._warn(f"the server {self.name} has more than {MOST_TOOLS} tools: the first {MOST_TOOLS} are taken")
            make = partial(tools_of, listed[:MOST_TOOLS], self.name, self, self._place.approved, say=self.log.say)
            # In a thread, because schemas of a stranger may take long to compile.
            self.tools = await asyncio.to_thread(make, trusted=self.config.trusted)
        if "prompts" in stale:
            self.prompts = prompts_of(await link.prompts(), self.log.say)

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
        self._place.told()

    def heard_of(self, what: str) -> None:
        """A list of the server is another one now."""
        if what in ("tools", "prompts"):
            self._stale.add(what)
            self._woken.set()

    def resource_changed(self, uri: str) -> None:
        """Told once for each time that it was read."""
        if uri in self._were_read:
            self._were_read.discard(uri)
            self._place.inform(
                f"the resource {clean(uri, 200)!r} of the MCP server {self.name} changed since it was read"
            )

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

    # ---- requests -----------------------------------------------------------------------------------------------

    async def call(self, definition: Definition, arguments: Mapping[str, Any], run: Run) -> Result:
        share = ProgressShare(self._clock)

        def progress(current: float, total: float | None, text: str) -> None:
            if share.takes():
                run.progress(text[:500], current=current, total=total)

        async def send(link: Link) -> Any:
            if not any(each.definition == definition for each in self.tools):
                return Result.failed("tool_error", _CHANGED.format(definition.given), effects="none")
            return await link.call(definition.given, arguments, progress)

        answer = await self._asked(run, send)
        return answer if isinstance(answer, Result) else result_of(answer, definition)

    async def resources(self, run: Run) -> list[Mapping[str, Any]]:
        return _or_failure(await self._asked(run, lambda link: link.resources()))

    async def read(self, uri: str, run: Run) -> tuple[Content, ...]:
        """Reads a resource, and asks to be told when it changes."""

        async def read_and_subscribe(link: Link) -> Sequence[Mapping[str, Any]]:
            found = await link.read(uri)
            if len(self._were_read) < _MOST_SUBSCRIBED:
                self._were_read.add(uri)
                try:
                    await link.subscribe(uri)
                except LinkFault as fault:  # the resource was read all the same
                    self.log.say(f"it does not tell of changes of {uri}: {fault}")
            return found

        return resource_content(_or_failure(await self._asked(run, read_and_subscribe)))

    async def prompt_parts(self, name: str, arguments: dict[str, str]) -> tuple[Content, ...]:
        """The content of a prompt, for a person who chose it. ToolFailure in words."""
        link = await self._ready()
        try:
            return message_content(await link.prompt(name, arguments))
        except LinkFault as fault:
            raise ToolFailure(f"The server {self.name} gave no prompt: {fault}") from None

    async def log_in(self, run: Run | None) -> str:
        """Connects while a call runs, in which the person can be asked to log in. ToolFailure if it is in vain."""
        with self._calls.begun(run) as call, call.waiting():
            self.begin()
            await self._ready()
        return f"The server {self.name} is connected; it has {len(self.tools)} tools."

    async def _ready(self) -> Link:
        """The connection; waits while it is being made."""
        while self._link is None and self.state.status == "connecting" and self._keeping is not None:
            await self.moved()
        if self._link is None:
            raise ToolFailure(f"The server {self.name} is not connected ({self.state.status}). {self.state.reason}")
        return self._link

    async def _asked(self, run: Run, send: Callable[[Link], Awaitable[Any]]) -> Any:
        """The answer to a request within the time for a call, or a Result that says what went wrong."""
        with self._calls.begun(run) as call:
            link = None
            try:
                link = await self._ready()
                return await send(link)
            except asyncio.CancelledError:
                if not call.expired:
                    raise
            except LinkFault as fault:
                return self._failed(fault, link)
        seconds = self._place.limits.call
        return Result.failed(
            "timed_out", f"The server {self.name} did not answer within {seconds:g} s, and the call was cancelled."
        )

    def _failed(self, fault: LinkFault, link: Link | None) -> Result:
        if not fault.lost:
            return Result.failed("tool_error", f"The server {self.name} says: {fault}")
        if link is self._link:  # otherwise it is connected again already
            self._ended(str(fault))
        why = self._lost or str(fault)
        text = f"The server {self.name} was lost during the call ({why}): what it did is not known."
        return Result.failed("tool_error", text, effects="unknown")

    async def _auth(self) -> Any:
        if self.config.transport == "stdio" or self._place.tokens is None:
            return None
        login = await asyncio.to_thread(import_module, "callgate.mcp.login")
        config = self.config.expanded(self._place.environ)
        show = self._questions.show_login
        return await login.login_auth(self.identity, config.url, self._place.tokens, show, config.client)


def _or_failure(answer: Any) -> Any:
    if isinstance(answer, Result):
        raise ToolFailure(answer.text)
    return answer

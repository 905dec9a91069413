"""A minimal Tool, ToolSource and Run, to test the engine or a single tool."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import isawaitable
from types import MappingProxyType
from typing import Any, cast

from callgate.core.ports import Host, Run, Target, Tool, Unknown
from callgate.testing.memory_host import MemoryHost
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import FieldAnswer
from callgate.words.errors import ToolFailure
from callgate.words.events import CallProgressed
from callgate.words.messages import Text
from callgate.words.model import ToolSpec
from callgate.words.traits import Traits

Arguments = Mapping[str, Any]
Body = Callable[[Arguments, Run], object]
"""Returns a value or Result, or an awaitable of one."""

Preview = Callable[[Arguments, Run], ChangeSet | Awaitable[ChangeSet]]

READER = Traits(effects="none")


class PlainTool:
    """A Tool that calls a function with ``(arguments, run)`` and accepts any JSON object."""

    def __init__(
        self,
        name: str,
        body: Body | None = None,
        *,
        traits: Traits | Callable[[Arguments], Traits] = READER,
        preview: Preview | None = None,
        aliases: Sequence[str] = (),
        description: str = "A tool for tests.",
    ) -> None:
        self.spec = ToolSpec(name, description, {"type": "object"})
        self._body = body or _nothing
        self._traits = traits
        self._preview = preview
        self.aliases: Sequence[str] = tuple(aliases)
        self.previews = preview is not None

    def read(self, raw: str | Arguments) -> Accepted | Rejected:
        try:
            arguments: Any = json.loads(raw) if isinstance(raw, str) else raw
        except (ValueError, RecursionError) as error:
            return Rejected((f"$: not JSON: {error}",))
        if not isinstance(arguments, Mapping):
            return Rejected((f"$: {type(arguments).__name__}, expected an object",))
        return Accepted(dict(arguments))  # pyright: ignore[reportUnknownArgumentType]

    def traits(self, arguments: Arguments) -> Traits:
        return self._traits if isinstance(self._traits, Traits) else self._traits(arguments)

    async def preview(self, arguments: Arguments, run: Run) -> ChangeSet:
        if self._preview is None:
            raise ToolFailure(f"{self.spec.name} has no preview")
        made = self._preview(deepcopy(arguments), run)
        return await made if isawaitable(made) else made

    async def run(self, arguments: Arguments, run: Run) -> Result:
        value = self._body(deepcopy(arguments), run)
        if isawaitable(value):
            value = await value
        if isinstance(value, Result):
            return value
        return Result((Text("" if value is None else str(value)),))


def _nothing(_arguments: Arguments, _run: Run) -> str:
    return "done"


class PlainToolbox:
    """A ToolSource with a fixed list of tools."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = tools
        self._names = {name: tool for tool in tools for name in (*tool.aliases, tool.spec.name)}

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def resolve(self, name: str, raw: str | Arguments) -> Target | Unknown:
        tool = self._names.get(name)
        return Unknown(name, tuple(get_close_matches(name, self._names))) if tool is None else Target(tool, raw)


class PlainRun:
    """The Run for a tool that a test calls directly. ``said`` has the progress messages; set ``cancelled`` to stop
    the tool."""

    def __init__(
        self,
        host: Host | None = None,
        *,
        call_id: str = "call_1",
        context: Arguments | None = None,
        deadline: float | None = None,
        changes: ChangeSet | None = None,
        deps: Any = None,
    ) -> None:
        self.deps = deps
        self.host: Host = host or MemoryHost()
        self.call_id = call_id
        self.answers: tuple[FieldAnswer, ...] = ()
        self.idempotency_key = f"test:{call_id}"
        self.attempt = 1
        self.context: Arguments = MappingProxyType(dict(context or {}))
        self.deadline = deadline
        self.cancelled = False
        self.changes = changes
        self.lineage = (call_id,)
        self.said: list[CallProgressed] = []

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        self.said.append(CallProgressed(self.host.clock.now(), self.call_id, text, current, total))


# ---- probes ----------------------------------------------------------------------------------------------------------


class Barrier(PlainTool):
    """A tool whose calls return when ``parties`` of them run at the same time."""

    def __init__(self, parties: int, name: str = "Barrier", traits: Traits = READER) -> None:
        super().__init__(name, self._meet, traits=traits)
        self._parties = parties
        self._full = asyncio.Event()
        self.inside = 0
        self.most = 0

    async def _meet(self, _arguments: Arguments, _run: Run) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside >= self._parties:
            self._full.set()
        try:
            await self._full.wait()
        finally:
            self.inside -= 1
        return "met"


class Latch(PlainTool):
    """A tool whose calls wait until the test opens the latch for one call or for all calls."""

    def __init__(self, name: str = "Latch", traits: Traits = READER) -> None:
        super().__init__(name, self._wait, traits=traits)
        self.inside: list[str] = []
        self.cancelled: list[str] = []
        self._opened: dict[str, asyncio.Event] = {}
        self._entered = asyncio.Event()
        self._always = False

    def open(self, call_id: str | None = None) -> None:
        """Let one call continue, or all calls, including later calls. A call may be released before it starts."""
        if call_id is None:
            self._always = True
            for event in self._opened.values():
                event.set()
        else:
            self._event(call_id).set()

    async def entered(self, *call_ids: str) -> None:
        """Wait until the calls with these ids wait at the latch. If no ids are given, wait for any call."""
        while not (set(call_ids) <= set(self.inside) if call_ids else self.inside):
            self._entered.clear()
            await self._entered.wait()

    async def _wait(self, _arguments: Arguments, run: Run) -> str:
        self.inside.append(run.call_id)
        self._entered.set()
        try:
            await self._event(run.call_id).wait()
        except asyncio.CancelledError:
            self.cancelled.append(run.call_id)
            raise
        finally:
            self.inside.remove(run.call_id)
        return "let go"

    def _event(self, call_id: str) -> asyncio.Event:
        event = self._opened.setdefault(call_id, asyncio.Event())
        if self._always:
            event.set()
        return event


@dataclass(frozen=True, slots=True)
class Moment:
    """The start or end of a call.

    what  ``started``, ``ended`` (in any way) or ``cancelled``
    at    the time on the host's monotonic clock
    """

    what: str
    call_id: str
    tool: str
    at: float


class Recorder:
    """Records the start and the end of each call of the watched tools."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    def watch(self, tool: Tool) -> Tool:
        return cast(Tool, _WatchedTool(tool, self.moments))

    @property
    def order(self) -> list[str]:
        """The recorded moments as text with call ids, such as ``["started a", "started b", "ended a"]``."""
        return [f"{moment.what} {moment.call_id}" for moment in self.moments]

    @property
    def started(self) -> list[str]:
        return [moment.call_id for moment in self.moments if moment.what == "started"]

    @property
    def ended(self) -> list[str]:
        return [moment.call_id for moment in self.moments if moment.what == "ended"]

    @property
    def most_at_once(self) -> int:
        running = most = 0
        for moment in self.moments:
            running += {"started": 1, "ended": -1}.get(moment.what, 0)
            most = max(most, running)
        return most


class _WatchedTool:
    def __init__(self, tool: Tool, moments: list[Moment]) -> None:
        self._tool = tool
        self._moments = moments

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    async def run(self, arguments: Arguments, run: Run) -> Result:
        self._note("started", run)
        try:
            return await self._tool.run(arguments, run)
        except asyncio.CancelledError:
            self._note("cancelled", run)
            raise
        finally:
            self._note("ended", run)

    def _note(self, what: str, run: Run) -> None:
        self._moments.append(Moment(what, run.call_id, self._tool.spec.name, run.host.clock.monotonic()))

"""Tools that show the concurrency of calls in tests: overlapping calls, waiting calls, the order of calls."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from callgate.core.ports import Run, Tool
from callgate.testing.plain import READER, Arguments, PlainTool
from callgate.words.calls import Result
from callgate.words.traits import Traits


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

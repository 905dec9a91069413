"""How soon a tool starts after its arguments closed in the stream."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from statistics import median
from typing import Any

from benchmarks.measure import Size, spread
from benchmarks.report import Row
from benchmarks.scripts import DONE
from benchmarks.yardstick import by_hand
from callgate import Prompt, Session, shared, tool
from callgate.conversation.ports import Model
from callgate.testing import ScriptedModel, call, pause, say, turn
from callgate.words.model import Abilities, ModelEvent, PartEnded, Request

PAUSE = 0.002
"""Seconds between two calls: the stream really waits, as one from a network does."""

Gap = tuple[float, int]
"""Microseconds, and trips through the event loop."""


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts its iterations."""

    iterations = 0

    def _run_once(self) -> None:
        self.iterations += 1
        super()._run_once()  # pyright: ignore[reportAttributeAccessIssue]


class Stopwatch:
    """Wraps a model to note when the arguments of a call closed; ``note`` is the tool, noting when it began."""

    def __init__(self, inner: Model, loop: CountingLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._closed: list[tuple[int, int]] = []
        self._began: list[tuple[int, int]] = []

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def abilities(self) -> Abilities:
        return self._inner.abilities

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        async for event in self._inner.stream(request):
            if type(event) is PartEnded:
                self._closed.append((time.perf_counter_ns(), self._loop.iterations))
            yield event

    async def note(self, value: int) -> str:
        """Do nothing."""
        self._began.append((time.perf_counter_ns(), self._loop.iterations))
        return "done"

    def gaps(self) -> list[Gap]:
        # The text part of the last message closes too; it has no tool that begins.
        pairs = zip(self._closed, self._began, strict=False)
        return [((began - closed) / 1e3, after - before) for (closed, before), (began, after) in pairs]


async def _in_a_session(watch: Stopwatch) -> None:
    async with Session(watch, [tool(watch.note, effects="none", locks=shared)]) as session:
        await session.send(Prompt("Go."))


async def _by_hand(watch: Stopwatch) -> None:
    await by_hand(watch, {"note": watch.note})


def rows(size: Size) -> list[Row]:
    works: dict[str, Callable[[Stopwatch], Coroutine[Any, Any, None]]] = {"ours": _in_a_session, "yardstick": _by_hand}
    found: dict[str, list[Gap]] = {name: [] for name in works}
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, CountingLoop)
        for _ in range(5):
            for name, work in works.items():
                steps = [step for at in range(size.gaps) for step in (pause(PAUSE), call("note", value=at))]
                watch = Stopwatch(ScriptedModel(turn(*steps, pause(PAUSE)), turn(say(DONE))), loop)
                runner.run(work(watch))
                gaps = watch.gaps()
                if len(gaps) != size.gaps:
                    raise RuntimeError(f"{len(gaps)} of {size.gaps} calls ran")
                found[name] += gaps
    ours, theirs = ([gap for gap, _ in found[name]] for name in ("ours", "yardstick"))
    trips = max(trip for _, trip in found["ours"])
    mine, others = median(ours), median(theirs)
    work = "tool start after its arguments closed"
    return [
        Row("gap", work, "µs", mine, others, mine / others, spread=spread(ours)),
        Row("gap_iterations", "  loop iterations in between, at most", "", trips, limit=1),
    ]

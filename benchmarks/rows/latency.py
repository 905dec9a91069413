"""Time on the wall for five calls whose arguments close 0.2 s apart, each running 0.5 s; and two variants."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.measure import Size, ratio, spread
from benchmarks.report import Row
from benchmarks.work import in_a_loop, in_a_session
from callgate.core.ports import Model
from callgate.testing import ScriptedModel, call, pause, say, turn

LIMIT = 1.02
APART = 0.2
RUNS = 0.5


@dataclass(frozen=True, slots=True)
class Case:
    """``last`` is how long the last call runs, ``tail`` how long text goes on after it; in seconds."""

    work: str
    last: float = RUNS
    tail: float = 0.0

    def script(self, second: float) -> ScriptedModel:
        steps = [
            step for at in range(4) for step in (call("wait", seconds=RUNS * second, number=at), pause(APART * second))
        ]
        text = [say("And so on, and so forth, and then some.", over=self.tail * second)] if self.tail else []
        last = call("wait", seconds=self.last * second, number=4)
        return ScriptedModel(turn(*steps, last, *text), turn(say("All done.")))


CASES: Mapping[str, Case] = {
    "latency": Case("five calls 0.2 s apart, 0.5 s each: wall"),
    "latency_tail": Case("  with 1 s of text after the last call", tail=1.0),
    "latency_slow": Case("  with a last call of 1.5 s", last=1.5),
}


async def _wall(work: Callable[[Model], Coroutine[Any, Any, object]], model: Model) -> float:
    before = time.perf_counter()
    await work(model)
    return time.perf_counter() - before


async def round_of(work: Callable[[Model], Coroutine[Any, Any, object]], second: float) -> dict[str, float]:
    """All cases at once: they only wait, so they are not in each other's way."""
    times = await asyncio.gather(*(_wall(work, case.script(second)) for case in CASES.values()))
    return dict(zip(CASES, times, strict=True))


def rows(size: Size) -> list[Row]:
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for _ in range(size.latency_rounds):
        ours.append(asyncio.run(round_of(in_a_session, size.second)))
        theirs.append(asyncio.run(round_of(in_a_loop, size.second)))
    out: list[Row] = []
    for name, case in CASES.items():
        mine, others = [each[name] for each in ours], [each[name] for each in theirs]
        over = ratio(mine, others)
        out.append(Row(name, case.work, "s", median(mine), median(others), over, LIMIT, spread(mine)))
    return out

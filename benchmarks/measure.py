"""How things are measured here: in turns, with the same conditions for everybody, judged by the median.

Machines are shared and noisy. What is compared therefore alternates within one run of one process, so that whatever
slows one down slows the other too, and CPU rows count the CPU time of this process rather than the time on the wall.
"""

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

_LEAST = 1e-6  # seconds

T = TypeVar("T")
Measure = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything is done. A quick run shows the shape of the table, not its numbers."""

    calls: int = 1_000
    rounds: int = 25
    gaps: int = 60
    latency_rounds: int = 3
    second: float = 1.0
    """How long a second of the latency rows lasts."""
    turns: int = 1_000
    turn_rounds: int = 7
    imports: int = 15
    messages: int = 100
    calls_a_message: int = 100
    growth: int = 10_000


FULL = Size()
USUAL = Size(rounds=9, gaps=20, latency_rounds=1, turns=600, turn_rounds=3, imports=5, messages=40)
QUICK = Size(
    calls=300,
    rounds=7,
    gaps=15,
    latency_rounds=1,
    second=0.5,
    turns=400,
    turn_rounds=3,
    imports=3,
    messages=30,
    growth=1_000,
)


def interleaved(measures: Mapping[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Each measured once a round, in alternating order; one round before them warms everything up."""
    names = list(measures)
    found: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        measures[name]()
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            found[name].append(measures[name]())
    return found


def cpu_seconds(prepare: Callable[[], T], work: Callable[[T], Coroutine[Any, Any, object]]) -> float:
    """CPU time of the work on an event loop of its own; what it needs is made before, and garbage is gone before."""

    async def timed() -> float:
        given = prepare()
        gc.collect()
        before = time.process_time_ns()
        await work(given)
        return (time.process_time_ns() - before) / 1e9

    return asyncio.run(timed())


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the rounds' own ratios: what slowed a whole round down cancels out. The CPU time of a short child
    may be counted as nothing."""
    return median(mine / (other or _LEAST) for mine, other in zip(ours, theirs, strict=True))


def spread(values: list[float]) -> float:
    """Half the distance between the quartiles, relative to the median."""
    ordered = sorted(values)
    middle = median(ordered)
    quarter = len(ordered) // 4
    return (ordered[-1 - quarter] - ordered[quarter]) / 2 / middle if middle else 0.0

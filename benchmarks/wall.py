"""Time on the wall for the spaced calls."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from benchmarks.scripts import SPACED, Steps

Work = Callable[[Steps], Coroutine[Any, Any, object]]
Times = dict[str, float]


async def wall_seconds(work: Work, second: float) -> Times:
    """All variants at once: they only wait, so they are not in each other's way."""

    async def timed(steps: Steps) -> float:
        before = time.perf_counter()
        await work(steps)
        return time.perf_counter() - before

    times = await asyncio.gather(*(timed(each.steps(second)) for each in SPACED.values()))
    return dict(zip(SPACED, times, strict=True))


def alternating(works: tuple[Work, Work], second: float, rounds: int) -> tuple[list[Times], list[Times]]:
    found: tuple[list[Times], list[Times]] = ([], [])
    for work in works:
        asyncio.run(wall_seconds(work, second / 20))  # warms up
    for _ in range(rounds):
        for work, times in zip(works, found, strict=True):
            times.append(asyncio.run(wall_seconds(work, second)))
    return found

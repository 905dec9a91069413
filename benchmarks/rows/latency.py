"""Time on the wall for five calls whose arguments close 0.2 s apart, each running 0.5 s; and two variants."""

from collections.abc import Callable, Coroutine
from statistics import median
from typing import Any

from benchmarks.measure import Size, ratio, spread
from benchmarks.report import Row
from benchmarks.scripts import SPACED, scripted
from benchmarks.wall import Work, alternating
from benchmarks.work import in_a_loop, in_a_session
from callgate.conversation.ports import Model

LIMIT = 1.02


def rows(size: Size) -> list[Row]:
    def on(work: Callable[[Model], Coroutine[Any, Any, object]]) -> Work:
        return lambda steps: work(scripted(steps))

    ours, theirs = alternating((on(in_a_session), on(in_a_loop)), size.second, size.latency_rounds)
    out: list[Row] = []
    for name, each in SPACED.items():
        mine, others = [times[name] for times in ours], [times[name] for times in theirs]
        times = ratio(mine, others)
        out.append(Row(name, each.work, "s", median(mine), median(others), times, LIMIT, spread(mine)))
    return out

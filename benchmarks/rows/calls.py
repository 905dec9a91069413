"""CPU per no-op call: many async calls in one message, everything on, with and without declared locks."""

from collections.abc import Callable, Coroutine
from statistics import median
from typing import Any

from benchmarks.measure import Measure, Size, cpu_seconds, interleaved, ratio, spread
from benchmarks.report import Row
from benchmarks.scripts import many_calls, scripted
from benchmarks.work import in_a_loop, in_a_reply, in_a_session, without_locks
from callgate.conversation.ports import Model

LIMIT = 8.0


def rows(size: Size) -> list[Row]:
    steps = many_calls(size.calls)

    def measure(work: Callable[[Model], Coroutine[Any, Any, object]]) -> Measure:
        return lambda: cpu_seconds(lambda: scripted(steps), work) / size.calls * 1e6

    found = interleaved(
        {
            "plain": measure(without_locks),
            "yardstick": measure(in_a_loop),
            "shared": measure(in_a_session),
            "reply": measure(in_a_reply),
        },
        size.rounds,
    )
    yardstick = found["yardstick"]

    def row(name: str, work: str, values: list[float], limit: float | None = None, note: str = "") -> Row:
        times = ratio(values, yardstick)
        return Row(name, work, "µs", median(values), median(yardstick), times, limit, spread(values), note)

    return [
        row("calls", f"CPU per no-op call, {size.calls:,} in a message", found["plain"], LIMIT),
        row("calls_shared", "  the same, with `locks=shared`", found["shared"], LIMIT),
        row("calls_reply", "  the same, events read with `async for`", found["reply"]),
    ]

"""CPU per no-op call: many shared async calls in one message, everything on."""

from collections.abc import Callable, Coroutine
from functools import partial
from statistics import median
from typing import Any

from benchmarks.measure import Size, cpu_seconds, interleaved, ratio, spread
from benchmarks.report import Row
from benchmarks.work import in_a_loop, in_a_reply, in_a_session, many_calls
from callgate.core.ports import Model

LIMIT = 5.0
AIM = 3.0


def rows(size: Size) -> list[Row]:
    def measure(work: Callable[[Model], Coroutine[Any, Any, object]]) -> Callable[[], float]:
        return lambda: cpu_seconds(partial(many_calls, size.calls), work) / size.calls * 1e6

    found = interleaved(
        {"listener": measure(in_a_session), "yardstick": measure(in_a_loop), "reply": measure(in_a_reply)}, size.rounds
    )
    yardstick = found["yardstick"]

    def row(name: str, work: str, values: list[float], limit: float | None, note: str) -> Row:
        over = ratio(values, yardstick)
        return Row(name, work, "µs", median(values), median(yardstick), over, limit, spread(values), note)

    count = f"{size.calls:,} calls in one message"
    return [
        row("calls", f"CPU per no-op call, {count}", found["listener"], LIMIT, f"aim: {AIM:g} ×"),
        row("calls_reply", "  the same, events read with `async for`", found["reply"], None, ""),
    ]

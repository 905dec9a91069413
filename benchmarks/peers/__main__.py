"""``PY -m benchmarks.peers ADAPTER '{"calls": …, "rounds": …, "second": …}'``: one library's rows as JSON."""

import importlib
import json
import sys
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.measure import cpu_seconds, interleaved, ratio, spread
from benchmarks.scripts import FUNCTIONS, SPACED, Steps, Wanted, many_calls, scripted
from benchmarks.wall import alternating
from benchmarks.yardstick import by_hand


async def yardstick(steps: Steps) -> None:
    await by_hand(scripted(steps), FUNCTIONS)


def calls(adapter: Any, count: int, rounds: int) -> dict[str, Any]:
    steps = many_calls(count)

    async def checked(prepared: Any) -> None:
        results = await adapter.run(prepared)
        if results != count:
            raise RuntimeError(f"{results} of {count} calls gave a result")

    found = interleaved(
        {
            "peer": lambda: cpu_seconds(lambda: adapter.prepare(steps), checked) / count * 1e6,
            "yardstick": lambda: cpu_seconds(lambda: scripted(steps), lambda m: by_hand(m, FUNCTIONS)) / count * 1e6,
        },
        rounds,
    )
    work = f"CPU per no-op call, {count:,} in a message"
    return _told("calls", work, "µs", found["peer"], found["yardstick"])


def latency(adapter: Any, second: float) -> list[dict[str, Any]]:
    async def peer(steps: Steps) -> None:
        results = await adapter.run(adapter.prepare(steps, streamed=True))
        wanted = sum(isinstance(step, Wanted) for step in steps)
        if results != wanted:
            raise RuntimeError(f"{results} of {wanted} calls gave a result")

    theirs, ours = alternating((peer, yardstick), second, 1)
    return [
        _told(name, each.work, "s", [t[name] for t in theirs], [t[name] for t in ours]) for name, each in SPACED.items()
    ]


def _told(name: str, work: str, unit: str, peer: list[float], other: list[float]) -> dict[str, Any]:
    return {
        "name": name,
        "work": work,
        "unit": unit,
        "measured": median(peer),
        "yardstick": median(other),
        "ratio": ratio(peer, other),
        "spread": spread(peer),
    }


def attempted(name: str, work: str, measure: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    try:
        return measure()
    except Exception as error:  # an API that changed: the row says so instead of ending the run
        return [{"name": name, "work": work, "missing": f"{type(error).__name__}: {str(error)[:200]}"}]


def main(name: str, given: str) -> None:
    warnings.simplefilter("ignore")
    size = json.loads(given)
    adapter = importlib.import_module(f"benchmarks.peers.{name}")
    rows = attempted("calls", "CPU per no-op call", lambda: [calls(adapter, size["calls"], size["rounds"])])
    rows += attempted("latency", SPACED["latency"].work, lambda: latency(adapter, size["second"]))
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:])

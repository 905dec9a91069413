"""What history that is not live costs: nine turns of ten were rewound, or stand before a boundary."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import callgate
from benchmarks.measure import Size, interleaved, spread
from benchmarks.report import Row
from benchmarks.rows.record_logs import BEGAN, amounts, opened, scratch, turns, write_fast
from callgate.transcript.loader import whole
from callgate.transcript.lock import open_log
from callgate.transcript.masking import Masker
from callgate.words.events import Durable
from callgate.words.turns import Compacted, Counted, Rewound

LIMIT = 1.2
DEAD = 9
"""Dead turns for each live one."""


def alone(live: int) -> Iterator[Durable]:
    yield opened()
    yield from turns(1, live)


def rewound(live: int) -> Iterator[Durable]:
    """Each live turn is followed by a branch of nine that was left again: the live part is in as many pieces."""
    yield opened()
    for number in range(1, live + 1):
        yield from turns(number, 1)
        branch = live + 1 + (number - 1) * DEAD
        yield from turns(branch, DEAD)
        yield Rewound(BEGAN + branch + DEAD, f"u{branch}", Counted(3 * number * (1 + DEAD), number))


def compacted(live: int) -> Iterator[Durable]:
    """The boundary keeps nothing of what was before it."""
    dead = live * DEAD
    yield opened()
    yield from turns(live + 1, dead)
    yield Compacted(BEGAN + live + dead, "What was done before. " * 100, counted=Counted(3 * dead, dead))
    yield from turns(1, live)


class Costs:
    """Loads logs in fresh processes, and keeps what each said of its memory."""

    def __init__(self, messages: int) -> None:
        self._messages = messages
        self._environment = {**os.environ, "PYTHONPATH": str(Path(callgate.__file__).parents[1])}
        self.megabytes: dict[str, list[float]] = {}

    def milliseconds(self, log: Path) -> float:
        asked = [sys.executable, "-P", str(Path(__file__).with_name("record_child.py")), str(log)]
        ran = subprocess.run(asked, env=self._environment, capture_output=True, text=True, check=True)
        took, peak, messages = json.loads(ran.stdout)
        if messages != self._messages:
            raise RuntimeError(f"{messages} of {self._messages} messages of {log.name} are live")
        self.megabytes.setdefault(log.stem, []).append(peak / 1024)
        return took


def rows(size: Size) -> list[Row]:
    amount = amounts(size)
    masker = Masker()
    with scratch() as folder:
        logs: dict[str, Path] = {}
        sizes: dict[str, int] = {}
        for events in (alone, rewound, compacted):
            name = events.__name__
            logs[name] = Path(folder) / f"{name}.jsonl"
            sizes[name] = write_fast(logs[name], events(amount.live), masker)
        costs = Costs(3 * amount.live)
        found = interleaved({name: partial(costs.milliseconds, log) for name, log in logs.items()}, amount.rounds)
        unindexed = _whole_milliseconds(logs["rewound"])
    out: list[Row] = []
    for name in ("rewound", "compacted"):
        work = f"load {sizes[name] / 1e6:,.0f} MB, nine tenths {name}: CPU, against the rest alone"
        out += [
            _row(f"history_{name}", work, "ms", name, found),
            _row(f"history_{name}_peak", "  memory at its peak", "MB", name, costs.megabytes),
        ]
    return [*out, Row("history_whole", "  the rewound one without an index: CPU", "ms", unindexed)]


def _row(name: str, work: str, unit: str, which: str, found: Mapping[str, list[float]]) -> Row:
    """The best of each: work that is the same every time is only ever slowed down by others."""
    mine, other = min(found[which]), min(found["alone"])
    return Row(name, work, unit, mine, other, mine / other, LIMIT, spread(found[which]))


def _whole_milliseconds(log: Path) -> float:
    """Once: it is only reported."""
    fd = open_log(log, os.O_RDONLY)
    try:
        before = time.process_time_ns()
        whole(fd, log.stem)
        return (time.process_time_ns() - before) / 1e6
    finally:
        os.close(fd)

"""What it costs to load a long session and to resume it, against parsing its lines and keeping nothing."""

import gc
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Measure, Size, interleaved, spread
from benchmarks.report import Row
from benchmarks.rows.record_logs import ENTRIES_A_TURN, amounts, opened, scratch, turns, write_fast
from callgate.conversation.ledger import Ledger
from callgate.transcript.codec import read_line
from callgate.transcript.loader import load
from callgate.transcript.lock import open_log
from callgate.transcript.masking import Masker
from callgate.transcript.reader import LogReader, raw_lines

LIMIT = 1.5


def rows(size: Size) -> list[Row]:
    amount = amounts(size)
    with scratch() as folder:
        log = Path(folder) / "long.jsonl"
        written = write_fast(log, [opened(), *turns(1, amount.turns)], Masker())
        fd = open_log(log, os.O_RDONLY)
        try:
            found = interleaved(_measures(fd, log, amount.turns), amount.rounds)
        finally:
            os.close(fd)
    # The best of each: work that is the same every time is only ever slowed down by others.
    best = {name: min(values) for name, values in found.items()}
    entries = f"{written / 1e6:,.0f} MB, {amount.turns * ENTRIES_A_TURN:,} entries"

    def row(name: str, work: str, yardstick: str, limit: float | None = None) -> Row:
        mine, other = best["resume"], best[yardstick]
        return Row(name, work, "ms", mine, other, mine / other, limit, spread(found["resume"]))

    return [
        row("load", f"load and resume {entries}: CPU, against parsing alone", "parse", LIMIT),
        row("load_json", "  against json.loads alone", "json"),
    ]


Read = tuple[int, object]
"""How many turns, and what is kept of them: to let go of it is not part of the work."""


def _measures(fd: int, log: Path, expected: int) -> dict[str, Measure]:
    live = load(fd, log).chain.live()

    def resume() -> Read:
        loaded = load(fd, log)
        ledger = Ledger(loaded.events)
        return ledger.turn, (loaded, ledger)

    def parse() -> Read:
        return sum(1 for raw in LogReader(fd).lines(live) if read_line(raw.data, raw.sum).event) // ENTRIES_A_TURN, None

    def decode() -> Read:
        lines = (data for begin, end in live for _, _, data in raw_lines(fd, begin, end))
        return sum(1 for line in lines if json.loads(line)) // ENTRIES_A_TURN, None

    works: dict[str, Callable[[], Read]] = {"resume": resume, "parse": parse, "json": decode}
    return {name: _timed(work, expected) for name, work in works.items()}


def _timed(work: Callable[[], Read], expected: int) -> Measure:
    def measure() -> float:
        gc.collect()
        before = time.process_time_ns()
        found, _kept = work()
        took = (time.process_time_ns() - before) / 1e6
        if found != expected:
            raise RuntimeError(f"{found} of {expected} turns were read")
        return took

    return measure

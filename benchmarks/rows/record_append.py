"""How fast entries become durable when many wait at once, and whether the loop notices a slow disk."""

import asyncio
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from unittest.mock import patch

from benchmarks.measure import Size, spread
from benchmarks.report import Row
from benchmarks.rows.record_logs import BEGAN, amounts, opened, scratch
from callgate.transcript import tape
from callgate.transcript.disk_journal import DiskJournal
from callgate.transcript.masking import Masker
from callgate.words.events import CallStarted, MessageAdded
from callgate.words.messages import Message, Text

PRODUCERS = 64
USUAL = 0.3
"""Milliseconds of an fdatasync for which 3,000 entries a second are wanted: 0.9 entries in the time of one. A slower
disk may take as much longer; a faster one is no excuse, so the yardstick is never less."""
LIMIT = round(1 / 0.9, 2)
SLOW = 0.05
SLOW_SYNCS = 5
LAG = 25.0
"""Milliseconds; half of what the disk takes."""
TICK = 0.001

_LINE = b"x" * 300 + b"\n"
_sync: Callable[[int], None] = tape._fdatasync  # pyright: ignore[reportPrivateUsage]


def rows(size: Size) -> list[Row]:
    amount = amounts(size)
    with scratch() as name:
        folder = Path(name)
        entries, syncs, waits = _appended(folder, amount.entries, amount.syncs, amount.rounds)
        gaps = [asyncio.run(_longest_gap(folder / f"slow{number}.jsonl")) for number in range(2 * amount.rounds)]
    entry, sync = min(entries), min(syncs)
    yardstick = max(sync, USUAL)
    late = sorted(waits)[-1 - len(waits) // 100]
    rate = f"{1e3 / entry:,.0f} entries a second; an fdatasync alone takes {sync:.3g} ms"
    work = f"durable entry, {PRODUCERS} wait at once: wall"
    slow = f"loop held up while fdatasync takes {SLOW * 1e3:g} ms: wall"
    calm = (
        f"longest gap of a ticker in the calmest of {len(gaps)} rounds; half of them had {median(gaps):.3g} ms or more"
    )
    return [
        Row("append", work, "ms", entry, yardstick, entry / yardstick, LIMIT, spread(entries), rate),
        Row("append_wait", "  99 of 100 are acknowledged within", "ms", late, sync, late / sync),
        # A busy machine makes gaps too, but not in every round; a loop that waits for the disk has one in each.
        Row("append_lag", slow, "ms", min(gaps), limit=LAG, note=calm),
    ]


def _appended(folder: Path, entries: int, syncs: int, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds for an entry and for a sync of the disk alone, each round; and of every wait."""
    each: list[float] = []
    alone: list[float] = []
    waits: list[float] = []
    for number in range(rounds):
        alone.append(_sync_milliseconds(folder / "plain", syncs // rounds))
        took, waited = asyncio.run(_append(folder / f"fast{number}.jsonl", entries // rounds))
        each.append(took / len(waited))
        waits += waited
    return each, alone, waits


def _sync_milliseconds(path: Path, count: int) -> float:
    """What the disk takes to keep one more line of a growing file, with nothing of ours in between."""
    took: list[float] = []
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        for _ in range(count):
            os.write(fd, _LINE)
            before = time.perf_counter()
            _sync(fd)
            took.append((time.perf_counter() - before) * 1e3)
    finally:
        os.close(fd)
    return median(took)


async def _append(log: Path, entries: int) -> tuple[float, list[float]]:
    """Milliseconds in all, and of each wait."""
    journal = await _begun(log)
    before = time.perf_counter()
    waits = await _acknowledged(journal, entries)
    took = (time.perf_counter() - before) * 1e3
    await journal.aclose()
    return took, waits


async def _begun(log: Path) -> DiskJournal:
    """A journal whose file is there and synced: what follows is only lines."""
    journal = DiskJournal(log, Masker())
    journal.append(opened())
    journal.append(MessageAdded(BEGAN, Message("u1", "user", (Text("Go."),))))
    await _durable(journal)
    return journal


async def _acknowledged(journal: DiskJournal, entries: int) -> list[float]:
    """Each producer appends an entry and waits until it is durable, again and again. Milliseconds of each wait."""
    took: list[float] = []

    async def produce(number: int) -> None:
        for at in range(max(1, entries // PRODUCERS)):
            before = time.perf_counter()
            journal.append(CallStarted(BEGAN + at, f"call_{number}_{at}"))
            await _durable(journal)
            took.append((time.perf_counter() - before) * 1e3)

    async with asyncio.TaskGroup() as group:
        for number in range(PRODUCERS):
            group.create_task(produce(number))
    return took


async def _durable(journal: DiskJournal) -> None:
    waiting = journal.barrier()
    if waiting is not None:
        await waiting


async def _longest_gap(log: Path) -> float:
    """Milliseconds between two ticks of a ticker on the loop, while a journal is begun, written and closed there."""
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.perf_counter())
            await asyncio.sleep(TICK)

    def slowly(fd: int) -> None:
        time.sleep(SLOW)
        _sync(fd)

    with patch.object(tape, "_fdatasync", slowly):
        ticking = asyncio.create_task(tick())
        journal = await _begun(log)
        await _acknowledged(journal, SLOW_SYNCS * PRODUCERS)
        await journal.aclose()
    ticking.cancel()
    return max(after - before for before, after in pairwise(ticks)) * 1e3

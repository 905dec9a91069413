"""What a session that is kept costs against one that ends with the program: ten calls with effects in a message."""

import asyncio
import gc
import time
from pathlib import Path
from statistics import median

from benchmarks.measure import Size, ratio, spread
from benchmarks.report import Row
from benchmarks.rows.record_logs import amounts, scratch
from benchmarks.scripts import DONE, noop
from benchmarks.work import settled
from callgate import Prompt, Session, tool
from callgate.conversation.ports import Journal
from callgate.conversation.record import MemoryJournal
from callgate.testing import ScriptedModel, call, say, turn
from callgate.transcript.store import Store

CALLS = 10
TOOL = tool(noop, effects="mutating")
"""Calls with effects run one after the other, and none before its start is durable."""

Times = tuple[float, float]
"""Milliseconds of a prompt, its calls and its answer: on the wall, and of CPU time in all threads."""


async def _times(journal: Journal, prompts: int) -> Times:
    values = (range(number * CALLS, (number + 1) * CALLS) for number in range(prompts))
    said = (each for some in values for each in (turn(*(call("noop", value=at) for at in some)), turn(say(DONE))))
    async with Session(ScriptedModel(*said), [TOOL], journal=journal, mode="bypass") as session:
        gc.collect()
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(prompts):
            heard = [event async for event in session.send(Prompt("Go."))]
            if len(settled(heard)) != CALLS:
                raise RuntimeError(f"{len(settled(heard))} of {CALLS} calls settled")
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return wall / prompts / 1e6, cpu / prompts / 1e6


async def _round(folder: Path, prompts: int) -> tuple[Times, Times]:
    durable = await _times(await Store(folder, folder).create(), prompts)
    return durable, await _times(MemoryJournal(), prompts)


def rows(size: Size) -> list[Row]:
    amount = amounts(size)
    with scratch() as name:
        # The first round warms up.
        found = [asyncio.run(_round(Path(name), amount.prompts)) for _ in range(1 + amount.rounds)][1:]
    out: list[Row] = []
    for at, work in enumerate((f"a turn of {CALLS} calls with effects, kept on disk: wall", "  CPU")):
        ours, theirs = ([each[which][at] for each in found] for which in (0, 1))
        name = ("durable", "durable_cpu")[at]
        out.append(Row(name, work, "ms", median(ours), median(theirs), ratio(ours, theirs), spread=spread(ours)))
    return out

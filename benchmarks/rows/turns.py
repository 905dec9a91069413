"""What a turn costs late in a session against early in it."""

import asyncio
import gc
import time
from itertools import pairwise
from statistics import fmean, median

from benchmarks.measure import Size, ratio, spread
from benchmarks.report import Row
from benchmarks.scripts import DONE
from benchmarks.work import TOOLS
from callgate import Prompt, Session
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.events import AgentPath, Event, TurnEnded

LIMIT = 1.2
EARLY = 10
WINDOW = 50


async def _costs(turns: int) -> list[float]:
    """Microseconds of CPU for each turn of one session: one call and its result a turn."""
    model = ScriptedModel(*(turn(call("noop", value=number)) for number in range(turns)), turn(say(DONE)))
    marks = [0] * (turns + 2)

    def listener(path: AgentPath, number: int, event: Event) -> None:
        if type(event) is TurnEnded:
            marks[event.turn] = time.process_time_ns()

    async with Session(model, TOOLS) as session:
        session.listen(listener)
        gc.collect()
        await session.send(Prompt("Go."))
    if not marks[turns]:
        raise RuntimeError(f"the session ended before turn {turns}")
    return [(after - before) / 1e3 for before, after in pairwise(marks[1 : turns + 1])]


def rows(size: Size) -> list[Row]:
    early: list[float] = []
    late: list[float] = []
    for number in range(size.turn_rounds + 1):
        costs = asyncio.run(_costs(size.turns))
        if number:  # the first one warms up
            window = min(WINDOW, size.turns // 4)
            early.append(fmean(costs[EARLY : EARLY + window]))
            late.append(fmean(costs[-window:]))
    work = f"CPU of turn {size.turns:,} against turn {EARLY}"
    return [Row("turns", work, "µs", median(late), median(early), ratio(late, early), LIMIT, spread(late))]

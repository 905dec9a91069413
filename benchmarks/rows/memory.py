"""What stays in memory of calls that have settled, when nobody keeps them."""

import asyncio
import gc
import tracemalloc

from benchmarks.measure import Size
from benchmarks.report import Row
from benchmarks.scripts import DONE
from benchmarks.work import TOOLS
from callgate import DecisionGate, Prompt, Session, Toolbox, ToolCall
from callgate.assembly import Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.host.local import LocalHost
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.events import AgentPath, Durable, Event, StatusChanged, TurnEnded

LIMIT = 200.0
"""Bytes a call; nothing is expected to stay but the odd counter."""
WARM_UP = 10
"""Messages before the count begins: caches fill once."""


class Forgetful(MemoryJournal):
    """A journal that keeps nothing."""

    def append(self, event: Durable) -> None: ...


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def executor_bytes(size: Size) -> float:
    """Growth a call over many messages, each with an executor of its own on one host."""
    host, gate, toolbox = LocalHost(), DecisionGate(), Toolbox(*TOOLS)
    before = 0
    for number in range(WARM_UP + size.messages):
        if number == WARM_UP:
            before = _traced()
        async with Executor(toolbox, gate, host=host, record=Record(Forgetful(), Ledger())) as executor:
            for at in range(size.calls_a_message):
                executor.add(ToolCall(f"call_{number}_{at}", "noop", raw_arguments=f'{{"value": {at}}}', index=at))
            executor.close()
            results = [each async for each in executor.remaining()]
            if len(results) != size.calls_a_message:
                raise RuntimeError(f"{len(results)} of {size.calls_a_message} results left")
            del results
        del executor
    return (_traced() - before) / (size.messages * size.calls_a_message)


async def session_bytes(size: Size) -> tuple[float, float]:
    """Growth a call over the turns of one session: all of it, and the part that is its history."""
    count = WARM_UP + size.messages
    values = [range(number * size.calls_a_message, (number + 1) * size.calls_a_message) for number in range(count)]
    messages = (turn(*(call("noop", value=value) for value in each)) for each in values)
    model = ScriptedModel(*messages, turn(say(DONE)))
    marks = [0, 0]
    rested = asyncio.Event()

    def listener(path: AgentPath, number: int, event: Event) -> None:
        if type(event) is TurnEnded and event.turn in (WARM_UP, count):
            model.requests.clear()
            marks[event.turn == count] = _traced()
        elif type(event) is StatusChanged and event.status != "working":
            rested.set()

    session = Session(model, TOOLS, journal=Forgetful())
    stop = session.listen(listener)
    session.post(Prompt("Go."))
    await rested.wait()
    stop()
    await session.aclose()
    history = session.messages
    model.requests.clear()
    del session, stop
    with_history = _traced()
    if len(history) < 2 * count:
        raise RuntimeError(f"the session ended after {len(history)} messages")
    del history
    calls = size.messages * size.calls_a_message
    # The history of the warm-up is let go as well, so its share is reckoned a message.
    return (marks[1] - marks[0]) / calls, (with_history - _traced()) * size.messages / count / calls


def rows(size: Size) -> list[Row]:
    tracemalloc.start()
    try:
        alone = asyncio.run(executor_bytes(size))
        total, history = asyncio.run(session_bytes(size))
    finally:
        tracemalloc.stop()
    calls = f"{size.messages * size.calls_a_message:,} settled calls"
    note = f"history {history:,.0f} bytes a call; the limit is for the rest of {total:,.0f}"
    return [
        Row("memory", f"{calls}: kept by executors, a call", "bytes", max(0.0, alone), limit=LIMIT),
        Row(
            "memory_session",
            "  by a session besides its history",
            "bytes",
            max(0.0, total - history),
            limit=LIMIT,
            note=note,
        ),
    ]

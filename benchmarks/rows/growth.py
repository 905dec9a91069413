"""What each of many waiting calls costs, against each of few: near-linear growth is a ratio near 1."""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

from benchmarks.measure import Size
from benchmarks.report import Row
from callgate import ToolCall, tool, writes
from callgate.assembly import Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.testing import MemoryHost
from callgate.words.calls import Result

LIMIT = 2.0
Work = Callable[[int], Coroutine[Any, Any, None]]


@tool(effects="none", locks=lambda given: writes(given.path))
async def touch(path: str, number: int) -> str:
    """Want a file for oneself."""
    return "done"


@tool(effects="mutating", locks=lambda given: writes(given.path))
async def change(path: str) -> str:
    """Change a file, which a person is asked about."""
    return "done"


async def finish(executor: Executor) -> None:
    async with executor:
        executor.close()
        results = [each.result async for each in executor.remaining() if isinstance(each, ToolCall)]
    if not all(isinstance(each, Result) and not each.is_error for each in results):
        raise RuntimeError("a call failed")


async def executors(count: int) -> None:
    """One call each, all for one file of one host."""
    host = MemoryHost()
    waiting = [Executor([touch], host=host) for _ in range(count)]
    for number, executor in enumerate(waiting):
        executor.add(ToolCall(f"c{number}", "touch", {"path": "a.txt", "number": number}))
    for executor in waiting:
        await finish(executor)


async def writers(count: int) -> None:
    """Calls of one message, all for one file."""
    executor = Executor([touch], host=MemoryHost())
    for number in range(count):
        executor.add(ToolCall(f"c{number}", "touch", {"path": "a.txt", "number": number}, index=number))
    await finish(executor)


async def edited(count: int) -> None:
    """Questions of one message about as many files, each answered with the same other file."""
    executor = Executor([change], host=MemoryHost(), record=Record(MemoryJournal(), Ledger()))
    for number in range(count):
        executor.add(ToolCall(f"c{number}", "change", {"path": f"f{number}"}, index=number))
    executor.close()
    await executor.stalled()  # until the questions are put
    for question in executor.questions:
        executor.answer(question.yes({"path": "a.txt"}))
    await finish(executor)


def cost(work: Work, count: int) -> tuple[float, float]:
    """CPU seconds, and the most memory it needed in bytes, each in a run of its own."""
    gc.collect()
    before = time.process_time_ns()
    asyncio.run(work(count))
    seconds = (time.process_time_ns() - before) / 1e9
    gc.collect()
    tracemalloc.start()
    try:
        asyncio.run(work(max(count // 4, 1)))
        return seconds, tracemalloc.get_traced_memory()[1] * 4
    finally:
        tracemalloc.stop()


def grown(name: str, what: str, work: Work, few: int, many: int) -> list[Row]:
    (time_few, bytes_few), (time_many, bytes_many) = cost(work, few), cost(work, many)
    each = many / few
    title = f"{what}: {few:,} → {many:,}, CPU of one"
    note = f"{many:,} in {time_many:.2f} s"
    ours, theirs = time_many / many * 1e6, time_few / few * 1e6
    memory, before = bytes_many / many / 1024, bytes_few / few / 1024
    return [
        Row(name, title, "µs", ours, theirs, time_many / time_few / each, LIMIT, note=note),
        Row(f"{name}_memory", "  memory of one", "KB", memory, before, memory / before, LIMIT),
    ]


def rows(size: Size) -> list[Row]:
    most = size.growth
    return [
        *grown("growth_executors", "executors waiting for one file", executors, 50, most // 10),
        *grown("growth_writers", "writers of one path in a message", writers, most // 10, most),
        *grown("growth_edited", "answers with other arguments", edited, most // 20, most // 2),
    ]

"""The work done by the runtime with everything on, and by the yardstick."""

import asyncio
from collections.abc import Sequence

from benchmarks.scripts import FUNCTIONS
from benchmarks.yardstick import by_hand
from callgate import Prompt, Session, shared, tool
from callgate.conversation.ports import Model
from callgate.core.ports import Tool
from callgate.words.calls import Result
from callgate.words.events import AgentPath, CallSettled, Event, StatusChanged

TOOLS = [tool(function, effects="none", locks=shared) for function in FUNCTIONS.values()]
PLAIN_TOOLS = [tool(function, effects="none") for function in FUNCTIONS.values()]
"""Without locks, as most people write them: each reads the whole workspace."""


async def in_a_session(model: Model, tools: Sequence[Tool] = TOOLS) -> list[Result]:
    """Validation, decision, ledger, journal in memory, and one listener who hears every event."""
    heard: list[Event] = []
    rested = asyncio.Event()

    def listener(path: AgentPath, number: int, event: Event) -> None:
        heard.append(event)
        if type(event) is StatusChanged and event.status != "working":
            rested.set()

    async with Session(model, tools) as session:
        session.listen(listener)
        session.post(Prompt("Go."))
        await rested.wait()
    return settled(heard)


async def without_locks(model: Model) -> list[Result]:
    """The same with tools that declare no locks."""
    return await in_a_session(model, PLAIN_TOOLS)


async def in_a_reply(model: Model) -> list[Result]:
    """The same, heard the way a door does it."""
    async with Session(model, TOOLS) as session:
        return settled([event async for event in session.send(Prompt("Go."))])


async def in_a_loop(model: Model) -> list[str]:
    """The yardstick."""
    return await by_hand(model, FUNCTIONS)


def settled(events: list[Event]) -> list[Result]:
    """The results; a benchmark of calls that went wrong would measure nothing."""
    results = [event.result for event in events if isinstance(event, CallSettled)]
    failed = next((result for result in results if result.is_error), None)
    if failed is not None or not results:
        raise RuntimeError(f"the calls did not run: {failed.text if failed else 'there were none'}")
    return results

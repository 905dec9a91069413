"""A session in a database, for a test that kills it: prints a line for every event that doors hear of as durable."""

import asyncio
import sys
from pathlib import Path

from callgate import Prompt, Session, shared, tool
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.events import CallSettled, Event, TurnStarted
from examples.journals.sqlite_journal import SqliteJournal
from tests.sessions import with_event


async def main(path: Path, world: Path) -> None:
    @tool(locks=shared)
    async def add(n: int) -> str:
        """Add a line to the world."""
        with world.open("a") as file:
            file.write(f"{n}\n")
        return f"added {n}"

    def told(event: Event) -> None:
        if isinstance(event, TurnStarted | CallSettled):
            print(f"{type(event).__name__} {getattr(event, 'call_id', '')}", flush=True)

    model = ScriptedModel(*(turn(call("add", n=n)) for n in range(5)), otherwise=turn(say("done")))
    journal = await SqliteJournal.open(path)
    async with Session(model, [add], journal=journal, mode="bypass", host=path.parent) as session:
        session.listen(with_event(told))
        await session.send(Prompt("go"))
    print("end", flush=True)


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))

"""A program that takes one turn on a model of its own; prints the modules that it loaded beyond those of pydantic.

With ``--base`` it takes no turn: what an interpreter with pydantic costs by itself.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

from pydantic import TypeAdapter


async def nothing() -> None:
    return


TypeAdapter(dict[str, int]).json_schema()
asyncio.run(nothing())
before = set(sys.modules)

if "--base" not in sys.argv:
    from callgate import Session, tool
    from callgate.words.model import Abilities, MessageEnded, ModelEvent, PartEnded, PartStarted, Request, TextDelta

    class Model:
        name = "fixed"
        abilities = Abilities()

        async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            yield PartStarted(0, "text")
            yield TextDelta(0, "Hello.")
            yield PartEnded(0)
            yield MessageEnded("end")

    @tool(effects="none")
    def look(text: str) -> str:
        """Look."""
        return text

    async def main() -> None:
        async with Session(Model(), [look]) as session:
            assert (await session.run("hi")).text == "Hello."

    asyncio.run(main())
print(json.dumps(sorted(set(sys.modules) - before)))

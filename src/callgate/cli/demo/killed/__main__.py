"""The first life: ``python -m callgate.cli.demo.killed SPEED``, in the folder of the demo.

It prints every event as a line of JSON, then ``ready``: the scene is set, and all it has told is on disk. Then it waits
to be killed.
"""

import asyncio
import json
import os
import sys
from threading import Thread

from callgate import Prompt, Session, to_json
from callgate.cli.demo.board import Board
from callgate.cli.demo.killed.script import BEFORE, PROMPT, READY, SETTINGS, first_model, kept, tools_of_life
from callgate.cli.demo.script import Stage, rules


async def _live(speed: float) -> None:
    in_the_middle = asyncio.Semaphore(0)

    async def middle() -> None:
        in_the_middle.release()
        await asyncio.Event().wait()

    journal = await kept().create()
    tools = tools_of_life(Stage(speed), middle)
    board = Board(lambda name, arguments: None)
    async with Session(first_model(speed), tools, gate=rules(), journal=journal, settings=SETTINGS) as session:
        async for event in session.send(Prompt(PROMPT)):
            _tell(json.dumps(to_json(event)))
            board.hear(event)
            if tuple(row.status for row in board.rows) == BEFORE:
                break
        for _ in range(BEFORE.count(BEFORE[2])):
            await in_the_middle.acquire()
        on_disk = journal.barrier()
        if on_disk is not None:
            await on_disk
        _tell(READY)
        await asyncio.Event().wait()


def _tell(line: str) -> None:
    print(line, flush=True)


def _end_with_the_parent() -> None:
    """Exits at the end of the input, which means that the parent process has ended; nothing is ever sent."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    Thread(target=_end_with_the_parent, daemon=True).start()
    asyncio.run(_live(float(sys.argv[1])))

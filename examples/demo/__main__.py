"""The process that is killed: runs the first part of the play PLAY at SPEED, in the folder of the demo.

It prints every event as a line of JSON, and ``ready`` when it has done its part. It exits at the end of its input,
which means that the parent process has ended.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections import Counter

from callgate import Event, Prompt, QuestionAsked, Session, SessionLimits
from callgate.formats.jsonable import to_json
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.words.events import AgentPath, CallProgressed, CallSettled, TurnEnded

from . import killed, rewrite
from .shop import Shop, rules, store
from .stage import READY

_go = threading.Event()


def _read_input() -> None:
    """Runs in a thread: a line means to go on, the end of the input means to exit."""
    for _ in sys.stdin:
        _go.set()
    os._exit(1)


def _tell(event: Event) -> None:
    print(json.dumps(to_json(event)), flush=True)


async def _hang_in_the_middle(speed: float) -> None:
    """Stops when two calls have finished, two have changed the world without a result, and one asks."""
    journal, tools, seen = await store(killed.NAME).create(), Shop(speed).tools(), Counter[type]()
    model, settings = killed.first_model(speed), killed.SETTINGS
    async with Session(model, tools, gate=rules(), journal=journal, limits=SessionLimits(calls=settings)) as session:
        async for event in session.send(Prompt(killed.PLAY.prompt)):
            _tell(event)
            seen[type(event)] += 1
            if (seen[CallSettled], seen[CallProgressed], seen[QuestionAsked]) == (2, 2, 1):
                break
        await (journal.barrier() or asyncio.sleep(0))
        print(READY, flush=True)
        await asyncio.Event().wait()


async def _apply_a_rewrite(speed: float) -> None:
    """Waits after the preview until it is told to go on, and kills itself at the second file of the apply."""
    placed: list[str] = []

    def on_event(path: AgentPath, number: int, event: Event) -> None:
        _tell(event)
        if isinstance(event, TurnEnded) and event.turn == 1:
            print(READY, flush=True)
            _go.wait()

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        """Python calls it before each rename."""
        if event == "os.rename":
            placed.extend(name for name in rewrite.TOUCHED if str(arguments[1]).endswith(name))
            if len(placed) == 2:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)
    journal = await store(rewrite.NAME).create()
    async with Session(rewrite.first_model(speed), [ast_edit()], gate=rules(), journal=journal) as session:
        session.listen(on_event)
        await session.send(Prompt(rewrite.PLAY.prompt))


if __name__ == "__main__":
    threading.Thread(target=_read_input, daemon=True).start()
    asyncio.run({killed.NAME: _hang_in_the_middle, rewrite.NAME: _apply_a_rewrite}[sys.argv[1]](float(sys.argv[2])))

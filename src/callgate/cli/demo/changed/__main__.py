"""The first life: ``python -m callgate.cli.demo.changed SPEED``, in the folder of the demo.

It prints every event as a line of JSON. It kills itself, for real and without any warning to the code under it, when
the second file of the change is about to be put in its place.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from threading import Event as Signal
from threading import Thread

from callgate import Event, Prompt, Session, to_json
from callgate.cli.demo.changed.script import GO, PROMPT, STAGED, TOUCHED, first_model, kept
from callgate.cli.demo.script import rules
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.words.events import TurnEnded

_placed: list[str] = []


def _kill_at_the_second_file(event: str, arguments: tuple[object, ...]) -> None:
    """Python tells of every rename before it is done."""
    if event == "os.rename" and isinstance(target := arguments[1], str | bytes):
        name = Path(os.fsdecode(target)).name
        if name in TOUCHED:
            _placed.append(name)
            if len(_placed) == 2:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


async def _live(speed: float, go: Signal) -> None:
    def hear(event: Event) -> None:
        _tell(json.dumps(to_json(event)))
        if isinstance(event, TurnEnded) and event.turn == 1:
            _tell(STAGED)
            go.wait()

    async with Session(first_model(speed), [ast_edit()], gate=rules(), journal=await kept().create()) as session:
        session.listen(hear)
        await session.send(Prompt(PROMPT))


def _tell(line: str) -> None:
    print(line, flush=True)


def _obey(go: Signal) -> None:
    """Exits at the end of the input, which means that the parent process has ended."""
    if sys.stdin.readline().strip() == GO:
        go.set()
        sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    told = Signal()
    Thread(target=_obey, args=(told,), daemon=True).start()
    sys.addaudithook(_kill_at_the_second_file)
    asyncio.run(_live(float(sys.argv[1]), told))

"""``callgate demo``: a scripted model drives a real session, and the promises are checked against its events."""

import asyncio
import signal
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, chdir, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, cast

from callgate import Answer, Confirmation, Event, Prompt, Question, Session
from callgate.cli.arguments import Form
from callgate.cli.demo.board import Board
from callgate.cli.demo.facts import Fact, World, facts
from callgate.cli.demo.script import FILES, PROMPT, Stage, rules
from callgate.cli.demo.tools import make_tools
from callgate.cli.demo.views import FRAME, View, view_for
from callgate.words.errors import CallgateError
from callgate.words.events import TurnEnded
from callgate.words.inputs import Input
from callgate.words.traits import Traits

THINKS = 1.0


def demo(speed: float, form: Form) -> int:
    """Play it. 0 when every promise was kept."""
    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as folder, chdir(folder):
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8", newline="\n")
        out = cast(TextIO, sys.stdout)
        _write_anything(out)
        try:
            broken = asyncio.run(_play(speed, form, out))
        except asyncio.CancelledError:
            return 128 + signal.SIGTERM
        except TimeoutError:
            raise CallgateError("the session did not come to an end, which is a bug; please report it") from None
    for fact in broken:
        print(f"callgate demo: not kept: {fact.claim}: {fact.detail}", file=sys.stderr)
    return 1 if broken else 0


def _write_anything(out: TextIO) -> None:
    """A sign that the terminal does not have is spelled out and is not an error."""
    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")


async def _play(speed: float, form: Form, out: TextIO) -> list[Fact]:
    stage, processes = Stage(speed), list[Process]()
    tools = {each.spec.name: each for each in make_tools(stage, processes)}

    def traits_of(name: str, arguments: Mapping[str, Any]) -> Traits | None:
        with suppress(CallgateError):
            return tools[name].traits(arguments) if name in tools else None
        return None

    board = Board(traits_of)
    view = view_for(form, board, out, speed)
    show = _Show(board, view)
    async with _ends_on_sigterm(), asyncio.timeout(30 + 15 / speed):
        view.opened()
        async with Session(stage.model(), tools.values(), gate=rules()) as session:
            sent: Input | None = Prompt(PROMPT)
            while sent is not None:
                await show.watch(session, sent)
                sent = await _answer(session, stage, view)
    found = list(facts(board, World(show.files, processes)))
    view.closed(found)
    return [fact for fact in found if not fact.holds]


class _Show:
    """Tells the board and the view what happens, and looks at the files after each turn."""

    def __init__(self, board: Board, view: View) -> None:
        self.files: dict[int, Mapping[str, bytes]] = {}
        self._board = board
        self._view = view

    async def watch(self, session: Session, sent: Input) -> None:
        reply = session.send(sent)
        with suppress(StopAsyncIteration):
            while True:
                try:
                    async with asyncio.timeout(FRAME):
                        event = await anext(reply)
                except TimeoutError:
                    self._view.tick()
                else:
                    self._hear(event)

    def _hear(self, event: Event) -> None:
        self._board.hear(event)
        if isinstance(event, TurnEnded):
            self.files[event.turn] = {name: Path(name).read_bytes() for name in FILES}
        self._view.heard(event)


async def _answer(session: Session, stage: Stage, view: View) -> Answer | None:
    """The person of this play: thinks for a while and says yes."""
    if not session.questions:
        return None
    question: Question = session.questions[0]
    until = time.monotonic() + THINKS / stage.speed
    while time.monotonic() < until:
        view.tick()
        await asyncio.sleep(min(FRAME, THINKS / stage.speed))
    return Answer(Confirmation(question.call_id, "yes", question.arguments_hash, by="script", at=time.time()))


@asynccontextmanager
async def _ends_on_sigterm() -> AsyncGenerator[None]:
    """Being told to end is no reason to leave a folder or a process behind."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # Windows
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGTERM)

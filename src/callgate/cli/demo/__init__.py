"""``callgate demo``: a scripted model drives a real session, and the promises are checked against its events."""

import asyncio
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, chdir, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, cast

from callgate import CallgateError, Prompt, Session
from callgate.cli.arguments import Form
from callgate.cli.demo.board import Board
from callgate.cli.demo.changed.play import play_changed
from callgate.cli.demo.changed.story import facts_of_changes
from callgate.cli.demo.facts import Fact, World, facts
from callgate.cli.demo.killed.facts import facts_of_lives
from callgate.cli.demo.killed.play import play_killed
from callgate.cli.demo.script import FILES, PROMPT, Stage, rules
from callgate.cli.demo.show import Show
from callgate.cli.demo.tools import make_tools, traits_in
from callgate.cli.demo.views import view_for


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
    board = Board(traits_in(tools))
    view = view_for(form, board, out, speed)
    show = Show(board, view, speed)
    async with _ends_on_sigterm(), asyncio.timeout(70 + 35 / speed):
        view.opened()
        async with Session(stage.model(), tools.values(), gate=rules()) as session:
            await show.play(session, Prompt(PROMPT))
        lives = await play_killed(stage, form, out, calls=len(board.rows))
        story = await play_changed(stage, form, out)
    found = [*facts(board, World(show.files, processes)), *facts_of_lives(lives), *facts_of_changes(story)]
    view.closed(found, board.heard + lives.board.heard + len(story.events))
    return [fact for fact in found if not fact.holds]


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

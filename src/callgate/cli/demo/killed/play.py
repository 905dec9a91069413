"""The second life: starts the first one, kills it, and takes its session up."""

import asyncio
import json
import sys
from asyncio import StreamReader
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TextIO

from callgate import Continue, Event, Session, from_json
from callgate.cli.arguments import Form
from callgate.cli.demo.board import Board
from callgate.cli.demo.killed.lives import Left, Lives
from callgate.cli.demo.killed.script import (
    DEPLOYED,
    READY,
    SETTINGS,
    UPLOADS,
    kept,
    second_model,
    tools_of_life,
)
from callgate.cli.demo.killed.views import LivesView, lives_view_for
from callgate.cli.demo.script import KILLED, Stage, rules
from callgate.cli.demo.show import Show
from callgate.cli.demo.tools import traits_in
from callgate.words.messages import Message, ResultPart, Text

PATIENCE = 15.0
"""Seconds that the first process has to get where it is to be killed, besides those that its play takes."""


async def play_killed(stage: Stage, form: Form, out: TextIO, *, calls: int) -> Lives:
    """So many calls were shown before. A first life that does not get far enough is the last one: the facts say so."""
    tools = {each.spec.name: each for each in tools_of_life(stage, lambda: stage.spend(0.3))}
    lives = Lives(Board(traits_in(tools), turns=KILLED - 1, calls=calls))
    view = lives_view_for(form, lives, out)
    show = Show(lives.board, view, stage.speed, thinks=0.4)
    view.opened()
    await _live_and_die(lives, show, view, stage.speed)
    if lives.ready:
        model = second_model(stage.speed)
        async with Session(
            model, tools.values(), gate=rules(), journal=await kept().open(), settings=SETTINGS
        ) as session:
            lives.status = session.status
            view.turned()
            session.listen(lives.second.append)
            await show.play(session, Continue())
        lives.results = [pair for request in model.requests for pair in _results(request.messages)]
        lives.left = await asyncio.to_thread(_look, show.files.get(1, {}))
    view.closed()
    return lives


async def _live_and_die(lives: Lives, show: Show, view: LivesView, speed: float) -> None:
    async with _first_process(speed) as process:
        lives.pid = process.pid
        assert process.stdout is not None
        ready = False
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE + 5 / speed):
                ready = await _hear_out(process.stdout, lives, show)
        lives.ready = ready
        view.turned()
        await show.pause(0.4)
        lives.died(await _killed(process))
    view.turned()
    await show.pause(0.2)


async def _hear_out(said: StreamReader, lives: Lives, show: Show) -> bool:
    """Reads the child's output; True once it has printed that it is ready."""
    while line := await show.meanwhile(said.readline):
        text = line.decode().strip()
        if text == READY:
            return True
        event = from_json(Event, json.loads(text))
        lives.first.append(event)
        show.hear(event)
    return False


@asynccontextmanager
async def _first_process(speed: float) -> AsyncGenerator[Process]:
    """Gone at the end, whatever happens. It has a group of its own: Ctrl-C in the terminal is for us alone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "callgate.cli.demo.killed", str(speed), stdin=PIPE, stdout=PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        await _killed(process)


async def _killed(process: Process) -> int:
    with suppress(ProcessLookupError):
        process.kill()
    return await process.wait()


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    parts = (part for message in messages for part in message.parts if isinstance(part, ResultPart))
    return [(part.call_id, "".join(each.text for each in part.content if isinstance(each, Text))) for part in parts]


def _look(files: Mapping[str, bytes]) -> Left:
    log = kept().read()
    uploads = sorted(Path(UPLOADS).iterdir()) if Path(UPLOADS).is_dir() else []
    return Left(
        log.events,
        log.n,
        len(log.damages),
        _lines(Path(DEPLOYED)),
        {each.name: _lines(each) for each in uploads},
        files,
    )


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

"""The second life: watches the first one, meddles with a file, and takes the session up when it is dead."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from callgate import Continue, Event, Session, from_json
from callgate.cli.arguments import Form
from callgate.cli.demo.changed.script import BEHIND, FOREIGN, GO, STAGED, kept, second_model, seen
from callgate.cli.demo.changed.story import Story
from callgate.cli.demo.changed.views import StoryView
from callgate.cli.demo.script import Stage, rules
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.words.inputs import Undo

PATIENCE = 20.0
"""Seconds that the first process has, besides those that its play takes."""


async def play_changed(stage: Stage, form: Form, out: TextIO) -> Story:
    story, view = Story(), StoryView(form, out)
    view.opened()
    if find_spec("ast_grep_py") is None:
        story.missing = "it needs a package that is not installed: pip install 'callgate[edit]'"
        view.missing(story.missing)
        return story
    story.files["before"] = await asyncio.to_thread(seen)
    await _first_life(story, view, stage.speed)
    view.killed(story)
    if "staged" not in story.files:  # it did not get there, and the facts say so
        return story
    journal = await kept().open()
    _stop_if_told_to()
    async with Session(second_model(stage.speed), [ast_edit()], gate=rules(), journal=journal) as session:

        def hear(event: Event) -> None:
            _hear(story, view, event)

        session.listen(hear)
        await session.send(Continue())
        story.files["recovered"] = await asyncio.to_thread(seen)
        view.recovered()
        await session.send(Undo("call"))
        story.files["reverted"] = await asyncio.to_thread(seen)
    view.closed()
    return story


async def _first_life(story: Story, view: StoryView, speed: float) -> None:
    async with _process(speed) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE + 10 / speed):
                while line := (await process.stdout.readline()).decode().strip():
                    if line == STAGED:
                        await asyncio.to_thread(_meddle)
                        story.files["staged"] = await asyncio.to_thread(seen)
                        view.meddled()
                        process.stdin.write(f"{GO}\n".encode())
                        await process.stdin.drain()
                    else:
                        _hear(story, view, from_json(Event, json.loads(line)))
                story.code = await process.wait()
        story.files["killed"] = await asyncio.to_thread(seen)


def _stop_if_told_to() -> None:
    """Raises a cancel that arrived while a file was opened in a thread."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _hear(story: Story, view: StoryView, event: Event) -> None:
    story.events.append(event)
    view.heard(event)


def _meddle() -> None:
    with Path(BEHIND).open("ab") as file:
        file.write(FOREIGN)


@asynccontextmanager
async def _process(speed: float) -> AsyncGenerator[Process]:
    """Gone at the end, whatever happens. It has a group of its own: Ctrl-C in the terminal is for us alone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "callgate.cli.demo.changed", str(speed), stdin=PIPE, stdout=PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

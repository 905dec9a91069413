"""Performs a play: sends inputs to a session, answers its questions, and runs a session in a process that is killed."""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from callgate import Answer, Event, Session
from callgate.formats.jsonable import from_json
from callgate.words.decisions import Confirmation
from callgate.words.events import TurnEnded
from callgate.words.inputs import Input

from .record import Claim, PlayRecord
from .shop import Shop, end, files_now
from .view import PlayView

ROOT = Path(__file__).parents[2]
"""The folder that contains the package of the plays: the checkout, or the folder of installed packages."""
READY = "ready"
"""The line that the first process prints when it has done its part; all other lines are events."""
KILLED = -9
"""The exit code of a process after SIGKILL."""


@dataclass(frozen=True, slots=True)
class PlayStage:
    """One play at work: the folder, the record it fills, and the view that shows it."""

    shop: Shop
    record: PlayRecord
    view: PlayView

    async def hear(self, event: Event) -> None:
        """Records an event and shows it."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await asyncio.sleep(0)  # raises a cancel that is still to come: it must not hit the closing of the session
            raise asyncio.CancelledError  # a wait for a thread has swallowed it
        self.record.events.append(event)
        self.view.event(event)

    def keep_files(self, moment: str) -> None:
        self.record.files[moment] = files_now()

    async def send(self, session: Session, sent: Input) -> None:
        """Sends an input, hears its events and keeps the files at the end of each turn. A question is answered yes."""
        async for event in session.send(sent):
            await self.hear(event)
            if isinstance(event, TurnEnded):
                self.keep_files(f"turn {event.turn}")
        for question in session.questions[:1]:
            await self.shop.spend(1.0)
            yes = Confirmation(question.call_id, "yes", question.arguments_hash, by="script", at=time.time())
            await self.send(session, Answer(yes))

    async def first_process(self, play: str, ready: Callable[[Process], Awaitable[None]]) -> bool:
        """Runs the first process of a play until it ends, and calls ``ready`` when it says so. False: it never did.

        The process has a group of its own, so that Ctrl-C reaches this process alone, and does not outlive this call.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", str(__package__), play, str(self.shop.speed)),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(ROOT)))},
        )
        assert process.stdout is not None
        was_ready = False
        try:
            while line := (await process.stdout.readline()).decode().strip():
                if line == READY:
                    was_ready = True
                    await ready(process)
                else:
                    await self.hear(from_json(Event, json.loads(line)))
            await process.wait()
        finally:
            code = await end(process)
        self.record.exit_codes.append(code)
        self.record.before_kill = len(self.record.events)
        self.keep_files("killed")
        fate = "was killed" if was_ready else "did not get where it was to be killed"
        then = " Another one opens its session." if was_ready else ""
        self.view.say(f"Process {process.pid} {fate}: it ended with {code}.{then}", "bold")
        return was_ready


@dataclass(frozen=True, slots=True)
class Play:
    """``titles`` are the headings by turn."""

    prompt: str
    titles: Mapping[int, str]
    claims: Sequence[Claim]
    perform: Callable[[PlayStage], Awaitable[None]]

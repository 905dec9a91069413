"""Plays a session before an audience: the board and the view hear what happens, and see time go by."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from callgate import Answer, Confirmation, Event, Session
from callgate.cli.demo.board import Board
from callgate.cli.demo.script import FILES
from callgate.words.events import TurnEnded
from callgate.words.inputs import Input

T = TypeVar("T")

FRAME = 0.05
"""Seconds between two pictures."""


class Audience(Protocol):
    def heard(self, event: Event) -> None:
        """The board knows of it already."""
        ...

    def tick(self) -> None:
        """Time went by."""
        ...


class Show:
    """``files`` is what lay in the folder after each turn; ``thinks`` how long a person takes to say yes, in seconds at
    normal speed."""

    def __init__(self, board: Board, view: Audience, speed: float, *, thinks: float = 1.0) -> None:
        self.files: dict[int, Mapping[str, bytes]] = {}
        self._board = board
        self._view = view
        self._speed = speed
        self._thinks = thinks

    async def play(self, session: Session, sent: Input | None) -> None:
        """Until the session rests and asks nothing any more."""
        while sent is not None:
            reply = session.send(sent)
            with suppress(StopAsyncIteration):
                while True:
                    self.hear(await self.meanwhile(partial(anext, reply)))
            sent = await self._answer(session)

    def hear(self, event: Event) -> None:
        self._board.hear(event)
        if isinstance(event, TurnEnded):
            self.files[event.turn] = {name: Path(name).read_bytes() for name in FILES}
        self._view.heard(event)

    async def meanwhile(self, wanted: Callable[[], Awaitable[T]]) -> T:
        """Redraws the picture until ``wanted`` gives a value, and returns it."""
        while True:
            try:
                async with asyncio.timeout(FRAME):
                    return await wanted()
            except TimeoutError:
                self._view.tick()

    async def pause(self, seconds: float) -> None:
        """Let so many seconds go by, less at higher speed."""
        until = time.monotonic() + seconds / self._speed
        while time.monotonic() < until:
            self._view.tick()
            await asyncio.sleep(min(FRAME, seconds / self._speed))

    async def _answer(self, session: Session) -> Answer | None:
        """The person of this play: thinks for a while and says yes."""
        if not session.questions:
            return None
        question = session.questions[0]
        await self.pause(self._thinks)
        return Answer(Confirmation(question.call_id, "yes", question.arguments_hash, by="script", at=time.time()))

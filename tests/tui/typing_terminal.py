"""The terminal application with a keyboard of the test, in virtual time. No session is open: inputs are kept."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.input.defaults import create_pipe_input

from callgate.tui.app import TerminalApp
from callgate.tui.card_keys import PAUSE
from callgate.tui.port import SessionOpener, SessionStart, Terminal
from callgate.tui.theme import Theme
from callgate.words.decisions import Question
from callgate.words.inputs import Answer, Resolve
from tests.virtual import passes

LONG = PAUSE + 0.5
"""Seconds after which a card is armed, and a key of a card has taken effect."""


class Typist:
    """A person at the keyboard of a terminal. ``read`` presses keys that the terminal reads at once."""

    def __init__(self, app: TerminalApp, keyboard: PipeInput) -> None:
        self.app = app
        self._keyboard = keyboard

    async def read(self, keys: str, then: float = 0.0) -> None:
        self._keyboard.send_text(keys)
        await asyncio.sleep(0)
        await passes(then)

    async def types(self, text: str, pauses: Sequence[float]) -> None:
        """Each key is one read. The pauses between the keys repeat."""
        for at, sign in enumerate(text):
            await self.read(sign, pauses[at % len(pauses)])

    async def ask(self, *questions: Question) -> None:
        """The questions are asked, and the first card takes keys."""
        self.app.fold.questions.update({(each.path, each.call_id): each for each in questions})
        self.app.questions.follow(self.app.fold.questions)
        self.app.redraw()
        await passes(LONG)

    @property
    def text(self) -> str:
        return self.app.composer.text

    @property
    def answers(self) -> list[Any]:
        return [each for each in self.app.unsent if isinstance(each, Answer | Resolve)]


@asynccontextmanager
async def typist() -> AsyncGenerator[Typist]:
    def opener(_terminal: Terminal, _start: SessionStart) -> AbstractAsyncContextManager[Any]:
        return _never()

    with create_pipe_input() as keyboard, create_app_session(input=keyboard):
        app = TerminalApp(cast(SessionOpener, opener), Theme("mono", colours=False))
        running = asyncio.ensure_future(app.run())
        await passes(0.1)
        try:
            yield Typist(app, keyboard)
        finally:
            app.quit()
            await running


@asynccontextmanager
async def _never() -> AsyncGenerator[None]:
    await asyncio.Event().wait()
    yield

"""A terminal for tests of commands and panels: the port, with a real session and no screen."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from callgate import Session
from callgate.config import Config
from callgate.session.controls import CallFace
from callgate.tui.blocks import Block, NoticeBlock, TableBlock
from callgate.tui.commands import run_command
from callgate.tui.fold import ConversationFold
from callgate.tui.keys import ACTIONS, KeyAction
from callgate.tui.port import Panel, Receiver, SessionStart, SlashCommand, ViewName
from callgate.tui.render import Painter
from callgate.tui.theme import Theme
from callgate.words.inputs import Input
from callgate.words.traits import Icon
from tests.sessions import with_event


async def settled(session: Session) -> None:
    """Waits until the session does nothing."""
    heard = asyncio.Event()
    stop = session.listen(with_event(lambda _event: heard.set()))
    while session.status == "working":
        heard.clear()
        await heard.wait()
    stop()


def plain_face(line: str, icon: Icon = "run") -> CallFace:
    return CallFace(line, icon, line)


class FakeTerminal:
    """Implements ``Terminal``. ``run`` types a command and waits until everything that it began has ended."""

    def __init__(self, session: Session | None = None, config: Config | None = None) -> None:
        self.fold = ConversationFold()
        self.theme = Theme()
        self.session = session
        self.config = config
        self.custom: Sequence[SlashCommand] = ()
        self.sent: list[Input] = []
        self.panels: list[Panel] = []
        self.receiver = Receiver()
        self.opened = asyncio.Event()
        self.changes: list[SessionStart] = []
        self.asked: list[tuple[str, str]] = []
        self.input = ""
        self.viewed: ViewName = "inline"
        self.vim = False
        self.copied: list[str] = []
        self.code: int | None = None
        self.later: list[Callable[[], None]] = []
        self._tasks: list[asyncio.Task[Any]] = []
        if session is not None:
            self.fold.status = session.status
            session.listen(lambda path, number, event: self.fold.apply(event, path))

    async def run(self, text: str) -> str:
        """The text that the command shows."""
        before = len(self.fold.blocks)
        run_command(self, text)
        await self.ended()
        if self.session is not None:
            self.session.controls.deliver()
        return self.text(before)

    async def ended(self) -> None:
        """Waits until everything that commands began has ended."""
        while self._tasks:
            await self._tasks.pop()

    def text(self, since: int = 0, width: int = 60) -> str:
        """The lines of the blocks as a terminal of this width shows them, without colours."""
        painter = Painter(Theme("mono", colours=False), width, lambda name, arguments: plain_face(name))
        lines = [line for block in self.fold.blocks[since:] for line in painter.lines(block)]
        assert all(len(line) <= width for line in lines)
        return "\n".join(lines)

    @property
    def tables(self) -> list[TableBlock]:
        return [each for each in self.fold.blocks if isinstance(each, TableBlock)]

    @property
    def notices(self) -> list[str]:
        return [each.text for each in self.fold.blocks if isinstance(each, NoticeBlock)]

    # ---- the port -----------------------------------------------------------------------------------------------

    def post(self, sent: Input) -> None:
        self.sent.append(sent)
        if self.session is not None:
            self.session.post(sent)
            self.session.controls.deliver()

    def show(self, *blocks: Block) -> None:
        self.fold.blocks.extend(blocks)

    @property
    def keys(self) -> Sequence[KeyAction]:
        return ACTIONS

    def open_panel(self, panel: Panel) -> None:
        self.panels.append(panel)
        self.opened.set()

    def close_panel(self, panel: Panel) -> None:
        self.panels.remove(panel)

    def ask_text(self, label: str, initial: str, done: Callable[[str | None], None]) -> None:
        self.asked.append((label, initial))
        done(initial)

    async def edit_text(self, text: str, suffix: str = ".md") -> str | None:
        return text

    def set_input(self, text: str) -> None:
        self.input = text

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        return task

    def change_session(self, start: SessionStart, then: Callable[[], None] = lambda: None) -> None:
        self.changes.append(start)

    def once_open(self, action: Callable[[], None]) -> None:
        if self.session is None:
            self.later.append(action)
        else:
            action()

    def view(self, name: ViewName) -> None:
        self.viewed = name

    def use_vim(self, vim: bool) -> None:
        self.vim = vim

    def copy(self, text: str) -> None:
        self.copied.append(text)

    def redraw(self) -> None:
        pass

    def quit(self, code: int = 0) -> None:
        self.code = code

"""A terminal for tests of panels: keeps what they ask of it, and draws nothing."""

import re
from asyncio import Event, Task, get_running_loop
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from callgate.tui.blocks import Block, NoticeBlock
from callgate.tui.fold import ConversationFold
from callgate.tui.keys import ACTIONS, KeyAction
from callgate.tui.port import Panel, Receiver, SessionStart, ViewName
from callgate.tui.theme import Theme
from callgate.words.inputs import Answer, Input

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config

_CODES = re.compile(r"\x1b\[[0-9;]*m")


class PanelTerminal:
    """Implements ``Terminal``. ``give`` ends the text that a panel asked for; ``edits`` are what the editor writes."""

    def __init__(self, theme: Theme | None = None) -> None:
        self.fold = ConversationFold()
        self.theme = theme or Theme("mono", colours=False)
        self.session: Session | None = None
        self.config: Config | None = None
        self.custom: Sequence[Any] = ()
        self.posted: list[Input] = []
        self.panels: list[Panel] = []
        self.receiver = Receiver()
        self.changes: list[SessionStart] = []
        self.edits: list[str | None] = []
        self.input = ""
        self.asked: tuple[str, str, Callable[[str | None], None]] | None = None
        self.left: int | None = None
        self.vim = False
        self._drawn = Event()

    @property
    def answers(self) -> list[Any]:
        return [each.confirmation for each in self.posted if isinstance(each, Answer)]

    @property
    def notices(self) -> list[str]:
        return [each.text for each in self.fold.blocks if isinstance(each, NoticeBlock)]

    def give(self, text: str | None) -> None:
        assert self.asked is not None
        done, self.asked = self.asked[2], None
        done(text)

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits until something holds; panels that work in a thread draw again when they are done."""
        while not holds():
            self._drawn.clear()
            await self._drawn.wait()

    def post(self, sent: Input) -> None:
        self.posted.append(sent)

    def show(self, *blocks: Block) -> None:
        self.fold.blocks.extend(blocks)

    @property
    def keys(self) -> Sequence[KeyAction]:
        return ACTIONS

    def open_panel(self, panel: Panel) -> None:
        self.panels.append(panel)
        self.redraw()

    def close_panel(self, panel: Panel) -> None:
        if panel in self.panels:
            self.panels.remove(panel)

    def ask_text(self, label: str, initial: str, done: Callable[[str | None], None]) -> None:
        self.asked = (label, initial, done)

    async def edit_text(self, text: str, suffix: str = ".md") -> str | None:
        return self.edits.pop(0)

    def set_input(self, text: str) -> None:
        self.input = text

    def start(self, work: Coroutine[Any, Any, Any]) -> Task[Any]:
        return get_running_loop().create_task(work)

    def change_session(self, start: SessionStart, then: Callable[[], None] = lambda: None) -> None:
        self.changes.append(start)

    def once_open(self, action: Callable[[], None]) -> None:
        action()

    @property
    def viewed(self) -> ViewName:
        return "inline"

    def view(self, name: ViewName) -> None:
        pass

    def use_vim(self, vim: bool) -> None:
        self.vim = vim

    def copy(self, text: str) -> None:
        pass

    def redraw(self) -> None:
        self._drawn.set()

    def quit(self, code: int = 0) -> None:
        self.left = code


def shown(panel: Panel, width: int = 60, height: int = 30) -> str:
    """The lines of a panel without colours; none is too wide."""
    lines = [_CODES.sub("", line) for line in panel.lines(width, height)]
    assert all(len(line) <= width for line in lines), lines
    assert len(lines) <= height
    return "\n".join(lines)

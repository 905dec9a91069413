"""Schedules the frames of the terminal and converts blocks to lines. Finished blocks are printed once above the
redrawn part of the screen; unfinished blocks are painted in each frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from time import time
from typing import TYPE_CHECKING, Any

from callgate.formats.display import visible
from callgate.formats.shown_paths import shown_paths
from callgate.tui.attention import title_of
from callgate.tui.blocks import Block, EndBlock, NoticeBlock
from callgate.tui.render import Painter
from callgate.tui.route import as_card
from callgate.words.pending import Staged

if TYPE_CHECKING:
    from callgate.session.controls import CallFace
    from callgate.tui.inner_port import InnerTerminal

FRAME = 1 / 30
"""The shortest time between two frames, in seconds."""
TICK = 0.5
"""Seconds between frames while the agent works, to update the times on the screen."""


class Frames:
    """Draws frames.

    shown   blocks of commands and of the program's start that are not printed yet
    hinted  a hint that is shown below the input line for a short time
    """

    def __init__(self, app: InnerTerminal) -> None:
        self._app = app
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._title = ""
        self._printed: Block | None = None  # the last printed block
        self.shown: list[Block] = []
        self.hinted = ""

    # ---- when ---------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Schedule a frame."""
        self._later(FRAME, self.draw)

    def hint(self, text: str, seconds: float) -> None:
        self.hinted = text
        self._drop(self._unhint)
        self._later(seconds, self._unhint)
        self.ask()

    def _unhint(self) -> None:
        self.hinted = ""
        self.ask()

    def redraw_when_armed(self) -> None:
        """Schedule a frame for the time when the question card accepts keys."""
        card, receiver = as_card(self._app.shown_panel), self._app.receiver
        if card is None or receiver.part == "card" or receiver.card_waits or self._app.composer.asks:
            return
        wait = card.guard.wait(asyncio.get_running_loop().time())
        if wait < inf:  # may be below 0: the time has passed since the receiver was computed
            self._later(max(wait, 0.0) + 0.01, self._armed)

    def _armed(self) -> None:
        self._app.redraw()

    def _ticked(self) -> None:
        self._app.redraw()

    def close(self) -> None:
        for action in [*self._timers]:
            self._drop(action)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        def call() -> None:
            del self._timers[action]
            action()

        if action not in self._timers:
            self._timers[action] = asyncio.get_running_loop().call_later(seconds, call)

    def _drop(self, action: Callable[[], None]) -> None:
        if action in self._timers:
            self._timers.pop(action).cancel()

    # ---- what ---------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        app = self._app
        title = title_of(app.fold, "" if app.config is None else app.config.root.name)
        if title != self._title:
            self._title = title
            app.application.output.set_title(title)
        app.application.show_full_screen(app.covers or app.full is not None)
        if not self.flush():
            app.application.draw()
        card = as_card(app.shown_panel)
        if card is not None and app.application.is_drawn:
            card.guard.drawn(asyncio.get_running_loop().time())
        self.redraw_when_armed()
        if app.fold.running or app.fold.status == "working" or app.questions.expires:
            self._later(TICK, self._ticked)

    def flush(self) -> bool:
        """Print the finished blocks. Return False if there are none or a full-screen view is open."""
        application = self._app.application
        if application.full_screen or not application.is_running:
            return False
        return self._print(self._app.fold.take_finished())

    def leave(self) -> None:
        """Print every block in its current state, because the terminal exits."""
        self._app.application.show_full_screen(False)
        self._print(self._app.fold.take_all())

    def _print(self, taken: Sequence[Block]) -> bool:
        blocks, self.shown = [*self.shown, *taken], []
        lines = self._lines(blocks, unbroken=True)
        self._printed = blocks[-1] if lines else self._printed
        self._app.application.print_above(lines)
        return bool(lines)

    def live_lines(self, height: int) -> list[str]:
        """Return the last ``height`` lines of the unfinished blocks, or of the whole conversation in the full view."""
        app, theme = self._app, self._app.theme
        columns = app.application.output.get_size().columns
        if app.full is not None:
            shown = app.full.lines(columns, height)
            if not app.full.pane.at_end:
                shown[-1] = theme.paint(f"{theme.sign('…', '...')} more below: PageDown"[: columns - 1], "grey")
            return shown
        lines = self._lines(app.fold.live, time())
        if len(lines) > height:
            more = theme.paint(f"{theme.sign('…', '...')} {len(lines) - height + 1} lines above", "grey")
            lines = [more, *lines[len(lines) - height + 1 :]]
        if app.fold.pending and app.shown_panel is None:
            root = "" if app.session is None else app.session.controls.root
            lines.append(theme.paint(staged_line(app.fold.pending.values(), columns, root), "yellow"))
        return lines

    def _lines(self, blocks: Sequence[Block], now: float = 0.0, *, unbroken: bool = False) -> list[str]:
        if not blocks:
            return []
        painter, before = self.painter(unbroken=unbroken), self._printed
        lines: list[str] = []
        for block in blocks:
            made = painter.lines(block, now)
            notes = isinstance(block, NoticeBlock), isinstance(before, NoticeBlock | EndBlock | None)
            lines += ["", *made] if made and notes == (True, False) else made
            before = block if made else before
        return lines

    def painter(self, *, unbroken: bool = False) -> Painter:
        app = self._app
        root = "" if app.session is None else app.session.controls.root
        return Painter(app.theme, app.application.output.get_size().columns, self._face, unbroken=unbroken, root=root)

    def _face(self, name: str, arguments: Mapping[str, Any]) -> CallFace:
        from callgate.session.controls import unknown_face

        session = self._app.session
        return unknown_face(name, arguments) if session is None else session.controls.face(name, arguments)


def staged_line(pending: Iterable[Staged], width: int, root: str = "") -> str:
    """Return the line above the input line that lists the staged actions."""
    *older, newest = pending
    more = f" and {len(older)} more" if older else ""
    hint = "  Tab: show, apply or discard"
    return f"{visible(f'staged: {shown_paths(newest.label, root)}{more}')[: max(width - len(hint) - 1, 8)]}{hint}"[
        : width - 1
    ]

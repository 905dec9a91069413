"""The frames of the terminal: when one is drawn, and the lines of blocks in it.

Finished blocks are printed once, above; the others are painted anew in each frame, below.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any

from callgate.formats.display import visible
from callgate.tui.attention import title_of
from callgate.tui.blocks import Block, EndBlock, NoticeBlock
from callgate.words.pending import Staged

if TYPE_CHECKING:
    from callgate.tui.inner_port import InnerTerminal
    from callgate.tui.render import Face, Painter

FRAME = 1 / 30
"""Seconds between two frames at least."""
TICK = 0.5
"""Seconds between frames while calls run, for the times that are shown."""


class Frames:
    """``shown`` are blocks of commands and of the start that are not printed yet. ``hinted`` are a few words below the
    input line, for a moment."""

    def __init__(self, app: InnerTerminal) -> None:
        self._app = app
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._title = ""
        self._printed: Block | None = None  # the last block that was
        self.shown: list[Block] = []
        self.hinted = ""

    # ---- when ---------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Draws a frame soon."""
        self._later(FRAME, self.draw)

    def hint(self, text: str, seconds: float) -> None:
        """Shows a few words below the input line for so long."""
        self.hinted = text
        self._drop(self._unhint)
        self._later(seconds, self._unhint)
        self.ask()

    def _unhint(self) -> None:
        self.hinted = ""
        self.ask()

    def await_arming(self) -> None:
        """Draws again when the card may take keys."""
        wait = self._app.questions.wait
        if wait:
            self._later(wait + 0.01, self._armed)

    def _armed(self) -> None:
        self._app.redraw()

    def _ticked(self) -> None:
        self._app.redraw()

    def close(self) -> None:
        for action in [*self._timers]:
            self._drop(action)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        """Calls the action after so many seconds, once however often it was asked for."""

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
        self.await_arming()
        if app.fold.running or app.fold.status == "working" or app.questions.expires:
            self._later(TICK, self._ticked)

    def flush(self) -> bool:
        """Prints the finished blocks. False if there are none, or a full-screen view covers the place."""
        application = self._app.application
        if application.full_screen or not application.is_running:
            return False
        return self._print(self._app.fold.take_finished())

    def leave(self) -> None:
        """Prints every block as it is, because the terminal is left."""
        self._app.application.show_full_screen(False)
        self._print(self._app.fold.take_all())

    def _print(self, taken: Sequence[Block]) -> bool:
        """Prints blocks above the live part, for good; False if they have no lines."""
        blocks, self.shown = [*self.shown, *taken], []
        lines = self._lines(blocks, unbroken=True)
        self._printed = blocks[-1] if lines else self._printed
        self._app.application.print_above(lines)
        return bool(lines)

    def live_lines(self, height: int) -> list[str]:
        """The blocks that are not finished; the newest lines of them, if there is no room for all. In the full view,
        the whole conversation."""
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
            lines.append(theme.paint(staged_line(app.fold.pending.values(), columns), "yellow"))
        return lines

    def _lines(self, blocks: Sequence[Block], now: float = 0.0, *, unbroken: bool = False) -> list[str]:
        """The lines of blocks. Notes stand together, behind an empty line."""
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
        """The painter for the width of the terminal now."""
        from callgate.tui.render import Painter  # the first prompt needs none of it

        app = self._app
        return Painter(app.theme, app.application.output.get_size().columns, self._face, unbroken=unbroken)

    def _face(self, name: str, arguments: Mapping[str, Any]) -> Face:
        from callgate.tui.render import PlainFace

        session = self._app.session
        return PlainFace(name) if session is None else session.face(name, arguments)


def staged_line(pending: Iterable[Staged], width: int) -> str:
    """The line above the input that names what waits to be applied or discarded."""
    *older, newest = pending
    more = f" and {len(older)} more" if older else ""
    hint = "  Tab: look, apply or discard"
    return f"{visible(f'staged: {newest.label}{more}')[: max(width - len(hint) - 1, 8)]}{hint}"[: width - 1]

"""The whole conversation in a view that is scrolled and searched. Only visible blocks are painted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from callgate.formats.display import visible
from callgate.tui.blocks import text_of
from callgate.tui.fold import ConversationFold
from callgate.tui.panels.panel_page import CODES
from callgate.tui.panels.scroll_panel import PagerPanel, Pane

if TYPE_CHECKING:
    from callgate.tui.port import Terminal
    from callgate.tui.render import Painter


class Transcript:
    """Shows the blocks of a conversation in a pane. ``painter`` returns a painter for the current width."""

    def __init__(self, fold: ConversationFold, painter: Callable[[], Painter], *, expanded: bool) -> None:
        self._fold = fold
        self._painter = painter
        self._expanded = expanded
        self._width = 0
        self.pane = Pane(fold.blocks, lambda _block: (), text_of)

    def lines(self, width: int, height: int) -> list[str]:
        """Return the visible lines, followed by empty lines up to ``height``."""
        self.pane.items = self._fold.blocks
        if width != self._width:
            self._width, painter = width, self._painter()
            self.pane.repaint(lambda block: painter.lines(block, expanded=self._expanded))
        shown = self.pane.lines(height)
        if self.pane.at_found and shown:
            shown[0] = self._painter().theme.paint(CODES.sub("", shown[0]).ljust(width - 1), "reverse")
        return [*shown, *[""] * (height - len(shown))]


class TranscriptPanel(PagerPanel):
    """A full-screen panel with the whole conversation. A search begins at the newest block."""

    def __init__(self, terminal: Terminal, transcript: Transcript) -> None:
        super().__init__(terminal, transcript.pane, -1)
        self.transcript = transcript

    def lines(self, width: int, height: int) -> Sequence[str]:
        return [*self.transcript.lines(width, height - 1), self._bar(width)]

    def _bar(self, width: int) -> str:
        where = "at the end" if self._pane.at_end else "scrolled up"
        sought = visible(self._pane.sought)
        found = "" if not sought else f"  not found: {sought}" if self._missed else f"  n next, N previous: {sought}"
        text = f" transcript, {where}  q back  / search{found}"
        return self._terminal.theme.paint(text[:width].ljust(width), "reverse")

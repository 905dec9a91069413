"""The whole conversation in a view that is scrolled and searched. Only visible blocks are painted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from callgate.formats.display import visible
from callgate.tui.blocks import Block, text_of
from callgate.tui.fold import ConversationFold
from callgate.tui.keys import Context
from callgate.tui.panels.panel_page import CODES

if TYPE_CHECKING:
    from callgate.tui.port import Terminal
    from callgate.tui.render import Painter


Paint = Callable[[Block], Sequence[str]]


class Transcript:
    """Shows the blocks of a conversation in a pane. ``painter`` returns a painter for the current width."""

    def __init__(self, fold: ConversationFold, painter: Callable[[], Painter], *, expanded: bool) -> None:
        self._fold = fold
        self._painter = painter
        self._expanded = expanded
        self._width = 0
        self.pane = TranscriptPane(fold.blocks, lambda _block: ())

    def lines(self, width: int, height: int) -> list[str]:
        """Return the visible lines, followed by empty lines up to ``height``."""
        self.pane.blocks = self._fold.blocks
        if width != self._width:
            self._width, painter = width, self._painter()
            self.pane.repaint(lambda block: painter.lines(block, expanded=self._expanded))
        shown = self.pane.lines(height)
        if self.pane.at_found and shown:
            shown[0] = self._painter().theme.paint(CODES.sub("", shown[0]).ljust(width - 1), "reverse")
        return [*shown, *[""] * (height - len(shown))]


class TranscriptPane:
    """A scrollable view of blocks.

    A block is painted when it becomes visible, and cached. The position is a block and a line in the block, so that
    the blocks above need not be painted. At the end of the conversation the view follows new blocks.
    """

    def __init__(self, blocks: list[Block], paint: Paint) -> None:
        self.blocks = blocks
        self._paint = paint
        self._lines: dict[int, tuple[Block, Sequence[str]]] = {}
        self._top: tuple[int, int] | None = None  # None: the view follows the end
        self._height = 1
        self._found: tuple[int, int] | None = None  # the block and the row of the last search
        self.sought = ""

    @property
    def at_end(self) -> bool:
        return self._top is None

    def repaint(self, paint: Paint) -> None:
        self._paint = paint
        self._lines.clear()
        if self._top is not None:
            self._top = (self._top[0], 0)

    def lines(self, height: int) -> list[str]:
        """Return the visible lines, at most ``height``."""
        self._height = max(height, 1)
        at, line = self._top or self._last_page()
        found: list[str] = []
        while at < len(self.blocks) and len(found) < height:
            found += self._of(at)[line : line + height - len(found)]
            at, line = at + 1, 0
        return found

    def scroll(self, by: int) -> None:
        """Scroll down by this number of lines, or up if the number is negative."""
        self._top = self._moved(self._top or self._last_page(), by)
        if self._top >= self._last_page():
            self._top = None

    def page(self, by: int) -> None:
        self.scroll(by * max(self._height - 2, 1))

    def to_start(self) -> None:
        self._top = (0, 0)

    def to_end(self) -> None:
        self._top = None

    def seek(self, text: str, step: int = 1) -> bool:
        """Go to the next line with the text in the direction of ``step``. Return False if there is none.

        The search continues at the other end of the conversation. Case is ignored if the text has no capitals. A
        search for a new text starts at the visible position.
        """
        if text != self.sought or self._found is None or self._found[0] >= len(self.blocks):
            self._found = None
        self.sought = text
        begin = self._found or (self._top or (len(self.blocks), 0))
        count = len(self.blocks)
        for offset in range(count + 1):
            at = (begin[0] + step * offset) % count if count else 0
            rows = self._rows_with(at) if count else []
            if offset == 0:
                rows = [row for row in rows if (row > begin[1] if step > 0 else row < begin[1])]
            if rows:
                self._found = self._top = (at, rows[0] if step > 0 else rows[-1])
                return True
        return False

    def _rows_with(self, at: int) -> list[int]:
        """Return the rows of a block that contain the text; row 0 if a line break splits the text."""
        fold: Callable[[str], str] = str if self.sought != self.sought.lower() else str.casefold
        wanted = fold(self.sought)
        if not wanted or wanted not in fold(text_of(self.blocks[at])):
            return []
        return [row for row, line in enumerate(self._of(at)) if wanted in fold(CODES.sub("", line))] or [0]

    @property
    def at_found(self) -> bool:
        """True if the first visible line is the search result."""
        return self._found is not None and self._found == self._top

    def _of(self, at: int) -> Sequence[str]:
        kept = self._lines.get(at)
        if kept is None or kept[0] is not self.blocks[at]:
            kept = self._lines[at] = (self.blocks[at], self._paint(self.blocks[at]))
        return kept[1]

    def _last_page(self) -> tuple[int, int]:
        at, left = len(self.blocks), self._height
        while at > 0 and left > 0:
            at -= 1
            left -= len(self._of(at))
        return (at, max(-left, 0)) if at < len(self.blocks) else (0, 0)

    def _moved(self, top: tuple[int, int], by: int) -> tuple[int, int]:
        at, line = top
        line += by
        while line < 0 and at > 0:
            at -= 1
            line += len(self._of(at))
        while at < len(self.blocks) - 1 and line >= len(self._of(at)):
            line -= len(self._of(at))
            at += 1
        return at, max(line, 0)


_STEPS = {"up": -1, "down": 1}


class PagerPanel:
    """A full-screen panel with the whole conversation."""

    context: Context = "pager"
    full_screen = True

    def __init__(self, terminal: Terminal, transcript: Transcript) -> None:
        self._terminal = terminal
        self._pane = transcript.pane
        self._missed = False
        self.transcript = transcript

    def lines(self, width: int, height: int) -> Sequence[str]:
        return [*self.transcript.lines(width, height - 1), self._bar(width)]

    def _bar(self, width: int) -> str:
        where = "at the end" if self._pane.at_end else "scrolled up"
        sought = visible(self._pane.sought)
        found = "" if not sought else f"  not found: {sought}" if self._missed else f"  n next, N previous: {sought}"
        text = f" transcript, {where}  q back  / search{found}"
        return self._terminal.theme.paint(text[:width].ljust(width), "reverse")

    def act(self, action: str) -> None:
        pane = self._pane
        match action:
            case "close":
                self._terminal.close_panel(self)
            case "up" | "down":
                pane.scroll(_STEPS[action])
            case "page_up" | "page_down":
                pane.page(_STEPS[action.removeprefix("page_")])
            case "start":
                pane.to_start()
            case "end":
                pane.to_end()
            case "search":
                self._terminal.ask_text("search", "", self._seek)
            case "next" | "previous":
                self._missed = bool(pane.sought) and not pane.seek(pane.sought, 1 if action == "next" else -1)
            case _:
                return

    def _seek(self, text: str | None) -> None:
        if text:
            self._missed = not self._pane.seek(text, -1)

    def typed(self, text: str) -> None:
        pass

"""A panel with a text that can be scrolled and searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from callgate.tui.keys import Context
from callgate.tui.panels.panel_page import CODES, PanelPage

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


Write = Callable[[PanelPage], None]


class ScrollPanel:
    """A panel with a long text. ``write`` fills a page for the current width and is called again when the width
    changes."""

    context: Context = "pager"
    full_screen = True

    def __init__(self, terminal: Terminal, title: str, write: Write) -> None:
        self._terminal = terminal
        self._title = title
        self._write = write
        self._width = self._height = 0
        self._lines: list[str] = []
        self._sought = ""
        self._missed = False
        self.at = 0

    # ---- keys ---------------------------------------------------------------------------------------------------

    def act(self, action: str) -> None:
        page = max(self._height - 1, 1)
        match action:
            case "up" | "down":
                self._scroll(self.at + (1 if action == "down" else -1))
            case "page_up" | "page_down":
                self._scroll(self.at + (page if action == "page_down" else -page))
            case "start":
                self._scroll(0)
            case "end":
                self._scroll(len(self._lines))
            case "search":
                self._terminal.ask_text("search:", "", self._search)
            case "next" | "previous":
                self._seek(1 if action == "next" else -1)
            case "close":
                self._terminal.close_panel(self)
            case _:
                return

    def typed(self, text: str) -> None:
        pass

    def _scroll(self, to: int) -> None:
        self.at = max(min(to, len(self._lines) - self._height), 0)

    def _search(self, text: str | None) -> None:
        if text:
            self._sought = text
            self._seek(1, include=True)

    def _seek(self, by: int, *, include: bool = False) -> None:
        wanted = self._sought.casefold()
        count = len(self._lines)
        rows = [(self.at + by * step) % count for step in range(0 if include else 1, count + 1)] if count else []
        plain = (row for row in rows if wanted in CODES.sub("", self._lines[row]).casefold())
        found = next(plain, None) if wanted else None
        self._missed = found is None
        if found is not None:
            self.at = found  # the line becomes the top one, also near the end

    # ---- lines --------------------------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme = self._terminal.theme
        if width != self._width:
            page = PanelPage(theme, width)
            self._write(page)
            self._width, self._lines = width, page.lines
        frame = PanelPage(theme, width)
        self._height = max(height - 3, 1)
        frame.line(self._title, "bold", self._place())
        foot = PanelPage(theme, width)
        if self._missed:
            foot.words(f"no line contains {self._sought!r}", "yellow")
        again = [("n N", "next, previous")] if self._sought else []
        foot.keys([(theme.sign("↑ ↓", "up/down"), "scroll"), ("/", "search"), *again, ("Esc", "back")])
        return [*frame.lines, *self._lines[self.at : self.at + self._height], *foot.lines]

    def _place(self) -> str:
        last = min(self.at + self._height, len(self._lines))
        return f"{self.at + 1}-{last} of {len(self._lines)}" if len(self._lines) > self._height else ""

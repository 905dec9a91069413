"""The transcript view: the whole conversation with the output of calls, on a screen of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.formats.display import visible
from callgate.tui.keys import Context
from callgate.tui.transcript import Transcript

if TYPE_CHECKING:
    from callgate.tui.port import Terminal

_STEPS = {"up": -1, "down": 1}


class PagerPanel:
    """Scrolls and searches a transcript, while the run goes on."""

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

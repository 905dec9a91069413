"""The choice of an effort level: one line from faster to smarter, or a list in a narrow terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from callgate.tui.keys import Context
from callgate.tui.panels.panel_page import PanelPage
from callgate.words.model import Effort, EffortInForce

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_NARROW = 60
_STEPS = {"left": -1, "up": -1, "right": 1, "down": 1, "h": -1, "k": -1, "l": 1, "j": 1}


class EffortPanel:
    """A panel to choose an effort level. ``levels`` are the levels of the model, lowest first. ``chosen`` is called
    with the selected level."""

    context: Context = "selector"

    def __init__(
        self, terminal: Terminal, levels: Sequence[Effort], now: EffortInForce, chosen: Callable[[Effort], None]
    ) -> None:
        self._terminal = terminal
        self._levels = levels
        self._now = now
        self._chosen = chosen
        self.at = levels.index(now.sent) if now.sent in levels else len(levels) // 2

    def act(self, action: str) -> None:
        match action:
            case "left" | "up" | "right" | "down":
                self._move(_STEPS[action])
            case "start" | "end":
                self.at = 0 if action == "start" else len(self._levels) - 1
            case "choose":
                self._terminal.close_panel(self)
                self._chosen(self._levels[self.at])
            case "cancel":
                self._terminal.close_panel(self)
            case _:
                return

    def typed(self, text: str) -> None:
        if text == "q":
            self._terminal.close_panel(self)
        elif text in _STEPS:
            self._move(_STEPS[text])

    def _move(self, by: int) -> None:
        self.at = min(max(self.at + by, 0), len(self._levels) - 1)

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme = self._terminal.theme
        page = PanelPage(theme, width)
        page.rule()
        page.line("Effort: faster answers, or more reasoning", "bold")
        if width < _NARROW:
            self._write_list(page)
        else:
            page.lines.append(f"  {self._line(page)}")
        if self._now.source == "environment":
            page.words(f"CALLGATE_EFFORT is {self._now.wanted}, which has priority over this setting.", "yellow")
        arrows = theme.sign("← →", "left/right") if width >= _NARROW else theme.sign("↑ ↓", "up/down")
        page.keys([(arrows, "move"), ("Enter", "set it"), ("Esc", "leave it as it is")])
        return page.lines

    def _line(self, page: PanelPage) -> str:
        theme = page.theme
        dash = theme.paint(theme.sign("──", "--"), "grey")
        named = [
            theme.paint(f"[{level}]", "bold cyan") if number == self.at else f" {level} "
            for number, level in enumerate(self._levels)
        ]
        return f"{theme.paint('faster', 'grey')} {dash}{dash.join(named)}{dash} {theme.paint('smarter', 'grey')}"

    def _write_list(self, page: PanelPage) -> None:
        ends = {0: "faster", len(self._levels) - 1: "smarter"}
        for number, level in enumerate(self._levels):
            here = number == self.at
            page.line(f"{page.theme.cursor(here)} {level}", "bold" if here else "", ends.get(number, ""))

"""The keys of one place, as a panel that any key closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.tui.keys import CONTEXTS, Context, KeyAction, keys_of, shown_keys

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


class KeysPanel:
    """Lists the actions of a context with their keys."""

    context: Context = "selector"

    def __init__(self, terminal: Terminal, rows: Sequence[KeyAction], place: Context) -> None:
        self._terminal = terminal
        self._rows = [row for row in keys_of(rows, place) if row.keys]
        self._place: Context = place
        self._first = 0

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme = self._terminal.theme
        keys = [", ".join(shown_keys(each, not theme.unicode) for each in row.keys) for row in self._rows]
        room = min(max(map(len, keys), default=0), width // 2)
        rows = max(height - 2, 1)
        self._first = max(min(self._first, len(self._rows) - rows), 0)
        shown = range(self._first, min(self._first + rows, len(self._rows)))
        more = f"  {len(self._rows) - len(shown)} more: up and down" if len(shown) < len(self._rows) else ""
        title = f"Keys of {CONTEXTS[self._place]}"
        lines = [theme.paint(f"{title}{more}"[: width - 1], "bold")]
        for at in shown:
            text = f"  {keys[at]:<{room}}  {self._rows[at].help}"[: width - 1]
            lines.append(theme.paint(text[: room + 2], "cyan") + text[room + 2 :])
        return [*lines, theme.paint("  Esc closes; [keybindings] in the settings changes them"[: width - 1], "grey")]

    def act(self, action: str) -> None:
        if action in ("up", "down"):
            self._first += 1 if action == "down" else -1
        else:
            self._terminal.close_panel(self)

    def typed(self, text: str) -> None:
        self._terminal.close_panel(self)

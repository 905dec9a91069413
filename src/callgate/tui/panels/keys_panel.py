"""The panel that lists the keys of a context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.formats.columns import width as width_of
from callgate.formats.columns import words
from callgate.tui.keys import CONTEXTS, Context, keys_of, shown_keys
from callgate.tui.theme import Theme

if TYPE_CHECKING:
    from callgate.tui.keys import KeyAction
    from callgate.tui.port import Terminal


_NARROW = 60
"""In a narrower terminal, the help is below the keys."""


class KeysPanel:
    """A panel that lists the actions of a context and of ``anywhere`` with their keys."""

    context: Context = "selector"
    full_screen = True  # a resize cannot leave lines of the table above the conversation

    def __init__(self, terminal: Terminal, place: Context) -> None:
        self._terminal = terminal
        own = [row for row in keys_of(terminal.keys, place) if row.keys]
        taken = {key for row in own for key in row.keys}
        self._rows = [*own, *(row for row in keys_of(terminal.keys, "anywhere") if {*row.keys} - taken)]
        self._place: Context = place
        self._first = 0

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme = self._terminal.theme
        listed = key_lines(self._rows, theme, width)
        rows = max(height - 2, 1)
        self._first = max(min(self._first, len(listed) - rows), 0)
        more = "  scroll with up and down" if len(listed) > rows else ""
        title = theme.paint(f"Keys of {CONTEXTS[self._place]}{more}"[: width - 1], "bold")
        foot = theme.paint("  Esc: close · change keys: [keybindings] in the settings"[: width - 1], "grey")
        return [title, *listed[self._first : self._first + rows], foot]

    def act(self, action: str) -> None:
        if action in ("up", "down"):
            self._first += 1 if action == "down" else -1
        else:
            self._terminal.close_panel(self)

    def typed(self, text: str) -> None:
        self._terminal.close_panel(self)


def key_lines(rows: Sequence[KeyAction], theme: Theme, width: int) -> list[str]:
    """Return lines with keys and their help in two columns, or in one column in a narrow terminal."""
    keys = [", ".join(shown_keys(each, not theme.unicode) for each in row.keys) for row in rows]
    room = 0 if width < _NARROW else max(map(width_of, keys), default=0) + 2
    lines: list[str] = []
    for key, row in zip(keys, rows, strict=True):
        first, *rest = words(row.help, max(width - room - 5, 12))
        margin = " " * (room + 2 if room else 4)
        if room:
            lines.append(f"  {theme.paint(key, 'cyan')}{' ' * (room - width_of(key))}{first}")
        else:
            lines += [f"  {theme.paint(key, 'cyan')}", margin + first]
        lines += [margin + each for each in rest]
    return lines

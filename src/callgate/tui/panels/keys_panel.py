"""The panel that lists the keys of a context."""

from collections.abc import Sequence

from callgate.formats.columns import width as width_of
from callgate.formats.columns import words
from callgate.tui.keys import CONTEXTS, Context, KeyAction, shown_keys
from callgate.tui.panels.panel_page import PanelPage
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.tui.port import Terminal

_NARROW = 60
"""In a narrower terminal, the help is below the keys."""


def keys_panel(terminal: Terminal, context: Context) -> ScrollPanel:
    """Return a panel that lists the actions of a context and of ``anywhere`` with their keys."""
    own = [row for row in terminal.keys if row.context == context and row.keys]
    taken = {key for row in own for key in row.keys}
    rows = [*own, *(row for row in terminal.keys if row.context == "anywhere" and {*row.keys} - taken)]

    def write(page: PanelPage) -> None:
        _write_keys(page, rows)
        page.words("change keys: [keybindings] in the settings", "grey")

    return ScrollPanel(terminal, f"Keys of {CONTEXTS[context]}", write)


def _write_keys(page: PanelPage, rows: Sequence[KeyAction]) -> None:
    """Write keys and their help in two columns, or in one column in a narrow terminal."""
    keys = [", ".join(shown_keys(each, not page.theme.unicode) for each in row.keys) for row in rows]
    room = 0 if page.width < _NARROW - 1 else max(map(width_of, keys), default=0) + 2
    for key, row in zip(keys, rows, strict=True):
        first, *rest = words(row.help, max(page.width - room - 4, 12))
        margin = " " * (room + 2 if room else 4)
        shown = f"  {page.theme.paint(key, 'cyan')}"
        page.lines += [f"{shown}{' ' * (room - width_of(key))}{first}"] if room else [shown, margin + first]
        page.lines += [margin + each for each in rest]

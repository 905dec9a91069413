"""A list to choose from, with a filter, scrolling, and a preview at the right or below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from callgate.formats.columns import clipped, width, words
from callgate.formats.display import visible
from callgate.tui.keys import Context
from callgate.tui.panels.panel_page import CODES, PanelPage
from callgate.tui.theme import Theme
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_WIDE = 100
"""From this width on, the preview is beside the list; otherwise below."""
_HIGH = 14
"""The minimum height for a preview below the list."""
_FEW = 5
"""Up to this number of items, a list has no line for the search until the user types."""
_LONG = 8
"""A list with more items is shown on a separate screen, because a resize could move its lines into the scrollback."""
_FRAME = 4
"""The number of lines around the items: title, filter, keys."""


@noun
class ListItem:
    """An item of a list. ``detail`` is shown at the right; ``words`` is not shown, but the filter searches it."""

    key: str
    title: str
    detail: str = ""
    sign: str = ""
    words: str = ""


@dataclass(eq=False)
class ListPanel:
    """A panel with a list of items.

    chosen   called with the selected item after the panel was closed
    preview  returns the preview of an item, or None while the preview is loading
    other    called for Tab; ``other_help`` is its help
    closed   called if the user closes the panel without a selection
    """

    terminal: Terminal
    title: str
    items: Sequence[ListItem]
    chosen: Callable[[ListItem], None]
    preview: Callable[[ListItem], str | None] | None = None
    other: Callable[[], None] | None = None
    other_help: str = ""
    closed: Callable[[], None] | None = None
    at: int = 0
    context: Context = "selector"
    full_screen = False
    filter: str = field(default="", init=False)
    shown: Sequence[ListItem] = field(default=(), init=False)
    _top: int = field(default=0, init=False)
    _rows: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self.set_items(self.items)

    def set_items(self, items: Sequence[ListItem]) -> None:
        """Replace the items. The cursor stays at its item if the new list contains the item."""
        key = None if self.current is None else self.current.key
        self.items = items
        self.full_screen = self.full_screen or len(items) > _LONG
        self._searched = [f"{each.title} {each.detail} {each.words}".casefold() for each in items]
        self._apply_filter()
        if key is not None:
            self.at = next((at for at, each in enumerate(self.shown) if each.key == key), 0)

    @property
    def current(self) -> ListItem | None:
        return self.shown[self.at] if 0 <= self.at < len(self.shown) else None

    def _apply_filter(self) -> None:
        wanted = self.filter.casefold().split()
        pairs = zip(self.items, self._searched, strict=True)
        self.shown = [each for each, text in pairs if all(word in text for word in wanted)]
        self.at = min(self.at, max(len(self.shown) - 1, 0))

    # ---- keys ---------------------------------------------------------------------------------------------------

    def act(self, action: str) -> None:
        match action:
            case "up" | "down":
                self._move(1 if action == "down" else -1)
            case "page_up" | "page_down":
                self._move(self._rows if action == "page_down" else -self._rows)
            case "start" | "end":
                self._move(len(self.shown) if action == "end" else -len(self.shown))
            case "erase":
                self._set_filter(self.filter[:-1])
            case "other" if self.other is not None:
                self.other()
            case "choose" if self.current is not None:
                item = self.current
                self.terminal.close_panel(self)
                self.chosen(item)
            case "cancel":
                self._cancel()
            case _:
                return

    def typed(self, text: str) -> None:
        text = " ".join(text.splitlines())
        if text.isprintable():
            self._set_filter(self.filter + text)

    def _cancel(self) -> None:
        if self.filter:
            self._set_filter("")
            return
        self.terminal.close_panel(self)
        if self.closed is not None:
            self.closed()

    def _set_filter(self, text: str) -> None:
        self.filter = text
        self.at = self._top = 0
        self._apply_filter()

    def _move(self, by: int) -> None:
        self.at = max(min(self.at + by, len(self.shown) - 1), 0)

    # ---- lines --------------------------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme = self.terminal.theme
        beside = self.preview is not None and width >= _WIDE
        below = height // 3 if self.preview is not None and not beside and height >= _HIGH else 0
        self._rows = max(height - _FRAME - (width < 60) - below, 1)
        self._top = max(min(self._top, self.at), self.at - self._rows + 1)
        page = PanelPage(theme, width)
        page.line(self.title, "bold", f"{self.at + 1 if self.shown else 0} of {len(self.shown)}")
        if self.filter or len(self.items) > _FEW:
            page.line(f"search: {self.filter}{theme.sign('▏', '_')}", "cyan" if self.filter else "grey")
        rows = self._item_lines(width // 2 if beside else width)
        if beside:
            rows = _beside(rows, self._preview_lines(width - width // 2 - 3, self._rows), width // 2, theme)
        page.lines += rows
        if below:
            page.rule()
            page.lines += [f"  {line}" for line in self._preview_lines(width - 3, below - 1)]
        other = [("Tab", self.other_help)] if self.other is not None else []
        escape = ("Esc", "clear the search" if self.filter else "close")
        page.keys([(theme.sign("↑ ↓", "up/down"), "move"), ("Enter", "take"), *other, escape])
        return page.lines

    def _item_lines(self, room: int) -> list[str]:
        """Return the lines of the items. In a short list without a preview, a detail that does not fit beside the title
        of the current item is below it."""
        theme = self.terminal.theme
        page = PanelPage(theme, room)
        below = self.preview is None and len(self.items) <= _FEW and self._rows >= len(self.items) + 3
        for number, each in enumerate(self.shown[self._top : self._top + self._rows], start=self._top):
            here = number == self.at
            sign = f"{each.sign} " if each.sign else ""
            title = f"{theme.cursor(here)} {sign}{each.title}"
            style, free = "bold" if here else "", room - width(visible(title)) - 3
            if here and below and width(visible(each.detail)) > free:
                page.line(title, style)
                page.words(each.detail, "grey", 4)
                continue
            page.line(
                title,
                style,
                clipped(visible(each.detail), free if below and free > 0 else max(room // 2, free), page.theme.more),
            )
        if not self.shown:
            page.words("nothing matches" if self.filter else "no entries", "grey")
        return page.lines

    def _preview_lines(self, room: int, most: int) -> list[str]:
        assert self.preview is not None
        text = None if self.current is None else self.preview(self.current)
        if text is None:
            return []
        return [line for each in text.split("\n") for line in words(visible(each), room)][:most]


def _beside(left: list[str], right: list[str], at: int, theme: Theme) -> list[str]:
    bar = theme.sign("│", "|")
    rows = max(len(left), len(right))
    pairs = zip([*left, *[""] * (rows - len(left))], [*right, *[""] * (rows - len(right))], strict=True)
    return [f"{one}{' ' * max(at - width(CODES.sub('', one)), 0)}{bar} {other}" for one, other in pairs]

"""Full-screen panels that are scrolled and searched: a long text, the keys of a context, the whole conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from callgate.formats.columns import width as width_of
from callgate.formats.columns import words
from callgate.formats.display import visible
from callgate.tui.blocks import text_of
from callgate.tui.fold import ConversationFold
from callgate.tui.keys import CONTEXTS, Context, KeyAction, shown_keys
from callgate.tui.panels.panel_page import CODES, PanelPage
from callgate.tui.port import Panel, Terminal

if TYPE_CHECKING:
    from callgate.tui.render import Painter


T = TypeVar("T")


class Pane(Generic[T]):
    """A scrollable view of items: the blocks of a conversation, or lines.

    An item is painted when it becomes visible, and cached. The position is an item and a line in the item, so that
    the items above need not be painted. At the end the view follows new items.

    paint    returns the lines of an item
    text_of  returns the text of an item, for the search
    """

    def __init__(self, items: list[T], paint: Callable[[T], Sequence[str]], text_of: Callable[[T], str]) -> None:
        self.items = items
        self._paint = paint
        self._text_of = text_of
        self._lines: dict[int, tuple[T, Sequence[str]]] = {}
        self._top: tuple[int, int] | None = None  # None: the view follows the end
        self._height = 1
        self._found: tuple[int, int] | None = None  # the item and the row of the last search
        self.sought = ""

    @property
    def at_end(self) -> bool:
        return self._top is None

    @property
    def first(self) -> int:
        """The index of the first visible item."""
        return (self._top or self._last_page())[0]

    def repaint(self, paint: Callable[[T], Sequence[str]]) -> None:
        """Discard the cached lines, and paint with another function."""
        self._paint = paint
        self._lines.clear()
        if self._top is not None:
            self._top = (self._top[0], 0)

    def lines(self, height: int) -> list[str]:
        """Return the visible lines, at most ``height``."""
        self._height = max(height, 1)
        at, line = self._top or self._last_page()
        found: list[str] = []
        while at < len(self.items) and len(found) < height:
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

        The search continues at the other end. Case is ignored if the text has no capitals. A
        search for a new text starts at the visible position.
        """
        if text != self.sought or self._found is None or self._found[0] >= len(self.items):
            self._found = None
        self.sought = text
        begin = self._found or self._top or (len(self.items), 0)
        if self._found is None and step > 0:
            begin = (begin[0], begin[1] - 1)  # the first visible line may match
        count = len(self.items)
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
        """Return the rows of an item that contain the text; row 0 if a line break splits the text."""
        fold: Callable[[str], str] = str if self.sought != self.sought.lower() else str.casefold
        wanted = fold(self.sought)
        if not wanted or wanted not in fold(self._text_of(self.items[at])):
            return []
        return [row for row, line in enumerate(self._of(at)) if wanted in fold(CODES.sub("", line))] or [0]

    @property
    def at_found(self) -> bool:
        """True if the first visible line is the search result."""
        return self._found is not None and self._found == self._top

    def _of(self, at: int) -> Sequence[str]:
        kept = self._lines.get(at)
        if kept is None or kept[0] is not self.items[at]:
            kept = self._lines[at] = (self.items[at], self._paint(self.items[at]))
        return kept[1]

    def _last_page(self) -> tuple[int, int]:
        at, left = len(self.items), self._height
        while at > 0 and left > 0:
            at -= 1
            left -= len(self._of(at))
        return (at, max(-left, 0)) if at < len(self.items) else (0, 0)

    def _moved(self, top: tuple[int, int], by: int) -> tuple[int, int]:
        at, line = top
        line += by
        while line < 0 and at > 0:
            at -= 1
            line += len(self._of(at))
        while at < len(self.items) - 1 and line >= len(self._of(at)):
            line -= len(self._of(at))
            at += 1
        return at, max(line, 0)


_STEPS = {"up": -1, "down": 1, "previous": -1, "next": 1}


class PagerPanel(Panel):
    """The keys of a full-screen panel that shows a pane. ``first_step`` is the direction of a new search."""

    context: Context = "pager"
    full_screen = True

    def __init__(self, terminal: Terminal, pane: Pane[Any], first_step: int) -> None:
        self._terminal = terminal
        self._pane = pane
        self._first_step = first_step
        self._missed = False

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
                self._terminal.ask_text("search:", "", self._seek)
            case "next" | "previous":
                self._missed = bool(pane.sought) and not pane.seek(pane.sought, _STEPS[action])
            case _:
                return

    def _seek(self, text: str | None) -> None:
        if text:
            self._missed = not self._pane.seek(text, self._first_step)


class ScrollPanel(PagerPanel):
    """A panel with a long text. ``write`` fills a page for the current width and is called again when the width
    changes."""

    def __init__(self, terminal: Terminal, title: str, write: Callable[[PanelPage], None]) -> None:
        super().__init__(terminal, Pane[str]([], lambda line: (line,), lambda line: CODES.sub("", line)), 1)
        self._title = title
        self._write = write
        self._width = 0
        self._pane.to_start()

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme, pane = self._terminal.theme, self._pane
        if width != self._width:
            page = PanelPage(theme, width)
            self._write(page)
            self._width, pane.items = width, page.lines
        rows = max(height - 3, 1)
        shown = pane.lines(rows)
        place = f"{pane.first + 1}-{pane.first + len(shown)} of {len(pane.items)}" if len(pane.items) > rows else ""
        frame, foot = PanelPage(theme, width), PanelPage(theme, width)
        frame.line(self._title, "bold", place)
        if self._missed:
            foot.words(f"no line contains {pane.sought!r}", "yellow")
        again = [("n N", "next, previous")] if pane.sought else []
        foot.keys([(theme.sign("↑ ↓", "up/down"), "scroll"), ("/", "search"), *again, ("Esc", "back")])
        return [*frame.lines, *shown, *foot.lines]


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

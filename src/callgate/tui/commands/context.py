"""/context: the use of the model's window by the next request, as a grid and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.tui.blocks import LinesBlock, TableBlock
from callgate.tui.commands.parts import session_of
from callgate.tui.theme import Theme
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.transcript.tokens import ContextUse
    from callgate.tui.port import Terminal

ROWS, COLUMNS = 5, 20
_STYLES = ("cyan", "blue", "magenta", "green", "yellow", "red", "bold")
_FREE, _RESERVE = "free", "for the answer"


@noun
class WindowPart:
    """One kind of content in the window. ``letter`` stands for it where there are no colours."""

    kind: str
    tokens: int
    letter: str
    style: str


def window_parts(use: ContextUse) -> list[WindowPart]:
    """The contents of the next request, in their order, then the free room and the reserve for the answer. The
    first ones add up to the count, all of them to the window where its size is known."""
    parts: list[WindowPart] = []
    letters = iter("abcdefghijklmnopqrstuvw")
    for at, share in enumerate(use.shares):
        parts.append(WindowPart(share.kind, share.tokens, next(letters), _STYLES[at % len(_STYLES)]))
    if use.limits is not None:
        total, limits = use.count.total, use.limits
        parts.append(WindowPart(_FREE, max(limits.usable - total, 0), ".", "grey"))
        parts.append(WindowPart(_RESERVE, max(limits.window - max(limits.usable, total), 0), "-", "grey"))
    return parts


def grid_cells(parts: Sequence[WindowPart], count: int) -> list[WindowPart]:
    """So many cells, each of one part. A part that has tokens has a cell at least; the largest ones give it."""
    whole = sum(part.tokens for part in parts)
    if not whole:
        return []
    cells = [max(round(part.tokens * count / whole), 1 if part.tokens else 0) for part in parts]
    while sum(cells) != count:
        largest = cells.index(max(cells))
        cells[largest] += 1 if sum(cells) < count else -1
    return [part for part, number in zip(parts, cells, strict=True) for _ in range(number)]


def context(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    use = session.context_use()
    parts = window_parts(use)
    cells = grid_cells(parts, ROWS * COLUMNS)
    theme = terminal.theme
    rows = [cells[at : at + COLUMNS] for at in range(0, len(cells), COLUMNS)]
    grid = tuple((("  ", ""), *((f"{_sign(cell, theme)} ", cell.style) for cell in row)) for row in rows)
    window = None if use.limits is None else use.limits.window
    whole = window or sum(part.tokens for part in parts) or 1
    table = tuple((_sign(part, theme), part.kind, f"{part.tokens:,}", f"{part.tokens / whole:.1%}") for part in parts)
    title = f"{use.count} tokens in the next request to {session.model}"
    title += f", of {window:,}" if window is not None else "; the size of its window is not known"
    marks = tuple(part.style for part in parts)
    terminal.show(LinesBlock(((), *grid)), TableBlock(table, title, ("", "kind", "tokens", "share"), _note(use), marks))


def _sign(part: WindowPart, theme: Theme) -> str:
    """A square where colours tell the parts apart, letters otherwise."""
    if not (theme.colours and theme.unicode):
        return part.letter
    return {_FREE: "□", _RESERVE: "▨"}.get(part.kind, "■")


def _note(use: ContextUse) -> str:
    counted = "The provider counted all of it."
    if use.count.estimated:
        counted = f"The provider counted {use.count.reported:,} of them, the rest is estimated."
    if not use.count.reported:
        counted = "All of it is estimated: the provider has counted nothing yet."
    if use.limits is None:
        return counted
    left = max(use.limits.automatic - use.count.total, 0)
    return f"{counted} The history is compacted after {left:,} more; /compact does it now."

"""Tables: columns that fit, or one line for each cell where they do not."""

from collections.abc import Sequence

from callgate.tui.render.spans import Span, width_of, wrapped
from callgate.tui.theme import Theme

NARROWEST = 8
"""Cells that a column has at least, unless it needs less."""

Cell = Sequence[Span]


def table_rows(theme: Theme, cells: Sequence[Sequence[Cell]], right: Sequence[bool], width: int) -> list[list[Span]]:
    """The rows of a table whose first line is its head. ``right`` says which columns are aligned there."""
    count = max(map(len, cells), default=0)
    if not count:
        return []
    none: Cell = ()
    table = [[*row, *([none] * (count - len(row)))] for row in cells]
    bar = theme.sign(" │ ", " | ")
    widths = _widths(table, width - len(bar) * (count - 1))
    if widths is None:
        return _listed(table, width)
    rows: list[list[Span]] = []
    for number, line in enumerate(table):
        columns = [wrapped(cell, size) for cell, size in zip(line, widths, strict=True)]
        for at in range(max(map(len, columns))):
            row: list[Span] = []
            for place, (column, size) in enumerate(zip(columns, widths, strict=True)):
                if place:
                    row.append((bar, "grey"))
                text = column[at] if at < len(column) else []
                blank = " " * (size - sum(width_of(part) for part, _ in text))
                to_right = place < len(right) and right[place]
                row += [(blank, ""), *text] if to_right else [*text, (blank, "")]
            rows.append(_without_blanks_behind(row))
        if number == 0:
            cross = theme.sign("─┼─", "-+-")
            rows.append([(cross.join(theme.sign("─", "-") * size for size in widths), "grey")])
    return rows


def _without_blanks_behind(row: list[Span]) -> list[Span]:
    while row and not row[-1][0].strip():
        del row[-1]
    return [*row[:-1], (row[-1][0].rstrip(), row[-1][1])] if row else row


def _widths(table: Sequence[Sequence[Cell]], room: int) -> list[int] | None:
    """The widths of the columns: what they need, the widest ones cut until all fit; None if that would be too narrow
    to read."""
    wanted = [max(max(map(_width, column)), 1) for column in zip(*table, strict=True)]
    if sum(min(each, NARROWEST) for each in wanted) > room:
        return None
    widths = [min(each, room) for each in wanted]
    while sum(widths) > room:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths


def _width(cell: Cell) -> int:
    text = "".join(text for text, _ in cell)
    return max(map(width_of, text.split("\n")))


def _listed(table: Sequence[Sequence[Cell]], width: int) -> list[list[Span]]:
    """Each line of the table as lines ``head: cell``, for a terminal that is too narrow."""
    head, *body = table
    rows: list[list[Span]] = []
    for number, line in enumerate(body):
        if number:
            rows.append([])
        for name, cell in zip(head, line, strict=True):
            rows += wrapped([*name, (": ", ""), *cell], width)
    return rows or [row for cell in head for row in wrapped(cell, width)]

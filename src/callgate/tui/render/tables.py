"""Paints tables that fit the terminal: ``table_lines`` for commands, ``table_rows`` for Markdown and results."""

import re
from collections.abc import Sequence

from callgate.formats.columns import clipped, width, words
from callgate.formats.columns import width as width_of
from callgate.formats.display import visible
from callgate.tui.blocks import LinesBlock, TableBlock
from callgate.tui.render.spans import Span, wrapped
from callgate.tui.theme import Theme

_GAP = 2
_NARROWEST = 3
_NUMBER = re.compile(r"[-+$]?[\d,.]+(?:%| ms| s)?|", re.ASCII)


def table_lines(block: TableBlock, theme: Theme, room: int) -> list[str]:
    """Return the lines of a table.

    The widest columns are made narrower until the table fits, and their text is wrapped. Columns of numbers are
    right-aligned. A table without rows has no head.
    """
    rows = [[visible(cell) for cell in row] for row in block.rows]
    heads = [visible(head) for head in block.heads] if rows else []
    widths = _widths([*([heads] if heads else []), *rows], max(room - _GAP, _NARROWEST))
    if block.one_line:
        more = theme.sign("…", "...")
        rows = [[clipped(cell, wide, more) for cell, wide in zip(row, widths, strict=False)] for row in rows]
    numbers = [bool(block.heads) and all(_NUMBER.fullmatch(row[at]) for row in rows) for at in range(len(widths))]
    lines = ["", *(theme.paint(line, "bold") for line in words(visible(block.title), room - 1) if line)]
    lines += [theme.paint(line, "grey") for line in _row(heads, widths, numbers)]
    for at, row in enumerate(rows):
        first, *rest = _row(row, widths, numbers) or [""]
        if block.marks:
            end = _GAP + len(row[0])
            first = theme.paint(first[:end], block.marks[at]) + first[end:]
        lines += [first, *rest]
    return lines + [theme.paint(line, "grey") for line in words(visible(block.note), room - 1) if line]


def piece_lines(block: LinesBlock, theme: Theme, room: int) -> list[str]:
    lines: list[str] = []
    for pieces in block.lines:
        line, left = "", room - 1
        for text, style in pieces:
            cut = clipped(text, left, "")
            left -= width(cut)
            line += theme.paint(cut, style)
        lines.append(line)
    return lines


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    count = max(map(len, rows), default=0)
    widths = [max((width(row[at]) for row in rows if at < len(row)), default=0) for at in range(count)]
    while sum(widths) + _GAP * (count - 1) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> list[str]:
    columns = [words(cell, max(wide, 1)) for cell, wide in zip(cells, widths, strict=False)]
    lines: list[str] = []
    for at in range(max(map(len, columns), default=0)):
        padded: list[str] = []
        for column, wide, number in zip(columns, widths, numbers, strict=False):
            part = column[at] if at < len(column) else ""
            blank = " " * (wide - width(part))
            padded.append(blank + part if number else part + blank)
        lines.append((" " * _GAP + (" " * _GAP).join(padded)).rstrip())
    return lines


NARROWEST_CELL = 8
"""The minimum width of a column that needs more."""

Cell = Sequence[Span]


def table_rows(theme: Theme, cells: Sequence[Sequence[Cell]], right: Sequence[bool], width: int) -> list[list[Span]]:
    """Return the rows of a table whose first line is the head. ``right`` is True for each right-aligned column."""
    count = max(map(len, cells), default=0)
    if not count:
        return []
    none: Cell = ()
    table = [[*row, *([none] * (count - len(row)))] for row in cells]
    bar = theme.sign(" │ ", " | ")
    widths = _cell_widths(table, width - len(bar) * (count - 1))
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


def _cell_widths(table: Sequence[Sequence[Cell]], room: int) -> list[int] | None:
    wanted = [max(max(map(_width, column)), 1) for column in zip(*table, strict=True)]
    if sum(min(each, NARROWEST_CELL) for each in wanted) > room:
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
    """Return each cell of the table as rows ``head: cell``, for a narrow terminal."""
    head, *body = table
    rows: list[list[Span]] = []
    for number, line in enumerate(body):
        if number:
            rows.append([])
        for name, cell in zip(head, line, strict=True):
            rows += wrapped([*name, (": ", ""), *cell], width)
    return rows or [row for cell in head for row in wrapped(cell, width)]

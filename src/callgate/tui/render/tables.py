"""Paints tables that fit the terminal: ``table_lines`` for commands, ``table_rows`` for Markdown and results."""

import re
from collections.abc import Sequence

from callgate.formats.columns import clipped, width, words
from callgate.formats.display import visible
from callgate.tui.blocks import LinesBlock, TableBlock
from callgate.tui.render.spans import Span, painted, wrapped
from callgate.tui.theme import Theme

Cell = Sequence[Span]
_GAP = 2
_NARROWEST = 3
_NUMBER = re.compile(r"[-+$]?[\d,.]+(?:%| ms| s)?|", re.ASCII)


def table_lines(block: TableBlock, theme: Theme, room: int) -> list[str]:
    """Return the lines of a table.

    The widest columns are made narrower until the table fits, and their text is wrapped. Columns of numbers are
    right-aligned. A table without rows has no head.
    """
    marks = block.marks or ("",) * len(block.rows)
    rows = [
        [(visible(cell), "" if at else mark) for at, cell in enumerate(row)]
        for row, mark in zip(block.rows, marks, strict=True)
    ]
    table = [[(visible(head), "grey") for head in block.heads], *rows] if rows and block.heads else rows
    count = max(map(len, table), default=0)
    wanted = [max(width(row[at][0]) for row in table if at < len(row)) for at in range(count)]
    widths = _fitted_widths(wanted, max(room - _GAP, _NARROWEST) - _GAP * (count - 1), _NARROWEST)
    if block.one_line:
        more = theme.more
        table = [
            [(clipped(cell[0], size, more), cell[1]) for cell, size in zip(row, widths, strict=False)] for row in table
        ]
    numbers = [bool(block.heads) and all(_NUMBER.fullmatch(row[at][0]) for row in rows) for at in range(count)]
    gap: Span = (" " * _GAP, "")
    lines = ["", *(theme.paint(line, "bold") for line in words(visible(block.title), room - 1) if line)]
    for row in table:
        lines += [painted(theme, [gap, *line]) for line in _laid_out([[cell] for cell in row], widths, numbers, gap)]
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


def _fitted_widths(wanted: Sequence[int], room: int, least: int) -> list[int]:
    """Return the widths of columns. The widest columns are made narrower until they fit, but not below ``least``."""
    widths = [*wanted]
    while sum(widths) > room and max(widths) > least:
        widths[widths.index(max(widths))] -= 1
    return widths


def _laid_out(cells: Sequence[Cell], widths: Sequence[int], right: Sequence[bool], gap: Span) -> list[list[Span]]:
    """Return the rows of one line of a table. ``right`` is True for each right-aligned column."""
    columns = [wrapped(cell, size) for cell, size in zip(cells, widths, strict=False)]
    rows: list[list[Span]] = []
    for at in range(max(map(len, columns), default=0)):
        row: list[Span] = []
        for place, (column, size) in enumerate(zip(columns, widths, strict=False)):
            text = column[at] if at < len(column) else []
            blank = " " * (size - sum(width(part) for part, _ in text))
            to_right = place < len(right) and right[place]
            row += [gap] if place else []
            row += [(blank, ""), *text] if to_right else [*text, (blank, "")]
        rows.append(_without_blanks_behind(row))
    return rows


NARROWEST_CELL = 8
"""The minimum width of a column that needs more."""


def table_rows(theme: Theme, cells: Sequence[Sequence[Cell]], right: Sequence[bool], columns: int) -> list[list[Span]]:
    """Return the rows of a table whose first line is the head. ``right`` is True for each right-aligned column."""
    count = max(map(len, cells), default=0)
    if not count:
        return []
    none: Cell = ()
    table = [[*row, *([none] * (count - len(row)))] for row in cells]
    bar = theme.sign(" │ ", " | ")
    room = columns - len(bar) * (count - 1)
    wanted = [max(max(map(_width, column)), 1) for column in zip(*table, strict=True)]
    if sum(min(each, NARROWEST_CELL) for each in wanted) > room:
        return _listed(table, columns)
    widths = _fitted_widths(wanted, room, 1)
    rows: list[list[Span]] = []
    for number, line in enumerate(table):
        rows += _laid_out(line, widths, right, (bar, "grey"))
        if number == 0:
            cross = theme.sign("─┼─", "-+-")
            rows.append([(cross.join(theme.sign("─", "-") * size for size in widths), "grey")])
    return rows


def _without_blanks_behind(row: list[Span]) -> list[Span]:
    while row and not row[-1][0].strip():
        del row[-1]
    return [*row[:-1], (row[-1][0].rstrip(), row[-1][1])] if row else row


def _width(cell: Cell) -> int:
    text = "".join(text for text, _ in cell)
    return max(map(width, text.split("\n")))


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

"""Tables and coloured lines, as commands show them: no line is wider than the terminal."""

import re
from collections.abc import Sequence

from callgate.formats.columns import clipped, width, words
from callgate.formats.display import visible
from callgate.tui.blocks import LinesBlock, TableBlock
from callgate.tui.theme import Theme

_GAP = 2
_NARROWEST = 3
_NUMBER = re.compile(r"[-+$]?[\d,.]+(?:%| ms| s)?|", re.ASCII)


def table_lines(block: TableBlock, theme: Theme, room: int) -> list[str]:
    """The widest columns become narrower until the table fits, and their texts are wrapped at words. Columns of numbers
    end at the same place. Without rows there are no heads."""
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

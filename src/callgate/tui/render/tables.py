"""Tables and coloured lines, as commands show them: no line is wider than the terminal."""

from collections.abc import Sequence

from prompt_toolkit.utils import get_cwidth

from callgate.formats.display import visible
from callgate.tui.blocks import LinesBlock, TableBlock
from callgate.tui.theme import Theme

_GAP = 2
_NARROWEST = 6


def table_lines(block: TableBlock, theme: Theme, width: int) -> list[str]:
    """The widest columns become narrower until the table fits, and their texts are wrapped at words."""
    rows = [[visible(cell) for cell in row] for row in block.rows]
    heads = [visible(head) for head in block.heads]
    widths = _widths([*([heads] if heads else []), *rows], max(width - _GAP, _NARROWEST))
    lines = [""]
    if block.title:
        lines += [theme.paint(line, "bold") for line in wrapped(visible(block.title), width - 1)]
    if heads:
        lines += [theme.paint(line, "grey") for line in _row(heads, widths)]
    for row in rows:
        lines += _row(row, widths)
    if block.note:
        lines += [theme.paint(line, "grey") for line in wrapped(visible(block.note), width - 1)]
    return [*lines, ""]


def piece_lines(block: LinesBlock, theme: Theme, width: int) -> list[str]:
    lines: list[str] = []
    for pieces in block.lines:
        line, left = "", width - 1
        for text, style in pieces:
            cut = _cut(text, left)
            left -= get_cwidth(cut)
            line += theme.paint(cut, style)
        lines.append(line)
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most this many columns, broken at blanks where there are any."""
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        wide = get_cwidth(word)
        if line and used + 1 + wide > width:
            lines.append(line)
            line, used = "", 0
        while get_cwidth(word) > width:
            part = _cut(word, width) or word[:1]
            lines.append(part)
            word = word[len(part) :]
        wide = get_cwidth(word)
        line, used = (f"{line} {word}", used + 1 + wide) if line else (word, wide)
    return [*lines, line] if line or not lines else lines


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    count = max(map(len, rows), default=0)
    widths = [max((get_cwidth(row[at]) for row in rows if at < len(row)), default=0) for at in range(count)]
    while sum(widths) + _GAP * (count - 1) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    columns = [wrapped(cell, max(width, 1)) for cell, width in zip(cells, widths, strict=False)]
    lines: list[str] = []
    for at in range(max(map(len, columns), default=0)):
        parts = [column[at] if at < len(column) else "" for column in columns]
        padded = [part + " " * (width - get_cwidth(part)) for part, width in zip(parts, widths, strict=False)]
        lines.append((" " * _GAP + (" " * _GAP).join(padded)).rstrip())
    return lines


def _cut(text: str, width: int) -> str:
    """The beginning of the text that has at most this many columns."""
    used = 0
    for at, sign in enumerate(text):
        used += get_cwidth(sign)
        if used > width:
            return text[:at]
    return text

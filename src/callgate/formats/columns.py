"""Measures, truncates and wraps text by terminal columns.

The text must be safe to show (see ``formats.display``), because control characters have no width here.
"""

from collections.abc import Iterator
from textwrap import wrap
from unicodedata import combining, east_asian_width


def width(text: str) -> int:
    """Return the number of terminal columns of a safe text."""
    if text.isascii():
        return len(text)
    return sum(map(_wide, text))


def clipped(text: str, columns: int, mark: str = "…") -> str:
    """Truncate text to a number of terminal columns. A truncated text ends with ``mark``."""
    if width(text) <= columns:
        return text
    kept, used = "", 0
    for sign in text:
        used += _wide(sign)
        if used > columns - len(mark):
            break
        kept += sign
    return (kept + mark)[: max(columns, 0)]


def pieces(text: str, columns: int) -> Iterator[str]:
    """Yield the text in pieces of at most this number of columns, broken at any character; yield at least one piece."""
    if text.isascii():
        for at in range(0, max(len(text), 1), max(columns, 1)):
            yield text[at : at + max(columns, 1)]
        return
    piece, used = "", 0
    for sign in text:
        wide = _wide(sign)
        if piece and used + wide > columns:
            yield piece
            piece, used = "", 0
        piece, used = piece + sign, used + wide
    yield piece


def words(text: str, columns: int) -> list[str]:
    """Return the lines of a text wrapped to a number of columns, between words if possible; at least one line."""
    if text.isascii():
        return wrap(text, max(columns, 1), break_on_hyphens=False) or [""]
    lines, line = list[str](), ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if width(joined) <= columns:
            line = joined
            continue
        *full, line = [*([line] if line else []), *pieces(word, columns)]
        lines += full
    return [*lines, line]


def _wide(sign: str) -> int:
    return 2 if east_asian_width(sign) in "WF" else 0 if combining(sign) else 1

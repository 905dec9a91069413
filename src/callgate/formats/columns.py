"""Columns of a terminal: the width of text, and text cut or broken at a width.

The text must have been made safe to show, see ``formats.display``: control characters have no width here.
"""

from collections.abc import Iterator
from textwrap import wrap
from unicodedata import combining, east_asian_width


def width(text: str) -> int:
    """Columns that safe text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_wide, text))


def clipped(text: str, columns: int, mark: str = "…") -> str:
    """At most so many columns of the text, ending in a mark where something is left out."""
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
    """The text in pieces of at most so many columns, broken wherever the room ends; one piece at least."""
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
    """The text in lines of at most so many columns, broken between words where that is possible; one at least."""
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

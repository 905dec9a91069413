"""Styled text in spans: measured, wrapped and cut by terminal cells. A wide letter takes two cells."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from callgate.formats.columns import width as width_of
from callgate.tui.theme import Theme

Span = tuple[str, str]
"""Text that is safe to show, and its style."""

_PIECES = re.compile(r"\n| +|[^ \n]+")


def painted(theme: Theme, spans: Iterable[Span], *, unbroken: bool = False) -> str:
    """Join spans to one text with control sequences. If ``unbroken`` is True, a background that reaches to the edge
    is painted without blanks at the end of the line, so that users can copy the line."""
    row = [*spans]
    ground = theme.ground(row[-1][1]) if unbroken and row and row[-1][0].isspace() else ""
    if ground:
        del row[-1]
        first = next((at for at, (_, style) in enumerate(row) if theme.ground(style)), len(row))
        row.insert(first, ("\x1b[K", ground))
    together = groupby(row, lambda span: span[1])
    return "".join(theme.paint("".join(text for text, _ in same), style) for style, same in together)


def head_of(text: str, width: int) -> str:
    """Return the longest start of a text that fits into ``width`` cells."""
    if text.isascii():
        return text[:width]
    used = 0
    for at, sign in enumerate(text):
        used += width_of(sign)
        if used > width:
            return text[:at]
    return text


def cut(spans: Iterable[Span], width: int) -> list[list[Span]]:
    """Break one line into rows of at most ``width`` cells, without adding or removing characters."""
    rows: list[list[Span]] = [[]]
    room = width = max(width, 2)
    for text, style in spans:
        while text:
            piece = head_of(text, room)
            if piece:
                rows[-1].append((piece, style))
                room -= width_of(piece)
                text = text[len(piece) :]
            if text:
                rows.append([])
                room = width
    return rows


def one_row(spans: Sequence[Span], width: int, more: str = "…") -> list[Span]:
    """Return the spans, or their start followed by ``more`` if they are too wide."""
    if sum(width_of(text) for text, _ in spans) <= width:
        return [*spans]
    return [*cut(spans, width - len(more))[0], (more, spans[-1][1])]


def wrapped(spans: Iterable[Span], width: int) -> list[list[Span]]:
    """Wrap text into rows of at most ``width`` cells, at blanks and between wide letters. Blanks after a line feed
    are kept."""
    width = max(width, 2)
    rows: list[list[Span]] = [[]]
    used = 0
    for blank, word in _words(spans):
        if word is None:
            rows.append([])
            used = 0
            continue
        blanks = blank[0][: width // 2]
        if used and used + len(blanks) + sum(width_of(text) for text, _ in word) > width:
            rows.append([])
            used = 0
        elif blanks:
            rows[-1].append((blanks, blank[1]))
            used += len(blanks)
        for text, style in word:
            while text:
                piece = head_of(text, width - used)
                if piece:
                    rows[-1].append((piece, style))
                    used += width_of(piece)
                    text = text[len(piece) :]
                if text:
                    rows.append([])
                    used = 0
    return rows


def _words(spans: Iterable[Span]) -> Iterator[tuple[Span, list[Span] | None]]:
    """Yield each word with the blanks before it, or None for a line feed. A word may have several styles."""
    blank: Span = ("", "")
    word: list[Span] = []
    for text, style in spans:
        for piece in _PIECES.findall(text):
            if piece == "\n":
                if word:
                    yield blank, word
                yield blank, None
                blank, word = ("", ""), []
            elif piece[0] == " ":
                if word:
                    yield blank, word
                    blank, word = ("", ""), []
                blank = (blank[0] + piece, style)
            else:
                for wide, part in _by_width(piece):
                    if word and (wide or width_of(word[-1][0][-1]) > 1):
                        yield blank, word
                        blank, word = ("", ""), []
                    word.append((part, style))
    if word:
        yield blank, word


def _by_width(word: str) -> Iterator[tuple[bool, str]]:
    """Yield each wide letter and each run of other letters, because a line may be broken at wide letters."""
    if word.isascii():
        yield False, word
        return
    for wide, signs in groupby(word, lambda sign: width_of(sign) > 1):
        if wide:
            yield from ((True, sign) for sign in signs)
        else:
            yield False, "".join(signs)

"""Escaped text of known width, with colours, for terminals."""

import os
import select
import sys
from collections.abc import Mapping
from contextlib import suppress
from textwrap import wrap
from typing import TextIO

from callgate.formats.columns import clipped, width
from callgate.formats.display import visible
from callgate.words.noun import noun

_SGR: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}


class Safe(str):
    """Text on one line that is already escaped, so that it is not escaped twice."""

    __slots__ = ()


def safe(text: str) -> Safe:
    """Escape control and invisible characters, so that a text of a file, a command or a model cannot control the
    terminal."""
    return text if isinstance(text, Safe) else Safe(visible(text))


def clip(text: str, columns: int, mark: str = "…") -> Safe:
    """Return the escaped text cut to a number of columns; a mark shows that it was cut."""
    return Safe(clipped(safe(text), columns, mark))


def fit(text: str, columns: int, mark: str = "…") -> Safe:
    """Return the text cut or padded to a number of columns."""
    shown = clip(text, columns, mark)
    return Safe(shown + " " * (columns - width(shown)))


@noun
class Span:
    """A piece of a line in one style. ``safe`` is the escaped text."""

    text: str
    style: str = ""

    @property
    def safe(self) -> Safe:
        return safe(self.text)


Line = tuple[Span, ...]


def plain(line: Line) -> Safe:
    return Safe("".join(span.safe for span in line).rstrip())


def paragraph(text: str, columns: int, style: str = "", *, indent: int = 0, hang: int = 0) -> list[Line]:
    """Return a text wrapped between words. Lines after the first are indented by ``hang`` more columns."""
    room = max(columns - indent - hang, 8)
    first, *rest = wrap(safe(text), room, break_on_hyphens=False) or [""]
    margins = (Span(Safe(" " * indent)), Span(Safe(" " * (indent + hang))))
    return [(margins[0], Span(Safe(first), style)), *((margins[1], Span(Safe(each), style)) for each in rest)]


def painted(line: Line, columns: int, mark: str = "…") -> str:
    """Return the line with colours, cut to the columns."""
    left, out = columns, ""
    for span in line:
        text = clip(span.safe, left, mark)
        left -= width(text)
        codes = ";".join(_SGR[word] for word in span.style.split())
        out += f"\x1b[{codes}m{text}\x1b[0m" if codes and text.strip() else text
        if left <= 0:
            break
    return out


@noun
class Signs:
    """The signs in the output, as Unicode or ASCII characters."""

    ok: str
    bad: str
    waits: str
    asks: str
    mark: str
    bar: str
    dash: str


_UNICODE = Signs(ok="✓", bad="✗", waits="○", asks="?", mark="…", bar="━", dash="·")
_ASCII = Signs(ok="+", bad="x", waits="o", asks="?", mark=".", bar="=", dash="-")


def signs_for(out: TextIO) -> Signs:
    try:
        "✓✗○…━·".encode(out.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _UNICODE


def can_redraw(out: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if the terminal supports control sequences."""
    if environment.get("NO_COLOR") or environment.get("TERM", "dumb" if os.name != "nt" else "") == "dumb":
        return False
    if sys.platform == "win32" and not (environment.get("WT_SESSION") or environment.get("TERM")):
        return False
    return out.isatty()


def write_all(fd: int, data: bytes) -> None:
    """Write all the data. Wait while a non-blocking pipe is full."""
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select([], [fd], [])


def size_of(out: TextIO) -> tuple[int, int]:
    """Return the current columns and rows."""
    with suppress(OSError, ValueError):
        size = os.get_terminal_size(out.fileno())
        if size.columns > 0 and size.lines > 0:
            return size.columns, size.lines
    return 80, 24

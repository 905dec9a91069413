"""Lines and colours that the commands about policy share."""

from collections.abc import Iterator
from typing import Any, TextIO

from callgate.cli.session.output import UNLIMITED, columns
from callgate.cli.terminal import Line, Safe, Span, paragraph
from callgate.words.decisions import Origin

WIDE = 100
COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def room_on(stream: TextIO) -> int:
    """Columns for text that is read and not compared: not all of a wide window. A pipe gets every line whole."""
    found = columns(stream)
    return found if found >= UNLIMITED else min(found, WIDE)


def origin_as_json(origin: Origin) -> dict[str, Any]:
    found = {"layer": origin.layer, "file": origin.file, "line": origin.line}
    return {name: value for name, value in found.items() if value}


def item(mark: str, text: str, below: str, room: int, style: str = "") -> Iterator[Line]:
    """A thing of a list: a short mark, what it is, and in smaller letters what there is to be said of it."""
    wide = len(mark) + 2
    first, *rest = paragraph(text, room, indent=wide)
    yield Span(Safe(f"{mark}  "), style), *first[1:]
    yield from rest
    yield from paragraph(below, room, "dim", indent=6)

"""The output of commands: lines of text in colours, JSON, or a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from callgate.cli.terminal import Line, Safe, Span, can_redraw, painted, paragraph, plain, safe, size_of
from callgate.words.errors import CallgateError

if TYPE_CHECKING:
    from callgate.words.decisions import Origin

UNLIMITED = 100_000
WIDE = 100
COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def out() -> TextIO:
    """Return standard output. Characters that its encoding cannot represent are escaped."""
    stream = cast(TextIO, sys.stdout)
    if hasattr(stream, "reconfigure"):
        cast(TextIOWrapper, stream).reconfigure(errors="backslashreplace")
    return stream


def columns() -> int:
    """Return $COLUMNS, or the width of the terminal; ``UNLIMITED`` for a file or a pipe."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and 0 < int(given) < UNLIMITED:
        return int(given)
    return size_of(sys.stdout)[0] if sys.stdout.isatty() else UNLIMITED


def text_width() -> int:
    """Return the columns for text: at most ``WIDE`` on a terminal, no limit in a pipe."""
    found = columns()
    return found if found >= UNLIMITED else min(found, WIDE)


def put(lines: Iterable[Line]) -> None:
    """Write lines, in colours if standard output is a terminal that supports them."""
    stream = out()
    coloured = can_redraw(stream)
    for line in lines:
        stream.write((painted(line, UNLIMITED) if coloured else plain(line)) + "\n")


def put_text(text: str, style: str = "") -> None:
    """Write one line without wrapping it."""
    put([(Span(text, style),)])


def put_paragraph(text: str, style: str = "", *, indent: int = 0, hang: int = 0) -> None:
    """Write a text wrapped at words."""
    put(paragraph(text, text_width(), style, indent=indent, hang=hang))


def put_json(value: Any) -> None:
    out().write(json_line(value))


def json_line(value: Any) -> str:
    """Return one line of JSON without control characters."""
    from json import dumps  # costly, and help does not need it

    return dumps(value, default=repr).replace("\x7f", "\\u007f") + "\n"


def json_fields(value: object, *paths: str, **renamed: str) -> dict[str, Any]:
    """Return attributes of a value as JSON; without paths, every field of a value type.

    paths    attributes such as ``state.status``; the last name becomes the key; every attribute of None is None
    renamed  attributes with the keys to use for them
    """
    from callgate.formats.jsonable import to_json  # costly, and help does not need it

    if paths:
        named = {path.rpartition(".")[2]: path for path in paths} | renamed
        return {key: to_json(_attribute(value, path)) for key, path in named.items()}
    written: dict[str, Any] = to_json(value)
    return {name: each for name, each in written.items() if name != "type"}


def _attribute(value: object, path: str) -> object:
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def origin_as_json(origin: Origin) -> dict[str, Any]:
    """Return the fields of an origin that are set."""
    return {name: value for name, value in json_fields(origin, "layer", "file", "line").items() if value}


def item(mark: str, text: str, below: str, room: int, style: str = "") -> Iterator[Line]:
    """Return an entry of a list: a mark, the text, and a dimmed text below it."""
    first, *rest = paragraph(text, room, indent=len(mark) + 2)
    yield Span(Safe(f"{mark}  "), style), *first[1:]
    yield from rest
    yield from paragraph(below, room, "dim", indent=6)


def answer_to(question: str) -> str:
    """Ask the user on the terminal and return the answer, or an empty string at the end of the input."""
    try:
        return input(question).strip()
    except EOFError:
        return ""


def say(text: str) -> None:
    """Write one human-readable line to standard error. Do nothing if standard error is closed."""
    with suppress(OSError):
        print(f"callgate: {safe(text)}", file=sys.stderr, flush=True)


def hand_over(text: str, file: str | None, *, force: bool) -> None:
    """Write a text to a file that only its owner can read, or to standard output."""
    from callgate.admin.sessions import write_file

    if file not in (None, "-"):
        if file.endswith(os.sep) or Path(file).is_dir():
            raise CallgateError(f"{file} is a folder: name a file in it")
        try:
            write_file(Path(file), text.encode(errors="replace"), replace=force)
        except FileExistsError:
            raise CallgateError(f"{file} already exists: add --force to replace it") from None
    elif sys.stdout.isatty():
        out().writelines(f"{safe(line.expandtabs(4))}\n" for line in text.removesuffix("\n").split("\n"))
    else:
        sys.stdout.buffer.write(text.encode(errors="replace"))
        sys.stdout.buffer.flush()

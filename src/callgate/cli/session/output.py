"""The output of the session commands: lines for the terminal, or a file."""

import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from json import dumps
from pathlib import Path
from typing import Any, TextIO, cast

from callgate.admin.sessions import write_file
from callgate.cli.terminal import Line, can_redraw, painted, plain, safe, size_of
from callgate.words.errors import CallgateError

UNLIMITED = 100_000


def out() -> TextIO:
    """Standard output, on which any text can be written: what it has no sign for is spelled out."""
    stream = cast(TextIO, sys.stdout)
    if hasattr(stream, "reconfigure"):
        cast(TextIOWrapper, stream).reconfigure(errors="backslashreplace")
    return stream


def columns(stream: TextIO) -> int:
    """$COLUMNS, or those of the terminal. A file or a pipe has as many as it takes."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and 0 < int(given) < UNLIMITED:
        return int(given)
    return size_of(stream)[0] if stream.isatty() else UNLIMITED


def put(lines: Iterable[Line], stream: TextIO) -> None:
    """In colours where there are any."""
    coloured = can_redraw(stream)
    for line in lines:
        stream.write((painted(line, UNLIMITED) if coloured else plain(line)) + "\n")


def put_json(value: Any, stream: TextIO) -> None:
    """One line, which no terminal takes for a command."""
    stream.write(dumps(value, default=repr).replace("\x7f", "\\u007f") + "\n")


def say(text: str) -> None:
    """One line on the side, for people, when the output itself is for a program."""
    print(f"callgate: {safe(text)}", file=sys.stderr, flush=True)


def hand_over(text: str, file: str | None, *, force: bool) -> None:
    """To the file, for its owner alone, or to standard output."""
    if file not in (None, "-"):
        if file.endswith(os.sep) or Path(file).is_dir():
            raise CallgateError(f"{file} is a folder: say which file in it")
        try:
            write_file(Path(file), text.encode(errors="replace"), replace=force)
        except FileExistsError:
            raise CallgateError(f"{file} exists already: say --force to replace it") from None
    elif sys.stdout.isatty():
        stream = out()
        stream.writelines(f"{safe(line.expandtabs(4))}\n" for line in text.removesuffix("\n").split("\n"))
    else:
        sys.stdout.buffer.write(text.encode(errors="replace"))
        sys.stdout.buffer.flush()


def size_in_words(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            return f"{amount:.1f} {unit}"
    raise AssertionError

"""Support for commands that read lines of JSON and write one line of JSON for each, so that the commands can run as
co-processes."""

import json
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO, cast

from callgate.cli.command_rows import ArgumentRow
from callgate.cli.text_output import json_line, say
from callgate.words.errors import UsageError

JSONL = ArgumentRow("--jsonl", "JSON lines in and out (the default)")
FILE = ArgumentRow("FILE?", "where to read from (default: standard input)")


class UnusableLine(Exception):
    """Raised for a line that cannot be used; the message says what to write instead."""


@contextmanager
def json_input(file: str | None) -> Generator[BinaryIO]:
    """Yield the lines of a file or of standard input."""
    if file not in (None, "-"):
        with open(file, "rb") as lines:
            yield lines
        return
    if sys.stdin.isatty():
        say("reading JSON lines from the keyboard; Ctrl-D ends")
    yield sys.stdin.buffer


def answer_lines(
    lines: Iterable[str | bytes],
    out: TextIO,
    answer: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    failed: Callable[[str], dict[str, Any]] = lambda error: {"error": error},
    loads: Callable[[str], Any] = json.loads,
) -> int:
    """Answer each line at once. Return 1 if a line could not be used, and 0 otherwise."""
    code = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = answer(_object(line, loads))
        except (UnusableLine, UsageError) as error:
            code, found = 1, failed(f"line {number}: {error}")
        out.write(json_line(found))
        out.flush()
    return code


def _object(line: str | bytes, loads: Callable[[str], Any]) -> dict[str, Any]:
    try:
        found = loads(line.decode() if isinstance(line, bytes) else line)
    except (ValueError, RecursionError) as error:
        raise UnusableLine(f"write one JSON object per line, in UTF-8 ({type(error).__name__}: {error})") from None
    if not isinstance(found, dict):
        raise UnusableLine("write a JSON object, not another value")
    return cast("dict[str, Any]", found)

"""Standard input of a headless run: a part of the prompt, or inputs as lines of JSON."""

import os
import select
import stat
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from json import loads
from threading import Thread

from callgate.formats.jsonable import from_json
from callgate.words.errors import UsageError
from callgate.words.inputs import Input

PATIENCE = 3.0
"""Seconds that standard input may take to say something."""

LARGEST = 10 << 20
"""Bytes of standard input in a prompt: no model reads more."""

_NOTHING_CAME = (
    f"no data on standard input for {PATIENCE:g} seconds, so it is ignored; add < /dev/null to avoid the delay"
)


def read_stdin(say: Callable[[str], None]) -> str:
    """Return the text on standard input; empty if it is a terminal, closed, or silent for ``PATIENCE`` seconds.
    Blocks."""
    fd = _descriptor()
    if fd is None or os.isatty(fd):
        return ""
    if not stat.S_ISREG(os.fstat(fd).st_mode) and not select.select([fd], [], [], PATIENCE)[0]:
        say(_NOTHING_CAME)
        return ""
    pieces: list[bytes] = []
    left = LARGEST + 1
    while left > 0 and (piece := os.read(fd, min(left, 1 << 16))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise UsageError(
            f"standard input has more than {LARGEST >> 20} MiB, more than a model can read; name a file in the "
            "prompt instead"
        )
    data = b"".join(pieces)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        say(f"standard input is not UTF-8 at byte {error.start}; invalid bytes are replaced")
        return data.decode(errors="replace")


def whole_prompt(argument: str | None, piped: str) -> str:
    """Return the prompt, followed by the text of standard input. Raise UsageError if there is neither."""
    if not piped.strip():
        if argument is None:
            raise UsageError("the prompt is missing: use callgate -p PROMPT, or standard input")
        return argument
    return piped if argument is None else f"{argument}\n\n<stdin>\n{piped.removesuffix(chr(10))}\n</stdin>"


def follow_stdin(loop: AbstractEventLoop, take: Callable[[Input | str | None], None]) -> None:
    """Read standard input in a thread, and call ``take`` on the event loop with each input: an Input, a string that
    describes an invalid line, or None at the end."""

    def read() -> None:
        fd = _descriptor()
        if fd is not None:
            with suppress(OSError), open(fd, "rb", closefd=False) as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip() and not _tell(loop, take, _parsed(line, number)):
                        return
        _tell(loop, take, None)

    Thread(target=read, name="callgate-in", daemon=True).start()


def _tell(loop: AbstractEventLoop, take: Callable[[Input | str | None], None], value: Input | str | None) -> bool:
    try:
        loop.call_soon_threadsafe(take, value)
    except RuntimeError:  # the loop is closed
        return False
    return True


def _parsed(line: bytes, number: int) -> Input | str:
    try:
        return from_json(Input, loads(line.decode()))
    except UnicodeDecodeError as error:
        return f"line {number} of standard input cannot be used: it is not UTF-8 at byte {error.start}"
    except (UsageError, ValueError, RecursionError) as error:
        return f"line {number} of standard input cannot be used: {error}"


def _descriptor() -> int | None:
    try:
        fd = sys.__stdin__.fileno() if sys.__stdin__ is not None else None
        if fd is not None:
            os.fstat(fd)
    except (OSError, ValueError):
        return None
    return fd

"""The problems of a file of tools, by name and line."""

import os
from collections.abc import Iterator
from traceback import walk_tb
from typing import Literal

from callgate.policy.shorten import sentence
from callgate.words.errors import ToolDefinitionError, in_words
from callgate.words.noun import noun

Layer = Literal["user", "installed", "project"]
"""Whose it is; of two tools with one name the one further to the left counts."""


@noun
class Problem:
    """A fault in a file of tools, and its consequence. ``line`` is None where no line is to blame."""

    file: str
    line: int | None
    text: str
    layer: Layer = "user"

    def __str__(self) -> str:
        return f"{self.file}: {self.text}" if self.line is None else f"{self.file}:{self.line}: {self.text}"


@noun
class SkippedTools:
    """A file or folder that was left out on purpose."""

    path: str
    why: str
    layer: Layer = "project"


def blamed(error: BaseException, file: str, layer: Layer, doing: str = "") -> Problem:
    """An exception as the fault of this file: the line is the last one that was reached in it."""
    line, deeper = _reached(error, file)
    said = in_words(error)
    if isinstance(error, SyntaxError) and error.filename == file:
        said, deeper = f"{type(error).__name__}: {error.msg}", ""
        line = error.lineno or 1
    elif isinstance(error, SyntaxError):
        deeper = ""  # its message says where
    elif isinstance(error, ToolDefinitionError):
        said, deeper = str(error), ""
    return Problem(file, line, sentence(f"{doing}{said}{deeper}"), layer)


def reached_in(error: BaseException, package: str) -> tuple[str, int] | None:
    """The last file and line of this package that it came by."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 1
    found: tuple[str, int] | None = None
    for frame, number in walk_tb(error.__traceback__):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            found = frame.f_code.co_filename, number
    return found


def _reached(error: BaseException, file: str) -> tuple[int | None, str]:
    """The line, and in words where it went on from there, if that is a file beside it."""
    folder = os.path.dirname(file)
    line, deeper = None, ""
    for name, number in _frames(error):
        if name == file:
            line, deeper = number, ""
        elif folder and os.path.dirname(name) == folder:
            deeper = f" (in {os.path.basename(name)}, line {number})"
    return line, deeper


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, number in walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, number

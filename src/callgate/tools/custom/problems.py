"""The problems of a file of tools, by name and line."""

import os
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


def blamed(error: BaseException, file: str, layer: Layer) -> Problem:
    """An exception as the fault of this file: the line is the last one that was reached in it, and the text says where
    it went on from there, if that is a file beside it."""
    line, deeper = None, ""
    for frame, number in walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name == file:
            line, deeper = number, ""
        elif os.path.dirname(name) == os.path.dirname(file) != "":
            deeper = f" (in {os.path.basename(name)}, line {number})"
    text = in_words(error) + deeper
    if isinstance(error, SyntaxError) and error.filename == file:
        text, line = f"{type(error).__name__}: {error.msg}", error.lineno or 1
    elif isinstance(error, SyntaxError):
        text = in_words(error)  # its message says where
    elif isinstance(error, ToolDefinitionError):
        text = str(error)
    return Problem(file, line, sentence(text), layer)


def last_file_of(package: str, error: BaseException) -> str | None:
    """The last file of this package that an exception came by."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    names = [each.f_code.co_filename for each in frames if str(each.f_globals.get("__name__")).split(".")[0] == package]
    return names[-1] if names else None

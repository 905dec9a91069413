"""The problems found in a file of tools, with file and line."""

import os
from traceback import walk_tb
from typing import Literal

from callgate.policy.shorten import sentence
from callgate.words.errors import ToolDefinitionError, in_words
from callgate.words.noun import noun

Layer = Literal["user", "installed", "project"]
"""The owner of a tool. Of two tools with one name, the tool whose owner is further left is used."""


@noun
class Problem:
    """A fault in a file of tools. ``line`` is None if the fault has no line."""

    file: str
    line: int | None
    text: str
    layer: Layer = "user"

    def __str__(self) -> str:
        return f"{self.file}: {self.text}" if self.line is None else f"{self.file}:{self.line}: {self.text}"


@noun
class SkippedTools:
    """A file or folder that was not loaded, with the reason."""

    path: str
    why: str
    layer: Layer = "project"


def blamed(error: BaseException, file: str, layer: Layer) -> Problem:
    """Return an exception as a Problem of this file. The line is the line of the innermost frame in the file. If the
    exception passed through another file of the folder, the message names that file."""
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
        text = in_words(error)  # its message has the place
    elif isinstance(error, ToolDefinitionError):
        text = str(error)
    return Problem(file, line, sentence(text), layer)


def last_file_of(package: str, error: BaseException) -> str | None:
    """Return the file of the innermost traceback frame whose code belongs to this package."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    names = [each.f_code.co_filename for each in frames if str(each.f_globals.get("__name__")).split(".")[0] == package]
    return names[-1] if names else None

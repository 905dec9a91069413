"""The types of a parsed patch, and its errors. Each error names a line of the patch and what to do next."""

from typing import Literal

from callgate.changes.text import shown
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

Action = Literal["create", "delete", "update", "either"]
"""``either``: a plain diff that creates the file if it does not exist and the diff only adds lines."""

_LONGEST_QUOTE = 100
_LONGEST_PATH = 300
_OF_GIT = (".git", "git~1")


@noun
class PatchLine:
    """A line of a patch.

    sign   " ", "-" or "+"; empty for an empty line, which is context only if the file contains it
    text   the line without its newline
    ended  True if a newline follows; None to use the line ending of the file
    """

    sign: bytes
    text: bytes
    ended: bool | None = None


@noun
class Chunk:
    """Lines to find and change.

    anchors  lines of the file above the chunk, each with its line number in the patch
    at       the expected line number, from 1
    last     True if the lines are at the end of the file
    """

    line: int
    lines: tuple[PatchLine, ...]
    anchors: tuple[tuple[int, bytes], ...] = ()
    at: int | None = None
    last: bool = False


@noun
class FilePatch:
    """The part of a patch about one file.

    target  the new name of a renamed file
    data    the whole content of a created file; it has no chunks then
    """

    line: int
    action: Action
    path: str
    chunks: tuple[Chunk, ...] = ()
    target: str | None = None
    mode: int | None = None
    data: bytes | None = None


def fault(line: int, path: str, text: str) -> ToolFailure:
    """Return the error for a line of the patch. Lines are numbered from 1."""
    file = f"{shown(path[:_LONGEST_PATH])}{'…' if len(path) > _LONGEST_PATH else ''}, " if path else ""
    return ToolFailure(f"{file}line {line} of the patch: {text}")


def quoted(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return f"`{text}`" if len(text) <= _LONGEST_QUOTE else f"`{text[:_LONGEST_QUOTE]}…`"


def checked_path(name: bytes, line: int) -> str:
    """Return a file name of the patch as a path below the folder of the patch. Raise ToolFailure if the path may be
    outside the folder."""
    text = name.decode("utf-8", "surrogateescape")
    parts = [part for part in text.removeprefix("./").split("/") if part]
    if text.startswith("/"):
        raise fault(line, text, "The path is absolute. Write the path relative to the working folder.")
    if not parts or "\0" in text or text.endswith("/"):
        raise fault(line, text, "This cannot be the name of a file. Write the path of the file itself.")
    if "." in parts or ".." in parts:
        raise fault(
            line, text, "The path contains `.` or `..`. Write the path without them, relative to the working folder."
        )
    if any(part.rstrip(" .").lower() in _OF_GIT for part in parts):
        raise fault(line, text, "Files in .git cannot be patched. Use git commands to change them.")
    return "/".join(parts)

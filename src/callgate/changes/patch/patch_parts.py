"""The nouns of a patch, and its errors: each names a line of the patch and what to do next."""

from typing import Literal

from callgate.changes.text import shown
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

Action = Literal["create", "delete", "update", "either"]
"""``either``: a plain diff of a file that need not exist, as long as it only adds lines."""

_LONGEST_QUOTE = 100
_LONGEST_PATH = 300
_OF_GIT = (".git", "git~1")


@noun
class PatchLine:
    """``sign`` is a space, "-" or "+"; empty for an empty line, which is context only if the file has it. ``text`` is
    without its newline. ``ended`` says whether a newline follows; None leaves that to the file."""

    sign: bytes
    text: bytes
    ended: bool | None = None


@noun
class Chunk:
    """Lines to find and change, after the anchors (lines of the file, each with its line in the patch). ``at`` is where
    the patch expects them, counted from 1; ``last`` says that they end the file."""

    line: int
    lines: tuple[PatchLine, ...]
    anchors: tuple[tuple[int, bytes], ...] = ()
    at: int | None = None
    last: bool = False


@noun
class FilePatch:
    """The part of a patch about one file. ``target`` is its new name, if it is renamed. ``data`` is the whole content
    of a created file, where there are no chunks."""

    line: int
    action: Action
    path: str
    chunks: tuple[Chunk, ...] = ()
    target: str | None = None
    mode: int | None = None
    data: bytes | None = None


def fault(line: int, path: str, text: str) -> ToolFailure:
    """The error to raise: what is wrong in this line of the patch, counted from 1, and what to do next."""
    file = f"{shown(path[:_LONGEST_PATH])}{'…' if len(path) > _LONGEST_PATH else ''}, " if path else ""
    return ToolFailure(f"{file}line {line} of the patch: {text}")


def quoted(line: bytes) -> str:
    """A line as errors show it: on one line, not too long."""
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return f"`{text}`" if len(text) <= _LONGEST_QUOTE else f"`{text[:_LONGEST_QUOTE]}…`"


def checked_path(name: bytes, line: int) -> str:
    """The name as a path below the folder the patch is for; ToolFailure if it may lead elsewhere."""
    text = name.decode("utf-8", "surrogateescape")
    parts = [part for part in text.removeprefix("./").split("/") if part]
    if text.startswith("/"):
        raise fault(line, text, "An absolute path. Write the path relative to the working folder.")
    if not parts or "\0" in text or text.endswith("/"):
        raise fault(line, text, "This cannot be the name of a file. Write the path of the file itself.")
    if "." in parts or ".." in parts:
        raise fault(line, text, "A path with `.` or `..` in it. Write it without, relative to the working folder.")
    if any(part.rstrip(" .").lower() in _OF_GIT for part in parts):
        raise fault(line, text, "Git's own files are not patched. Use git's commands for them.")
    return "/".join(parts)

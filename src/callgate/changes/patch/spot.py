"""A place in a patch, what is wrong there, and the names of files that a patch may use."""

from callgate.changes.text import shown
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

LONGEST_QUOTE = 100
LONGEST_PATH = 300
OF_GIT = (".git", "git~1")


@noun
class Spot:
    """A line of the patch, counted from 1, and the file it is about, if that is known."""

    line: int
    path: str = ""

    def fault(self, what: str, then: str) -> ToolFailure:
        """The error to raise: what is wrong here, and what to do next. Both are whole sentences."""
        path = self.path if len(self.path) <= LONGEST_PATH else f"{self.path[:LONGEST_PATH]}…"
        file = f"{shown(path)}, " if path else ""
        return ToolFailure(f"{file}line {self.line} of the patch: {what} {then}")


def quoted(line: bytes) -> str:
    """A line as errors show it: on one line, not too long."""
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return f"`{text}`" if len(text) <= LONGEST_QUOTE else f"`{text[:LONGEST_QUOTE]}…`"


def named(name: bytes, line: int) -> str:
    """The name as a path below the folder the patch is for; a ToolFailure if it may lead elsewhere."""
    text = name.decode("utf-8", "surrogateescape")
    spot = Spot(line, text)
    parts = [part for part in text.removeprefix("./").split("/") if part]
    if text.startswith("/"):
        raise spot.fault("An absolute path.", "Write the path relative to the working folder.")
    if not parts:
        raise spot.fault("An empty path.", "Write the path of the file, relative to the working folder.")
    if "\0" in text or text.endswith("/"):
        raise spot.fault("This cannot be the name of a file.", "Write the path of the file itself.")
    if "." in parts or ".." in parts:
        raise spot.fault("A path with `.` or `..` in it.", "Write the path without, relative to the working folder.")
    if any(part.rstrip(" .").lower() in OF_GIT for part in parts):
        raise spot.fault("Git's own files are not patched.", "Use git's commands for them.")
    return "/".join(parts)


class Names:
    """The files a patch has used so far: none is used twice, so that the order of the sections does not matter."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def take(self, path: str, line: int) -> None:
        if path in self._lines:
            raise Spot(line, path).fault(
                f"The file is used twice: line {self._lines[path]} of the patch is about it too.",
                "Put everything that happens to a file into one section.",
            )
        self._lines[path] = line

"""The ports of a host that built-in tools use, beyond ``core.ports.Host``: the files of its machine.

A tool reaches them from ``run.host`` with ``files_of``.
"""

from typing import Protocol, runtime_checkable

from callgate.words.errors import ToolFailure
from callgate.words.noun import noun
from callgate.words.places import PlaceKind


@noun
class FileStatus:
    """``path`` is the one absolute spelling of the place, links followed. ``kind`` is "missing" where nothing is."""

    path: str
    kind: PlaceKind
    size: int = 0
    modified: float = 0.0


@noun
class FolderEntry:
    """A name in a folder. A link is not followed: its kind is "other"."""

    name: str
    kind: PlaceKind
    size: int = 0


@runtime_checkable
class Files(Protocol):
    """Reads files and folders; writes go through ``Host.apply``. Relative paths start at the workspace.

    Links are followed as long as they stay in the workspace. A path that leaves it over a link is refused: what is
    outside must be named by its own path, so that the gate judged the very place that is opened. What was resolved is
    opened part by part without following links, so that a swap in between cannot lead elsewhere.

    All methods block: call them from a worker thread, as plain functions that are tools run in one. ToolFailure says
    in words what is wrong with a path; nothing else is raised.
    """

    def status(self, path: str) -> FileStatus: ...

    def read(self, path: str, most: int) -> bytes:
        """The whole file; ToolFailure if it has more than ``most`` bytes."""
        ...

    def entries(self, path: str) -> list[FolderEntry]:
        """The names in a folder in the order of their code points."""
        ...


def files_of(host: object) -> Files:
    """The files of a host; ToolFailure where it has none."""
    found = getattr(host, "files", None)
    if not isinstance(found, Files):
        raise ToolFailure("This session has no files: its host offers none.")
    return found


def too_large(path: str, size: int, most: int) -> ToolFailure:
    return ToolFailure(f"{path} is too large: {size:,} bytes, and at most {most:,} are read at once.")

"""Opens the folder of a search, so that no link that is created meanwhile leads the search out of it.

A check of a path by name is not enough: another program can replace a folder by a link between the check and the
start of the search program, or while this program lists the folders. So the search program starts in an open folder,
Landlock permits it to read only this folder, and the files of a result are opened again below this folder without
following links.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from posixpath import dirname
from typing import Self

from callgate.core.ports import Host
from callgate.host.beneath import OpenFolder, reading_ruleset
from callgate.host.files import read_regular
from callgate.host.ports import FileStatus, files_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.ripgrep.own_search import IGNORE_FILES, DiskTree, PortTree, Tree
from callgate.tools.ripgrep.search_engine import VARIABLE, SearchEngine, search_engine
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_SYSTEM_LIBRARIES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store")
_MOST_LINE = 4096


@noun
class SearchRoot:
    """The folder and the path of a search.

    folder  the resolved path of the folder in which the program runs
    path    the name of a file in this folder if only this file is searched; otherwise empty
    lead    the prefix of the resulting paths
    """

    folder: str
    path: str
    engine: SearchEngine
    lead: str = ""
    is_file: bool = False
    in_repository: bool = True


async def search_root(host: Host, path: str) -> SearchRoot:
    """Return the folder, the path and the program of a search. Raise ToolFailure if the path does not exist or leads
    out of the workspace through a link, or if there is no search program."""

    files = files_of(host)

    def look() -> tuple[FileStatus, bool, SearchEngine]:
        status = files.status(path)
        if files.on_disk:
            return status, _in_repository(DiskTree(), status.path), search_engine()
        # A process could not access these files: they are searched in this one.
        return status, _in_repository(PortTree(files), status.path), search_engine({VARIABLE: "builtin"})

    status, inside, engine = await in_thread(look, threads=threads_of(host))
    if status.kind not in ("file", "folder"):
        raise ToolFailure(f"{path} does not exist." if status.kind == "missing" else f"{path} cannot be searched.")
    is_file = status.kind == "file"
    folder = (dirname(status.path) if is_file else status.path).rstrip("/")
    name = status.path[len(folder) :].lstrip("/") if is_file else ""
    lead, workspace = folder + "/", host.resolve_path(".").resolved.rstrip("/") + "/"
    lead = lead.removeprefix(workspace)
    return SearchRoot(folder or "/", path=name, engine=engine, lead=lead, is_file=is_file, in_repository=inside)


def _in_repository(tree: Tree, path: str) -> bool:
    while not tree.is_there(f"{path.rstrip('/')}/.git"):
        if path == dirname(path):
            return False
        path = dirname(path)
    return True


class OpenedRoot:
    """The open folder of a search, and a Landlock ruleset for the search program. Each is None if the system does not
    support it."""

    def __init__(self, folder: int | None, ruleset: int | None) -> None:
        self.folder = folder
        self.ruleset = ruleset

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (self.folder, self.ruleset):
            if descriptor is not None:
                os.close(descriptor)


def opened_root(root: SearchRoot) -> OpenedRoot:
    """Open the folder of a search. Raise ToolFailure if the folder was replaced or removed after the check. Blocks."""
    try:
        with OpenFolder.resolved(root.folder) as folder:
            if folder.descriptor is None:
                return OpenedRoot(None, None)
            with ExitStack() as stack:
                searched = folder.descriptor
                if root.path:
                    searched = _opened(root.path, stack, os.O_NOFOLLOW, folder.descriptor)
                readable = [searched]
                for path in (*_ignore_files(root.folder), *_program_files(root.engine)):
                    with suppress(OSError):
                        readable.append(_opened(path, stack))
                return OpenedRoot(os.dup(folder.descriptor), reading_ruleset(readable))
    except OSError as error:
        raise ToolFailure(f"{root.lead}{root.path} was replaced during the search: search again.") from error


def _opened(path: str, stack: ExitStack, flags: int = 0, folder: int | None = None) -> int:
    descriptor = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC | flags, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _ignore_files(folder: str) -> Iterator[str]:
    """Yield the paths of the ignore files of a folder, of all folders above it, and of the git repositories that
    contain the folder."""
    here = folder
    while True:
        yield from (f"{here.rstrip('/')}/{name}" for name in IGNORE_FILES)
        with suppress(OSError, UnicodeDecodeError):  # .git is mostly a folder
            link = f"{here.rstrip('/')}/.git"
            git = os.path.join(here, _line(link).removeprefix("gitdir:").strip())
            yield from (link, f"{git}/commondir")
            yield os.path.join(git, _line(f"{git}/commondir"), "info/exclude")
        if here == dirname(here):
            return
        here = dirname(here)


def _line(path: str) -> str:
    return read_regular(path, _MOST_LINE).data.decode().strip()


def _program_files(engine: SearchEngine) -> Iterator[str]:
    """Yield the files and folders that the search program needs to run, such as its libraries."""
    yield from (engine.argv[0], *_SYSTEM_LIBRARIES)
    if engine.mode == "builtin":
        yield from (sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[3]))
    else:
        yield f"{dirname(dirname(os.path.realpath(engine.path)))}/lib"

"""Runs the search program, limits its output, and parses the output to files in order, with the lines of each file."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from posixpath import dirname

from callgate.core.ports import Host
from callgate.host.environment import scrubbed
from callgate.host.ports import Command, FileStatus, Process, files_of, processes_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.ripgrep.file_walk import DiskTree, PortTree, Tree
from callgate.tools.ripgrep.own_search import answers
from callgate.tools.ripgrep.search_engine import VARIABLE, SearchEngine, search_engine
from callgate.tools.ripgrep.search_request import SearchRequest, argv
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

MOST_OUTPUT = 32_000_000
_NUMBERED = re.compile(rb"(\d+)([:-])(.*)")
_MATCHING = re.compile(rb"^\d+:", re.MULTILINE)
_COUNTED = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_LITTLE = 50_000
"""The most bytes of output that are parsed on the event loop, in about a millisecond."""


@noun
class FoundLine:
    """A line of the result. ``matches`` is False for a context line."""

    number: int
    text: str
    matches: bool


@noun
class FoundFile:
    """A file with the number of its matching lines and of all lines with context. ``written`` contains the lines as
    written by the program. They are parsed only when they are shown, because parsing all would take longer than the
    search."""

    path: str
    count: int = 0
    line_count: int = 0
    written: bytes = b""

    def lines(self, first: int, most: int) -> Iterator[FoundLine]:
        """Yield at most ``most`` lines from the index ``first`` on."""
        for line in islice(self.written.split(b"\n"), first, first + most):
            found = _NUMBERED.match(line)
            if found is not None:
                text = line[found.start(3) :].removesuffix(b"\r").decode("utf-8", "backslashreplace")
                yield FoundLine(int(found[1]), text, found[2] == b":")


@noun
class Found:
    """The result of a search. ``files`` are ordered by path. ``cut`` is True if the output was longer than the
    limit."""

    files: tuple[FoundFile, ...]
    cut: bool = False


async def search(
    host: Host, engine: SearchEngine, folder: str, request: SearchRequest, wanted: Callable[[str], bool]
) -> Found:
    """Return the files found whose paths are ``wanted``. Raise ToolFailure with the message of the program if the
    pattern is invalid."""
    files = files_of(host)
    if files.on_disk:
        output, cut = await _output(host, engine, folder, request)
    else:
        output, cut = await in_thread(lambda: b"".join(answers(PortTree(files), folder, request))), False
    if cut:
        output, _ = await _output(host, engine, folder, replace(request, ordered=True))

    def read() -> tuple[FoundFile, ...]:
        whole = output[: output.rfind(b"\0" if request.find == "files" else b"\n") + 1]
        found = [each for each in _READERS[request.find](whole) if wanted(each.path)]
        if request.before or request.after:
            found = [replace(each, count=len(_MATCHING.findall(each.written))) for each in found]
        # A NUL sorts before any character of a name, so a folder precedes names that it is a prefix of.
        return tuple(sorted(found, key=lambda each: each.path.replace("/", "\0")))

    return Found(read() if len(output) < _LITTLE else await in_thread(read, threads=threads_of(host)), cut)


async def _output(host: Host, engine: SearchEngine, folder: str, request: SearchRequest) -> tuple[bytes, bool]:
    kept, said = _Bounded(), _Bounded()
    command = Command(argv(engine, request), folder, scrubbed(os.environ))
    try:
        process = await processes_of(host).start(command, kept.take, said.take)
    except OSError as error:
        raise ToolFailure(f"The search cannot be started: {command.argv[0]}: {error.strerror or error}") from error
    kept.process = process
    try:
        code = await process.ended()
    finally:
        process.kill()
    told = said.data.decode("utf-8", "replace").strip()
    if code not in (0, 1) and told and not kept.cut:
        raise ToolFailure(told.removeprefix("rg: "))
    return bytes(kept.data), kept.cut


class _Bounded:
    """Keeps the beginning of an output up to a limit, and kills the program if it writes more."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.cut = False
        self.process: Process | None = None

    def take(self, piece: bytes) -> None:
        if self.cut:
            return
        self.data += piece
        if len(self.data) > MOST_OUTPUT:
            del self.data[MOST_OUTPUT:]
            self.cut = True
            if self.process is not None:
                self.process.kill()


def _names(output: bytes) -> Iterator[FoundFile]:
    return (FoundFile(_path(name)) for name in output.split(b"\0") if name)


def _with_counts(output: bytes) -> Iterator[FoundFile]:
    return (FoundFile(_path(found[1]), int(found[2])) for found in _COUNTED.finditer(output))


def _with_lines(output: bytes) -> Iterator[FoundFile]:
    """Parse files that are separated by empty lines. A file is omitted if its last line reports that it is binary."""
    for block in output.rstrip(b"\n").split(b"\n\n"):
        name, zero, lines = block.partition(b"\0")
        last = lines.rfind(b"\n") + 1
        if zero and lines[last : last + 1].isdigit():
            count = lines.count(b"\n") + 1  # without context every line matches
            yield FoundFile(_path(name), count, count, lines)


def _path(name: bytes) -> str:
    path = os.fsdecode(name)
    return (path if os.sep == "/" else path.replace(os.sep, "/")).removeprefix("./")


_READERS = {"lines": _with_lines, "counts": _with_counts, "files": _names}


@noun
class SearchRoot:
    """The folder and the path of a search.

    folder  the working folder of the program
    path    the path to search in this folder; empty for the whole folder
    lead    the prefix of the resulting paths; empty inside the workspace
    """

    folder: str
    path: str
    engine: SearchEngine
    lead: str = ""
    is_file: bool = False
    in_repository: bool = True


async def search_root(host: Host, path: str) -> SearchRoot:
    """Return the place and the program of a search. Raise ToolFailure if the path does not exist or leads out of the
    workspace through a link, or if there is no search program."""

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
    folder, lead = host.resolve_path(".").resolved.rstrip("/"), ""
    if status.path != folder and not status.path.startswith(f"{folder}/"):
        folder = dirname(status.path) if is_file else status.path
        lead = folder.rstrip("/") + "/"
    inner = status.path[len(folder) :].lstrip("/")
    return SearchRoot(folder=folder or "/", path=inner, engine=engine, lead=lead, is_file=is_file, in_repository=inside)


def _in_repository(tree: Tree, path: str) -> bool:
    while not tree.is_there(f"{path.rstrip('/')}/.git"):
        if path == dirname(path):
            return False
        path = dirname(path)
    return True

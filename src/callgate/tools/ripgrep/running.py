"""Starts the program of a search, bounds what it writes, and reads that: files in order, each with its lines."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from callgate.core.ports import Host
from callgate.host.environment import scrubbed
from callgate.host.ports import Command, Process, processes_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.ripgrep.engine import EngineMode, SearchEngine, search_engine
from callgate.tools.ripgrep.request import SearchRequest, argv
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

MOST_OUTPUT = 32_000_000
_NUMBERED = re.compile(rb"(\d+)([:-])")


@noun
class FoundLine:
    """``matches`` is false for a line of context."""

    number: int
    text: str
    matches: bool


@noun
class FoundFile:
    """A file with its lines, or with the number of lines that match."""

    path: str
    lines: tuple[FoundLine, ...] = ()
    count: int = 0


@noun
class Found:
    """``files`` are in the order of their paths. ``cut``: there was more output than is kept."""

    files: tuple[FoundFile, ...]
    engine: EngineMode
    cut: bool = False


async def search(host: Host, folder: str, request: SearchRequest, wanted: Callable[[str], bool]) -> Found:
    """The files whose paths are ``wanted``. ToolFailure says in the program's words what is wrong with the pattern."""
    threads = threads_of(host)
    engine = await in_thread(search_engine, threads=threads)
    output, cut = await _output(host, engine, folder, request)
    if cut:
        output, _ = await _output(host, engine, folder, replace(request, ordered=True))

    def read() -> tuple[FoundFile, ...]:
        reader = {"lines": _with_lines, "counts": _with_counts, "files": _names}[request.find]
        whole = output[: output.rfind(b"\0" if request.find == "files" else b"\n") + 1]
        found = [each for each in reader(whole) if wanted(each.path)]
        return tuple(sorted(found, key=lambda each: each.path.split("/")))

    return Found(await in_thread(read, threads=threads), engine.mode, cut)


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
    """Keeps the beginning of an output, and ends the program that writes more."""

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
    for line in output.split(b"\n"):
        name, zero, count = line.rpartition(b"\0")
        if zero and count.isdigit():
            yield FoundFile(_path(name), count=int(count))


def _with_lines(output: bytes) -> Iterator[FoundFile]:
    """A file for which the program says that it is binary is left out: its lines are no lines."""
    files: dict[bytes, list[FoundLine]] = {}
    binary: set[bytes] = set()
    for line in output.split(b"\n"):
        name, zero, rest = line.partition(b"\0")
        if not zero:  # the mark between places that are apart
            continue
        found = _NUMBERED.match(rest)
        if found is None:
            binary.add(name)
            continue
        text = rest[found.end() :].removesuffix(b"\r").decode("utf-8", "backslashreplace")
        files.setdefault(name, []).append(FoundLine(int(found[1]), text, found[2] == b":"))
    for name, lines in files.items():
        if name not in binary:
            yield FoundFile(_path(name), tuple(lines), sum(line.matches for line in lines))


def _path(name: bytes) -> str:
    return os.fsdecode(name).replace(os.sep, "/").removeprefix("./")

"""Runs the search program, limits and parses its output, and formats the results of Grep."""

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import BinaryIO

from callgate.changes.diff import quoted
from callgate.core.ports import Host
from callgate.host.beneath import OpenFolder
from callgate.host.environment import reading_environment, scrubbed
from callgate.host.ports import Command, Process, files_of, processes_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.ripgrep.own_search import PortTree, answers, text_of
from callgate.tools.ripgrep.search_engine import SearchRequest, argv
from callgate.tools.ripgrep.search_root import SearchRoot, opened_root
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

MOST_OUTPUT = 32_000_000
_NUMBERED = re.compile(rb"(\d+)([:-])(.*)")
_MATCHING = re.compile(rb"^\d+:", re.MULTILINE)
_COUNTED = re.compile(rb"([^\0]+)\0(\d+)\r?\n")
_LITTLE = 50_000
"""The most bytes of output that are parsed on the event loop, in about a millisecond."""


@noun
class FoundFile:
    """A file with the number of its matching lines and of all lines with context. ``written`` contains the lines as
    written by the program. They are parsed only when they are shown, because parsing all would take longer than the
    search."""

    path: str
    count: int = 0
    line_count: int = 0
    written: bytes = b""

    def lines(self, first: int, most: int) -> Iterator[tuple[int, str, str]]:
        """Yield the number, the mark (``:``, or ``-`` for a context line) and the text of lines."""
        for line in islice(self.written.split(b"\n"), first, first + most):
            found = _NUMBERED.match(line)
            if found is not None:
                text = line[found.start(3) :].removesuffix(b"\r").decode("utf-8", "backslashreplace")
                yield int(found[1]), found[2].decode(), text


@noun
class Found:
    """The result of a search. ``files`` are ordered by path. ``cut`` is True if the output was longer than the
    limit."""

    files: tuple[FoundFile, ...]
    cut: bool = False


async def search(host: Host, root: SearchRoot, request: SearchRequest, wanted: Callable[[str], bool]) -> Found:
    """Return the files found whose paths are ``wanted``. Raise ToolFailure with the message of the program if the
    pattern is invalid."""
    files = files_of(host)
    if files.on_disk:
        output, cut = await _output(host, root, request)
    else:
        output, cut = await in_thread(lambda: b"".join(answers(PortTree(files), root.folder, request))), False
    if cut:
        output, _ = await _output(host, root, replace(request, ordered=True))

    def read() -> tuple[FoundFile, ...]:
        whole = output[: output.rfind(b"\0" if request.find == "files" else b"\n") + 1]
        found = [each for each in _READERS[request.find](whole) if wanted(each.path)]
        if request.before or request.after:
            found = [replace(each, count=len(_MATCHING.findall(each.written))) for each in found]
        # A NUL sorts before any character of a name, so a folder precedes names that it is a prefix of.
        return tuple(sorted(found, key=lambda each: each.path.replace("/", "\0")))

    return Found(read() if len(output) < _LITTLE else await in_thread(read, threads=threads_of(host)), cut)


async def _output(host: Host, root: SearchRoot, request: SearchRequest) -> tuple[bytes, bool]:
    kept, said = _Bounded(), _Bounded()
    words, env = argv(root.engine, request), reading_environment(scrubbed(os.environ), host.normal("."))
    with await in_thread(partial(opened_root, root), threads=threads_of(host)) as opened:
        command = Command(words, root.folder, env, folder_fd=opened.folder, ruleset_fd=opened.ruleset)
        try:
            process = await processes_of(host).start(command, kept.take, said.take)
        except OSError as error:
            raise ToolFailure(f"The search cannot be started: {words[0]}: {error.strerror or error}") from error
    kept.process = process
    try:
        code = await process.ended()
    except OSError as error:
        raise ToolFailure(f"The search was interrupted: {error}") from error
    finally:
        process.kill()
    told = said.data.decode("utf-8", "replace").strip()
    if code not in (0, 1) and told and not kept.cut:
        raise ToolFailure(told.removeprefix("rg: "))
    return bytes(kept.data), kept.cut


class _Bounded:
    """Stores the beginning of an output up to a limit, and kills the program if it writes more."""

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


async def without_replaced(
    host: Host, root: SearchRoot, files: Sequence[FoundFile], first: int, most: int
) -> tuple[Sequence[FoundFile], int]:
    """Remove the shown files that have changed since the search. Return the remaining files and the number of removed
    files.

    Each shown file is opened below the searched folder without following links, and its lines are compared with the
    lines that the search program wrote.

    first, most  the range of shown lines, or of shown files if the files have no lines
    """
    if not files_of(host).on_disk or not files:
        return files, 0
    return await in_thread(partial(_without_replaced, root, files, first, most), threads=threads_of(host))


def _without_replaced(
    root: SearchRoot, files: Sequence[FoundFile], first: int, most: int
) -> tuple[Sequence[FoundFile], int]:
    kept: list[FoundFile] = []
    at = replaced = 0
    try:
        with OpenFolder.resolved(root.folder) as folder:
            for number, each in enumerate(files):
                if at >= first + most:
                    return (*kept, *files[number:]), replaced
                end = at + (each.line_count or 1)
                if end > first and not _is_as_found(folder, each, max(first - at, 0), first + most - at):
                    replaced += 1
                    continue
                kept.append(each)
                at = end
    except OSError:  # the searched folder itself was replaced
        return (), len(files)
    return kept, replaced


def _is_as_found(folder: OpenFolder, file: FoundFile, first: int, end: int) -> bool:
    *parts, name = file.path.split("/")
    try:
        with folder.below(parts) as parent:
            if not file.written:
                return stat.S_ISREG(parent.status(name).st_mode)
            with open(parent.opened(name), "rb") as opened:
                return _has_lines(opened, file, first, end)
    except OSError:
        return False


def _has_lines(opened: BinaryIO, file: FoundFile, first: int, end: int) -> bool:
    shown = (_NUMBERED.match(line) for line in islice(file.written.split(b"\n"), first, end))
    wanted = {int(found[1]): found[3] for found in shown if found is not None}
    start = opened.read(3)
    opened.seek(0)
    lines: Iterable[bytes] = opened
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        lines = (text_of(opened.read()) or "").encode("utf-8", "surrogateescape").split(b"\n")
    elif start == codecs.BOM_UTF8:
        opened.seek(3)
    last = max(wanted, default=0)
    return (
        all(
            line.rstrip(b"\r\n") == wanted.pop(number).rstrip(b"\r")
            for number, line in enumerate(islice(lines, last), 1)
            if number in wanted
        )
        and not wanted
    )


WIDTH = 500
CHARACTERS = 40_000
"""The most characters of lines in one result."""


def listed(files: Sequence[FoundFile], row: Callable[[FoundFile], str], offset: int, most: int, total: str = "") -> str:
    """Return the rows of a part of the files, a note on the other files, and the total."""
    shown = [row(each) for each in files[offset : offset + most]]
    note = rest_note(offset, len(shown), len(files), "Files")
    return "\n".join([*shown, *filter(None, (note, total))])


def _paths(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> str:
    return listed(files, lambda each: quoted(lead + each.path), offset, most) or "No matches."


def _counts(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> str:
    if not files:
        return "No matches."
    return listed(files, lambda each: f"{quoted(lead + each.path)}: {each.count}", offset, most, _total(files))


def _content(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> str:
    total = sum(each.line_count for each in files)
    if not total:
        return "No matches."
    rows: list[str] = []
    shown = 0
    room = CHARACTERS
    for path, line in _rows(files, lead, offset, most):
        room -= len(line) + len(path) + 1
        if room < 0:
            break
        rows += [path, line] if path else [line]
        shown += 1
    note = rest_note(offset, shown, total, "Lines")
    return "\n".join([*rows, *filter(None, (note, _total(files)))])


def _total(files: Sequence[FoundFile]) -> str:
    matches = sum(each.count for each in files)
    return f"[{matches:,} match{'' if matches == 1 else 'es'} in {len(files):,} file{'' if len(files) == 1 else 's'}.]"


def _rows(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each line. The path is empty except for the first line of a file. A gap between
    lines is marked by ``--``."""
    for each in files:
        if offset >= each.line_count:
            offset -= each.line_count
            continue
        last = 0
        for number, mark, text in each.lines(offset, most):
            text = text if len(text) <= WIDTH else f"{text[:WIDTH]}… (+{len(text) - WIDTH:,})"
            gap = "--\n" if last and number > last + 1 and each.count < each.line_count else ""
            yield "" if last else quoted(lead + each.path), f"{gap}{number}{mark}{text}"
            last = number
            most -= 1
        offset = 0
        if most <= 0:
            return


SHOWN = {"content": _content, "files_with_matches": _paths, "count": _counts}


def rest_note(first: int, shown: int, total: int, what: str) -> str:
    last = first + shown
    if not first and last >= total:
        return ""
    told = f"[{what} {first + 1:,}-{last:,} of {total:,}"
    return f"{told}: {total - last:,} more with offset={last}.]" if last < total else f"{told}.]"


def replaced_note(count: int) -> str:
    files = f"{count:,} file{'s' if count > 1 else ''}"
    return f"\n[Omitted, because they changed during the search: {files}. Search again.]" if count else ""

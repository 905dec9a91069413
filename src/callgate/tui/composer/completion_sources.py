"""Reads candidates of completion lists in the background: files of the workspace, resources of MCP servers."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from callgate.admin.servers import Server


OLD = 5.0
"""Seconds after which a cached value is read again when it is used."""

Start = Callable[[Coroutine[Any, Any, None]], object]
K = TypeVar("K")
V = TypeVar("V")


class CompletionSources:
    """The cached files of the workspace and resources of MCP servers.

    start    runs a coroutine as a task
    root     returns the workspace
    changed  called after candidates were read
    """

    def __init__(self, start: Start, root: Callable[[], Path], changed: Callable[[], None]) -> None:
        self._root = root
        self._files = _CachedReads[Path, PathIndex | None](start, _path_index, changed)
        self._addresses = _CachedReads["Server", Sequence[str]](
            start, lambda server: server.requests.addresses(), changed
        )

    @property
    def lists_files(self) -> bool:
        """True while the files are read for the first time."""
        return self._files.is_first_read

    def ranked(self, typed: str) -> list[str]:
        """Return the matching paths, best first. Empty while the files are read for the first time."""
        index = self._files.value(self._root())
        return [] if index is None else index.ranked(typed)

    def beside(self, folder: str) -> list[str]:
        """Return the names of the files in one folder, without a cache."""
        from callgate.tui.composer.local_files import folder_names

        return folder_names(self._root() / folder)

    def addresses(self, server: Server) -> Sequence[str]:
        """Return the addresses of a server's resources. Empty while they are read for the first time."""
        return self._addresses.value(server) or ()


class _CachedReads(Generic[K, V]):
    """Values by key, read by tasks that ``start`` runs."""

    def __init__(self, start: Start, read: Callable[[K], Coroutine[Any, Any, V]], changed: Callable[[], None]) -> None:
        self._start = start
        self._read = read
        self._changed = changed
        self._known: dict[K, tuple[float, V | None]] = {}
        self._reading: set[K] = set()

    @property
    def is_first_read(self) -> bool:
        return not self._reading <= self._known.keys()

    def value(self, key: K) -> V | None:
        """Return the cached value, or None while it is read for the first time. Start to read an old value again."""
        at, found = self._known.get(key, (None, None))
        if key not in self._reading and (at is None or monotonic() - at > OLD):
            self._reading.add(key)
            self._start(self._update(key))
        return found

    async def _update(self, key: K) -> None:
        found = self._known.get(key, (0.0, None))[1]
        try:
            found = await self._read(key)
        finally:
            self._reading.discard(key)
            self._known[key] = (monotonic(), found)
        self._changed()


async def _path_index(root: Path) -> PathIndex | None:
    def listed() -> PathIndex:
        from callgate.tui.composer.local_files import workspace_files

        return PathIndex.of(workspace_files(root))

    try:
        return await asyncio.to_thread(listed)
    except (OSError, RuntimeError):  # RuntimeError: no thread can be started while the program exits
        return None


# ---- ranking -------------------------------------------------------------------------------------------------------
#
# Paths are ranked by a typed text, fast enough to run at each key for 100,000 paths. All paths are joined to one text,
# so that a search runs in C and stops after enough matches.

MOST_FITS = 50
"""The number of matches that are returned."""
_SCORED = 300
"""The number of letter matches that are scored."""
_NARROW = 20
"""If fewer than one in this number of paths match, a longer text is searched only in the matches."""


class PathIndex:
    """The files and folders of a workspace. The path of a folder ends with ``/``.

    The order of matches, best first: the name starts with the text, a word of the name starts with it, the name
    contains it, the path contains it, the path has its letters in this order. Equal matches are ordered by depth and
    length of the path.

    paths  the files and folders, ordered by depth and length
    """

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self._lower = [path.lower().replace("\n", " ") for path in self.paths]
        self._all = _Lines(self._lower)
        self._names = _Lines([path.rstrip("/").rpartition("/")[2] for path in self._lower])
        self._narrowed: tuple[str, PathIndex] | None = None

    @classmethod
    def of(cls, files: Iterable[str]) -> PathIndex:
        """Return the index of the files and of all their folders."""
        return cls(_with_folders(files))

    def ranked(self, typed: str) -> list[str]:
        text = typed.lower().replace("\n", " ")
        if not text:
            return self.paths[:MOST_FITS]
        if self._narrowed is not None and text.startswith(self._narrowed[0]):
            return self._narrowed[1].ranked(text)
        found = dict.fromkeys(self._holding(text))
        if len(found) < MOST_FITS:
            found |= dict.fromkeys(self._in_order(text))
        return [self.paths[at] for at in islice(found, MOST_FITS)]

    def _holding(self, text: str) -> Iterator[int]:
        if "/" not in text:
            yield from islice(self._names.holding(f"\n{text}"), MOST_FITS)
            inside = list(islice(self._names.holding(text), _SCORED))
            yield from sorted(inside, key=lambda at: _word(text).search(self._names.lines[at]) is None)
        yield from islice(self._all.holding(text), MOST_FITS)

    def _in_order(self, text: str) -> list[int]:
        """Return the indexes of paths with the letters in this order, best first. Search the names first and, if too
        few match, the whole paths. All matches of a longer text are among the matches of this text."""
        found = list(islice(self._names.fitting(_in_order(text)), _SCORED))
        if len(found) < MOST_FITS:
            few = len(self.paths) // _NARROW
            found = list(islice(self._all.fitting(_in_order(text)), max(_SCORED, few)))
            if len(found) < few:
                self._narrowed = text, PathIndex([self.paths[at] for at in found])
        return sorted(found[:_SCORED], key=lambda at: -_points(text, self._lower[at], self._names.lines[at]))


class _Lines:
    """Lines joined to one text, with a line feed before each line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._text = "".join(f"\n{line}" for line in lines)
        self._ends = [*accumulate(len(line) + 1 for line in lines)]

    def holding(self, piece: str) -> Iterator[int]:
        """Yield the indexes of the lines that contain ``piece``. A line feed at the start of ``piece`` matches the
        start of a line."""
        return self._each(lambda start: self._text.find(piece, start))

    def fitting(self, pattern: re.Pattern[str]) -> Iterator[int]:
        def search(start: int) -> int:
            found = pattern.search(self._text, start)
            return -1 if found is None else found.start()

        return self._each(search)

    def _each(self, search: Callable[[int], int]) -> Iterator[int]:
        place = search(0)
        while place >= 0:
            number = bisect_right(self._ends, place)
            yield number
            place = search(self._ends[number])


def _with_folders(files: Iterable[str]) -> list[str]:
    folders: set[str] = set()
    listed = {*files}
    for path in listed:
        folder = path.rpartition("/")[0]
        while folder and f"{folder}/" not in folders:
            folders.add(f"{folder}/")
            folder = folder.rpartition("/")[0]
    return sorted({*listed, *folders}, key=lambda path: (path.count("/", 0, -1), len(path), path))


def _word(text: str) -> re.Pattern[str]:
    return re.compile(rf"[_\-. ]{re.escape(text)}")


def _in_order(text: str) -> re.Pattern[str]:
    """Return a pattern for lines with these letters in order. It is possessive: a search never backtracks."""
    return re.compile("\n" + "".join(rf"[^\n{re.escape(sign)}]*+{re.escape(sign)}" for sign in text))


def _points(text: str, path: str, name: str) -> int:
    """Return the score of a match. Letters that start words, adjacent letters, and matches within the name score
    higher."""
    inside = _walked(text, name)
    return (inside * 8 + 40 if inside else _walked(text, path) * 8) - len(path) // 4


def _walked(text: str, path: str) -> int:
    """Return the score of the positions of the letters in the path; 0 if a letter is missing. The start of a later word
    is preferred to a nearer position."""
    points, last = 0, -1
    for sign in text:
        at = path.find(sign, last + 1)
        if at < 0:
            return 0
        if at != last + 1 and not _begins(path, at):
            place = at
            while place >= 0 and not _begins(path, place):
                place = path.find(sign, place + 1)
            at = at if place < 0 else place
        points += 5 if _begins(path, at) else 3 if at == last + 1 else 1
        last = at
    return points


def _begins(path: str, at: int) -> bool:
    return at == 0 or path[at - 1] in "/_-. "

"""Reads candidates of completion lists in the background: files of the workspace, resources of MCP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from callgate.tui.composer.path_ranking import PathIndex

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
        from callgate.tui.composer.workspace_files import folder_names

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
        from callgate.tui.composer.workspace_files import workspace_files

        return PathIndex(workspace_files(root))

    try:
        return await asyncio.to_thread(listed)
    except (OSError, RuntimeError):  # RuntimeError: no thread can be started while the program exits
        return None

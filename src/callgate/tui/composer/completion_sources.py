"""Caches paths of the workspace and addresses of MCP resources for completion. Both are read in the background, and
read again when they are older than ``OLD`` seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from callgate.tui.composer.path_ranking import PathIndex

if TYPE_CHECKING:
    from callgate.admin.servers import Server


OLD = 5.0
"""Seconds after which a cached list is read again when it is used."""


class FileIndex:
    """The cached files of the workspace.

    start    runs a coroutine as a task
    changed  called after the files were read
    """

    def __init__(
        self,
        start: Callable[[Coroutine[Any, Any, None]], object],
        root: Callable[[], Path],
        changed: Callable[[], None],
    ) -> None:
        self._start = start
        self._root = root
        self._changed = changed
        self._index: PathIndex | None = None
        self._listed: float | None = None
        self._listing = False

    @property
    def begins(self) -> bool:
        """True while the files are read for the first time."""
        return self._listing and self._index is None

    def ranked(self, typed: str) -> list[str]:
        """Return the matching paths, best first. Empty while the files are listed for the first time."""
        if not self._listing and (self._listed is None or monotonic() - self._listed > OLD):
            self._listing = True
            self._start(self._list())
        return [] if self._index is None else self._index.ranked(typed)

    def beside(self, folder: str) -> list[str]:
        """Return the names of the files in one folder, without a cache."""
        from callgate.tui.composer.workspace_files import folder_names

        return folder_names(self._root() / folder)

    async def _list(self) -> None:
        def listed() -> PathIndex:
            from callgate.tui.composer.workspace_files import workspace_files

            return PathIndex(workspace_files(self._root()))

        try:
            self._index = await asyncio.to_thread(listed)
        except (OSError, RuntimeError):  # RuntimeError: no thread can be started while the program exits
            return
        finally:
            self._listing = False
            self._listed = monotonic()
        self._changed()


class ResourceIndex:
    """The cached addresses of MCP resources.

    start    runs a coroutine as a task
    changed  called after addresses were read
    """

    def __init__(self, start: Callable[[Coroutine[Any, Any, None]], object], changed: Callable[[], None]) -> None:
        self._start = start
        self._changed = changed
        self._known: dict[Server, tuple[float, Sequence[str]]] = {}
        self._asked: set[Server] = set()

    def addresses(self, server: Server) -> Sequence[str]:
        """Return the cached addresses of a server. Empty while they are read for the first time."""
        at, found = self._known.get(server, (None, ()))
        if server not in self._asked and (at is None or monotonic() - at > OLD):
            self._asked.add(server)
            self._start(self._ask(server))
        return found

    async def _ask(self, server: Server) -> None:
        try:
            self._known[server] = (monotonic(), await server.requests.addresses())
        finally:
            self._asked.discard(server)
        self._changed()

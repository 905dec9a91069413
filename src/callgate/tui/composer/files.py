"""The files of the workspace for completion: listed in a thread, kept, and listed again when they are old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import monotonic
from typing import Any

from callgate.tui.composer.ranking import PathIndex

OLD = 5.0
"""Seconds after which the files are listed again when they are asked for."""


class FileIndex:
    """``start`` runs a coroutine; ``changed`` is called when there are new files."""

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
        """True while the files are listed for the first time."""
        return self._listing and self._index is None

    def ranked(self, typed: str) -> list[str]:
        """The paths that fit; none while the files are listed for the first time."""
        if not self._listing and (self._listed is None or monotonic() - self._listed > OLD):
            self._listing = True
            self._start(self._list())
        return [] if self._index is None else self._index.ranked(typed)

    def beside(self, folder: str) -> list[str]:
        """The names in one folder, looked up now."""
        from callgate.admin.workspace_files import folder_names

        return folder_names(self._root() / folder)

    async def _list(self) -> None:
        def listed() -> PathIndex:
            from callgate.admin.workspace_files import workspace_files

            return PathIndex(workspace_files(self._root()))

        try:
            self._index = await asyncio.to_thread(listed)
        except (OSError, RuntimeError):  # no thread can be started at the end of the program
            return
        finally:
            self._listing = False
            self._listed = monotonic()
        self._changed()

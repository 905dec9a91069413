"""The API given to a factory of custom tools: its place, and a way to stage what a person or the model resolves."""

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from callgate.host.paths import Resolver
from callgate.tools.staging import UNAVAILABLE, Callback, Callbacks, PendingStore, stage, stages
from callgate.words.changes import ChangeSet, Content, FileChange, Stored
from callgate.words.errors import ToolFailure

LARGE = 1_000_000
"""Content of more bytes is not carried along."""

_CHUNK = 1 << 20


class Api:
    """``root`` is the workspace, ``session`` the id of the session, empty where there is none."""

    def __init__(self, root: Path, session: str = "", store: PendingStore | None = None) -> None:
        self._root = Path(root)
        self._session = session
        self._store = store

    @property
    def root(self) -> Path:
        return self._root

    @property
    def session(self) -> str:
        return self._session

    def push_pending_action(
        self,
        *,
        label: str,
        apply: Callback,
        reject: Callback | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage an action and give its id: ``apply(reason, extra)`` does it, ``reject(reason, extra)`` is told that it
        will not be done. It is lost when the program ends; ``push_changes`` is not."""
        return self._push(label, Callbacks(apply, reject), details, source_tool_name)

    def push_changes(
        self,
        label: str,
        files: Iterable[FileChange],
        *,
        count: int | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage changes to files as data and give the id: what is shown is what is applied, also after a restart."""
        changes = ChangeSet(label, tuple(files), source_tool_name, count=count)
        return self._push(label, changes, details, source_tool_name)

    def content(self, path: str) -> Content:
        """A file of the workspace as a FileChange carries it: its bytes, or for a large one its hash and place.
        ToolFailure says why it cannot be. Blocks."""
        place = Resolver(self._root).place(path)
        if place.fault is not None or not place.inside:
            raise ToolFailure(f"{path}: {place.fault or f'lies outside the workspace {self._root}'}")
        if place.kind != "file":
            raise ToolFailure(f"{path}: {'there is no such file' if place.kind == 'missing' else 'is not a file'}")
        try:
            return _content(place.resolved)
        except OSError as error:
            raise ToolFailure(f"{path} cannot be read: {error.strerror or error}") from error

    def _push(self, label: str, act: Callbacks | ChangeSet, details: Any, source_tool_name: str) -> str:
        if not stages(self._store):
            raise ToolFailure(UNAVAILABLE)
        return stage(label, act, source_tool_name=source_tool_name, details=details, store=self._store)


def _content(file: str) -> Content:
    with open(file, "rb") as stream:
        if os.fstat(stream.fileno()).st_size <= LARGE:
            return stream.read()
        seen, size = sha256(), 0
        while piece := stream.read(_CHUNK):
            seen.update(piece)
            size += len(piece)
        return Stored(seen.hexdigest(), size, file)

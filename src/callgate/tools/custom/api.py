"""The API that is passed to a factory of custom tools: the workspace, and methods to stage actions."""

import os
from collections.abc import Iterable
from hashlib import file_digest
from pathlib import Path
from typing import Any

from callgate.host.paths import Resolver
from callgate.tools.staging import Callback, Callbacks, stage
from callgate.words.changes import ChangeSet, Content, FileChange, Stored
from callgate.words.errors import ToolFailure

LARGE = 1_000_000
"""The largest content in bytes that is kept in memory."""


class Api:
    """The API for a factory of custom tools. ``root`` is the workspace."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def push_pending_action(
        self,
        *,
        label: str,
        apply: Callback,
        reject: Callback | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage an action and return its id. ``apply(reason, extra)`` performs the action; ``reject(reason, extra)`` is
        called if it is discarded.

        The action is lost when the process ends. Use ``push_changes`` for changes that must survive.
        """
        return stage(label, Callbacks(apply, reject), source_tool_name=source_tool_name, details=details)

    def push_changes(
        self,
        label: str,
        files: Iterable[FileChange],
        *,
        count: int | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage changes to files and return the id of the action. Exactly the displayed changes are applied, even after
        a restart."""
        changes = ChangeSet(label, tuple(files), source_tool_name, count=count)
        return stage(label, changes, source_tool_name=source_tool_name, details=details)

    def content(self, path: str) -> Content:
        """Return the content of a file in the workspace for a FileChange: its bytes, or for a large file its hash and
        path. Raise ToolFailure if the file cannot be read. Blocks."""
        place = Resolver(self.root).resolve_path(path)
        if place.fault is not None or not place.inside:
            raise ToolFailure(f"{path}: {place.fault or f'lies outside the workspace {self.root}'}")
        if place.kind != "file":
            raise ToolFailure(f"{path}: {'the file does not exist' if place.kind == 'missing' else 'is not a file'}")
        try:
            with open(place.resolved, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= LARGE:
                    return file.read()
                return Stored(file_digest(file, "sha256").hexdigest(), size, place.resolved)
        except OSError as error:
            raise ToolFailure(f"{path} cannot be read: {error.strerror or error}") from error

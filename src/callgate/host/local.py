"""The host of the local machine: its files, processes, threads, locks and clock."""

import os
import re
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from callgate.core.locks import LockTable
from callgate.core.ports import Clock
from callgate.host.clock import LoopClock
from callgate.host.files import make_folders, write_new
from callgate.host.paths import Resolver
from callgate.host.threads import Threads, in_thread
from callgate.words.changes import ChangeSet
from callgate.words.resolved_path import ResolvedPath

if TYPE_CHECKING:
    from callgate.host.applying.recovery import Recovered
    from callgate.host.local_files import LocalFiles, LocalOutput
    from callgate.host.processes import LocalProcesses
    from callgate.host.tasks import BackgroundTask, BackgroundTasks

_TABLES: WeakValueDictionary[str, LockTable] = WeakValueDictionary()
_TABLES_GUARD = Lock()


def locks_of(root: str) -> LockTable:
    """Return the lock table of a workspace. All hosts with the same root share the table, in any thread, so that two
    sessions of a program never write a file at the same time."""
    with _TABLES_GUARD:
        table = _TABLES.get(root)
        if table is None:
            _TABLES[root] = table = LockTable()
        return table


class LocalHost:
    """The Host of the local machine.

    root     the workspace
    data     the folder for artifacts; by default a temporary folder, removed at exit
    clean    a callback that removes secrets from artifacts
    journal  a private folder for the write-ahead journal of applies, needed for recovery after a crash
    """

    def __init__(
        self,
        root: Path | None = None,
        data: Path | None = None,
        clock: Clock | None = None,
        *,
        clean: Callable[[bytes], bytes] | None = None,
        journal: Path | None = None,
    ) -> None:
        self._resolver = Resolver(root or Path.cwd())
        self._data = None if data is None else data.absolute()
        self._lasting = data is not None
        self._data_lock = Lock()
        self._clean = clean
        self.root = Path(self._resolver.root)
        self.clock: Clock = clock or LoopClock()
        self.locks = locks_of(self._resolver.root)
        self.threads = Threads()
        self.task_listeners: list[Callable[[BackgroundTask], None]] = []
        self.journal = None if journal is None else journal.absolute()
        self.changed: dict[str, None] = {}
        """The paths of all changed files, in the order of their first change."""

    def normal(self, path: str) -> str:
        return self._resolver.normal(path)

    def resolve_path(self, path: str) -> ResolvedPath:
        return self._resolver.resolve_path(path)

    @cached_property
    def files(self) -> "LocalFiles":
        from callgate.host.local_files import LocalFiles  # imported when a tool reads the first file

        return LocalFiles(self._resolver)

    @cached_property
    def processes(self) -> "LocalProcesses":
        from callgate.host.processes import LocalProcesses  # imported when a tool starts the first program

        return LocalProcesses()

    @cached_property
    def tasks(self) -> "BackgroundTasks":
        from callgate.host.tasks import BackgroundTasks  # imported for the first task, or for tasks of an earlier start

        return BackgroundTasks(self, self.task_folder)

    @property
    def begun_tasks(self) -> "BackgroundTasks | None":
        """The list of background tasks; None if no task can exist yet."""
        has_records = self.task_folder is not None and self.task_folder.is_dir()
        return self.tasks if has_records or "tasks" in vars(self) else None

    @property
    def task_folder(self) -> Path | None:
        """The folder with the records of tasks that may outlive Callgate; None if ``data`` is temporary."""
        return self._data / "tasks" if self._data is not None and self._lasting else None

    def new_output(self, name: str) -> "LocalOutput":
        """Create an output file in the folder of the artifacts. Blocks."""
        from callgate.host.local_files import LocalOutput

        path = self._data_folder() / _file_name(name)
        if path.exists():
            path = path.with_name(f"{path.stem}-{os.urandom(8).hex()}{path.suffix}")
        return LocalOutput(path, self._clean)

    async def keep(self, name: str, data: bytes) -> str:
        return await in_thread(partial(self._keep, name, data), threads=self.threads)

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        return await self.apply_kept(changes)

    async def apply_kept(self, changes: ChangeSet, kept: str = "") -> ChangeSet:
        """Apply a change set and return a copy with the file modes and created folders.

        kept  the name of the change in the history, if it has one
        """
        from callgate.host.applying.apply import apply_changes  # imported with the first change

        work = partial(apply_changes, changes, self.root, self.journal, kept)
        applied = await in_thread(work, threads=self.threads)
        self.changed |= {path: None for each in applied.files for path in (each.source, each.path) if path is not None}
        return applied

    async def recover(self) -> "list[Recovered]":
        """Complete or undo the applies that a crash interrupted, and return the results."""
        if self.journal is None:
            return []
        from callgate.host.applying.recovery import recover

        return await in_thread(partial(recover, self.root, self.journal), threads=self.threads)

    def _keep(self, name: str, data: bytes) -> str:
        if self._clean is not None:
            data = self._clean(data)
        folder = self._data_folder()
        path = folder / _file_name(name)
        try:
            write_new(path, data, 0o600)
        except FileExistsError:
            path = path.with_name(f"{path.stem}-{os.urandom(8).hex()}{path.suffix}")
            write_new(path, data, 0o600)
        return str(path)

    def _data_folder(self) -> Path:
        with self._data_lock:
            if self._data is None:
                import atexit
                import tempfile  # slow to import, and most hosts keep nothing

                self._data = Path(tempfile.mkdtemp(prefix="callgate-"))
                atexit.register(_remove, self._data, os.getpid())
            make_folders(self._data, 0o700)
            return self._data


def _remove(folder: Path, owner: int) -> None:
    """Remove a temporary folder at exit, except in a forked process: the folder belongs to the parent process."""
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip(".-")[:80] or "artifact"

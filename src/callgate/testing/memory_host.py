"""A Host in memory: files and artifacts are dictionaries."""

from collections.abc import Callable, Mapping
from functools import cached_property
from posixpath import join, normpath

from callgate.core.locks import LockTable
from callgate.core.ports import Clock
from callgate.host.paths import oddity
from callgate.host.ports import FileStatus, FolderEntry, too_large
from callgate.host.tasks import BackgroundTask, BackgroundTasks
from callgate.testing.clock import ManualClock
from callgate.testing.memory_processes import MemoryOutput, MemoryProcesses
from callgate.words.changes import ChangeSet, digest
from callgate.words.errors import ToolFailure
from callgate.words.resolved_path import PathKind, ResolvedPath

ROOT = "/workspace"


class MemoryHost:
    """A host in memory.

    files      the content of files as bytes by absolute path; relative paths start at ``/workspace``
    artifacts  the content of artifacts as bytes by absolute path
    processes  runs scripted commands
    """

    def __init__(self, files: Mapping[str, bytes | str] | None = None, clock: Clock | None = None) -> None:
        self.files = MemoryFiles(self.resolve_path)
        self.artifacts: dict[str, bytes] = {}
        self.applied: list[ChangeSet] = []
        self.processes = MemoryProcesses()
        self.task_listeners: list[Callable[[BackgroundTask], None]] = []
        self.clock: Clock = clock or ManualClock()
        self.locks = LockTable()
        for path, content in (files or {}).items():
            self.files[self.normal(path)] = content.encode() if isinstance(content, str) else content

    def normal(self, path: str) -> str:
        spelled = normpath(join(ROOT, path))
        return "/" + spelled.lstrip("/")

    def resolve_path(self, path: str) -> ResolvedPath:
        found = self.normal(path)
        below = found.rstrip("/") + "/"
        kind: PathKind = "file" if found in self.files else "missing"
        if found == ROOT or any(name.startswith(below) for name in self.files):
            kind = "folder"
        inside = found == ROOT or found.startswith(ROOT + "/")
        return ResolvedPath(path, (found,), found, inside=inside, kind=kind, fault=oddity(path))

    def text(self, path: str) -> str:
        return self.files[self.normal(path)].decode()

    async def keep(self, name: str, data: bytes) -> str:
        path = f"/artifacts/{len(self.artifacts) + 1}-{name.replace('/', '-')}"
        self.artifacts[path] = data
        return path

    def new_output(self, name: str) -> MemoryOutput:
        return MemoryOutput(f"/artifacts/{len(self.artifacts) + 1}-{name.replace('/', '-')}", self.artifacts)

    @cached_property
    def tasks(self) -> BackgroundTasks:
        return BackgroundTasks(self)

    @property
    def begun_tasks(self) -> BackgroundTasks | None:
        """The background tasks, or None if ``tasks`` was never used."""
        return self.tasks if "tasks" in vars(self) else None

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        """Apply a change set to the files in memory. File modes and links are not supported."""
        outside = [path for path in changes.paths if not self.normal(path).startswith(ROOT + "/")]
        if outside:
            raise ToolFailure(f"outside the workspace {ROOT}: {', '.join(outside)}")
        leaving = [self.normal(change.source or change.path) for change in changes.files if change.before is not None]
        arriving = [self.normal(change.path) for change in changes.files if change.after is not None]
        if len({*leaving}) < len(leaving) or len({*arriving}) < len(arriving):
            raise ToolFailure("a file is changed twice in one change set")
        wanted = {self.normal(path): None for path in changes.paths} | {
            self.normal(change.source or change.path): change.precondition
            for change in changes.files
            if change.before is not None
        }
        changed = [path for path, found in wanted.items() if digest(self.files.get(path)) != found]
        if changed:
            raise ToolFailure(f"Nothing was changed, because files have changed since the preview: {changed}")
        for path in leaving:
            del self.files[path]
        for change in changes.files:
            if isinstance(change.after, bytes):
                self.files[self.normal(change.path)] = change.after
        self.applied.append(changes)
        return changes


class MemoryFiles(dict[str, bytes]):
    """The files of a MemoryHost. A folder exists while it contains a file. There are no links and no file times."""

    on_disk = False

    def __init__(self, resolve_path: Callable[[str], ResolvedPath]) -> None:
        super().__init__()
        self._resolve_path = resolve_path

    def status(self, path: str) -> FileStatus:
        place = self._resolved(path)
        return FileStatus(place.resolved, place.kind, len(self.get(place.resolved, b"")))

    def read(self, path: str, most: int) -> bytes:
        place = self._resolved(path)
        if place.kind == "folder":
            raise ToolFailure(f"{path} is a folder, not a file.")
        if place.kind == "missing":
            raise ToolFailure(f"{path} does not exist.")
        data = self[place.resolved]
        if len(data) > most:
            raise too_large(path, len(data), most)
        return data

    def entries(self, path: str) -> list[FolderEntry]:
        place = self._resolved(path)
        if place.kind == "file":
            raise ToolFailure(f"{path} is a file, not a folder.")
        if place.kind == "missing":
            raise ToolFailure(f"{path} does not exist.")
        above = place.resolved.rstrip("/") + "/"
        found: dict[str, FolderEntry] = {}
        for each, data in self.items():
            if each.startswith(above):
                name, deeper, _ = each[len(above) :].partition("/")
                found[name] = FolderEntry(name, "folder") if deeper else FolderEntry(name, "file", len(data))
        return [found[name] for name in sorted(found)]

    def _resolved(self, path: str) -> ResolvedPath:
        place = self._resolve_path(path)
        if place.fault is not None:
            raise ToolFailure(f"{path!r} is not a valid path: {place.fault}")
        return place

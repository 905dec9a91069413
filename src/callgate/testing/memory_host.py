"""A Host in memory: files and artifacts are dictionaries."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from functools import cached_property
from posixpath import join, normpath

from callgate.core.locks import LockTable
from callgate.core.ports import Clock
from callgate.host.paths import oddity
from callgate.host.ports import Command, FileStatus, FolderEntry, Sink, too_large
from callgate.host.tasks import BackgroundTask, BackgroundTasks
from callgate.testing.clock import ManualClock
from callgate.words.changes import ChangeSet, digest
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun
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

    def new_output(self, name: str) -> "MemoryOutput":
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


# ---- processes -------------------------------------------------------------------------------------------------------


@noun
class ScriptedCommand:
    """The behaviour of a command.

    waits     the command runs until it is stopped
    stubborn  only a kill stops the command
    echoes    the command first writes its input to its output
    fault     the error when the command is started
    """

    output: bytes = b""
    errors: bytes = b""
    code: int = 0
    waits: bool = False
    stubborn: bool = False
    echoes: bool = False
    fault: OSError | None = None


class MemoryProcesses:
    """Runs scripted commands in memory.

    scripts  the command by its last argument, which is the text given to a shell, or by the end of that text, because
             Bash sets a trap before it; other commands write nothing and exit with 0
    started  the commands that were started so far
    running  the processes that are still running
    """

    def __init__(self) -> None:
        self.scripts: dict[str, ScriptedCommand] = {}
        self.started: list[Command] = []
        self.running: list[MemoryProcess] = []

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> "MemoryProcess":
        text = command.argv[-1]
        keys = (key for key in self.scripts if text == key or text.endswith(f" EXIT; {key}"))
        script = self.scripts.get(next(keys, text), ScriptedCommand())
        if script.fault is not None:
            raise script.fault
        self.started.append(command)
        process = MemoryProcess(1000 + len(self.started), script, self.running)
        for sink, data in ((out, command.stdin if script.echoes else b""), (out, script.output), (err, script.errors)):
            if data:
                (sink or out)(data)
        if not script.waits:
            process.finish(script.code)
        return process


class MemoryProcess:
    """A simulated process for tests. It runs until the test calls ``finish``."""

    def __init__(self, pid: int, script: ScriptedCommand, running: "list[MemoryProcess]") -> None:
        self.pid = self.guard = pid
        self.returncode: int | None = None
        self.outlives: dict[str, str] | None = None
        self._script = script
        self._over = asyncio.Event()
        self._running = running
        running.append(self)

    @property
    def running(self) -> bool:
        return self.returncode is None

    def finish(self, code: int = 0) -> None:
        if self.returncode is None:
            self.returncode = code
            self._running.remove(self)
            self._over.set()

    async def ended(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    async def gone(self) -> None:
        await self._over.wait()

    def terminate(self) -> None:
        if not self._script.stubborn:
            self.finish(-signal.SIGTERM)

    def kill(self) -> None:
        self.finish(-signal.SIGKILL)

    def outlive(self, *, output: str, status: str) -> None:
        self.outlives = {"output": output, "status": status}


class MemoryOutput:
    """An OutputFile in memory. Its bytes are also in the ``artifacts`` of the host."""

    fault = ""

    def __init__(self, path: str, artifacts: dict[str, bytes]) -> None:
        self.path = path
        self._artifacts = artifacts
        artifacts[path] = b""

    @property
    def size(self) -> int:
        return len(self._artifacts[self.path])

    def append(self, data: bytes) -> None:
        self._artifacts[self.path] += data

    def read(self, at: int, most: int) -> bytes:
        return self._artifacts[self.path][at : at + most]

    def finish(self) -> None: ...

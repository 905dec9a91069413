"""Background tasks of all kinds. Each task has an id, an entry in the list, an output file and a stop function.

A task ends as completed, failed or killed; then listeners are called. A command that may outlive Callgate has a
record in a folder, so that the next start of Callgate finds it.
"""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import Context
from functools import partial
from pathlib import Path
from typing import Any, Literal

from callgate.core.capabilities import host_part
from callgate.core.ports import Clock, Host
from callgate.host.files import is_running
from callgate.host.local_files import LocalOutput
from callgate.host.ports import OutputFile
from callgate.host.threads import in_thread
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

TaskKind = Literal["command", "agent", "workflow", "watch"]
TaskStatus = Literal["running", "completed", "failed", "killed"]
_ID = "bg-"
_POLL_SECONDS = 0.5  # seconds between checks of a task of an earlier start


@noun
class TaskRecord:
    """The constant properties of a task.

    owner  the path of the session that started the task
    """

    id: str
    kind: TaskKind
    label: str
    owner: tuple[str, ...]
    started: float
    output: str


class BackgroundTask:
    """One task of a session.

    detail   a description of the end, for example the exit code
    earlier  True if an earlier start of Callgate started the task
    """

    def __init__(
        self, record: TaskRecord, output: OutputFile, stop: Callable[[], Awaitable[None]], *, earlier: bool = False
    ) -> None:
        self.record = record
        self.output = output
        self.earlier = earlier
        self.status: TaskStatus = "running"
        self.detail = ""
        self.ended: float | None = None
        self.is_reported = False
        """True after its end was reported to the model."""
        self.refresh: Callable[[], None] | None = None
        """Checks whether a task of an earlier start has ended."""
        self._stop = stop
        self._stopping = False
        self._waiting: set[asyncio.Event] = set()

    @property
    def id(self) -> str:
        return self.record.id

    async def stop(self, clock: Clock) -> None:
        """Stop the task and wait for its end. Do nothing if the task has already ended."""
        if self.status == "running":
            self._stopping = True
            await self._stop()
            while self.status == "running":
                await self.wait(clock, _POLL_SECONDS)

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Wait until the task ends, for at most the given number of seconds."""
        until = clock.monotonic() + seconds
        while self.status == "running" and (left := until - clock.monotonic()) > 0:
            woken = asyncio.Event()
            timer = clock.call_later(left if self.refresh is None else min(left, _POLL_SECONDS), woken.set)
            self._waiting.add(woken)
            try:
                await woken.wait()
            finally:
                self._waiting.discard(woken)
                timer.cancel()
            if self.refresh is not None:
                self.refresh()

    def settle(self, status: TaskStatus, detail: str, now: float) -> bool:
        """Set the final status. Return False if the task had already ended."""
        if self.status != "running":
            return False
        if self._stopping:
            status, detail = "killed", "stopped by the user or the model" if status == "completed" else detail
        self.status, self.detail, self.ended = status, detail, now
        for each in self._waiting:
            each.set()
        return True


Listener = Callable[[BackgroundTask], None]


class BackgroundTasks:
    """The background tasks of a host. ``task_listeners`` are called with every task that ends. Not thread-safe.

    folder  the folder for the records of tasks that may outlive Callgate; None if no task may outlive it
    """

    def __init__(self, host: Host, folder: Path | None = None) -> None:
        self._clock = host.clock
        self._folder = folder
        self._tasks: dict[str, BackgroundTask] = {}
        self._listeners: list[Listener] = [] if (found := host_part(host, "task_listeners")) is None else found
        self._number = 0
        self._movable: dict[str, Callable[[], None]] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        for record in _records(folder):
            with suppress(KeyError, ValueError, TypeError, OSError):  # not a record, or its output file is missing
                self._add_earlier(record)

    def all(self) -> list[BackgroundTask]:
        """Return all tasks of this host, oldest first, with their current status."""
        for task in self._tasks.values():
            if task.refresh is not None:
                task.refresh()
        return [*self._tasks.values()]

    def get(self, task_id: str) -> BackgroundTask:
        """Return the task with this id. Raise ToolFailure if there is none."""
        self.all()
        found = self._tasks.get(task_id)
        if found is None:
            there = ", ".join(self._tasks) or "none"
            raise ToolFailure(f"There is no background task {task_id!r}. Background tasks: {there}.")
        return found

    def next_id(self) -> str:
        self._number += 1
        return f"{_ID}{self._number}"

    def add(
        self,
        task_id: str,
        kind: TaskKind,
        label: str,
        owner: tuple[str, ...],
        output: OutputFile,
        stop: Callable[[], Awaitable[None]],
    ) -> BackgroundTask:
        """Add and return a running task. The caller reports its end to ``settle``.

        stop  a callback that stops the task
        """
        record = TaskRecord(
            id=task_id, kind=kind, label=label, owner=owner, started=self._clock.now(), output=output.path
        )
        task = self._tasks[task_id] = BackgroundTask(record, output, stop)
        return task

    def watch(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that waits for the end of a task, independent of the call that started the task."""
        watcher = asyncio.get_running_loop().create_task(work, context=Context())
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    def settle(self, task: BackgroundTask, status: TaskStatus, detail: str = "") -> None:
        """Set the final status of a task and call the listeners."""
        if task.settle(status, detail, self._clock.now()):
            for listener in tuple(self._listeners):
                listener(task)

    def of(self, owner: tuple[str, ...]) -> list[BackgroundTask]:
        """Return the tasks of a session, given by its path."""
        return [task for task in self.all() if task.record.owner == owner]

    def mark_reported(self, task: BackgroundTask) -> None:
        """Mark a task as reported and remove its record, so that the next start of Callgate does not list the task."""
        if not task.is_reported and self._folder is not None:
            self.watch(in_thread(partial(self.forget, task)))
        task.is_reported = True

    async def stop_all(self, owner: tuple[str, ...]) -> None:
        """Stop the tasks of a session, given by its path."""
        running = [task.stop(self._clock) for task in self.of(owner) if task.status == "running"]
        await asyncio.gather(*running)

    # ---- calls that may become tasks ----------------------------------------------------------------------------

    def offer(self, call_id: str, move: Callable[[], None]) -> Callable[[], None]:
        """Register a running call that can be moved to the background by calling ``move``. Return a function that
        removes the registration."""
        self._movable[call_id] = move
        return lambda: self._movable.pop(call_id, None) and None

    def move(self, call_id: str | None = None) -> str | None:
        """Move a running call, or without an id all registered calls, to the background. Return an error message if
        no call was moved, otherwise None."""
        wanted = [*self._movable] if call_id is None else [call_id]
        found = [self._movable.pop(each) for each in wanted if each in self._movable]
        for move in found:
            move()
        return None if found else "no running command can be moved to the background"

    # ---- tasks that outlive Callgate ----------------------------------------------------------------------------

    def record_path(self, task_id: str) -> Path | None:
        """Return the path of a task's record; None if tasks cannot outlive Callgate. The end of the task is written
        to the same path with the suffix ``.status``."""
        return None if self._folder is None else self._folder / f"{task_id}.json"

    def keep(self, task: BackgroundTask, guard: int) -> None:
        """Write the record of a task for the next start of Callgate. Blocks."""
        path = self.record_path(task.id)
        if path is not None:
            record = {name: getattr(task.record, name) for name in TaskRecord.__match_args__}
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(json.dumps({**record, "guard": guard, "began": beginning_of(guard)}), encoding="utf-8")

    def note_end(self, task: BackgroundTask, code: int) -> None:
        """Write the exit code of a task to the file with the suffix ``.status``. Blocks."""
        path = self.record_path(task.id)
        if path is not None and path.exists():
            path.with_suffix(".status").write_text(json.dumps({"code": code}), encoding="utf-8")

    def forget(self, task: BackgroundTask) -> None:
        """Remove the record of a task. Blocks."""
        path = self.record_path(task.id)
        if path is not None:
            for each in (path, path.with_suffix(".status")):
                each.unlink(missing_ok=True)

    def _add_earlier(self, found: Mapping[str, Any]) -> None:
        guard, began = int(found["guard"]), str(found["began"])
        record = TaskRecord(
            id=str(found["id"]),
            kind=found["kind"],
            label=str(found["label"]),
            owner=tuple(found["owner"]),
            started=float(found["started"]),
            output=str(found["output"]),
        )
        number = record.id.removeprefix(_ID)
        self._number = max(self._number, int(number) if number.isdigit() else 0)

        async def stop() -> None:
            if beginning_of(guard) == began:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(guard, signal.SIGTERM)

        output = LocalOutput(Path(record.output), None, exists=True)
        task = self._tasks[record.id] = BackgroundTask(record, output, stop, earlier=True)

        def refresh() -> None:
            over = beginning_of(guard) != began  # checked before the status file, which the guard writes first
            code = _status(self.record_path(record.id))
            if code is not None:
                self.settle(task, *ending_of(code))
            elif over:
                self.settle(task, "killed", "it was killed by another process, or the machine was shut down")

        task.refresh = refresh


def ending_of(code: int) -> tuple[TaskStatus, str]:
    """Return the status and the detail of a task that ended with this exit code."""
    if code < 0:
        return "killed", f"signal {-code}"
    return ("completed", "exit code 0") if code == 0 else ("failed", f"exit code {code}")


def _records(folder: Path | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.json")) if folder is not None and folder.is_dir() else ():
        with suppress(OSError, ValueError):
            found.append(json.loads(path.read_text(encoding="utf-8")))
    return found


def _status(path: Path | None) -> int | None:
    with suppress(OSError, ValueError, KeyError):
        if path is not None:
            return int(json.loads(path.with_suffix(".status").read_text(encoding="utf-8"))["code"])
    return None


def beginning_of(pid: int) -> str:
    """Return the start time of a process, which distinguishes it from a later process with the same pid. Return an
    empty text if no process has this pid."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return "" if os.path.exists("/proc/self/stat") or not is_running(str(pid)) else "unknown"


def tasks_of(host: object) -> BackgroundTasks:
    """Return the background tasks of a host. Raise ToolFailure if the host has none."""
    found = host_part(host, "tasks")
    if not isinstance(found, BackgroundTasks):
        raise ToolFailure("This session has no background tasks. Run the command in the foreground.")
    return found

"""The background tasks of a session: their ends are noted for people, and they end with the session.

The model is told of an end by a reminder with its next request; see ``staging``. A session at rest is not woken.
"""

from typing import TYPE_CHECKING

from callgate.conversation.turn import Equipment
from callgate.words.errors import ToolFailure
from callgate.words.events import Noted

if TYPE_CHECKING:
    from callgate.host.tasks import BackgroundTask, BackgroundTasks


class SessionTasks:
    """Listens to the host, where it has background tasks."""

    def __init__(self, equipment: Equipment) -> None:
        self._host = equipment.host
        self._record = equipment.record
        self._owner = equipment.lineage
        self._listeners: list[object] | None = getattr(equipment.host, "task_listeners", None)
        if self._listeners is not None:
            self._listeners.append(self._note)

    @property
    def _tasks(self) -> "BackgroundTasks | None":
        return getattr(self._host, "begun_tasks", None)

    def move(self, call_id: str | None) -> str | None:
        """Moves a running command to the background; the reason if it cannot be."""
        tasks = self._tasks
        if tasks is None:
            return "no command is running that could be moved to the background"
        return tasks.move(call_id)

    def all(self) -> "tuple[BackgroundTask, ...]":
        """The tasks of this session, oldest first."""
        return () if self._tasks is None else tuple(self._tasks.of(self._owner))

    async def stop(self, task_id: str) -> None:
        """Ends a task and waits for that. ToolFailure if there is none."""
        if self._tasks is None:
            raise ToolFailure(f"There is no background task {task_id!r}.")
        await self._tasks.get(task_id).stop(self._host.clock)

    def earlier(self) -> list[str]:
        """Notes on tasks of an earlier start that still run."""
        found = [] if self._tasks is None else self._tasks.of(self._owner)
        return [
            f"background task {task.id} of an earlier start still runs: {task.record.label[:80]}"
            for task in found
            if task.earlier and task.status == "running"
        ]

    def running(self) -> dict[str, int]:
        """The number of this session's tasks that run, by kind."""
        found: dict[str, int] = {}
        for task in () if self._tasks is None else self._tasks.of(self._owner):
            if task.status == "running":
                found[task.record.kind] = found.get(task.record.kind, 0) + 1
        return found

    async def ended(self) -> None:
        """Ends the tasks of this session, which closes."""
        if self._tasks is not None:
            await self._tasks.stop_all(self._owner)
        if self._listeners is not None and self._note in self._listeners:
            self._listeners.remove(self._note)

    def _note(self, task: "BackgroundTask") -> None:
        if task.record.owner == self._owner:
            ending = f" ({task.detail})" if task.detail else ""
            text = f"Background task {task.id} {task.status}{ending}: {task.record.label[:80]}"
            self._record.write(Noted(self._host.clock.now(), text))

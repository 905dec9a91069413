"""The feature ``notices``: reports background tasks, undone changes, servers and agents to the model.

A notice is one durable event. The next request contains it as a reminder. When the turn of that request has ended,
the notice is recorded as delivered. A notice with the wake flag starts a turn in an idle session.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from callgate.conversation.feature import Feature, FeaturePart, Handler, OpenSession, Reminder
from callgate.conversation.reminders import reminder
from callgate.core.capabilities import host_part
from callgate.words.errors import ToolFailure
from callgate.words.events import Forked, MessageAdded, Noted, TurnEnded
from callgate.words.inputs import MoveToBackground
from callgate.words.model import Abilities
from callgate.words.turns import Compacted, NoticeAdded, NoticeDelivered, NoticeKind

if TYPE_CHECKING:
    from callgate.host.tasks import BackgroundTask, BackgroundTasks

NAME = "notices"
_RUNNING = "running tasks"
"""The subject of the reminder about running tasks after a compaction."""


class NoticesPart(FeaturePart):
    """The notices and the background tasks of one session."""

    def __init__(self, opened: OpenSession) -> None:
        self._opened = opened
        self._record = opened.record
        self._now = opened.now
        self._host = opened.host
        listeners = host_part(self._host, "task_listeners")
        self._listeners: list[Callable[[BackgroundTask], None]] = [] if listeners is None else listeners
        self.folds = {
            NoticeAdded: self._added,
            NoticeDelivered: self._delivered,
            MessageAdded: self._message_added,
            Compacted: self._compacted,
            Forked: self._forked,
        }
        self.inputs = {MoveToBackground: Handler(self._move_to_background)}
        self.reset()

    # ---- state --------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self._known: set[str] = set()
        self._pending: dict[str, NoticeAdded] = {}
        self._sent: dict[str, None] = {}  # on record as messages, and not yet as delivered
        self._was_compacted = False

    def _added(self, event: NoticeAdded) -> None:
        if event.id not in self._known:
            self._known.add(event.id)
            self._pending[event.id] = event

    def _delivered(self, event: NoticeDelivered) -> None:
        self._pending.pop(event.id, None)
        self._sent.pop(event.id, None)

    def _message_added(self, event: MessageAdded) -> None:
        if event.about is not None and self._pending.pop(event.about, None) is not None:
            self._sent[event.about] = None
        elif event.about == _RUNNING:
            self._was_compacted = False

    def _compacted(self, event: Compacted) -> None:
        self._was_compacted = True

    def _forked(self, event: Forked) -> None:
        """Drop the pending notices, because they belong to the session that was forked."""
        self._pending.clear()

    # ---- notices ------------------------------------------------------------------------------------------------

    def add(self, kind: NoticeKind, text: str, *, id: str = "", wake: bool = False) -> None:
        """Record a notice. Do nothing if a notice has the same id, or if ``id`` is empty and a pending notice has
        the same text."""
        same = any(each.text == text for each in self._pending.values())
        if id in self._known or (not id and same):
            return
        self._record.write(NoticeAdded(self._now(), id or f"notice-{len(self._known) + 1}", kind, text, wake))
        if wake:
            self._opened.session.wake()

    @property
    def pending(self) -> tuple[NoticeAdded, ...]:
        """The notices that were not sent to the model yet, oldest first."""
        return tuple(self._pending.values())

    @property
    def wakes(self) -> tuple[str, ...]:
        return tuple(each.id for each in self._pending.values() if each.wake)

    def before_request(self, abilities: Abilities) -> Iterable[Reminder]:
        for task in self._ended_tasks():  # for tasks that ended while no program ran
            self._add_task(task)
        self._drop_read_tasks()
        due = [Reminder(reminder(each.text), each.id) for each in self._pending.values()]
        for task in self._ended_tasks():
            self._mark(task)
        if self._was_compacted and (running := self._running_tasks()):
            lines = "\n".join(f"- {task.id}: {task.record.kind} {task.record.label[:200]!r}" for task in running)
            text = f"These background tasks are still running; TaskOutput reads their output:\n{lines}"
            due.append(Reminder(reminder(text), _RUNNING))
        return due

    @property
    def due_chars(self) -> int:
        return sum(len(each.text) for each in self._pending.values())

    async def after_turn(self, ended: TurnEnded) -> None:
        self._record_delivered()

    async def compacting(self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str) -> str | None:
        self._record_delivered()  # the messages are no longer read once a boundary is on record
        return None

    def _record_delivered(self) -> None:
        for name in tuple(self._sent):
            self._record.write(NoticeDelivered(self._now(), name))

    # ---- background tasks ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._listeners.append(self._task_ended)
        for task in self.tasks:
            if task.earlier and task.status == "running":
                self._opened.session.warn(
                    f"background task {task.id} of an earlier start is still running: {task.record.label[:80]}"
                )

    @property
    def _all_tasks(self) -> "BackgroundTasks | None":
        return host_part(self._host, "begun_tasks")

    @property
    def tasks(self) -> "tuple[BackgroundTask, ...]":
        return () if self._all_tasks is None else tuple(self._all_tasks.of(self._opened.lineage))

    def _running_tasks(self) -> "list[BackgroundTask]":
        return [task for task in self.tasks if task.status == "running"]

    def _ended_tasks(self) -> "list[BackgroundTask]":
        return [task for task in self.tasks if task.status != "running" and not task.is_reported]

    def running(self) -> dict[str, int]:
        """Return the number of running background tasks by kind."""
        return dict(Counter(task.record.kind for task in self._running_tasks()))

    async def stop(self, task_id: str) -> None:
        """Stop a background task and wait until it has ended. Raise ToolFailure if no task has this id."""
        if self._all_tasks is None:
            raise ToolFailure(f"There is no background task {task_id!r}.")
        await self._all_tasks.get(task_id).stop(self._host.clock)

    def _move_to_background(self, sent: MoveToBackground) -> str | None:
        if self._all_tasks is None:
            return "no command is running that could be moved to the background"
        return self._all_tasks.move(sent.call_id)

    def _task_ended(self, task: "BackgroundTask") -> None:
        if task.record.owner == self._opened.lineage:
            ending = f" ({task.detail})" if task.detail else ""
            text = f"Background task {task.id} {task.status}{ending}: {task.record.label[:80]}"
            self._record.write(Noted(self._now(), text))
            if not task.is_reported:
                self._add_task(task)

    def _add_task(self, task: "BackgroundTask") -> None:
        ending = f" ({task.detail})" if task.detail else ""
        text = (
            f"Background task {task.id} {task.status}{ending}: {task.record.kind} {task.record.label[:200]!r}. "
            f"Its output is in {task.record.output}; TaskOutput reads it."
        )
        self.add("agent" if task.record.kind == "agent" else "task", text, id=_notice_id(task))

    def _drop_read_tasks(self) -> None:
        """Record a notice of an ended task as delivered if TaskOutput has already reported the end of the task."""
        for task in self.tasks:
            if task.is_reported and _notice_id(task) in self._pending:
                self._record.write(NoticeDelivered(self._now(), _notice_id(task)))

    def _mark(self, task: "BackgroundTask") -> None:
        if self._all_tasks is not None:
            self._all_tasks.mark_reported(task)

    async def close(self, *, discard: bool) -> None:
        if self._all_tasks is not None:
            await self._all_tasks.stop_all(self._opened.lineage)
        with suppress(ValueError):  # begin was not called
            self._listeners.remove(self._task_ended)


def _notice_id(task: "BackgroundTask") -> str:
    return f"{task.id}@{task.record.started:.3f}"


def notices_feature() -> Feature:
    """Return the feature that delivers notices to the model."""
    return Feature(NAME, NoticesPart)

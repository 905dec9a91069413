"""What the executor keeps about a call while it is in its hands, and the Run its tool gets to see."""

from asyncio import AbstractEventLoop, Event, Future
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum
from threading import Lock, get_ident
from typing import Any

from callgate.core.lanes import Claim, Placed, check_covered
from callgate.core.ports import Case, Host, Timer, Tool
from callgate.words.calls import ContextUpdate, Result, ToolCall
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Decision, Question
from callgate.words.declared import UNDECLARED, label_of
from callgate.words.traits import Traits


class Stage(IntEnum):
    """Finer than a Status: what the executor waits for. From DECIDING on, no person is needed to go on."""

    HELD = 0
    ASKED = 1
    SETTLED = 2
    DECIDING = 3
    PREVIEWING = 4
    READY = 5
    LOCKING = 6
    RUNNING = 7


# By name, because looking a member up in its class costs more than comparing it.
HELD, ASKED, SETTLED, DECIDING, PREVIEWING, READY, LOCKING, RUNNING = Stage

Sink = Callable[[str, str, float | None, float | None], None]


class Ticket:
    __slots__ = (
        "arguments",
        "attempt",
        "because",
        "call",
        "case",
        "claim",
        "decision",
        "finished",
        "grant",
        "hashed",
        "held",
        "id",
        "index",
        "name",
        "placed",
        "preview",
        "question",
        "reason",
        "requested",
        "result",
        "run",
        "stage",
        "started",
        "stray",
        "task",
        "timer",
        "tool",
        "traits",
        "update",
    )

    tool: Tool
    arguments: Mapping[str, Any]
    traits: Traits
    placed: Placed
    hashed: str
    case: Case

    def __init__(self, call: ToolCall, index: int) -> None:
        self.call = call
        self.id = call.id
        self.name = call.name
        self.index = index
        self.stage: Stage = DECIDING
        self.attempt = 1
        self.decision: Decision | None = None
        self.question: Question | None = None
        self.preview: ChangeSet | None = None
        self.claim: Claim | None = None  # its place among the calls of this message
        self.grant: Claim | None = None  # its locks on the host
        self.task: Future[Any] | None = None
        self.run: CallRun | None = None
        self.timer: Timer | None = None
        self.started: float | None = None
        self.reason: str | None = None  # why it is being cancelled
        self.because = ""
        self.finished: Result | None = None  # the tool is through; hooks and bounding may still be at work
        self.result: Result | None = None
        self.update: ContextUpdate | None = None
        self.stray = False
        self.requested = False  # somebody was asked to answer in a person's place
        self.held = False  # its result waits for earlier ones

    @property
    def label(self) -> str:
        """``Bash(mkdir build…)``: enough for a person to recognise the call."""
        traits = getattr(self, "traits", None)
        arguments = getattr(self, "arguments", None) or self.call.arguments
        return label_of(self.name, UNDECLARED if traits is None else traits.declared, arguments)

    @property
    def had_effects(self) -> bool:
        """Or may have had some."""
        result = self.result
        if result is None or self.started is None or self.traits.effects == "none":
            return False
        return not result.is_error or result.effects in ("done", "unknown")

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Tickets:
    """The calls of one message in arrival order, and what is under way for them."""

    __slots__ = ("by_id", "changed", "moving", "ordered", "quiet", "tasks")

    def __init__(self) -> None:
        self.ordered: list[Ticket] = []
        self.by_id: dict[str, Ticket] = {}
        self.tasks: set[Future[Any]] = set()
        self.moving = 0
        self.changed = Event()  # anything a reader might want to look at
        self.quiet = Event()  # nothing moves by itself any more

    def add(self, ticket: Ticket) -> None:
        self.ordered.append(ticket)
        self.by_id[ticket.id] = ticket
        self.moving += 1

    def to(self, ticket: Ticket, stage: Stage) -> None:
        self.moving += (stage >= DECIDING) - (ticket.stage >= DECIDING)
        ticket.stage = stage
        if not self.moving:
            self.quiet.set()

    def at(self, stage: Stage) -> list[Ticket]:
        return [ticket for ticket in self.ordered if ticket.stage is stage]

    def watch(self, task: Future[Any]) -> None:
        """Keep a task until it is done; whoever waits for a change then looks again."""
        self.tasks.add(task)
        task.add_done_callback(self.forget)

    def forget(self, task: Future[Any]) -> None:
        self.tasks.discard(task)
        self.changed.set()


_UNREAD_CHARS = 10_000


class CallRun:
    """The Run of one call. Progress may come from any thread; it is merged and never waits for the loop."""

    __slots__ = (
        "_lock",
        "_loop",
        "_sink",
        "_thread",
        "_waiting",
        "attempt",
        "call_id",
        "cancelled",
        "changes",
        "context",
        "deadline",
        "host",
        "lineage",
    )

    def __init__(
        self,
        call_id: str,
        attempt: int,
        host: Host,
        context: Mapping[str, Any],
        lineage: tuple[str, ...],
        loop: AbstractEventLoop,
        sink: Sink,
        lock: Lock,
    ) -> None:
        self.call_id = call_id
        self.attempt = attempt
        self.host = host
        self.context = context
        self.lineage = lineage
        self.deadline: float | None = None
        self.cancelled = False
        self.changes: ChangeSet | None = None
        self._loop = loop
        self._sink: Sink | None = sink
        self._thread = get_ident()
        self._lock = lock  # of all runs of an executor: it is held for a moment, and rarely wanted
        self._waiting: tuple[list[str], tuple[float | None, float | None]] | None = None

    @property
    def idempotency_key(self) -> str:
        return "/".join(name for name in self.lineage if not name.startswith("~"))  # a root's token is not for ever

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        sink = self._sink
        if sink is None:
            return
        if get_ident() == self._thread:
            sink(self.call_id, str(text), current, total)
            return
        with self._lock:
            first = self._waiting is None
            texts, gauge = self._waiting or ([], (None, None))
            texts.append(str(text)[: max(0, _UNREAD_CHARS - sum(map(len, texts)))])
            self._waiting = (texts, gauge if current is None else (current, total))
        if first:
            try:
                self._loop.call_soon_threadsafe(self._flush)
            except RuntimeError:  # the loop is gone, and with it everybody who listened
                self._sink = None

    def mute(self) -> None:
        """Whatever comes from now on is too late."""
        self._sink = None

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
        sink = self._sink
        if sink is not None and waiting is not None:
            texts, (current, total) = waiting
            sink(self.call_id, "".join(texts), current, total)


async def previewed(ticket: Ticket, run: CallRun) -> ChangeSet:
    """The change a call shows, named after the message and the call. ToolFailure if its locks do not cover it."""
    changes = await ticket.tool.preview(ticket.arguments, run)
    check_covered(changes, ticket.placed, run.host.normal)
    named = "/".join(name for name in run.lineage[-2:] if not name.startswith("~"))
    return replace(changes, id=named, tool=changes.tool or ticket.name)

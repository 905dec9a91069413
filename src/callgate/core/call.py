"""An open call as the executor holds it, and the Run that its tool gets."""

from asyncio import AbstractEventLoop, Task
from collections.abc import Callable, Mapping
from threading import Lock, get_ident
from typing import Any

from callgate.core.board import Slot
from callgate.core.locks import Claim
from callgate.core.ports import Case, Host, Timer
from callgate.words.calls import ContextUpdate, Result, ToolCall
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Decision, Question
from callgate.words.declared import UNDECLARED, label_of

Sink = Callable[[str, str, float | None, float | None], None]


class Call(Slot):
    """One body for a call while it is open: its place on the board, and what is needed to perform it. Facts are in the
    ledger."""

    __slots__ = (
        "attempt",
        "bound",
        "case",
        "claim",
        "decision",
        "finished",
        "given",
        "late",
        "name",
        "note",
        "preview",
        "question",
        "requested",
        "run",
        "started",
        "task",
        "timer",
        "update",
    )

    case: Case
    """Unset while the call got no further than its name or its arguments."""

    def __init__(self, given: ToolCall, attempt: int = 1) -> None:
        super().__init__(given.id)
        self.given = given
        self.name = given.name
        self.attempt = attempt
        self.note = ""  # for people, once the call is on record
        self.bound = 0  # how many calls with effects had begun when its locks were bound to places
        self.decision: Decision | None = None
        self.question: Question | None = None
        self.preview: ChangeSet | None = None
        self.requested = False  # hooks were asked to answer in a person's place
        self.claim: Claim | None = None  # its locks on the host
        self.late = False  # its time to wait for locks is up
        self.task: Task[None] | None = None
        self.run: CallRun | None = None
        self.timer: Timer | None = None
        self.started: float | None = None
        self.finished: Result | None = None  # the tool is through; hooks and the size limit may still be at work
        self.update: ContextUpdate | None = None

    @property
    def label(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """``Bash(mkdir build…)``: enough for a person to recognise the call."""
        case = getattr(self, "case", None)
        if case is None:
            return label_of(self.name, UNDECLARED, self.given.arguments)
        return label_of(self.name, case.traits.declared, case.arguments)

    @property
    def had_effects(self) -> bool:
        """Or may have had some."""
        result = self.result
        if result is None or self.started is None or self.case.traits.effects == "none":
            return False
        return not result.is_error or result.effects in ("done", "unknown")

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


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
        "deps",
        "host",
        "lineage",
    )

    def __init__(
        self,
        call: Call,
        host: Host,
        context: Mapping[str, Any],
        lineage: tuple[str, ...],
        *,
        deps: Any,
        loop: AbstractEventLoop,
        sink: Sink,
        lock: Lock,
    ) -> None:
        self.call_id = call.id
        self.attempt = call.attempt
        self.host = host
        self.context = context
        self.lineage = lineage
        self.deps = deps
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
        return "/".join(name for name in self.lineage if not name.startswith("~"))  # without a root's random token

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        sink = self._sink
        if sink is None:
            return
        try:
            said = str(text)
            if get_ident() == self._thread:
                sink(self.call_id, said, current, total)
                return
        except Exception:  # a report that cannot be written is not worth the call
            return
        with self._lock:
            first = self._waiting is None
            texts, gauge = self._waiting or ([], (None, None))
            texts.append(said[: max(0, _UNREAD_CHARS - sum(map(len, texts)))])
            self._waiting = (texts, gauge if current is None else (current, total))
        if first:
            try:
                self._loop.call_soon_threadsafe(self._flush)
            except RuntimeError:  # the loop is closed, and nobody listens any more
                self._sink = None

    def mute(self) -> None:
        """Drop progress that is reported from now on."""
        self._sink = None

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
        sink = self._sink
        if sink is not None and waiting is not None:
            texts, (current, total) = waiting
            sink(self.call_id, "".join(texts), current, total)

"""An open call as the executor holds it, and the Run that its tool gets."""

from asyncio import Future, Task, get_running_loop
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from threading import Lock, get_ident
from typing import Any

from callgate.core.board import BoardCall
from callgate.core.locks import Claim
from callgate.core.ports import Case, Host, Timer
from callgate.words.calls import ContextUpdate, Result, ToolCall
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, Confirmation, Decision, FieldAnswer, Question
from callgate.words.declared import UNDECLARED, label_of

Sink = Callable[[str, str, float | None, float | None], None]


class Call(BoardCall):
    """One body for a call while it is open: its place on the board, and what is needed to perform it. Facts are in the
    ledger."""

    __slots__ = (
        *(
            "answer",
            "attempt",
            "body",
            "bound",
            "case",
            "claim",
            "decision",
            "finished",
            "given",
            "late",
            "name",
            "note",
        ),
        *("preview", "question", "requested", "run", "started", "task", "timer", "update"),
    )
    case: Case
    """Unset while the call got no further than its name or its arguments."""
    body: Task[None]
    """The task that runs its tool."""

    def __init__(self, given: ToolCall, attempt: int = 1) -> None:
        super().__init__(given.id)
        self.given = given
        self.name = given.name
        self.attempt = attempt
        self.note = ""  # for people, once the call is on record
        self.bound = 0  # how many calls with effects had begun when its locks were bound to places
        self.decision: Decision | None = None
        self.question: Question | None = None
        self.answer: Future[tuple[Confirmation | Allow, Future[None] | None]] | None = None
        self.preview: ChangeSet | None = None
        self.requested = False  # hooks were asked to answer in a person's place
        self.claim: Claim | None = None  # its locks on the host
        self.late = False  # its time to wait for locks is up
        self.task: Task[None] | None = None  # what is waited for now
        self.run: CallRun | None = None
        self.timer: Timer | None = None
        self.started: float | None = None
        self.finished: Result | None = None  # the tool is through; hooks and the size limit may still be at work
        self.update: ContextUpdate | None = None

    @property
    def label(self) -> str:
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


class Station:
    """The part of a Run that is the same for every call of a message. ``sink`` takes progress, on the loop's thread."""

    __slots__ = ("deps", "host", "lineage", "lock", "loop", "sink", "thread")

    def __init__(self, host: Host, lineage: tuple[str, ...], deps: Any, sink: Sink) -> None:
        self.host = host
        self.lineage = lineage
        self.deps = deps
        self.sink = sink
        self.loop = get_running_loop()
        self.thread = get_ident()
        self.lock = Lock()  # of all runs: it is held for a moment, and rarely wanted


class RunContext(Mapping[str, Any]):
    """The context of a session as it was when a call began. A value is copied when it is asked for, so that a tool
    cannot change the record, and a session that has read a thousand files does not copy a thousand marks a call."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        return value if isinstance(value, str) else deepcopy(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class CallRun:
    """The Run of one call. Progress may come from any thread; it is merged and never waits for the loop."""

    __slots__ = (
        *("_station", "_waiting", "answers", "attempt", "call_id", "cancelled", "changes", "context", "deadline"),
        "open",
    )

    def __init__(self, call: Call, context: Mapping[str, Any], station: Station) -> None:
        self.call_id = call.id
        self.attempt = call.attempt
        self.context = context
        self.deadline: float | None = None
        self.cancelled = False
        self.changes: ChangeSet | None = None
        self.answers: tuple[FieldAnswer, ...] = ()
        self.open = True  # otherwise progress is dropped
        self._station = station
        self._waiting: tuple[list[str], tuple[float | None, float | None]] | None = None

    @property
    def host(self) -> Host:
        return self._station.host

    @property
    def deps(self) -> Any:
        return self._station.deps

    @property
    def lineage(self) -> tuple[str, ...]:
        return (*self._station.lineage, self.call_id)

    @property
    def idempotency_key(self) -> str:
        return "/".join(name for name in self.lineage if not name.startswith("~"))  # without a root's random token

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        station = self._station
        if not self.open:
            return
        try:
            said = str(text)
            if get_ident() == station.thread:
                station.sink(self.call_id, said, current, total)
                return
        except Exception:  # a report that cannot be written is not worth the call
            return
        with station.lock:
            first = self._waiting is None
            texts, gauge = self._waiting or ([], (None, None))
            texts.append(said[: max(0, _UNREAD_CHARS - sum(map(len, texts)))])
            self._waiting = (texts, gauge if current is None else (current, total))
        if first:
            try:
                station.loop.call_soon_threadsafe(self._flush)
            except RuntimeError:  # the loop is closed, and nobody listens any more
                self.open = False

    def _flush(self) -> None:
        with self._station.lock:
            waiting, self._waiting = self._waiting, None
        if self.open and waiting is not None:
            texts, (current, total) = waiting
            self._station.sink(self.call_id, "".join(texts), current, total)

"""Open calls, the setup that the calls of a message share, and the Run that is passed to a tool."""

from asyncio import Future, Task, get_running_loop
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from threading import Lock, get_ident
from typing import Any

from callgate.core.board import BoardCall
from callgate.core.locks import Claim
from callgate.core.ports import Case, Gate, Host, Timer, ToolSource
from callgate.core.record import CallRecord
from callgate.words.calls import ContextUpdate, Result, ToolCall
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, Confirmation, Decision, FieldAnswer, Question
from callgate.words.declared import UNDECLARED, label_of
from callgate.words.limits import ExecutorSettings
from callgate.words.noun import noun


@noun
class CallSetup:
    """The objects and settings that the calls of one message use. ``CallExecutor`` describes the fields."""

    toolbox: ToolSource
    gate: Gate
    host: Host
    record: CallRecord
    settings: ExecutorSettings
    lineage: tuple[str, ...]
    confirmations: tuple[Confirmation, ...]
    path: tuple[str, ...]
    deps: Any


Sink = Callable[[str, str, float | None, float | None], None]


class Call(BoardCall):
    """An open call: its stage on the board and the values for its next steps. The ledger has the recorded facts.

    case       the case that the gate judges; not set until the arguments are read
    body       the task that runs the tool
    bound      the number of calls with effects that had begun when the locks were bound to paths
    note       a note for the user, which is written after the call is recorded
    requested  True if hooks were asked to answer the question in place of the user
    claim      the request for locks of the host
    late       True if the wait for the locks timed out
    task       the current task of the call: its decision or its execution
    blocks     a sentence for the result if the timeout of the call had no effect
    finished   the result of the tool, before hooks and the size limit are applied
    """

    __slots__ = (
        *(
            "answer",
            "attempt",
            "blocks",
            "body",
            "bound",
            "case",
            "claim",
            "decision",
            "finished",
            "given",
            "late",
            "name",
        ),
        *("note", "preview", "question", "requested", "run", "started", "task", "timer", "update"),
    )
    case: Case
    body: Task[None]

    def __init__(self, given: ToolCall, attempt: int = 1) -> None:
        super().__init__(given.id)
        self.given = given
        self.name = given.name
        self.attempt = attempt
        self.note = ""
        self.bound = 0
        self.decision: Decision | None = None
        self.question: Question | None = None
        self.answer: Future[tuple[Confirmation | Allow, Future[None] | None]] | None = None
        self.preview: ChangeSet | None = None
        self.requested = False
        self.claim: Claim | None = None
        self.late = False
        self.task: Task[None] | None = None
        self.run: CallRun | None = None
        self.timer: Timer | None = None
        self.started: float | None = None
        self.finished: Result | None = None
        self.update: ContextUpdate | None = None
        self.blocks = ""

    @property
    def label(self) -> str:
        """A short form of the call for the user, such as ``Bash(mkdir build…)``."""
        case = getattr(self, "case", None)
        if case is None:
            return label_of(self.name, UNDECLARED, self.given.arguments)
        return label_of(self.name, case.traits.declared, case.arguments)

    @property
    def had_effects(self) -> bool:
        """Return True if the call changed something, or may have changed something."""
        result = self.result
        if result is None or self.started is None or self.case.traits.effects == "none":
            return False
        return not result.is_error or result.effects in ("done", "unknown")

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


_UNREAD_CHARS = 10_000


class SharedRun:
    """The values that the Runs of all calls of a message share.

    ``sink`` is called with the progress of a call, on the thread of the event loop.
    """

    __slots__ = ("deps", "host", "lineage", "lock", "loop", "sink", "thread")

    def __init__(self, host: Host, lineage: tuple[str, ...], deps: Any, sink: Sink) -> None:
        self.host = host
        self.lineage = lineage
        self.deps = deps
        self.sink = sink
        self.loop = get_running_loop()
        self.thread = get_ident()
        self.lock = Lock()  # one for all runs: it is rarely contended


class RunContext(Mapping[str, Any]):
    """The context of the session at the start of a call, as a read-only mapping.

    A value is copied when it is read, so a tool cannot change the recorded context.
    """

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
    """The Run of one call. A tool may report progress from any thread; the report never blocks."""

    __slots__ = (
        *("_shared", "_waiting", "answers", "attempt", "call_id", "cancelled", "changes", "context", "deadline"),
        "open",
    )

    def __init__(self, call: Call, context: Mapping[str, Any], shared: SharedRun) -> None:
        self.call_id = call.id
        self.attempt = call.attempt
        self.context = context
        self.deadline: float | None = None
        self.cancelled = False
        self.changes: ChangeSet | None = None
        self.answers: tuple[FieldAnswer, ...] = ()
        self.open = True  # progress is published
        self._shared = shared
        self._waiting: tuple[str, tuple[float | None, float | None]] | None = None

    @property
    def host(self) -> Host:
        return self._shared.host

    @property
    def deps(self) -> Any:
        return self._shared.deps

    @property
    def lineage(self) -> tuple[str, ...]:
        return (*self._shared.lineage, self.call_id)

    @property
    def idempotency_key(self) -> str:
        return "/".join(
            name for name in self.lineage if not name.startswith("~")
        )  # without the random token of the root

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        shared = self._shared
        if not self.open:
            return
        try:
            said = str(text)
            if get_ident() == shared.thread:
                shared.sink(self.call_id, said, current, total)
                return
        except Exception:  # a failed report does not fail the call
            return
        with shared.lock:
            first = self._waiting is None
            text, gauge = self._waiting or ("", (None, None))
            newest = (text + said)[-_UNREAD_CHARS:]
            self._waiting = (newest, gauge if current is None else (current, total))
        if first:
            try:
                shared.loop.call_soon_threadsafe(self._flush)
            except RuntimeError:  # the loop is closed
                self.open = False

    def _flush(self) -> None:
        with self._shared.lock:
            waiting, self._waiting = self._waiting, None
        if self.open and waiting is not None:
            text, (current, total) = waiting
            self._shared.sink(self.call_id, text, current, total)

"""The Protocols that core requires from other packages, with their contracts.

"Must not raise": an implementation reports failures in its return value. If it raises, the call ends with an error.
"""

from asyncio import Event
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from callgate.core.locks import LockTable
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Decision, Deny, FieldAnswer
from callgate.words.events import Durable
from callgate.words.model import ToolSpec
from callgate.words.modes import Mode
from callgate.words.noun import noun
from callgate.words.resolved_path import ResolvedPath
from callgate.words.traits import Traits

T = TypeVar("T")
if TYPE_CHECKING:  # for the default, which typing has from Python 3.13 on
    from typing_extensions import TypeVar as DefaultTypeVar

    Deps = DefaultTypeVar("Deps", default=Any, covariant=True)
else:
    Deps = TypeVar("Deps", covariant=True)

Maybe = Awaitable[None] | None
"""An awaitable, or None if there is nothing to wait for, which saves one iteration of the event loop."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Return the wall time in seconds since the epoch. The wall time may jump."""
        ...

    def monotonic(self) -> float:
        """Return the seconds of a monotonic clock."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call the callback after the delay, on the thread of the event loop, unless the timer is cancelled."""
        ...


async def wait_seconds(clock: Clock, seconds: float) -> None:
    """Wait for a number of seconds of the given clock."""
    over = Event()
    timer = clock.call_later(seconds, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()


class Host(Protocol):
    """Files, clock and locks for tools and executors. Several executors may share a host."""

    @property
    def clock(self) -> Clock: ...

    @property
    def locks(self) -> LockTable: ...

    def normal(self, path: str) -> str:
        """Return the normalised absolute path, separated by ``/``. Relative paths start at the workspace. Must not
        raise."""
        ...

    def resolve_path(self, path: str) -> ResolvedPath:
        """Return the target of a path and the symbolic links on the way. Relative paths start at the workspace. Must
        not raise."""
        ...

    async def keep(self, name: str, data: bytes) -> str:
        """Store an artifact permanently and return its path."""
        ...

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        """Apply all changes or none. Raise ToolFailure if a file differs from the preview.

        Return the changes with the facts found while applying them, so that the inverse reverts the changes.
        """
        ...


class Run(Protocol[Deps]):
    """The environment of a running call, passed to its tool. In ``Run[Database]``, ``deps`` is a Database."""

    @property
    def call_id(self) -> str: ...

    @property
    def idempotency_key(self) -> str:
        """A key that is the same for every attempt to run this call, even after a crash."""
        ...

    @property
    def attempt(self) -> int: ...

    @property
    def host(self) -> Host: ...

    @property
    def context(self) -> Mapping[str, Any]:
        """The read-only context of the session, with the context updates of earlier calls."""
        ...

    @property
    def deps(self) -> Deps:
        """The object passed as ``Session(deps=…)``. It is not copied and not recorded."""
        ...

    @property
    def deadline(self) -> float | None:
        """The time of the timeout of the call on the monotonic clock of the host; None without a timeout."""
        ...

    @property
    def cancelled(self) -> bool:
        """True if the call should stop. A tool in a thread must poll this property."""
        ...

    @property
    def changes(self) -> ChangeSet | None:
        """The applied changes of a tool with a preview; None for other tools."""
        ...

    @property
    def answers(self) -> tuple[FieldAnswer, ...]:
        """The answers of the user to the fields of the trait ``asks``, in the order of the fields."""
        ...

    @property
    def lineage(self) -> tuple[str, ...]:
        """The call ids from the root to this call. They are the lineage of a nested executor."""
        ...

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        """Report progress. Thread-safe; never blocks and never raises."""


class Tool(Protocol):
    """A tool. The tool must not change the arguments of a call, because the arguments are recorded.

    A tool may declare ``facts``, and may receive facts of a session by ``bind``: see ``core.capabilities``.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def aliases(self) -> Sequence[str]: ...

    @property
    def previews(self) -> bool:
        """True if the tool makes a preview of its changes before they are applied."""
        ...

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """Repair and validate arguments. Must not raise."""
        ...

    def traits(self, arguments: Mapping[str, Any]) -> Traits: ...

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet: ...

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        """Run the call. Raise ToolFailure to fail with a message for the model.

        After a cancel, stop soon or finish. No work of the call may continue after the return.
        """
        ...


class Target(NamedTuple):
    """The tool and the arguments to use for a call. A toolbox may take both from the arguments of the original call."""

    tool: Tool
    raw: str | Mapping[str, Any]


@noun
class Unknown:
    """The outcome of a search for a tool if no available tool has the name.

    close   similar names of tools; may be computed when it is read
    reason  a sentence about a tool that exists but cannot be called now, with a remedy
    """

    name: str
    close: Sequence[str] = ()
    reason: str = ""

    @property
    def sentence(self) -> str:
        """A message for the model, with the reason or with similar names of tools."""
        hint = self.reason or (f"Did you mean {', '.join(self.close)}?" if self.close else "")
        return f"There is no tool named {self.name[:80]!r}. {hint}".rstrip()


class ToolSource(Protocol):
    """A source of tools. A source with hidden tools also has ``all_tools()``, which returns all tools that can be
    called."""

    def tools(self) -> Sequence[Tool]:
        """Return the tools for requests to the model, in a stable order."""
        ...

    def resolve(self, name: str, raw: str | Mapping[str, Any]) -> Target | Unknown:
        """Find the tool by name or alias. The returned Target may have a different tool and different arguments.
        Must not raise."""
        ...


def unresolved_path(path: str) -> ResolvedPath:
    """Return a path outside the workspace without resolving the path, for a case without a host."""
    return ResolvedPath(path, (path,), path, inside=False)


@noun
class Hooked:
    """The combined answer of the hooks that ran before a call.

    by         the hook that decided or set the arguments
    decision   a Deny ends the call; an Ask or Allow is combined with rules and modes
    arguments  the new arguments of the call, or None
    context    texts for the model
    """

    by: str = "hook"
    decision: Allow | Ask | Deny | None = None
    arguments: Mapping[str, Any] | None = None
    context: tuple[str, ...] = ()


@noun
class Case:
    """A call, as the checks of the gate receive it.

    recent  the hashes of the calls before this call, newest last
    hooked  the answer of the hooks; set after the hooks were asked
    path    the names of the agents from the session of the gate to the nested session that makes the call
    root    the folder of the session of the gate, if the nested session that makes the call works in another folder
    """

    call_id: str
    tool: Tool
    name: str
    arguments: Mapping[str, Any]
    arguments_hash: str
    traits: Traits
    policies: Sequence[ApprovalPolicy] = ()
    mode: Mode = "default"
    now: float = 0.0
    recent: Sequence[str] = ()
    normal: Callable[[str], str] = field(default=str)
    resolve_path: Callable[[str], ResolvedPath] = field(default=unresolved_path)
    hooked: Hooked | None = None
    path: tuple[str, ...] = ()
    root: str = ""


Verdict = Allow | Ask | Deny | None


@noun
class Check:
    """One rule of the gate.

    judge  returns a decision, or None if the check does not apply; may return an awaitable. If the check returns
           Hooked, the answer of hooks, the gate continues with the next check; if the arguments changed, with the first
           check
    again  True if the check judges again after a hook or the user changed the arguments
    idle   True if the check returns None while there are no remembered answers and no hooks; the check is then skipped
    """

    name: str
    judge: Callable[[Case], Verdict | Hooked | Awaitable[Verdict | Hooked]]
    again: bool = False
    idle: bool = False


@noun
class Judged:
    """One step of a gate: a check, its answer and its case.

    later    True if the answer is awaitable and was not awaited
    skipped  True if an earlier check had decided
    """

    check: str
    answer: Verdict | Hooked
    case: Case
    how: Literal["asked", "later", "skipped"] = "asked"


class Gate(Protocol):
    """Decides about calls. If the gate raises an exception, the call is denied."""

    def judge(self, case: Case) -> Decision | Awaitable[Decision]: ...

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        """Run only the checks with ``again`` set, after the arguments changed."""
        ...

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        """Return an answer in place of the user, or None. Called before the user is asked."""
        ...

    def remembered(self, case: Case, /) -> Allow | None:
        """Return the Allow of an answer that was remembered after the case was judged, or None.

        Not called for an unconditional question.
        """
        ...

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        """Return the scopes for an "always", narrowest first."""
        ...

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        """Run the post hooks. Return the result for the model."""
        ...


class EventLog(Protocol):
    """An append-only list of events with one writer, on the thread of the event loop."""

    @property
    def number(self) -> int:
        """The number of the last recorded event. Numbers start at 1 and continue after a restart."""
        ...

    def append(self, event: Durable) -> None:
        """Append the event. Must not block."""

    def barrier(self) -> Maybe:
        """Return an awaitable that waits until all appended events are durable; None if they are durable already.

        The awaitable raises JournalError if events cannot be written. Each call tries to write the events again; no
        event is lost.
        """
        ...

    def room(self) -> Maybe:
        """Return an awaitable that waits until the queue of unwritten events is short enough; None if it is short
        enough already.

        The awaitable raises JournalError like ``barrier``.
        """
        ...

"""The Protocols that other packages implement for core, with their contracts.

"Must not raise": the implementation reports failures in its return value. If it raises, the call ends as an error.
"""

from asyncio import Event
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from callgate.core.locks import LockTable
from callgate.words.arguments import Accepted, Rejected
from callgate.words.calls import Result
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
"""An awaitable, or None if there is nothing to wait for, which saves a pass through the event loop."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Return the wall time in seconds since the epoch. It may jump."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call the callback on the event loop's thread after the delay, unless the timer is cancelled."""
        ...


async def wait_seconds(clock: Clock, seconds: float) -> None:
    """Wait on a clock, which may be a manual one."""
    over = Event()
    timer = clock.call_later(seconds, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()


class Host(Protocol):
    """Files, clock and locks for tools and executors. Executors share a host."""

    @property
    def clock(self) -> Clock: ...

    @property
    def locks(self) -> LockTable: ...

    def normal(self, path: str) -> str:
        """Return the normalised absolute path, with ``/`` between its parts. Relative paths start at the workspace.
        Must not raise."""
        ...

    def resolve_path(self, path: str) -> ResolvedPath:
        """Return the target of a path and the links on the way. Relative paths start at the workspace. Must not
        raise."""
        ...

    async def keep(self, name: str, data: bytes) -> str:
        """Store an artifact permanently and return its path."""
        ...

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        """Apply all changes or none. Raise ToolFailure if files differ from the preview. Return the changes with the
        facts found while applying them, so that the inverse reverts them."""
        ...


class Run(Protocol[Deps]):
    """The call that a tool runs for. ``Run[Database]``: ``deps`` is a Database."""

    @property
    def call_id(self) -> str: ...

    @property
    def idempotency_key(self) -> str:
        """A key that is the same for every attempt at this call, also after a crash."""
        ...

    @property
    def attempt(self) -> int: ...

    @property
    def host(self) -> Host: ...

    @property
    def context(self) -> Mapping[str, Any]:
        """The context of the session, read-only: context updates of earlier calls."""
        ...

    @property
    def deps(self) -> Deps:
        """The object passed as ``Session(deps=…)``. It is not copied and not recorded."""
        ...

    @property
    def deadline(self) -> float | None:
        """The time of the timeout on the host's monotonic clock, or None."""
        ...

    @property
    def cancelled(self) -> bool:
        """True when the call should stop. Tools in threads poll it."""
        ...

    @property
    def changes(self) -> ChangeSet | None:
        """The applied changes, for a tool with a preview."""
        ...

    @property
    def answers(self) -> tuple[FieldAnswer, ...]:
        """A person's answers to the fields of the trait ``asks``, in their order."""
        ...

    @property
    def lineage(self) -> tuple[str, ...]:
        """Call ids from the root to this call; the lineage of a nested executor."""
        ...

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        """Report progress. Thread-safe; never blocks and never raises."""


class Tool(Protocol):
    """A tool. It must not change the arguments of a call, which are on record.

    A tool may declare ``facts`` and receive those of a session by ``bind``: see ``core.capabilities``.
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
        """Run the call. Raise ToolFailure to fail with a message for the model. After a cancel, stop soon or finish.
        Nothing of the call may run after the return."""
        ...


class Target(NamedTuple):
    """The tool of a call and its arguments, which a toolbox may have unwrapped."""

    tool: Tool
    raw: str | Mapping[str, Any]


@noun
class Unknown:
    """A name without a tool.

    close   similar names of tools; may be computed when it is read
    reason  a sentence about a tool that exists but cannot be called now, with a remedy
    """

    name: str
    close: Sequence[str] = ()
    reason: str = ""

    @property
    def sentence(self) -> str:
        """A message for the model with the reason or similar names."""
        hint = self.reason or (f"Did you mean {', '.join(self.close)}?" if self.close else "")
        return f"There is no tool named {self.name[:80]!r}. {hint}".rstrip()


class ToolSource(Protocol):
    """A source of tools. With hidden tools it has ``all_tools()`` too, which returns all tools that can be called."""

    def tools(self) -> Sequence[Tool]:
        """Return the tools in requests to the model, in a stable order."""
        ...

    def resolve(self, name: str, raw: str | Mapping[str, Any]) -> Target | Unknown:
        """Find the tool by name or alias. May turn the call into one of another tool. Must not raise."""
        ...


def unresolved_path(path: str) -> ResolvedPath:
    """Return an unresolved path outside of the workspace, for a case without a host."""
    return ResolvedPath(path, (path,), path, inside=False)


@noun
class Hooked:
    """The combined answer of the hooks before a call.

    by         the hook that decided or set the arguments
    decision   a Deny ends the call; an Ask or Allow is combined with rules and modes
    arguments  replace the arguments of the call
    context    texts for the model
    """

    by: str = "hook"
    decision: Allow | Ask | Deny | None = None
    arguments: Mapping[str, Any] | None = None
    context: tuple[str, ...] = ()


@noun
class Case:
    """A call that checks judge. ``recent`` has the hashes of the calls before it, newest last; ``hooked`` the answer of
    the hooks after they were asked; ``path`` leads from the session of the gate to the nested session that calls."""

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


Verdict = Allow | Ask | Deny | None


@noun
class Check:
    """One rule of the gate.

    judge  returns a decision, or None if the check does not apply; may return an awaitable. After Hooked, the answer of
           hooks, the checks continue, from the first one if the arguments changed
    again  judge again after a hook or a person changed the arguments
    idle   returns None without remembered answers and hooks, so it is skipped then
    """

    name: str
    judge: Callable[[Case], Verdict | Hooked | Awaitable[Verdict | Hooked]]
    again: bool = False
    idle: bool = False


@noun
class Judged:
    """One step of a gate: a check, its answer and its case. ``later``: the answer is awaitable and was not awaited.
    ``skipped``: an earlier check decided."""

    check: str
    answer: Verdict | Hooked
    case: Case
    how: Literal["asked", "later", "skipped"] = "asked"


class Gate(Protocol):
    """Decides about calls. An exception counts as a Deny."""

    def judge(self, case: Case) -> Decision | Awaitable[Decision]: ...

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        """Ask only the checks with ``again``, after the arguments changed."""
        ...

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        """Called before a person is asked. Return an answer in place of the person, or None."""
        ...

    def remembered(self, case: Case, /) -> Allow | None:
        """Return the Allow of an answer remembered since the case was judged, or None. Not called for an unconditional
        question."""
        ...

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        """Return the choices for "always", narrowest first."""
        ...

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        """Run post hooks. Return the result for the model."""
        ...


class EventLog(Protocol):
    """An append-only list of events with one writer, on the event loop's thread."""

    @property
    def number(self) -> int:
        """The number of the last event on record: 1 for the first one, also after a restart."""
        ...

    def append(self, event: Durable) -> None:
        """Append the event. Must not block."""

    def barrier(self) -> Maybe:
        """Wait until all appended events are durable; None if they are. Raises JournalError if they cannot be written;
        a further call tries again, and nothing is lost."""
        ...

    def room(self) -> Maybe:
        """Wait until the log has written enough of its queue; None if it has. Raises like ``barrier``."""
        ...

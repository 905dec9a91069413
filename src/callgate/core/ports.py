"""The Protocols that core needs other packages to implement, with contracts in prose.

"Must not raise" means: the implementation turns its own failures into the value it promises. The executor still
survives one that does raise, but the call then ends as an error.
"""

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
"""Nothing to wait for, or something: lets the common case stay free of a trip through the event loop."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> float:
        """Wall time in seconds since the epoch; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back on the event loop's thread after the delay, unless cancelled."""
        ...


class Host(Protocol):
    """The world as tools and the executor may touch it. One host is shared by every executor on it."""

    @property
    def clock(self) -> Clock: ...

    @property
    def locks(self) -> LockTable: ...

    def normal(self, path: str) -> str:
        """The one absolute spelling of a place, with ``/`` between its parts; relative paths start at the workspace.
        Must not raise."""
        ...

    def resolve_path(self, path: str) -> ResolvedPath:
        """The target of a path and the links on the way; relative ones start at the workspace. Must not raise."""
        ...

    async def keep(self, name: str, data: bytes) -> str:
        """Store an artifact for good and give its path."""
        ...

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        """Apply all of it or nothing; ToolFailure says which files were not as the preview found them. Gives it back
        with all that was found on the way: its inverse takes it back."""
        ...


class Run(Protocol[Deps]):
    """All a tool gets to know about the call it serves. ``Run[Database]`` says of which type ``deps`` is."""

    @property
    def call_id(self) -> str: ...

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call, also after a crash."""
        ...

    @property
    def attempt(self) -> int: ...

    @property
    def host(self) -> Host: ...

    @property
    def context(self) -> Mapping[str, Any]:
        """Frozen: what earlier calls said in their context updates."""
        ...

    @property
    def deps(self) -> Deps:
        """The object given as ``Session(deps=…)``: the very one, never copied and never on record."""
        ...

    @property
    def deadline(self) -> float | None:
        """On the host's monotonic clock."""
        ...

    @property
    def cancelled(self) -> bool:
        """True once the call should stop; for tools that run in a thread and look now and then."""
        ...

    @property
    def changes(self) -> ChangeSet | None:
        """For a tool with a preview: the change that was just applied."""
        ...

    @property
    def answers(self) -> tuple[FieldAnswer, ...]:
        """Of a person, to the fields that the tool's trait ``asks`` gives, in their order."""
        ...

    @property
    def lineage(self) -> tuple[str, ...]:
        """Call ids from the root to this call: what a nested executor takes as its own."""
        ...

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        """Tell how far it is. From any thread; never blocks, never raises."""
        ...


class Tool(Protocol):
    """The arguments of a call are on record: a tool must not change them.

    A tool may declare ``facts`` and receive those of a session by ``bind``: see ``core.capabilities``.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def aliases(self) -> Sequence[str]: ...

    @property
    def previews(self) -> bool:
        """True if the tool shows its change first; ``preview`` is only called then."""
        ...

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """Repair and validate what the model wrote. Must not raise."""
        ...

    def traits(self, arguments: Mapping[str, Any]) -> Traits: ...

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet: ...

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        """Do it. Raise ToolFailure to fail in your own words. On cancel, stop soon or finish and return; return only
        when nothing of it goes on any more."""
        ...


class Target(NamedTuple):
    """The tool a name stands for and the arguments it gets, which a toolbox may have unwrapped."""

    tool: Tool
    raw: str | Mapping[str, Any]


@noun
class Unknown:
    """``close`` are names that may have been meant; they may be found only when they are read. ``reason`` is a sentence
    on a tool that is known and cannot be called now, with what to do about it."""

    name: str
    close: Sequence[str] = ()
    reason: str = ""

    @property
    def sentence(self) -> str:
        """For the model: the reason, or else the names that may have been meant."""
        hint = self.reason or (f"Did you mean {', '.join(self.close)}?" if self.close else "")
        return f"There is no tool named {self.name[:80]!r}. {hint}".rstrip()


class ToolSource(Protocol):
    """A source of tools that the model is not told about has ``all_tools()`` too: those that can be called."""

    def tools(self) -> Sequence[Tool]:
        """The tools a model is told about, in a stable order."""
        ...

    def resolve(self, name: str, raw: str | Mapping[str, Any]) -> Target | Unknown:
        """Find the tool by name or alias; may turn the call into one of another tool. Must not raise."""
        ...


def unresolved_path(path: str) -> ResolvedPath:
    """For a case without a host: the path stands for itself, and is not inside anything."""
    return ResolvedPath(path, (path,), path, inside=False)


@noun
class Hooked:
    """The combined answer of the hooks before a call: a Deny ends it; an Ask and an Allow are weighed with the rules
    and the modes; ``arguments`` replace those of the call, ``by`` names who set them; ``context`` is for the model."""

    by: str = "hook"
    decision: Allow | Ask | Deny | None = None
    arguments: Mapping[str, Any] | None = None
    context: tuple[str, ...] = ()


@noun
class Case:
    """A call, for a check to judge. ``recent`` are the hashes of the calls before this one, newest last; ``hooked`` is
    the answer of the hooks, once they were asked."""

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


Verdict = Allow | Ask | Deny | None


@noun
class Check:
    """One rule of the gate. ``judge`` answers None when it does not apply; it may be awaitable. Hooked, the answer of
    hooks, is not the end of it: the checks go on with it, from the first one if it changed the arguments.

    ``again``: judged once more after the arguments were changed by a hook or a person. ``idle``: it answers None unless
    the case has remembered answers or an answer of hooks, so that without these it is not asked.
    """

    name: str
    judge: Callable[[Case], Verdict | Hooked | Awaitable[Verdict | Hooked]]
    again: bool = False
    idle: bool = False


@noun
class Judged:
    """One step of a gate: a check, its answer and the case it was given. ``later``: it answers only when the call is
    made, and was not waited for. ``skipped``: another had decided before."""

    check: str
    answer: Verdict | Hooked
    case: Case
    how: Literal["asked", "later", "skipped"] = "asked"


class Gate(Protocol):
    """Decides about calls. An exception inside is a Deny with the exception as reason."""

    def judge(self, case: Case) -> Decision | Awaitable[Decision]: ...

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        """After a change of the arguments: only the checks that must hold for any arguments."""
        ...

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        """Called before a person is asked; may answer in their place, or None."""
        ...

    def remembered(self, case: Case, /) -> Allow | None:
        """An answer remembered since the case was judged that allows it; never for an unconditional question."""
        ...

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        """The scopes an "always" may have, narrowest first."""
        ...

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        """Post hooks: what the model gets for this result."""
        ...


class EventLog(Protocol):
    """An append-only list of events with one writer. Only the event loop's thread calls it."""

    @property
    def number(self) -> int:
        """The number of the last event on record: 1 for the first, one more with each, also over restarts."""
        ...

    def append(self, event: Durable) -> None:
        """Take the event into the order of the record. Must not block."""
        ...

    def barrier(self) -> Maybe:
        """None when everything appended so far is as durable as it gets; otherwise wait for that. JournalError when it
        cannot be; nothing is lost by that, and to ask again is to try again."""
        ...

    def room(self) -> Maybe:
        """None while the record keeps up; otherwise wait until it does. Fails like ``barrier``."""
        ...

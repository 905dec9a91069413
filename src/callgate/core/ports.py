"""The Protocols that core needs other packages to implement, with contracts in prose.

"Must not raise" means: the implementation turns its own failures into the value it promises. The executor still
survives one that does raise, but the call then ends as an error.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from callgate.core.locks import LockTable
from callgate.words.arguments import Accepted, Rejected
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Confirmation, Decision, Deny, FieldAnswer
from callgate.words.events import Durable, TurnEnded
from callgate.words.messages import Message, Usage
from callgate.words.model import Abilities, ModelEvent, Request, ToolChoice, ToolSpec
from callgate.words.modes import Mode
from callgate.words.noun import noun
from callgate.words.places import Place
from callgate.words.traits import Traits
from callgate.words.turns import Measures

T = TypeVar("T")
if TYPE_CHECKING:  # for the default, which typing has from Python 3.13 on
    from typing_extensions import TypeVar as DefaultTypeVar

    Deps = DefaultTypeVar("Deps", default=Any, covariant=True)
else:
    Deps = TypeVar("Deps", covariant=True)

Maybe = Awaitable[None] | None
"""Nothing to wait for, or something: lets the common case stay free of a trip through the event loop."""


class Model(Protocol):
    """Whatever answers a request with a stream of model events."""

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one message. Failures are raised as ModelError; a stream that ends without MessageEnded counts as
        cut off. The iterator may be closed at any point and must then let go of the connection."""
        ...


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

    def place(self, path: str) -> Place:
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
    """The arguments a tool is given are those on record: it must not change them.

    One that previews may have ``refused(arguments, failure)`` too: the Result for a change that could not be applied.
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


def unplaced(path: str) -> Place:
    """For a case without a host: the path stands for itself, and is not inside anything."""
    return Place(path, (path,), path, inside=False)


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
    place: Callable[[str], Place] = field(default=unplaced)
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
        """An answer remembered since the case was judged that allows it; never for a standing ask."""
        ...

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        """The scopes an "always" may have, narrowest first."""
        ...

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        """Post hooks: what the model gets for this result."""
        ...


@noun
class Reminder:
    """A message for the model that no person wrote. ``about`` is the id of its subject."""

    text: str
    about: str


class Staging(Protocol):
    """Actions that wait to be applied or discarded, as the loop and its turns need them. It folds the events of the
    record into its own state (see Record). None of it may raise."""

    @property
    def unresolved(self) -> bool:
        """True while an action is pending: the run does not end before it is resolved."""
        ...

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        """The reminders to put on record before a model with these abilities is asked, and the tool choice."""
        ...

    def admits(self, name: str, traits: Traits) -> Result | None:
        """None if a call may run now; otherwise its result."""
        ...

    def message_over(self, message_id: str, *, whole: bool) -> None:
        """The message has ended: what its calls push is staged now, or, unless it is whole, never."""
        ...

    async def after_turn(self, ended: TurnEnded) -> None:
        """Called after a turn without an interrupt: discards an action that was asked about too often, and begins
        afresh from a plan where the person who approved it said so."""
        ...


class Suggestions(Protocol):
    """Tells the model of tools that it is not told about with every request. None of it may raise."""

    def before_request(self) -> Sequence[Reminder]:
        """The reminders to put on record before the model is asked, behind all others."""
        ...


class Opening(Protocol):
    """Makes the calls that people's words ask for by themselves, such as the read of a resource that they mention.
    It may not raise."""

    def stand_in(self, said: Sequence[Message], abilities: Abilities) -> Model | None:
        """A model that makes these calls, asked once in place of the session's own, which has these abilities. None if
        there are none to make. ``said`` are the messages of people since the model's last one."""
        ...

    async def before_resume(self, tools: Sequence[str]) -> None:
        """Waits until it is known whether these tools are there, calls of which were left open. May be cancelled."""
        ...


class Compaction(Protocol):
    """Keeps the history within the window of a model: trims results, writes summaries. It works between two turns,
    when no turn is open, and writes boundaries to the record. None of it may raise."""

    async def before_request(self, model: Model) -> str | None:
        """Trims or compacts if the next request would pass the limit. A sentence if it must not be sent at all."""
        ...

    async def too_long(self, model: Model) -> bool:
        """Compacts after the model refused a request as too long. False: nothing could be made shorter."""
        ...


class Meter(Protocol):
    """Measures requests and turns. Called at their moments; none of it may raise or wait."""

    def requested(self, model: Model, request: Request) -> None: ...

    def streaming(self) -> None:
        """The first piece of the answer is there."""
        ...

    def received(self, usage: Usage | None) -> None:
        """The stream is over."""
        ...

    def waiting(self, *, person: bool) -> None:
        """From now on only a person's answer can move the turn on, or it goes on."""
        ...

    def turn_over(self, calls: Iterable[tuple[float, float]]) -> Measures:
        """``calls`` are start and end of each, in wall time."""
        ...


Drafted = tuple[tuple[int, str], ...]
"""Pieces of text of a message, each with the number of calls before it."""


class Journal(Protocol):
    """The append-only record of one session. One writer; only the loop's thread calls it.

    A session masks secrets in what it gives to a journal, unless the journal does so itself: see Masking."""

    @property
    def session(self) -> str:
        """The session's id, the same after every restart; empty for a record that ends with the program."""
        ...

    @property
    def path(self) -> Path | None:
        """The file it is kept in. Artifacts and the history of changes are kept in a folder beside it, which has its
        name without the suffix. None for a record that ends with the program."""
        ...

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

    def read(self) -> Iterable[Durable]:
        """The live events on record, oldest first. Called once, at the beginning."""
        ...

    def draft(self, message_id: str, text: Drafted) -> None:
        """Keep what has streamed so far of a message that will be appended as a whole. Only an attempt: never fails."""
        ...

    def drafted(self, message_id: str) -> Drafted:
        """The last draft of this message that was kept before the program started."""
        ...

    async def live(self) -> Sequence[Durable]:
        """The same as it is now, after all that was appended. A rewind changes what is live."""
        ...

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        """All that was appended after the event of this number, live or not, each with its own number."""
        ...

    async def recall(self, message_id: str) -> Message | None:
        """A message from anywhere on record, also one that is not live."""
        ...

    async def answers(self) -> Sequence[Confirmation]:
        """Answers of other programs to questions that are open now; repeated until they are on record."""
        ...

    def answer_faults(self) -> Sequence[str]:
        """In words, what was found where answers should be and is none; each once."""
        ...

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        """Drop other programs' answers about these calls: they are on record, or cannot be taken."""
        ...

    async def aclose(self) -> None:
        """Nothing is appended any more. JournalError when something could not be written."""
        ...


class Masking(Journal, Protocol):
    """A journal that stores no secrets: it masks them itself, or stores nothing."""

    def clean(self, value: T, /) -> T:
        """The value without secrets, as it would be on record."""
        ...

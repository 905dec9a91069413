"""The interface of features: everything that a feature can add to a session.

A ``Feature`` is a value, made by a function of its package. The session opens each of its features once, which gives a
``FeaturePart``. All members of a part have defaults that do nothing, so a feature overrides the few that it needs. The
contributions of parts are values, which the session merges by fixed rules (``feature_set``), never by the order of a
list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from callgate.words.errors import UsageError
from callgate.words.notices import FeatureRecorded
from callgate.words.noun import nothing, noun

if TYPE_CHECKING:
    from callgate.conversation.allowance import Price
    from callgate.conversation.ledger import Ledger
    from callgate.conversation.ports import Masking, Model
    from callgate.conversation.record import Record
    from callgate.core.ports import Check, Gate, Host, ToolSource
    from callgate.words.calls import Result, ToolCall
    from callgate.words.decisions import AskedField, FieldAnswer
    from callgate.words.events import TurnEnded
    from callgate.words.limits import ExecutorSettings
    from callgate.words.messages import Message
    from callgate.words.messages import Part as MessagePart
    from callgate.words.model import Abilities, RequestLimits, ToolChoice
    from callgate.words.traits import Traits
    from callgate.words.turns import TurnCause

P = TypeVar("P", bound="FeaturePart")

REMINDER_PHASES = ("mode", "resolved", "notice", "pending", "tools")
ReminderPhase = Literal["mode", "resolved", "notice", "pending", "tools"]
"""Reminders are put on record in this order: the permission mode, actions that ended, notices, the action that is
pending, tools that can be searched."""

TOOL_PHASES = ("add", "defer", "stage")
ToolPhase = Literal["add", "defer", "stage"]
"""Toolboxes are wrapped in this order: tools are added, some are deferred, and the outermost wrapper stages."""


@noun
class Reminder:
    """A message of the session to the model. ``about`` is the id of its subject."""

    text: str
    about: str
    phase: ReminderPhase = "notice"


@noun
class InjectedCall:
    """A call that is made before the model is asked, in a message of its own."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=nothing)


MOST_CALLS = 50
"""Calls of a program in one message."""


class GrowingMessage(Protocol):
    """A message of a program that later calls of the same program may join."""

    def join(self, call: InjectedCall, by: str) -> bool:
        """Add a call. Return False if it has to wait for another message."""
        ...


class CallQueue(Protocol):
    """Calls of programs that wait for a message. ``message`` is the one under way."""

    message: GrowingMessage | None

    @property
    def next_by(self) -> str | None:
        """The program that makes the next call; None if no call waits."""
        ...

    def take(self) -> InjectedCalls:
        """Remove the next calls of one program, as many as fit in a message."""
        ...

    def refuse(self, injected: InjectedCalls, why: str) -> None:
        """Settle calls that are not made."""
        ...


@noun
class InjectedCalls:
    """The calls of a message that no model writes.

    by     the program that makes them; empty for mentions
    queue  given for calls of a program: the message grows
    """

    calls: Sequence[InjectedCall]
    by: str = ""
    queue: CallQueue | None = None


Act = Callable[[Any], str | None] | Callable[[Any], Coroutine[Any, Any, str | None]]


@noun
class Handler:
    """Acts on one type of input. ``act`` returns None, or the reason for a refusal.

    when     ``now``: a plain function; ``between``: a coroutine function, refused while a turn is under way;
             ``anytime``: a coroutine function that may run beside a turn
    recover  call ``FeaturePart.recover`` of all parts first
    """

    act: Act
    when: Literal["now", "between", "anytime"] = "now"
    recover: bool = False


class TurnEquipment(Protocol):
    """The collaborators of the next turn of the session."""

    @property
    def model(self) -> Model: ...
    @property
    def toolbox(self) -> ToolSource: ...
    @property
    def gate(self) -> Gate: ...
    @property
    def system(self) -> str: ...
    @property
    def limits(self) -> RequestLimits: ...


class PartQuestions(Protocol):
    """The merged members of all parts that a part may use."""

    @property
    def due_chars(self) -> int: ...
    @property
    def unreported(self) -> tuple[str, ...]: ...
    def compacting(
        self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str
    ) -> Awaitable[str | None]: ...


class PersonCall(Protocol):
    """A call that a person makes beside a turn, through the gate and the locks. Its questions are answered with yes. It
    is not on record and the model does not read it.

    stopped  the reason of an interrupt; empty without one
    """

    stopped: str

    def interrupt(self, because: str) -> None:
        """Cancel the call, also before ``run``."""
        ...

    async def run(self, tools: ToolSource, call: ToolCall, name: str) -> Result:
        """Make the call, and return its result. ``name`` names it among the holders of locks."""
        ...


class SessionPort(Protocol):
    """The session, as its parts use it."""

    @property
    def equipment(self) -> TurnEquipment: ...

    async def ask(
        self, fields: Sequence[AskedField] = (), *, by: str, text: str = "", name: str = "question", id: str = ""
    ) -> tuple[FieldAnswer, ...] | None:
        """Ask the user a question outside of a call, see ``Session.ask``."""
        ...

    def wake(self) -> None:
        """Start a turn if the session is idle and a part has a reason for one (``FeaturePart.wakes``)."""
        ...

    def end_message(self) -> None:
        """Take no more calls into the message of a program: a call of it waits for ``FeaturePart.message_over``."""
        ...

    def person_call(self) -> PersonCall:
        """Return a call of a person, which has not started."""
        ...

    def warn(self, text: str) -> None:
        """Put a note for people on record before the first work of the session."""
        ...


@dataclass(eq=False)
class OpenSession:
    """The session as its parts use it.

    record    the record of the session; its ledger is complete when ``FeaturePart.begin`` is called
    host      the world that tools touch
    journal   where the record is stored
    lineage   the calls around this session, and its id
    settings  how calls run
    price     the function that makes dollars of tokens, if prices are known
    cheap     a cheaper model for requests beside the conversation, if there is one
    label     the type of this agent
    config    the Config of the session, or None; a feature reads its own settings there
    hides     True for the name of a tool, and of its MCP server, if a rule denies every call; None without rules
    features  the merged members of all parts, from ``FeaturePart.begin`` on
    """

    record: Record
    host: Host
    journal: Masking
    _: KW_ONLY
    settings: ExecutorSettings
    lineage: tuple[str, ...] = ()
    price: Price | None = None
    cheap: Model | None = None
    label: str = "agent"
    config: Any = None
    hides: Callable[[str, str], bool] | None = None
    features: PartQuestions = field(init=False)
    _session: SessionPort | None = None
    _parts: dict[str, FeaturePart] = field(default_factory=dict)

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the agents from the root to this session."""
        return self.record.path

    @property
    def now(self) -> Callable[[], float]:
        return self.host.clock.now

    def bind(self, session: SessionPort) -> None:
        """Store the session when it is complete."""
        self._session = session

    @property
    def session(self) -> SessionPort:
        """The session. From ``FeaturePart.begin`` on."""
        assert self._session is not None, "a part used the session before it was complete"
        return self._session

    @property
    def equipment(self) -> TurnEquipment:
        return self.session.equipment

    def store(self, feature: str, kind: str, data: Mapping[str, Any]) -> None:
        """Write a FeatureRecorded, which the part of the feature folds into its state."""
        self.record.write(FeatureRecorded(self.now(), feature, kind, data))

    def add(self, name: str, part: FeaturePart) -> None:
        self._parts[name] = part

    def part(self, name: str, kind: type[P]) -> P | None:
        """Return the part of another feature, or None if this session does not have it. Only features that ``needs``
        names are sure to be open."""
        found = self._parts.get(name)
        return found if isinstance(found, kind) else None

    def needed(self, name: str, kind: type[P]) -> P:
        """Return the part of a feature that ``needs`` names. UsageError if a part of another class replaced it."""
        found = self.part(name, kind)
        if found is None:
            raise UsageError(f"the feature {name!r} is needed here, with a part that is a {kind.__name__}")
        return found


class FeaturePart:
    """A feature in one session. Every default does nothing. No member may raise or block, except where it says so.

    State of a part is a fold of events: ``reset`` clears it, and ``folds`` builds it again after a rewind, a fork or a
    restart.
    """

    folds: Mapping[type, Callable[[Any], None]] = MappingProxyType({})
    """The functions that fold durable events into the state of the part, by the class of the event."""
    inputs: Mapping[type, Handler] = MappingProxyType({})
    """The handlers of inputs, by class: a class of ``words.inputs``, or a frozen dataclass of the feature. UsageError
    at start if two parts have one class."""
    checks: Sequence[Check] = ()
    """Further checks of the gate. A Deny denies, an Ask asks; an Allow does not override a rule."""
    context: Mapping[str, Any] = MappingProxyType({})
    """The first ``run.context`` of the session. UsageError at start if another part sets the same key."""
    phase: ToolPhase = "add"
    """When ``toolbox`` is called."""
    instructions: str = ""
    """A text for the end of the system prompt. It should be the same whenever the session is opened: another text costs
    the provider's cache."""

    # ---- tools and state ----------------------------------------------------------------------------------------

    def toolbox(self, inner: ToolSource) -> ToolSource:
        """Wrap the tools of the session."""
        return inner

    def reset(self) -> None:
        """Clear the state, before all live events are folded again."""

    def folded(self, ledger: Ledger) -> None:
        """Called after all live events were folded, at the start or after a move in the tree of messages."""

    # ---- start, prompt, end -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Called when the session is complete. There may be no event loop yet."""

    async def recover(self) -> None:
        """Called before any work: make files and other external state consistent with the log."""

    async def starting(self, *, resumed: bool) -> str | None:
        """Called before the first work of this program. Return the reason if the session must not start."""
        return None

    async def prompted(self, parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...] | str:
        """Return the parts of a prompt, with additions, or the reason for a refusal."""
        return parts

    async def calling(self, by: str) -> str | None:
        """Called before a message of calls that a program makes. Return the reason if they must not be made."""
        return None

    async def close(self, *, discard: bool) -> None:
        """Called when the session closes, after the last turn. ``discard``: discard pending actions."""

    # ---- around a turn ------------------------------------------------------------------------------------------

    def calls_before(self, said: Sequence[Message]) -> Sequence[InjectedCall]:
        """Return calls to make before the next request. ``said``: the prompts since the last answer."""
        return ()

    async def before_resume(self, tools: Sequence[str]) -> None:
        """Wait until open calls of these tools can be judged. May be cancelled."""

    async def make_room(self, model: Model) -> str | None:
        """Shorten the history if the next request would be too long. Return the reason if it cannot be sent."""
        return None

    async def too_long(self, model: Model) -> bool:
        """Shorten the history after the model refused a request as too long. False if nothing was shortened."""
        return False

    def before_request(self, abilities: Abilities) -> Iterable[Reminder | ToolChoice]:
        """Return reminders for a model with these abilities, and a tool choice if the feature owns this field."""
        return ()

    def admits(self, name: str, traits: Traits) -> Result | None:
        """Return None if a call of this tool may run now, otherwise its result."""
        return None

    def message_over(self, message_id: str, *, whole: bool) -> None:
        """Called when a message of the model has ended. ``whole`` is false if it was cut off."""

    def file_outcome(self, change: str) -> str:
        """Return a sentence for the model about a change of files that a crash interrupted."""
        return ""

    async def after_turn(self, ended: TurnEnded) -> None:
        """Called after a turn that was not interrupted."""

    def holds_open(self) -> TurnCause | None:
        """Return the cause of another turn if the run must not end yet."""
        return None

    async def ending(self, *, again: bool) -> str | None:
        """Return a text for the model if the run must not end yet. ``again``: this happened before in this run."""
        return None

    async def compacting(self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str) -> str | None:
        """Called before and after a compaction. Return the reason if it must not happen."""
        return None

    @property
    def wakes(self) -> Sequence[str]:
        """Ids of reasons for a turn in an idle session. Each of them starts at most one turn in one program."""
        return ()

    # ---- facts --------------------------------------------------------------------------------------------------

    @property
    def unreported(self) -> tuple[str, ...]:
        """The ids of facts that are to be reported to the model after a compaction; stored with its boundary."""
        return ()

    @property
    def due_chars(self) -> int:
        """The length of the reminders of the next request."""
        return 0

    @property
    def seconds(self) -> float:
        """The seconds of work so far, counted as hooks in the measures of a turn."""
        return 0.0

    async def moving(self) -> None:
        """Called before the conversation moves to another message."""

    def interrupt(self, because: str) -> bool:
        """Stop the current work of this part. Return False if there is none."""
        return False


@noun
class Feature:
    """A capability of sessions, such as staging or tool search. ``Session(features=[...])`` takes any number.

    name   unique; of two features with one name the later one replaces the earlier
    open   makes the part of one session
    needs  names of features that have to be there; they are opened first
    owns   fields of a request that this feature alone sets, such as ``tool_choice``
    """

    name: str
    open: Callable[[OpenSession], FeaturePart]
    needs: frozenset[str] = frozenset()
    owns: frozenset[str] = frozenset()


def in_order(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Sort features so that each follows the ones it needs. UsageError for a missing feature, a cycle, or two owners of
    one field."""
    by_name = {each.name: each for each in features}
    owners: dict[str, str] = {}
    for each in by_name.values():
        for name in each.owns:
            other = owners.setdefault(name, each.name)
            if other != each.name:
                raise UsageError(f"the features {other!r} and {each.name!r} both set {name}: leave one of them out")
        missing = sorted(each.needs - by_name.keys())
        if missing:
            raise UsageError(f"the feature {each.name!r} needs {', '.join(missing)}: add it to features=[…]")
    ordered: dict[str, Feature] = {}
    while len(ordered) < len(by_name):
        ready = [each for each in by_name.values() if each.name not in ordered and each.needs <= ordered.keys()]
        if not ready:
            raise UsageError(f"features need each other: {', '.join(sorted(by_name.keys() - ordered.keys()))}")
        ordered |= {each.name: each for each in ready}
    return tuple(ordered.values())


class _ContextPart(FeaturePart):
    def __init__(self, context: Mapping[str, Any]) -> None:
        self.context = context


def context_feature(context: Mapping[str, Any]) -> Feature:
    """Return the feature that sets the first ``run.context`` of a session: JSON data that tools read, and change by the
    ``context_update`` of a Result. Only changes are on record: pass it again when the session is opened again."""
    if not isinstance(context, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"context_feature takes a mapping, not {context!r:.80}")
    return Feature("context", lambda opened: _ContextPart(context))

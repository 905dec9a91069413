"""The interface of features: everything that a feature can add to a session.

A ``Feature`` is a value; a function of the feature's package creates the value. The session opens each of its
features once and gets a ``FeaturePart``. Every member of a part has a default that does nothing, so a feature only
overrides the members that it needs. The session merges the values that the parts return. The rules for this are
fixed (``feature_set``) and independent of the order of the features.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from callgate.words.errors import UsageError
from callgate.words.noun import nothing, noun
from callgate.words.turns import FeatureRecorded

if TYPE_CHECKING:
    from callgate.conversation.allowance import Price
    from callgate.conversation.ledger import Ledger
    from callgate.conversation.ports import Masking, Model
    from callgate.conversation.record import Record
    from callgate.core.ports import Check, Gate, Host, ToolSource
    from callgate.words.calls import Result
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
"""Reminders are recorded in this order: the permission mode, ended actions, notices, the pending action, deferred
tools."""

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
    """A call that is made before the next request, in a message of its own."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=nothing)


Act = Callable[[Any], str | None] | Callable[[Any], Coroutine[Any, Any, str | None]]


@noun
class Handler:
    """A handler for one type of input. ``act`` returns None, or the reason if the input is refused.

    when     ``now``: a plain function; ``between``: a coroutine function, refused during a turn; ``anytime``: a
             coroutine function that may run during a turn
    recover  True to call ``FeaturePart.recover`` of all parts first
    """

    act: Act
    when: Literal["now", "between", "anytime"] = "now"
    recover: bool = False


class TurnEquipment(Protocol):
    """The objects that the next turn of the session uses."""

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
    """The merged members of all parts that a single part may use."""

    @property
    def due_chars(self) -> int: ...
    @property
    def unreported(self) -> tuple[str, ...]: ...
    def compacting(
        self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str
    ) -> Awaitable[str | None]: ...


class SessionPort(Protocol):
    """The operations of a session that its parts may use."""

    @property
    def equipment(self) -> TurnEquipment: ...

    async def ask(
        self, fields: Sequence[AskedField] = (), *, by: str, text: str = "", name: str = "question", id: str = ""
    ) -> tuple[FieldAnswer, ...] | None:
        """Ask the user a question outside of a call, see ``Session.ask``."""
        ...

    def wake(self) -> None:
        """Start a turn if the session is idle and a part has a reason for a turn (``FeaturePart.wakes``)."""
        ...

    def end_message(self) -> None:
        """Close the message of a program for further calls, because one of its calls waits for
        ``FeaturePart.message_over``."""
        ...

    def warn(self, text: str) -> None:
        """Record a note for the user before the session does any work."""
        ...


@dataclass(eq=False)
class OpenSession:
    """An open session, as a parameter for its parts.

    record    the record of the session; its ledger is complete when ``FeaturePart.begin`` is called
    host      the files, processes and locks that tools use
    journal   the journal in which the record is stored
    lineage   the ids of the calls that contain this session, and the id of the session
    settings  the limits of calls
    price     the function that converts tokens to dollars, if prices are known
    cheap     a cheaper model for requests outside of the conversation, if there is one
    label     the type of this agent
    config    the Config of the session, or None; a feature reads its own settings from it
    hides     returns True if a rule denies every call of a tool name or of its MCP server; None without rules
    features  the merged members of all parts; available when ``FeaturePart.begin`` is called
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
        """Set the session when it is complete."""
        self._session = session

    @property
    def session(self) -> SessionPort:
        """The session; available when ``FeaturePart.begin`` is called."""
        assert self._session is not None, "a part used the session before it was complete"
        return self._session

    @property
    def equipment(self) -> TurnEquipment:
        return self.session.equipment

    def store(self, feature: str, kind: str, data: Mapping[str, Any]) -> None:
        """Write a FeatureRecorded event, from which the part of the feature updates its state."""
        self.record.write(FeatureRecorded(self.now(), feature, kind, data))

    def add(self, name: str, part: FeaturePart) -> None:
        self._parts[name] = part

    def part(self, name: str, kind: type[P]) -> P | None:
        """Return the part of another feature, or None if this session does not have the feature.

        A part that is opened later is not available yet, except for the features in ``needs``, which are opened
        first.
        """
        found = self._parts.get(name)
        return found if isinstance(found, kind) else None

    def needed(self, name: str, kind: type[P]) -> P:
        """Return the part of a feature in ``needs``. Raise UsageError if a part of another class replaced it."""
        found = self.part(name, kind)
        if found is None:
            raise UsageError(f"a required feature is missing: {name!r}, with a part of class {kind.__name__}")
        return found


class FeaturePart:
    """A feature in one session. The defaults do nothing. No member may raise or block, unless its description says so.

    The state of a part is computed from events: ``reset`` clears the state, and ``folds`` builds it again after a
    rewind, a fork or a restart.
    """

    folds: Mapping[type, Callable[[Any], None]] = MappingProxyType({})
    """The functions that update the state of the part from durable events, by the class of the event."""
    inputs: Mapping[type, Handler] = MappingProxyType({})
    """The handlers of inputs, by class: a class of ``words.inputs``, or a frozen dataclass of the feature. UsageError
    at start if two parts have one class."""
    checks: Sequence[Check] = ()
    """Further checks of the gate. A Deny denies, an Ask asks; an Allow does not override a rule."""
    context: Mapping[str, Any] = MappingProxyType({})
    """The first ``run.context`` of the session. UsageError at start if another part sets the same key."""
    phase: ToolPhase = "add"
    """The phase in which ``toolbox`` is called."""
    instructions: str = ""
    """A text for the end of the system prompt. It should be the same whenever the session is opened: another text costs
    the provider's cache."""

    # ---- tools and state ----------------------------------------------------------------------------------------

    def toolbox(self, inner: ToolSource) -> ToolSource:
        """Return the tools of the session with the tools of this part added, or a wrapper of the tools."""
        return inner

    def reset(self) -> None:
        """Clear the state. Called before all live events are processed again."""

    def folded(self, ledger: Ledger) -> None:
        """Called after all live events were processed, at the start or after a move in the tree of messages."""

    # ---- start, prompt, end -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Called when the session is complete. An event loop may not be running yet."""

    async def recover(self) -> None:
        """Make files and other external state consistent with the log. Called before any work."""

    async def starting(self, *, resumed: bool) -> str | None:
        """Return the reason if the session must not start, otherwise None. Called before the session does any work."""
        return None

    async def prompted(self, parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...] | str:
        """Return the parts of a prompt with the additions of the feature, or the reason if the prompt is refused."""
        return parts

    async def calling(self, by: str) -> str | None:
        """Return the reason if a program must not make calls, otherwise None. Called before a message of its calls."""
        return None

    async def close(self, *, discard: bool) -> None:
        """Called when the session closes, after the last turn. With ``discard``, pending actions have to be
        discarded."""

    # ---- around a turn ------------------------------------------------------------------------------------------

    def calls_before(self, said: Sequence[Message]) -> Sequence[InjectedCall]:
        """Return calls to make before the next request. ``said`` has the prompts that follow the last answer of the
        model."""
        return ()

    async def before_resume(self, tools: Sequence[str]) -> None:
        """Wait until the gate can judge open calls of these tools. The wait may be cancelled."""

    async def make_room(self, model: Model) -> str | None:
        """Shorten the history if the next request would be too long. Return the reason if the request cannot be
        sent."""
        return None

    async def too_long(self, model: Model) -> bool:
        """Shorten the history after the model refused a request as too long. Return False if nothing was shortened."""
        return False

    def before_request(self, abilities: Abilities) -> Iterable[Reminder | ToolChoice]:
        """Return reminders for a model with these abilities, and a tool choice if the feature owns this field."""
        return ()

    def admits(self, name: str, traits: Traits) -> Result | None:
        """Return None if a call of this tool may run now, otherwise the result of the refused call."""
        return None

    def message_over(self, message_id: str, *, whole: bool) -> None:
        """Called when a message of the model has ended. ``whole`` is False if the message is incomplete."""

    def file_outcome(self, change: str) -> str:
        """Return a sentence for the model about a change of files that a crash interrupted."""
        return ""

    async def after_turn(self, ended: TurnEnded) -> None:
        """Called after a turn that was not interrupted."""

    def holds_open(self) -> TurnCause | None:
        """Return the cause of another turn if the run must not end yet, otherwise None."""
        return None

    async def ending(self, *, again: bool) -> str | None:
        """Return a text for the model if the run must not end yet, otherwise None.

        again  True if the end of this run was already delayed
        """
        return None

    async def compacting(self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str) -> str | None:
        """Called before and after a compaction. Return the reason if the compaction must not happen, otherwise None."""
        return None

    @property
    def wakes(self) -> Sequence[str]:
        """The ids of reasons to start a turn in an idle session. Each id starts at most one turn per process."""
        return ()

    # ---- facts --------------------------------------------------------------------------------------------------

    @property
    def unreported(self) -> tuple[str, ...]:
        """The ids of events to report to the model after a compaction. They are stored with the boundary of the
        compaction."""
        return ()

    @property
    def due_chars(self) -> int:
        """The length of the reminders in the next request."""
        return 0

    @property
    def seconds(self) -> float:
        """The total working time of this part in seconds. A turn reports this time as the time of hooks."""
        return 0.0

    async def moving(self) -> None:
        """Called before the conversation moves to another message."""

    def interrupt(self, because: str) -> bool:
        """Stop the current work of this part. Return False if the part is not working."""
        return False


@noun
class Feature:
    """A capability of sessions, such as staging or tool search. ``Session(features=[...])`` takes any number.

    name   unique; of two features with the same name the later one replaces the earlier one
    open   creates the part of one session
    needs  names of required features; they are opened first
    owns   fields of a request that only this feature sets, such as ``tool_choice``
    """

    name: str
    open: Callable[[OpenSession], FeaturePart]
    needs: frozenset[str] = frozenset()
    owns: frozenset[str] = frozenset()


def in_order(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Sort features so that each follows the features that it needs.

    Raise UsageError for a missing feature, a cycle, or two owners of the same field.
    """
    by_name = {each.name: each for each in features}
    owners: dict[str, str] = {}
    for each in by_name.values():
        for name in each.owns:
            other = owners.setdefault(name, each.name)
            if other != each.name:
                raise UsageError(f"the features {other!r} and {each.name!r} both set {name}: remove one of them")
        missing = sorted(each.needs - by_name.keys())
        if missing:
            raise UsageError(f"the feature {each.name!r} needs {', '.join(missing)}: add it to features=[…]")
    ordered: dict[str, Feature] = {}
    while len(ordered) < len(by_name):
        ready = [each for each in by_name.values() if each.name not in ordered and each.needs <= ordered.keys()]
        if not ready:
            raise UsageError(
                f"features need each other in a cycle: {', '.join(sorted(by_name.keys() - ordered.keys()))}"
            )
        ordered |= {each.name: each for each in ready}
    return tuple(ordered.values())


class _ContextPart(FeaturePart):
    def __init__(self, context: Mapping[str, Any]) -> None:
        self.context = context


def context_feature(context: Mapping[str, Any]) -> Feature:
    """Return the feature that sets the first ``run.context`` of a session.

    The context is JSON data, which tools read, and change by the ``context_update`` of a Result. Only the changes
    are recorded: pass the same context when the session is opened again.
    """
    if not isinstance(context, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"context_feature requires a mapping, not {context!r:.80}")
    return Feature("context", lambda opened: _ContextPart(context))

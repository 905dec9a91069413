"""All parts of a session as one object. The class ``FeatureSet`` is a table: each row defines how the values that
the parts return for one member are merged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from random import random
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from callgate.conversation.allowance import Allowance, Price
from callgate.conversation.feature import (
    REMINDER_PHASES,
    TOOL_PHASES,
    Feature,
    FeaturePart,
    Handler,
    InjectedCall,
    OpenSession,
    Reminder,
    in_order,
)
from callgate.conversation.meter import SessionMeter
from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.core.ports import Gate, Host, ToolSource
from callgate.words.errors import UsageError
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Spent
from callgate.words.model import CacheHints, RequestLimits, RequestOptions, ToolChoice
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.core.ports import Check, ToolSource
    from callgate.words.calls import Result
    from callgate.words.events import Durable, Event
    from callgate.words.messages import Message
    from callgate.words.messages import Part as MessagePart
    from callgate.words.model import Abilities
    from callgate.words.traits import Traits

K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


# ---- how contributions are merged --------------------------------------------------------------------------------


def _any(member: Callable[Concatenate[FeaturePart, P], T]) -> Callable[Concatenate[FeatureSet, P], bool]:
    """Return a method that calls all parts and returns True if any part returns a true value."""

    def merged(parts: FeatureSet, *args: P.args, **options: P.kwargs) -> bool:
        results = [getattr(part, member.__name__)(*args, **options) for part in parts.overriding(member.__name__)]
        return any(results)

    return merged


def _any_async(
    member: Callable[Concatenate[FeaturePart, P], Awaitable[T]],
) -> Callable[Concatenate[FeatureSet, P], Coroutine[Any, Any, bool]]:
    """Return a coroutine method that calls the parts in order and returns True if any part returns a true value."""

    async def merged(parts: FeatureSet, *args: P.args, **options: P.kwargs) -> bool:
        name = member.__name__
        results = [await getattr(part, name)(*args, **options) for part in parts.overriding(name)]
        return any(results)

    return merged


def _first(member: Callable[Concatenate[FeaturePart, P], T | None]) -> Callable[Concatenate[FeatureSet, P], T | None]:
    """Return a method that calls the parts in order and returns the first result that is not None."""

    def merged(parts: FeatureSet, *args: P.args, **options: P.kwargs) -> T | None:
        results = (getattr(part, member.__name__)(*args, **options) for part in parts.overriding(member.__name__))
        return next((result for result in results if result is not None), None)

    return merged


def _first_async(
    member: Callable[Concatenate[FeaturePart, P], Awaitable[T | None]],
) -> Callable[Concatenate[FeatureSet, P], Coroutine[Any, Any, T | None]]:
    """Return a coroutine method that calls the parts in order and returns the first result that is not None."""

    async def merged(parts: FeatureSet, *args: P.args, **options: P.kwargs) -> T | None:
        for part in parts.overriding(member.__name__):
            result = await getattr(part, member.__name__)(*args, **options)
            if result is not None:
                return result
        return None

    return merged


class FeatureSet:
    """All parts of a session, by the names of their features. For each member, only parts that override it are called.

    choosers  the features that own the tool choice; None: any feature may set it
    """

    def __init__(self, parts: Mapping[str, FeaturePart] | None = None, choosers: frozenset[str] | None = None) -> None:
        self.parts: Mapping[str, FeaturePart] = dict(parts or {})
        self._opened = tuple(self.parts.values())
        self._choosers = None if choosers is None else {id(self.parts[name]) for name in choosers}
        self._by_member: dict[str, tuple[FeaturePart, ...]] = {}
        self.folds = _merged_folds(self._opened)
        self.inputs: Mapping[type, Handler] = self._merged("inputs", lambda part: part.inputs)
        self.context: Mapping[str, Any] = self._merged("context", lambda part: part.context)
        self.checks: tuple[Check, ...] = tuple(check for part in self._opened for check in part.checks)
        is_asked = bool(self.overriding("admits"))
        self.admits: Callable[[str, Traits], Result | None] | None = self._admits if is_asked else None
        self.shortens = bool(self.overriding("too_long"))
        self.prepares = bool(self.overriding("make_room"))

    @classmethod
    def open(cls, features: Iterable[Feature], opened: OpenSession) -> FeatureSet:
        """Open the features. Each feature is opened after the features that it needs."""
        parts, choosers = dict[str, FeaturePart](), set[str]()
        for each in in_order(features):
            part = parts[each.name] = each.open(opened)
            opened.add(each.name, part)
            choosers |= {each.name} if "tool_choice" in each.owns else set()
        opened.features = found = cls(parts, frozenset(choosers))
        return found

    def overriding(self, member: str) -> tuple[FeaturePart, ...]:
        found = self._by_member.get(member)
        if found is None:
            default = getattr(FeaturePart, member)
            found = tuple(
                part for part in self._opened if member in vars(part) or getattr(type(part), member) is not default
            )
            self._by_member[member] = found
        return found

    def _merged(self, what: str, of: Callable[[FeaturePart], Mapping[K, V]]) -> dict[K, V]:
        found: dict[K, V] = {}
        owners: dict[K, str] = {}
        for name, part in self.parts.items():
            for key, value in of(part).items():
                if key in found:
                    shown = key.__name__ if isinstance(key, type) else repr(key)
                    raise UsageError(f"the features {owners[key]!r} and {name!r} both define {shown} in their {what}")
                found[key], owners[key] = value, name
        return found

    # ---- one row for each member ------------------------------------------------------------------------------------

    reset = _any(FeaturePart.reset)
    folded = _any(FeaturePart.folded)
    begin = _any(FeaturePart.begin)
    message_over = _any(FeaturePart.message_over)
    recover = _any_async(FeaturePart.recover)
    before_resume = _any_async(FeaturePart.before_resume)
    after_turn = _any_async(FeaturePart.after_turn)
    moving = _any_async(FeaturePart.moving)
    holds_open = _first(FeaturePart.holds_open)
    _admits = _first(FeaturePart.admits)
    starting = _first_async(FeaturePart.starting)
    calling = _first_async(FeaturePart.calling)
    make_room = _first_async(FeaturePart.make_room)
    ending = _first_async(FeaturePart.ending)
    compacting = _first_async(FeaturePart.compacting)
    interrupt = _any(FeaturePart.interrupt)
    too_long = _any_async(FeaturePart.too_long)

    # ---- members with a rule of their own ---------------------------------------------------------------------------

    def toolbox(self, inner: ToolSource) -> ToolSource:
        """Return the tools with the wrappers of all parts, in the order of the phases."""
        for part in sorted(self.overriding("toolbox"), key=lambda part: TOOL_PHASES.index(part.phase)):
            inner = part.toolbox(inner)
        return inner

    def follow(self, events: Iterable[Durable]) -> Iterator[Durable]:
        """Reset all parts, then update their state by each event before the event is yielded to the ledger."""
        self.reset()
        folds = self.folds
        for event in events:
            fold = folds.get(event.__class__)
            if fold is not None:
                fold(event)
            yield event

    def system(self, text: str) -> str:
        """Return the system prompt with the instructions of all parts."""
        return "\n\n".join(filter(None, (text, *(part.instructions for part in self.overriding("instructions")))))

    async def prompted(self, parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...] | str:
        """Return a message of the user with the additions of all parts, or the first refusal."""
        for part in self.overriding("prompted"):
            found = await part.prompted(parts)
            if isinstance(found, str):
                return found
            parts = found
        return parts

    async def close(self, *, discard: bool) -> None:
        """Close all parts in the reverse order of opening."""
        for part in reversed(self.overriding("close")):
            await part.close(discard=discard)

    def calls_before(self, said: Sequence[Message]) -> tuple[InjectedCall, ...]:
        return tuple(call for part in self.overriding("calls_before") for call in part.calls_before(said))

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        """Return the reminders in the order of their phases, and the tool choice."""
        due, wanted = list[Reminder](), ToolChoice()
        for part in self.overriding("before_request"):
            for each in part.before_request(abilities):
                if isinstance(each, Reminder):
                    due.append(each)
                elif self._choosers is None or id(part) in self._choosers:
                    wanted = each
                else:
                    raise UsageError(
                        f"{type(part).__name__} sets the tool choice, but its feature does not list tool_choice in owns"
                    )
        due.sort(key=lambda each: REMINDER_PHASES.index(each.phase))
        return due, wanted

    def file_outcome(self, change: str) -> str:
        return next(filter(None, (part.file_outcome(change) for part in self.overriding("file_outcome"))), "")

    @property
    def wakes(self) -> tuple[str, ...]:
        return tuple(each for part in self.overriding("wakes") for each in part.wakes)

    @property
    def unreported(self) -> tuple[str, ...]:
        return tuple(each for part in self.overriding("unreported") for each in part.unreported)

    @property
    def due_chars(self) -> int:
        return sum(part.due_chars for part in self.overriding("due_chars"))

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.overriding("seconds"))


def _merged_folds(parts: Sequence[FeaturePart]) -> dict[type, Callable[[Event], None]]:
    by_class: dict[type, list[Callable[[Any], None]]] = {}
    for part in parts:
        for cls, fold in part.folds.items():
            by_class.setdefault(cls, []).append(fold)
    return {cls: folds[0] if len(folds) == 1 else partial(_fold_all, tuple(folds)) for cls, folds in by_class.items()}


def _fold_all(folds: tuple[Callable[[Any], None], ...], event: Event) -> None:
    for fold in folds:
        fold(event)


# ---- what a turn uses ------------------------------------------------------------------------------------------------


@noun
class Equipment:
    """The objects and settings that a turn uses. The session replaces them when the model or the effort changes."""

    model: Model
    toolbox: ToolSource
    gate: Gate
    host: Host
    record: Record
    features: FeatureSet = field(default_factory=FeatureSet)
    fallback: Model | None = None
    """The model for the rest of a run after too many overloads."""
    system: str = ""
    settings: ExecutorSettings = field(default_factory=ExecutorSettings)
    limits: RequestLimits = field(default_factory=RequestLimits)
    cache: CacheHints = field(default_factory=CacheHints)
    options: RequestOptions = field(default_factory=RequestOptions)
    output: Mapping[str, Any] | None = None
    """A JSON Schema for the text of every answer; options of a prompt override it."""
    session: str = ""
    """The id of the session, which is the cache key for the provider."""
    noted: set[str] = field(default_factory=set[str])
    """The recorded notes of models. Each note is only recorded once."""
    lineage: tuple[str, ...] = ()
    deps: Any = None
    """The object that tools get as ``run.deps``."""
    path: tuple[str, ...] = ()
    """Names of agents from the root to this session, for questions."""
    rerun_safe: bool = True
    """Repeat calls after a crash if they had started and are declared safe to repeat."""
    resumable: bool = False
    """True if the record is durable, so that unfinished calls can be left open in it when the program ends."""
    price: Price | None = None
    meter: SessionMeter | None = None
    unsettled: Callable[[], Iterable[Spent]] = lambda: ()
    """Returns the costs of messages in open turns, of this session and of nested sessions."""
    outer: Callable[[], Allowance | None] = lambda: None
    """Returns the allowance of the parent session, or None."""
    chance: Callable[[], float] = random
    """Returns random numbers from 0 to 1, for the delays of retries."""

"""The parts of a session as one: their contributions are merged here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

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
from callgate.words.errors import UsageError
from callgate.words.model import ToolChoice

if TYPE_CHECKING:
    from callgate.conversation.ledger import Ledger
    from callgate.conversation.ports import Model
    from callgate.core.ports import Check, ToolSource
    from callgate.words.calls import Result
    from callgate.words.events import Durable, Event, TurnEnded
    from callgate.words.messages import Message
    from callgate.words.messages import Part as MessagePart
    from callgate.words.model import Abilities
    from callgate.words.traits import Traits
    from callgate.words.turns import TurnCause

K = TypeVar("K")
V = TypeVar("V")


class FeatureSet:
    """All parts of a session, by the names of their features. Only parts that override a member are asked for it.
    ``choosers`` are the features that own the tool choice; None: any of them may set it."""

    def __init__(self, parts: Mapping[str, FeaturePart] | None = None, choosers: frozenset[str] | None = None) -> None:
        self.parts: Mapping[str, FeaturePart] = dict(parts or {})
        self._opened = tuple(self.parts.values())
        self._choosers = None if choosers is None else {id(self.parts[name]) for name in choosers}
        self._by_member: dict[str, tuple[FeaturePart, ...]] = {}
        self.folds = _merged_folds(self._opened)
        self.inputs: Mapping[type, Handler] = self._merged("inputs", lambda part: part.inputs)
        self.context: Mapping[str, Any] = self._merged("context", lambda part: part.context)
        self.checks: tuple[Check, ...] = tuple(check for part in self._opened for check in part.checks)
        self.admits: Callable[[str, Traits], Result | None] | None = self._admits if self._with("admits") else None
        self.shortens = bool(self._with("too_long"))

    @classmethod
    def open(cls, features: Iterable[Feature], opened: OpenSession) -> FeatureSet:
        """Open every feature behind the ones it needs."""
        parts, choosers = dict[str, FeaturePart](), set[str]()
        for each in in_order(features):
            part = parts[each.name] = each.open(opened)
            opened.add(each.name, part)
            choosers |= {each.name} if "tool_choice" in each.owns else set()
        opened.features = found = cls(parts, frozenset(choosers))
        return found

    def _with(self, member: str) -> tuple[FeaturePart, ...]:
        """The parts that override this member."""
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
                    raise UsageError(f"the features {owners[key]!r} and {name!r} both have {shown} in their {what}")
                found[key], owners[key] = value, name
        return found

    # ---- tools and state ----------------------------------------------------------------------------------------

    def toolbox(self, inner: ToolSource) -> ToolSource:
        for part in sorted(self._with("toolbox"), key=lambda part: TOOL_PHASES.index(part.phase)):
            inner = part.toolbox(inner)
        return inner

    def follow(self, events: Iterable[Durable]) -> Iterator[Durable]:
        """Reset all parts, then fold each event on its way to the ledger."""
        for part in self._with("reset"):
            part.reset()
        folds = self.folds
        for event in events:
            fold = folds.get(event.__class__)
            if fold is not None:
                fold(event)
            yield event

    def folded(self, ledger: Ledger) -> None:
        for part in self._with("folded"):
            part.folded(ledger)

    # ---- start, prompt, end -------------------------------------------------------------------------------------

    def begin(self) -> None:
        for part in self._with("begin"):
            part.begin()

    async def recover(self) -> None:
        for part in self._with("recover"):
            await part.recover()

    async def starting(self, *, resumed: bool) -> str | None:
        for part in self._with("starting"):
            refusal = await part.starting(resumed=resumed)
            if refusal is not None:
                return refusal
        return None

    async def prompted(self, parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...] | str:
        for part in self._with("prompted"):
            found = await part.prompted(parts)
            if isinstance(found, str):
                return found
            parts = found
        return parts

    async def close(self, *, discard: bool) -> None:
        """Close all parts, the one that was opened last first."""
        for part in reversed(self._with("close")):
            await part.close(discard=discard)

    # ---- around a turn ------------------------------------------------------------------------------------------

    def calls_before(self, said: Sequence[Message]) -> tuple[InjectedCall, ...]:
        return tuple(call for part in self._with("calls_before") for call in part.calls_before(said))

    async def before_resume(self, tools: Sequence[str]) -> None:
        for part in self._with("before_resume"):
            await part.before_resume(tools)

    @property
    def prepares(self) -> bool:
        """True if work may have to be done before a request."""
        return bool(self._with("make_room"))

    async def make_room(self, model: Model) -> str | None:
        for part in self._with("make_room"):
            refusal = await part.make_room(model)
            if refusal is not None:
                return refusal
        return None

    async def too_long(self, model: Model) -> bool:
        shorter = False
        for part in self._with("too_long"):
            shorter = await part.too_long(model) or shorter
        return shorter

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        """The reminders in the order of their phases, and the tool choice."""
        due, wanted = list[Reminder](), ToolChoice()
        for part in self._with("before_request"):
            for each in part.before_request(abilities):
                if isinstance(each, Reminder):
                    due.append(each)
                elif self._choosers is None or id(part) in self._choosers:
                    wanted = each
                else:
                    raise UsageError(f"{type(part).__name__} sets the tool choice: its feature has to own tool_choice")
        due.sort(key=lambda each: REMINDER_PHASES.index(each.phase))
        return due, wanted

    def _admits(self, name: str, traits: Traits) -> Result | None:
        for part in self._with("admits"):
            result = part.admits(name, traits)
            if result is not None:
                return result
        return None

    def message_over(self, message_id: str, *, whole: bool) -> None:
        for part in self._with("message_over"):
            part.message_over(message_id, whole=whole)

    def file_outcome(self, change: str) -> str:
        return next(filter(None, (part.file_outcome(change) for part in self._with("file_outcome"))), "")

    async def after_turn(self, ended: TurnEnded) -> None:
        for part in self._with("after_turn"):
            await part.after_turn(ended)

    def holds_open(self) -> TurnCause | None:
        return next((why for part in self._with("holds_open") if (why := part.holds_open()) is not None), None)

    async def ending(self, *, again: bool) -> str | None:
        for part in self._with("ending"):
            text = await part.ending(again=again)
            if text is not None:
                return text
        return None

    async def compacting(self, event: Literal["PreCompact", "PostCompact"], text: str, trigger: str) -> str | None:
        for part in self._with("compacting"):
            refusal = await part.compacting(event, text, trigger)
            if refusal is not None:
                return refusal
        return None

    # ---- facts --------------------------------------------------------------------------------------------------

    @property
    def wakes(self) -> tuple[str, ...]:
        return tuple(each for part in self._with("wakes") for each in part.wakes)

    @property
    def unreported(self) -> tuple[str, ...]:
        return tuple(each for part in self._with("unreported") for each in part.unreported)

    @property
    def due_chars(self) -> int:
        return sum(part.due_chars for part in self._with("due_chars"))

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self._with("seconds"))

    async def moving(self) -> None:
        for part in self._with("moving"):
            await part.moving()

    def interrupt(self, because: str) -> bool:
        """True if a part stopped something."""
        stopped = [part.interrupt(because) for part in self._with("interrupt")]  # all of them, not only the first
        return any(stopped)


def _merged_folds(parts: Sequence[FeaturePart]) -> dict[type, Callable[[Event], None]]:
    by_class: dict[type, list[Callable[[Any], None]]] = {}
    for part in parts:
        for cls, fold in part.folds.items():
            by_class.setdefault(cls, []).append(fold)
    return {cls: folds[0] if len(folds) == 1 else partial(_fold_all, tuple(folds)) for cls, folds in by_class.items()}


def _fold_all(folds: tuple[Callable[[Any], None], ...], event: Event) -> None:
    for fold in folds:
        fold(event)

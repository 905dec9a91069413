"""Standing handlers: they take a ``resolve`` while nothing is pending. Plan approval is one of them."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, cast

from callgate.conversation.record import Record
from callgate.core.ports import Host, Run
from callgate.staging.resolve import NOTHING, CallbackResolution
from callgate.tools.builtin.plan import EXIT, Planning, approved
from callgate.tools.session_state import carried_over
from callgate.tools.staging import Callback, Callbacks, checked_callbacks
from callgate.words.arguments import Accepted, Rejected
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.events import Compacted, ModeSet
from callgate.words.modes import PLANNING, Mode
from callgate.words.noun import noun
from callgate.words.pending import Ended, ResolveAction, Staged
from callgate.words.plain import plain_json
from callgate.words.traits import Traits, shared

PREFIX = "standing:"


@noun
class StandingHandler:
    """Handles ``resolve`` while nothing is pending. ``apply`` and ``reject`` are those of a staged action.

    ``traits`` say whose rules judge an apply (``judged_as``), whether a person is asked each time
    (``requires_interaction``), and its effects and locks. ``shows`` turns the call's extra into the one that the
    question shows and ``apply`` gets; its ToolFailure refuses the call. It must give back its own value unchanged: a
    resumed call passes through it again. ``modes`` are those in which it stands; without any it stands in all.
    """

    label: str
    apply: Callback
    reject: Callback | None = None
    traits: Traits = field(default_factory=Traits)
    shows: Callable[[Any], Any] | None = None
    modes: tuple[Mode, ...] = ()

    @property
    def id(self) -> str:
        """The ``id`` of its calls on record, by which a resumed call finds its handler in any mode."""
        return f"{PREFIX}{self.label}"


class Standing:
    """One handler in one session: what CallbackResolution needs to finish it. ``stands``: it may be used now."""

    def __init__(self, handler: StandingHandler, stands: Callable[[StandingHandler], bool]) -> None:
        if not handler.label.strip():
            raise UsageError("a standing handler needs a label that is not blank")
        self.handler = handler
        self._stands = stands
        self._callbacks = checked_callbacks(Callbacks(handler.apply, handler.reject))
        tool = handler.traits.judged_as
        self._staged = Staged(handler.id, handler.label, source=tool, tool=tool)

    @property
    def stands(self) -> bool:
        return self._stands(self.handler)

    def resolution(self, action: ResolveAction) -> CallbackResolution:
        kind = CallbackResolution if action == "discard" else _Applied
        return kind(self, self._staged, "model", action)

    @contextmanager
    def resolving(self, staged: Staged, run: Run) -> Generator[None]:
        """A second attempt is one that a crash cut short: the first may have ended the mode it stands in."""
        if not self.stands and run.attempt == 1:
            raise ToolFailure(NOTHING)
        yield

    def callbacks(self, staged: Staged) -> Callbacks:
        return self._callbacks

    def resolved(self, staged: Staged, ended: Ended, reason: str, by: str) -> None:
        """Nothing was pending, so nothing ends."""

    async def discarded(self, staged: Staged, reason: str, by: str) -> None:
        """Nothing was pending, so nothing ends."""


class _Applied(CallbackResolution):
    _finishing: Standing

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found, shows = super().read(raw), self._finishing.handler.shows
        if isinstance(found, Rejected) or shows is None:
            return found
        try:
            extra = shows(found.arguments.get("extra"))
        except ToolFailure as failure:
            return Rejected((f"$.extra: {failure}",))
        return Accepted({**found.arguments, "extra": extra}, found.repairs)

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        traits = self._finishing.handler.traits
        return replace(traits, requires_interaction=traits.requires_interaction and self._finishing.stands)


class PlanMode:
    """Plan mode of the session with this record."""

    def __init__(self, record: Record, host: Host) -> None:
        self._record = record
        self._host = host
        self._now = host.clock.now
        self._beginning: tuple[int, str] | None = None  # with the turn in which it was asked for

    @property
    def on(self) -> bool:
        return self._record.ledger.mode == PLANNING

    @property
    def mode(self) -> Mode:
        return self._record.ledger.mode

    def enter(self) -> None:
        self._record.write(ModeSet(self._now(), PLANNING))

    def leave(self, mode: Mode | None = None) -> None:
        self._record.write(ModeSet(self._now(), mode or self._record.ledger.mode_before))

    def start_afresh(self, text: str) -> None:
        self._beginning = self._record.ledger.turn, text

    def turn_over(self, untold: tuple[str, ...]) -> None:
        """Puts the fresh start on record that the turn asked for: a boundary like that of a compaction. If the program
        ends before that, the session goes on with all it has."""
        asked, self._beginning = self._beginning, None
        ledger = self._record.ledger
        if asked is None or asked[0] != ledger.turn:  # that turn was interrupted, and others came after it
            return
        beginning = asked[1]
        left = carried_over(ledger.context)
        self._record.write(
            Compacted(
                at=self._now(),
                summary=f"{beginning}\n\n{left}" if left else beginning,
                running=ledger.running,
                context=plain_json(dict(ledger.context)),
                counted=ledger.counted,
                paused=ledger.paused,
                unreported=untold,
                options=ledger.options,
            )
        )

    async def keep(self, name: str, text: str) -> str:
        return await self._host.keep(name, text.encode("utf-8", "replace"))


def plan_approval(planning: Planning) -> StandingHandler:
    """Takes a plan in ``extra.plan`` and asks about it like ExitPlanMode; after a discard plan mode stays on."""

    async def apply(_reason: str, extra: Any) -> Result:
        return await approved(planning, str(extra["plan"]))

    traits = Traits("none", shared, requires_interaction=True, judged_as=EXIT)
    return StandingHandler("the plan", apply, traits=traits, shows=_with_plan, modes=(PLANNING,))


def _with_plan(extra: Any) -> Any:
    plan = cast("dict[str, Any]", extra).get("plan") if isinstance(extra, dict) else None
    if not isinstance(plan, str) or not plan.strip():
        raise ToolFailure(f"in plan mode put the plan in as a text, extra.plan, or call {EXIT}")
    return cast(Any, extra)

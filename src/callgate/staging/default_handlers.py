"""Default handlers. A call of ``resolve`` uses a default handler if no action is pending, for example to approve a
plan."""

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
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.events import ModeSet
from callgate.words.modes import PLANNING, Mode
from callgate.words.noun import noun
from callgate.words.pending import Ended, ResolveAction, Staged
from callgate.words.plain import plain_json
from callgate.words.traits import Traits, shared
from callgate.words.turns import Compacted

PREFIX = "standing:"


@noun
class DefaultHandler:
    """A handler for calls of ``resolve`` if no action is pending.

    apply, reject  the callbacks, as for a staged action
    traits         effects and locks of an apply; ``judged_as`` names the tool whose rules are used, with
                   ``requires_interaction`` the user is asked each time
    shows          converts the ``extra`` argument of the call into a value; the question shows the value and ``apply``
                   receives it. The conversion must be idempotent, because a resumed call repeats the conversion. If the
                   conversion raises ToolFailure, the call is refused
    modes          the permission modes in which the handler is active; empty for all modes
    """

    label: str
    apply: Callback
    reject: Callback | None = None
    traits: Traits = field(default_factory=Traits)
    shows: Callable[[Any], Any] | None = None
    modes: tuple[Mode, ...] = ()

    @property
    def id(self) -> str:
        """The ``id`` argument of recorded calls of the handler. A resumed call finds its handler by this id in any
        mode."""
        return f"{PREFIX}{self.label}"


class SessionHandler:
    """A default handler in one session. It is the Finisher of its calls."""

    def __init__(self, handler: DefaultHandler, is_active: Callable[[DefaultHandler], bool]) -> None:
        if not handler.label.strip():
            raise UsageError("a default handler needs a label that is not blank")
        self.handler = handler
        self._is_active = is_active
        self._callbacks = checked_callbacks(Callbacks(handler.apply, handler.reject))
        tool = handler.traits.judged_as
        self._staged = Staged(handler.id, handler.label, source=tool, tool=tool)

    @property
    def is_active(self) -> bool:
        return self._is_active(self.handler)

    def resolution(self, action: ResolveAction) -> CallbackResolution:
        kind = CallbackResolution if action == "discard" else _Applied
        return kind(self, self._staged, "model", action)

    @contextmanager
    def resolving(self, staged: Staged, run: Run) -> Generator[None]:
        """Raise ToolFailure if the handler is inactive and this is the first attempt of the call.

        A call that is repeated after a crash may use an inactive handler, because its first attempt may have changed
        the mode.
        """
        if not self.is_active and run.attempt == 1:
            raise ToolFailure(NOTHING)
        yield

    def callbacks(self, staged: Staged) -> Callbacks:
        return self._callbacks

    def resolved(self, staged: Staged, ended: Ended, reason: str, by: str) -> None:
        """Do nothing: a default handler has no pending action."""

    async def discarded(self, staged: Staged, reason: str, by: str) -> None:
        """Do nothing: a default handler has no pending action."""


class _Applied(CallbackResolution):
    _finisher: SessionHandler

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        found, shows = super().read(raw), self._finisher.handler.shows
        if isinstance(found, Rejected) or shows is None:
            return found
        try:
            extra = shows(found.arguments.get("extra"))
        except ToolFailure as failure:
            return Rejected((f"$.extra: {failure}",))
        return Accepted({**found.arguments, "extra": extra}, found.repairs)

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        traits = self._finisher.handler.traits
        return replace(traits, requires_interaction=traits.requires_interaction and self._finisher.is_active)


class PlanMode:
    """The plan mode of one session, stored in the record of the session."""

    def __init__(self, record: Record, host: Host) -> None:
        self._record = record
        self._host = host
        self._now = host.clock.now
        self._beginning: tuple[int, str] | None = None  # the turn that requested it, and the text

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

    def turn_over(self, unreported: tuple[str, ...]) -> None:
        """Write a compaction boundary if the ended turn requested a fresh start."""
        asked, self._beginning = self._beginning, None
        ledger = self._record.ledger
        if asked is None or asked[0] != ledger.turn:  # that turn was interrupted
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
                unreported=unreported,
                options=ledger.options,
            )
        )

    async def keep(self, name: str, text: str) -> str:
        return await self._host.keep(name, text.encode("utf-8", "replace"))


def plan_approval(planning: Planning) -> DefaultHandler:
    """Return the default handler for plan mode. It asks the user to approve the plan in ``extra.plan``, like the
    tool ExitPlanMode. A discard keeps plan mode."""

    async def apply(_reason: str, extra: Any) -> Result:
        return await approved(planning, str(extra["plan"]), title=" ".join(str(extra.get("title") or "").split()))

    traits = Traits("none", shared, requires_interaction=True, judged_as=EXIT)
    return DefaultHandler("the plan", apply, traits=traits, shows=_with_plan, modes=(PLANNING,))


def _with_plan(extra: Any) -> Any:
    given = cast("dict[str, Any]", extra) if isinstance(extra, dict) else dict[str, Any]()
    plan, title = given.get("plan"), given.get("title")
    if title is not None and not isinstance(title, str):
        raise ToolFailure("the title of the plan, extra.title, must be a text")
    if not isinstance(plan, str) or not plan.strip():
        raise ToolFailure(f"in plan mode pass the plan as a text in extra.plan, or call {EXIT}")
    return cast(Any, extra)

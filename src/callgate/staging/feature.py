"""The feature ``staging``: pending actions, and the tool ``resolve`` that applies or discards pending actions.

A user resolves an action outside the turn, so the resolution by a user is an ``UnrecordedCall``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Literal

from callgate.conversation.feature import Feature, FeaturePart, Handler, OpenSession, Reminder
from callgate.core.ports import ToolSource
from callgate.staging import reminders
from callgate.staging.resolve import NOTHING, bound
from callgate.staging.stack import Stack
from callgate.staging.state import MODE, WHOLE_TURN, State
from callgate.staging.toolbox import DefaultHandler, PlanMode, SessionHandler, StagingToolbox, plan_approval
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Result, ToolCall
from callgate.words.events import Noted, TurnEnded
from callgate.words.inputs import Resolve
from callgate.words.model import Abilities, ToolChoice
from callgate.words.pending import RESOLVE, Staged
from callgate.words.traits import Traits
from callgate.words.turns import TurnCause

if TYPE_CHECKING:
    from callgate.conversation.person_calls import UnrecordedCall

NAME = "staging"
MOST_FORCED = 3
"""Maximum number of requests that force a resolution. After them the action is discarded."""


class RelaxedStaging(FeaturePart):
    """Staging for callers that resolve actions at any time. Other calls run while actions are pending, and a run may
    end with pending actions."""

    phase = "stage"

    def __init__(self, opened: OpenSession, handlers: Iterable[DefaultHandler] = ()) -> None:
        self._opened = opened
        self._record = record = opened.record
        self._state = State()
        self.folds = self._state.folds
        self.inputs = {Resolve: Handler(self._resolve_sent, "anytime", recover=True)}
        self._works: set[UnrecordedCall] = set()
        self._handlers = tuple(handlers)
        self._planning = PlanMode(record, opened.host)
        self._default_handlers = [
            SessionHandler(each, self._is_active) for each in (*self._handlers, plan_approval(self._planning))
        ]
        self.stack = Stack(
            opened.host,
            self._state,
            record,
            grace=opened.settings.grace,
            end_message=lambda: opened.session.end_message(),
        )

    def reset(self) -> None:
        self._state.reset()

    def toolbox(self, inner: ToolSource) -> ToolSource:
        return StagingToolbox(
            inner,
            self.stack,
            self._state,
            default_handlers=self._default_handlers,
            planning=self._planning,
            offers=bool(self._handlers),
        )

    def message_over(self, message_id: str, *, whole: bool) -> None:
        self.stack.message_over(message_id, whole=whole)

    async def after_turn(self, ended: TurnEnded) -> None:
        self._planning.turn_over(self.unreported)
        state = self._state
        asked_for = state.actions.get(state.faced or "")
        if asked_for is None or ended.reason not in WHOLE_TURN or state.forced < MOST_FORCED:
            return
        why = f"it was not resolved after {MOST_FORCED} requests"
        if await self.stack.give_up(asked_for.id, why):
            note = f"Discarded: {asked_for.label}. Reason: {why}"
            self._record.write(Noted(self._opened.now(), note, "warning"))

    async def moving(self) -> None:
        await self.stack.clear("the history was rewound")

    async def close(self, *, discard: bool) -> None:
        if discard:
            await self.stack.clear("the session was replaced by another session")

    @property
    def pending(self) -> tuple[Staged, ...]:
        """The pending actions, newest first."""
        return tuple(self.stack.newest())

    @property
    def unreported(self) -> tuple[str, ...]:
        return tuple(self._state.unreported)

    def _older(self) -> Staged | None:
        """Return the newest action that an earlier message staged, or None."""
        message = self._state.message
        return next((each for each in self.stack.newest() if each.message_id != message), None)

    def _is_active(self, handler: DefaultHandler) -> bool:
        in_mode = not handler.modes or self._record.ledger.mode in handler.modes
        return in_mode and self._older() is None

    # ---- resolutions of persons ---------------------------------------------------------------------------------

    def _resolve_sent(self, sent: Resolve) -> Coroutine[Any, Any, str | None]:
        """Register the resolution before it starts, so that an interrupt can cancel the resolution."""
        from callgate.conversation.person_calls import UnrecordedCall  # loaded with the first one

        work = UnrecordedCall(self._opened)
        self._works.add(work)
        return self._resolve(sent, work)

    def interrupt(self, because: str) -> bool:
        for work in self._works:
            work.interrupt(because)
        return bool(self._works)

    async def _resolve(self, sent: Resolve, work: UnrecordedCall) -> str | None:
        try:
            staged = work.stopped or self._named(sent)
            if not isinstance(staged, Staged):
                return staged
            arguments = {"action": sent.action, "reason": sent.reason, "id": staged.id}
            if sent.extra is not None:
                arguments["extra"] = sent.extra
            call = ToolCall(f"{RESOLVE}-{staged.id}", RESOLVE, arguments)
            with self.stack.claimed(staged):
                tools = Toolbox(bound(self.stack, staged, sent.action, by="person"))
                result = await work.run(tools, call, f"p{staged.number}")
            return result.text if result.is_error else None
        finally:
            self._works.discard(work)

    def _named(self, sent: Resolve) -> Staged | str:
        """Return the action that the input selects, or the reason why the action cannot be resolved."""
        if not sent.reason.strip():
            return "the reason must not be blank"
        staged = self._state.newest if sent.id is None else self.stack.get(sent.id)
        if staged is None:
            there = ", ".join(each.id for each in self.stack.newest())
            return f"there is no pending action {sent.id!r}; pending: {there}" if there else NOTHING
        if self.stack.busy(staged.id):
            return f"{staged.label} is being resolved right now"
        if staged.id in self._state.claimed:
            return f"the model is resolving {staged.label}: answer its question, or wait until the call ends"
        return staged


class StagingPart(RelaxedStaging):
    """Staging for a model. The model is reminded of the pending action and must call ``resolve`` before the next
    change and before the end of the run."""

    def before_request(self, abilities: Abilities) -> Iterable[Reminder | ToolChoice]:
        state = self._state
        if state.unreported_mode is not None:
            yield Reminder(reminders.mode_set(state.unreported_mode), MODE, "mode")
        for each in tuple(state.unreported.values()):
            yield Reminder(reminders.ended(each), each.id, "resolved")
        newest = state.newest
        if newest is None:
            return
        if state.reminded != newest.id or self._is_unforced(abilities):
            below = [each for each in self.stack.newest() if each is not newest]
            yield Reminder(reminders.pending(newest, below), newest.id, "pending")
        if state.detour:
            yield ToolChoice("named", RESOLVE)

    @property
    def due_chars(self) -> int:
        newest = self._state.newest
        due = [reminders.ended(each) for each in self._state.unreported.values()]
        if newest is not None and self._state.reminded != newest.id:
            due.append(reminders.pending(newest, ()))
        return sum(map(len, due))

    def holds_open(self) -> TurnCause | None:
        return "pending" if self._state.actions else None

    def admits(self, name: str, traits: Traits) -> Result | None:
        if traits.effects == "none" or traits.own_state or name == RESOLVE:
            return None
        older = self._older()
        return None if older is None else reminders.skipped(older)

    def _is_unforced(self, abilities: Abilities) -> bool:
        """Return True if ``resolve`` is due, but the model cannot be forced to call it, or has just answered without
        a call of ``resolve``."""
        return self._state.detour and (self._state.answered or "named" not in abilities.force)


def staging_feature(
    handlers: Iterable[DefaultHandler] = (), *, resolved: Literal["first", "whenever"] = "first"
) -> Feature:
    """Return the feature with staged actions, ``resolve`` and plan mode.

    handlers  the default handlers of ``resolve`` if no action is pending
    resolved  when an action must be resolved. ``first``: before any other change and before a run ends; ``whenever``:
              at any time
    """
    handlers = tuple(handlers)
    kind: Callable[..., FeaturePart] = StagingPart if resolved == "first" else RelaxedStaging
    return Feature(NAME, lambda opened: kind(opened, handlers), owns=frozenset({"tool_choice"}))

"""Staging of one session: the port that the loop and its turns use, over the state, the stack and the toolbox."""

from collections.abc import Iterable, Sequence

from callgate.core.ports import Reminder
from callgate.core.turn import Equipment
from callgate.staging import reminders
from callgate.staging.people import People
from callgate.staging.stack import Stack
from callgate.staging.standing import PlanMode, Standing, StandingHandler, plan_approval
from callgate.staging.state import WHOLE_TURN, State
from callgate.staging.toolbox import StagingToolbox
from callgate.words.calls import Result
from callgate.words.events import Noted, TurnEnded
from callgate.words.model import Abilities, ToolChoice
from callgate.words.pending import RESOLVE, Staged
from callgate.words.traits import Traits

MOST_FORCED = 3
"""Requests that force a resolution; then the action is discarded."""


class Room:
    """``state`` has folded the record so far and is shown every event of it from now on. ``handlers`` stand before plan
    approval. ``follow`` folds a log anew. ``toolbox`` is that of the equipment with ``resolve``; ``people`` performs
    the resolutions of persons."""

    def __init__(
        self,
        equipment: Equipment,
        state: State,
        handlers: Iterable[StandingHandler] = (),
    ) -> None:
        host, record = equipment.host, equipment.record
        self._state = state
        self.follow = state.follow
        self._record = record
        self._clock = host.clock
        given = tuple(handlers)
        planning = PlanMode(record, host.clock.now)
        self.stack = Stack(host, state, record, grace=equipment.settings.grace)
        self.toolbox = StagingToolbox(
            equipment.toolbox,
            self.stack,
            state,
            standing=[Standing(each, self._stands) for each in (*given, plan_approval(planning))],
            planning=planning,
            offers=bool(given),
        )
        self.people = People(equipment, self.stack, state)

    # ---- the port -----------------------------------------------------------------------------------------------

    @property
    def unresolved(self) -> bool:
        return bool(self._state.actions)

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        state = self._state
        due = [Reminder(reminders.ended(each), each.id) for each in state.untold.values()]
        newest = state.newest
        if newest is not None and (state.reminded != newest.id or self._goes_unforced(abilities)):
            below = [each for each in self.stack.newest() if each is not newest]
            due.append(Reminder(reminders.pending(newest, below), newest.id))
        return due, ToolChoice("named", RESOLVE) if newest is not None and state.detour else ToolChoice()

    def _goes_unforced(self, abilities: Abilities) -> bool:
        """Only words can make the model resolve it, or its own answer was the last message."""
        return self._state.detour and (self._state.answered or "named" not in abilities.force)

    def admits(self, name: str, traits: Traits) -> Result | None:
        if traits.effects == "none" or traits.own_state or name == RESOLVE:
            return None
        older = self._older()
        return None if older is None else reminders.skipped(older)

    def message_over(self, message_id: str, *, whole: bool) -> None:
        self.stack.message_over(message_id, whole=whole)

    async def after_turn(self, ended: TurnEnded) -> None:
        state = self._state
        asked_for = state.actions.get(state.faced or "")
        if asked_for is None or ended.reason not in WHOLE_TURN or state.forced < MOST_FORCED:
            return
        why = f"it was not resolved, although that was asked for {MOST_FORCED} times"
        if await self.stack.give_up(asked_for.id, why):
            note = f"Discarded: {asked_for.label}. Reason: {why}"
            self._record.write(Noted(self._clock.now(), note, "warning"))

    # ---- for the session ----------------------------------------------------------------------------------------

    @property
    def untold(self) -> tuple[str, ...]:
        """Ids of actions whose end the model has not been told of."""
        return tuple(self._state.untold)

    def _older(self) -> Staged | None:
        """The newest action that the message under way did not stage itself."""
        message = self._state.message
        return next((each for each in self.stack.newest() if each.message_id != message), None)

    def _stands(self, handler: StandingHandler) -> bool:
        in_mode = not handler.modes or self._record.ledger.mode in handler.modes
        return in_mode and self._older() is None

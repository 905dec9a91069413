"""Staging of one session: the port that the loop and its turns use, and the resolutions of persons.

A person's resolution runs through an executor of its own, whose questions are answered with yes.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Reminder
from callgate.conversation.record import MemoryJournal, Record
from callgate.conversation.reminders import reminder
from callgate.conversation.turn import Equipment
from callgate.core.executor import CallExecutor
from callgate.core.ports import Case, Gate
from callgate.staging import reminders
from callgate.staging.resolve import NOTHING, bound
from callgate.staging.stack import Stack
from callgate.staging.standing import PlanMode, Standing, StandingHandler, plan_approval
from callgate.staging.state import MODE, NOTICE, WHOLE_TURN, State
from callgate.staging.toolbox import StagingToolbox
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Ask
from callgate.words.events import Noted, TurnEnded
from callgate.words.inputs import Resolve
from callgate.words.model import Abilities, ToolChoice
from callgate.words.modes import MODES
from callgate.words.pending import RESOLVE, Staged
from callgate.words.traits import Traits

if TYPE_CHECKING:
    from callgate.host.tasks import BackgroundTask, BackgroundTasks

MOST_FORCED = 3
"""Requests that force a resolution; then the action is discarded."""


class SessionStaging:
    """``state`` has folded the record so far and is shown every event of it from now on. ``handlers`` stand before plan
    approval. ``follow`` folds a log anew. ``toolbox`` is that of the equipment with ``resolve``."""

    def __init__(
        self,
        equipment: Equipment,
        state: State,
        handlers: Iterable[StandingHandler] = (),
    ) -> None:
        host, record = equipment.host, equipment.record
        self._equipment = equipment
        self._state = state
        self.follow = state.follow
        self._record = record
        self._now = host.clock.now
        self._works: set[_Work] = set()
        self._notices: list[str] = []
        given = tuple(handlers)
        self._planning = planning = PlanMode(record, host)
        standing = [Standing(each, self._stands) for each in (*given, plan_approval(planning))]
        self.stack = Stack(host, state, record, grace=equipment.settings.grace)
        self.toolbox = StagingToolbox(
            equipment.toolbox, self.stack, state, standing=standing, planning=planning, offers=bool(given)
        )

    # ---- the port -----------------------------------------------------------------------------------------------

    @property
    def unresolved(self) -> bool:
        return bool(self._state.actions)

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        state = self._state
        due = [] if state.untold_mode is None else [Reminder(reminders.mode_set(state.untold_mode), MODE)]
        due += [Reminder(reminders.ended(each), each.id) for each in state.untold.values()]
        due += [Reminder(reminders.task_ended(each), each.id) for each in self._ended_tasks()]
        if self._notices:
            notices, self._notices = self._notices, []
            due.append(Reminder(reminder("\n".join(notices)), NOTICE))
        newest = state.newest
        if newest is not None and (state.reminded != newest.id or self._goes_unforced(abilities)):
            below = [each for each in self.stack.newest() if each is not newest]
            due.append(Reminder(reminders.pending(newest, below), newest.id))
        return due, ToolChoice("named", RESOLVE) if newest is not None and state.detour else ToolChoice()

    def _ended_tasks(self) -> "list[BackgroundTask]":
        """Those of this session that the model was not told of; told from now on."""
        tasks: BackgroundTasks | None = getattr(self._equipment.host, "begun_tasks", None)
        return [] if tasks is None else tasks.untold(self._equipment.lineage)

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
        self._planning.turn_over(self.untold)
        state = self._state
        asked_for = state.actions.get(state.faced or "")
        if asked_for is None or ended.reason not in WHOLE_TURN or state.forced < MOST_FORCED:
            return
        why = f"it was not resolved, although that was asked for {MOST_FORCED} times"
        if await self.stack.give_up(asked_for.id, why):
            note = f"Discarded: {asked_for.label}. Reason: {why}"
            self._record.write(Noted(self._now(), note, "warning"))

    # ---- for the session ----------------------------------------------------------------------------------------

    def notify(self, text: str) -> None:
        """Tells the model once, with its next request."""
        if text not in self._notices:
            self._notices.append(text)

    def due_chars(self) -> int:
        """The characters of the reminders about actions that the next request would bring."""
        newest = self._state.newest
        due = [reminders.ended(each) for each in self._state.untold.values()]
        if newest is not None and self._state.reminded != newest.id:
            due.append(reminders.pending(newest, ()))
        return sum(map(len, due))

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

    # ---- resolutions of persons ---------------------------------------------------------------------------------

    def resolve(self, sent: Resolve, ready: Callable[[], Awaitable[None]]) -> Coroutine[Any, Any, str | None]:
        """Resolves as the person says, after ``ready``; gives the reason if it could not. Interruptible at once."""
        work = _Work()
        self._works.add(work)
        return self._resolve(sent, ready, work)

    def interrupt(self, because: str) -> bool:
        """Stops the resolutions under way. False if there are none."""
        for work in self._works:
            work.stopped = because
            if work.executor is not None:
                work.executor.interrupt(because)
        return bool(self._works)

    async def _resolve(self, sent: Resolve, ready: Callable[[], Awaitable[None]], work: "_Work") -> str | None:
        try:
            await ready()
            staged = work.stopped or self._named(sent)
            if not isinstance(staged, Staged):
                return staged
            arguments = {"action": sent.action, "reason": sent.reason, "id": staged.id}
            if sent.extra is not None:
                arguments["extra"] = sent.extra
            call = ToolCall(f"{RESOLVE}-{staged.id}", RESOLVE, arguments)
            with self.stack.claimed(staged):
                work.executor = self._executor(staged, sent)
                result = await _approved(work.executor, call)
            return result.text if result.is_error else None
        finally:
            self._works.discard(work)

    def _named(self, sent: Resolve) -> Staged | str:
        """The action, or why it cannot be resolved."""
        if not sent.reason.strip():
            return "the reason must not be blank: say why"
        staged = self._state.newest if sent.id is None else self.stack.get(sent.id)
        if staged is None:
            there = ", ".join(each.id for each in self.stack.newest())
            return f"there is no pending action {sent.id!r}; pending: {there}" if there else NOTHING
        if self.stack.busy(staged.id):
            return f"{staged.label} is being resolved right now"
        if staged.id in self._state.claimed:
            return f"the model is resolving {staged.label}: answer its question, or wait for the end of it"
        return staged

    def _executor(self, staged: Staged, sent: Resolve) -> CallExecutor:
        equipment, session = self._equipment, self._record.ledger
        # The person is there to be asked.
        ledger = Ledger(mode="default" if MODES[session.mode].never_asks else session.mode)
        ledger.policies = session.policies
        return CallExecutor(
            Toolbox(bound(self.stack, staged, sent.action, by="person")),
            cast(Gate, _WithoutRequests(equipment.gate)),
            host=equipment.host,
            record=Record(MemoryJournal(), ledger),
            settings=replace(equipment.settings, patience=None),
            lineage=(*equipment.lineage, f"p{staged.number}"),
        )


class _Work:
    """One resolution under way: why it was stopped, and its executor once it runs."""

    def __init__(self) -> None:
        self.stopped = ""
        self.executor: CallExecutor | None = None


async def _approved(executor: CallExecutor, call: ToolCall) -> Result:
    """Runs the call, and answers each of its questions with yes."""
    async with executor:
        executor.add(call)
        executor.close()
        await executor.stalled()
        while executor.questions:
            for question in executor.questions:
                executor.answer(question.yes())
            await executor.stalled()
    result = executor.calls()[0].result
    assert result is not None
    return result


class _WithoutRequests:
    """The gate without the hooks that may answer in a person's place: the person is there."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gate, name)

    def requested(self, case: Case, ask: Ask) -> None:
        return None

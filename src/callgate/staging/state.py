"""The state of staging, computed from events: pending actions, reports and reminders for the model."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callgate.tools.session_state import ENTER, EXIT
from callgate.words import events
from callgate.words.modes import Mode
from callgate.words.pending import RESOLVE, Staged
from callgate.words.turns import INJECTED, Branched, Compacted, Rewound

MODE = "mode"
"""The subject of the reminder of a mode change."""
_REPORTS_MODE = (ENTER, EXIT, RESOLVE)
WHOLE_TURN = ("answered", "calls")
"""End reasons of complete turns. Forced requests are counted only in complete turns."""


class State:
    """The pending actions and reports of a session, computed from its events. It never raises, because events may be
    missing from a log."""

    def __init__(self, log: Iterable[events.Durable] = ()) -> None:
        self.folds: Mapping[type, Callable[[Any], None]] = {
            events.MessageAdded: self._message_added,
            events.TurnStarted: self._turn_started,
            events.TurnEnded: self._turn_ended,
            events.CallArrived: self._arrived,
            events.CallSettled: self._settled,
            events.ActionStaged: self._staged,
            events.ActionResolved: self._resolved,
            Rewound: self._moved,
            Branched: self._moved,
            Compacted: self._compacted,
            events.Forked: self._forked,
            events.ModeSet: self._mode_set,
        }
        self.reset()
        for event in log:
            self.fold(event)

    def reset(self) -> None:
        self.actions: dict[str, Staged] = {}  # pending, oldest first
        self.highest = 0  # highest number of an action so far
        self.unreported: dict[str, events.ActionResolved] = {}  # ends without a report to the model
        self.reporting: dict[str, events.ActionResolved] = {}  # ends that the result of an open ``resolve`` reports
        self.reminded: str | None = None  # id of the action in the last reminder
        self.faced: str | None = None  # id of the newest action at the start of the turn
        self.detour = False  # the last message did not resolve the pending action
        self.forced = 0  # number of requests that forced a resolution
        self.message = ""  # id of the open message
        self.answered = False  # the last message is the model's
        self._turn_forced = False
        self._indexes: dict[str, int] = {}  # indexes of the calls of the turn, by id
        self._resolving: dict[str, str] = {}  # ids of actions, by the ids of open ``resolve`` calls
        self._resolves = False  # the turn has a ``resolve`` call
        self.unreported_mode: Mode | None = None  # new mode without a reminder
        self._first_mode: Mode = "default"  # in the system prompt
        self._mode: Mode = "default"
        self._spoken = False  # the history has a message
        self._planning: set[str] = set()  # open calls whose results report the mode

    def fold(self, event: events.Event) -> None:
        step = self.folds.get(event.__class__)
        if step is not None:
            step(event)

    @property
    def newest(self) -> Staged | None:
        return next(reversed(self.actions.values()), None)

    @property
    def claimed(self) -> tuple[str, ...]:
        """The ids of the actions with an open call of ``resolve``."""
        return tuple(self._resolving.values())

    def _message_added(self, event: events.MessageAdded) -> None:
        self.answered = event.message.role == "assistant"
        self._spoken = True
        if event.about == MODE:
            self.unreported_mode = None
        if event.about is not None:
            self.reminded = event.about if event.about in self.actions else self.reminded
            self.unreported.pop(event.about, None)
        elif event.message.role == "user":
            self._soften()  # a message of a person resets the forcing

    def _turn_started(self, event: events.TurnStarted) -> None:
        self.message = event.message_id
        faces = event.because not in INJECTED  # the model is not asked yet
        self.faced = next(reversed(self.actions), None) if faces else None
        self._turn_forced = event.forced
        self._indexes, self._resolving, self._resolves = {}, {}, False

    def _turn_ended(self, event: events.TurnEnded) -> None:
        if self.faced in self.actions and event.reason in WHOLE_TURN:
            self.detour = not self._resolves
            self.forced += self._turn_forced
        self.message = ""
        self._resolving = {}

    def _arrived(self, event: events.CallArrived) -> None:
        self._indexes[event.call_id] = event.index
        if event.name in _REPORTS_MODE:
            self._planning.add(event.call_id)
        if event.name == RESOLVE:
            self._resolves = True
            self._resolving[event.call_id] = str(event.arguments.get("id"))

    def _settled(self, event: events.CallSettled) -> None:
        self._planning.discard(event.call_id)
        action_id = self._resolving.pop(event.call_id, None)
        if action_id is None:
            return
        ended = self.reporting.pop(action_id, None)
        if event.result.is_error:
            self.reminded = None
            if ended is not None:
                self.unreported[ended.id] = ended

    def _staged(self, event: events.ActionStaged) -> None:
        """Add the action in the order of the calls, even if the calls staged their actions in another order."""
        action = event.action
        self.actions[action.id] = action
        self.highest = max(self.highest, action.number)
        own = self._indexes.get(action.call_id, -1)
        for each in [each for each in self.actions.values() if each.message_id == action.message_id]:
            if self._indexes.get(each.call_id, -1) > own:
                self.actions[each.id] = self.actions.pop(each.id)

    def _resolved(self, event: events.ActionResolved) -> None:
        self.actions.pop(event.id, None)
        (self.reporting if event.id in self.claimed else self.unreported)[event.id] = event
        self._soften()

    def _moved(self, event: Rewound | Branched) -> None:
        self.unreported.clear()
        self.reporting.clear()

    def _mode_set(self, event: events.ModeSet) -> None:
        """Store the mode. The first mode is not reported to the model, because the system prompt names it. A mode
        set by a plan tool is not reported, because the result of the tool reports it."""
        self._mode = event.mode
        if not self._spoken:
            self._first_mode = event.mode
        elif not self._planning:
            self.unreported_mode = event.mode

    def _compacted(self, event: Compacted) -> None:
        self.unreported_mode = None if self._mode == self._first_mode else self._mode
        self.reminded = None  # the reminder is not in the history any more
        self.unreported = {name: ended for name, ended in self.unreported.items() if name in event.unreported}
        self.answered = self.answered and event.kept is not None

    def _forked(self, event: events.Forked) -> None:
        why = f"it is still pending in session {event.session}, from which this session was forked"
        for each in self.actions.values():
            self.unreported[each.id] = events.ActionResolved(
                at=event.at, id=each.id, label=each.label, ended="discarded", reason=why, by="callgate"
            )
        self.actions.clear()
        self._soften()

    def _soften(self) -> None:
        self.detour, self.forced = False, 0

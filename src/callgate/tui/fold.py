"""The state of the terminal as a pure fold of events.

The fold never raises and reads only events, so that it can be tested, replayed and drawn without a terminal.
``fold_state`` holds the state; ``fold_texts``, ``fold_calls`` and ``fold_runs`` have one function for each event.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callgate.tui import fold_calls as calls
from callgate.tui import fold_runs as runs
from callgate.tui import fold_texts as texts
from callgate.tui.fold_state import FoldState, Path
from callgate.words import events as e
from callgate.words.turns import PhaseEnded, PhaseStarted


class ConversationFold(FoldState):
    """``apply`` takes each event of a session in order. Of events with a path, which nested sessions publish, only
    calls and questions change the state."""

    def apply(self, event: e.Event, path: Path = ()) -> None:
        self.last_activity = event.at
        kind = type(event)
        if kind in _CALLS:
            _CALLS[kind](self, event, path)
        elif kind in _APPLY and not path:
            _APPLY[kind](self, event)

    def apply_all(self, events: Iterable[e.Event]) -> None:
        for event in events:
            self.apply(event)


_CALLS: Mapping[type[e.Event], Callable[[FoldState, Any, Path], None]] = {
    e.CallArrived: calls.arrived,
    e.CallDecided: calls.decided,
    e.QuestionAsked: calls.asked,
    e.QuestionAnswered: calls.answered,
    e.CallStarted: calls.started,
    e.CallProgressed: calls.progressed,
    e.CallSettled: calls.settled,
}
_APPLY: Mapping[type[e.Event], Callable[[FoldState, Any], None]] = {
    e.MessageAdded: texts.added,
    e.TextStreamed: texts.streamed,
    e.ThinkingStreamed: texts.streamed,
    e.RequestRetried: texts.retried,
    e.ActionStaged: calls.staged,
    e.ActionResolved: calls.resolved,
    e.TurnStarted: runs.turn_started,
    e.TurnEnded: runs.turn_ended,
    e.RunEnded: runs.run_ended,
    e.Compacted: runs.compacted,
    e.Rewound: runs.history_moved,
    e.Branched: runs.history_moved,
    e.Forked: runs.forked,
    e.LinesQuarantined: runs.quarantined,
    e.StrayFound: runs.stray_found,
    e.PolicyAdded: runs.policy_added,
    e.MetadataSet: runs.metadata_set,
    e.AnswerUnused: runs.answer_unused,
    e.StatusChanged: runs.status_changed,
    e.ModeSet: runs.mode_set,
    e.ModelSet: runs.model_set,
    e.PromptQueued: runs.queued,
    e.PromptDequeued: runs.dequeued,
    e.InterruptibleChanged: runs.interruptible,
    e.Noted: runs.noted,
    PhaseStarted: runs.phase_started,
    PhaseEnded: runs.phase_ended,
    e.InputRefused: runs.refused,
    e.Paused: runs.paused,
}

"""The state of the terminal as a pure fold of events.

The fold never raises and reads only events, so that it can be tested, replayed and drawn without a terminal.
``fold_state`` holds the state; ``fold_texts``, ``fold_calls`` and ``fold_runs`` have one function for each event.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callgate.formats.display import counted
from callgate.tui import fold_calls as calls
from callgate.tui import fold_runs as runs
from callgate.tui import fold_texts as texts
from callgate.tui.blocks import Block, CallBlock, NoticeBlock, PromptBlock, TextBlock
from callgate.tui.fold_state import FoldState
from callgate.words import events as e
from callgate.words.session_event import AgentPath
from callgate.words.turns import PhaseEnded, PhaseStarted


class ConversationFold(FoldState):
    """``apply`` takes each event of a session in order. Of events with a path, which nested sessions publish, only
    calls and questions change the state."""

    def apply(self, event: e.Event, path: AgentPath = ()) -> None:
        self.last_activity = event.at
        kind = type(event)
        if kind in _CALLS:
            _CALLS[kind](self, event, path)
        elif kind in _APPLY and not path:
            _APPLY[kind](self, event)

    def apply_all(self, events: Iterable[e.Event]) -> None:
        for event in events:
            self.apply(event)


_CALLS: Mapping[type[e.Event], Callable[[FoldState, Any, AgentPath], None]] = {
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

SHOWN = 20
"""Messages of an earlier life of the session that are shown."""


def fold_of(events: Iterable[e.Event]) -> ConversationFold:
    """The conversation on record, without what was rewound."""
    fold = ConversationFold()
    for event in events:
        if isinstance(event, e.Rewound):
            _cut(fold, event.message_id)
        else:
            fold.apply(event)
    return fold


def _cut(fold: ConversationFold, message_id: str) -> None:
    """Removes a message and all that came after it."""
    for at, each in enumerate(fold.blocks):
        if _message_of(each) == message_id:
            del fold.blocks[at:]
            break
    fold.questions.clear()


def _message_of(block: Block) -> str:
    if isinstance(block, CallBlock):
        return block.message_id
    return block.id.rpartition(".")[0] or block.id if isinstance(block, PromptBlock | TextBlock) else ""


def keep_end(fold: ConversationFold) -> None:
    """Keeps the blocks of the last messages, behind a line that counts those before."""
    said = [at for at, each in enumerate(fold.blocks) if isinstance(each, PromptBlock | TextBlock)]
    if len(said) > SHOWN:
        many = len(said) - SHOWN
        text = f"{counted(many, 'earlier message')}: Ctrl-O shows the whole conversation."
        fold.blocks[: said[-SHOWN]] = [NoticeBlock(text)]


def left_open(fold: ConversationFold, waiting: int) -> NoticeBlock:
    """The line about a session that stopped in the middle of its work; ``waiting`` prompts were not delivered."""
    calls = sum(isinstance(each, CallBlock) and not each.done for each in fold.blocks)
    parts = [counted(len(fold.questions), "question")] if fold.questions else []
    parts += [counted(calls, "unfinished call")] if calls else []
    parts += [counted(waiting, "message that waits", "messages that wait")] if waiting else []
    what = f": {', '.join(parts)}" if parts else ""
    return NoticeBlock(f"This session stopped in the middle of its work{what}. Enter goes on.", "warning")

"""Folds the events of a session into the state of the terminal.

The fold has no other input than events, so it can be tested, replayed and drawn without a terminal. ``fold_state``
has the state; ``fold_texts``, ``fold_calls`` and ``fold_runs`` each apply the events of one subject.
"""

from collections.abc import Iterable

from callgate.formats.display import counted
from callgate.tui.blocks import Block, CallBlock, NoticeBlock, PromptBlock, TextBlock
from callgate.tui.fold_calls import apply_call_event
from callgate.tui.fold_runs import apply_run_event
from callgate.tui.fold_state import FoldState
from callgate.tui.fold_texts import apply_text_event
from callgate.words.events import AgentPath, Event
from callgate.words.turns import Rewound

SHOWN = 20
"""The number of earlier messages that are shown when a session is resumed."""


class ConversationFold(FoldState):
    """The state of the terminal. ``apply`` changes the state for each event in order. Of the events of nested
    sessions (with a path), only events of calls and questions change the state."""

    def apply(self, event: Event, path: AgentPath = ()) -> None:
        self.last_activity = event.at
        apply_call_event(self, event, path)
        if not path:
            apply_text_event(self, event)
            apply_run_event(self, event)

    def apply_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.apply(event)


def fold_of(events: Iterable[Event]) -> ConversationFold:
    """Return the state after the recorded events, without rewound messages."""
    fold = ConversationFold()
    for event in events:
        if isinstance(event, Rewound):
            _remove_from(fold, event.message_id)
        else:
            fold.apply(event)
    return fold


def _remove_from(fold: ConversationFold, message_id: str) -> None:
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
    """Replace the blocks before the last messages by a notice with the number of hidden messages."""
    said = [at for at, each in enumerate(fold.blocks) if isinstance(each, PromptBlock | TextBlock)]
    if len(said) > SHOWN:
        many = len(said) - SHOWN
        text = f"{counted(many, 'earlier message')}: Ctrl-O shows the whole conversation."
        fold.blocks[: said[-SHOWN]] = [NoticeBlock(text)]


def left_open(fold: ConversationFold, waiting: int) -> NoticeBlock:
    """Return the notice about an interrupted session. ``waiting`` is the number of undelivered prompts."""
    calls = sum(isinstance(each, CallBlock) and not each.done for each in fold.blocks)
    parts = [counted(len(fold.questions), "question")] if fold.questions else []
    parts += [counted(calls, "unfinished call")] if calls else []
    parts += [counted(waiting, "queued message", "queued messages")] if waiting else []
    what = f": {', '.join(parts)}" if parts else ""
    return NoticeBlock(f"This session was interrupted{what}. Press Enter to continue.", "warning")

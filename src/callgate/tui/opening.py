"""The session of the terminal: which one is opened, and what is shown of one that goes on."""

from __future__ import annotations

from collections.abc import Iterable

from callgate.formats.display import counted, visible
from callgate.tui.blocks import Block, CallBlock, NoticeBlock, PromptBlock, TextBlock
from callgate.tui.fold import ConversationFold
from callgate.words.events import Event, Rewound
from callgate.words.pending import Staged

SHOWN = 20
"""Messages of an earlier life of the session that are shown."""


def fold_of(events: Iterable[Event]) -> ConversationFold:
    """The conversation on record, without what was rewound."""
    fold = ConversationFold()
    for event in events:
        if isinstance(event, Rewound):
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


def staged_line(pending: Iterable[Staged], width: int) -> str:
    """The line above the input that names what waits to be applied or discarded."""
    *older, newest = pending
    more = f" and {len(older)} more" if older else ""
    hint = "  Tab: look, apply or discard"
    return f"{visible(f'staged: {newest.label}{more}')[: max(width - len(hint) - 1, 8)]}{hint}"[: width - 1]

"""The state that the fold of events changes: blocks on screen, open questions, prompts that wait, what was spent."""

from collections.abc import Callable, Container
from dataclasses import replace

from callgate.tui.blocks import Block, CallBlock, Level, NoticeBlock, PromptBlock, TextBlock, ThinkingBlock
from callgate.tui.streaming import finished_length
from callgate.words import events as e
from callgate.words.calls import Status
from callgate.words.decisions import Question
from callgate.words.messages import Spent
from callgate.words.modes import Mode
from callgate.words.pending import Staged
from callgate.words.turns import Measures

MOST_BLOCKS = 500
"""Blocks that are not finished and still on the screen. With more of them the oldest leave as they are."""
MOST_NAMES = 1_000
"""Messages whose first words are remembered, to name them when the conversation goes back to one."""


class FoldState:
    """``blocks`` are the ones that are still on the screen; ``take_finished`` removes those that will not change any
    more."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.status: e.SessionStatus = "idle"
        self.mode: Mode = "default"
        self.model = ""
        self.title = ""
        self.questions: dict[tuple[str, ...], Question] = {}
        self.waiting: dict[str, e.PromptQueued] = {}
        self.pending: dict[str, Staged] = {}
        self.interruptible = False
        self.cost: float | None = None
        self.measures: Measures | None = None
        self.run_began: float | None = None
        self.last_activity: float = 0.0
        self.run_tokens = 0
        self.run_cost: float | None = None
        self.stopped = False
        self.streamed: set[str] = set()
        self.names: dict[str, str] = {}
        self._last_taken: Block | None = None
        self._final: tuple[int, Block | None] = (0, None)

    # ---- blocks -------------------------------------------------------------------------------------------------

    @property
    def running(self) -> list[CallBlock]:
        open_ones = self.blocks[self.first_open :]
        calls = [each for each in open_ones if isinstance(each, CallBlock) and not each.cut]
        return [each for each in calls if each.status is Status.EXECUTING]

    @property
    def first_open(self) -> int:
        """The place of the first block that may still change. Where blocks are never taken there are many before it."""
        at, last = self._final
        # The terminal adds and removes blocks too.
        if at > len(self.blocks) or (at and self.blocks[at - 1] is not last):
            at = 0
        while at < len(self.blocks) and self.blocks[at].done:
            at += 1
        self._final = (at, self.blocks[at - 1] if at else None)
        return at

    def take_finished(self) -> list[Block]:
        """Removes the blocks at the front that are final, and the finished Markdown at the front of a text that is
        still streaming."""
        ready = max(self.first_open, len(self.blocks) - MOST_BLOCKS)
        taken, self.blocks[:ready] = self.blocks[:ready], []
        first = self.blocks[0] if self.blocks else None
        if isinstance(first, TextBlock):
            length, opened = finished_length(first.text, first.opened)
            if length:
                taken.append(replace(first, text=first.text[:length], done=True))
                self.blocks[0] = replace(first, text=first.text[length:], begun=True, opened=opened)
        if taken:
            self._last_taken = taken[-1]
        return taken

    def add(self, block: Block) -> None:
        self.place(len(self.blocks), [block])

    def place(self, at: int, blocks: list[Block]) -> None:
        """Puts blocks before the one at this place. Neighbours that are calls are joined."""
        self.blocks[at:at] = blocks
        for number in range(at, min(at + len(blocks) + 1, len(self.blocks))):
            each = self.blocks[number]
            if isinstance(each, CallBlock):
                before = self.blocks[number - 1] if number else self._last_taken
                joined = isinstance(before, CallBlock)
                self.blocks[number] = each if each.joined == joined else replace(each, joined=joined)
            elif isinstance(each, PromptBlock):
                self.names[each.id] = each.text.strip().partition("\n")[0][:60]
                if len(self.names) > MOST_NAMES:
                    del self.names[next(iter(self.names))]

    def change(self, call_id: str, change: Callable[[CallBlock], CallBlock]) -> None:
        """Changes the newest block of a call; a call that is not on the screen any more changes nothing."""
        for at in range(len(self.blocks) - 1, self.first_open - 1, -1):
            each = self.blocks[at]
            if isinstance(each, CallBlock) and each.id == call_id and not each.done:
                self.blocks[at] = change(each)
                return

    def ask(self, question: Question) -> None:
        """Opens a question. They stand in the order of their calls, which is not that in which their previews were
        ready; those of nested agents come behind, in the order in which they were asked."""
        self.questions[(*question.path, question.call_id)] = question
        calls = (each.id for each in self.blocks[self.first_open :] if isinstance(each, CallBlock))
        places: dict[tuple[str, ...], int] = {(call_id,): at for at, call_id in enumerate(calls)}
        by_call = sorted(self.questions.items(), key=lambda item: places.get(item[0], len(places)))
        self.questions = dict(by_call)

    def close_texts(self, message_id: str | None = None) -> None:
        """Texts of the message, or all texts, are final."""
        for at in range(self.first_open, len(self.blocks)):
            each = self.blocks[at]
            if isinstance(each, (TextBlock, ThinkingBlock)) and not each.done and message_id in (None, owner(each)):
                self.blocks[at] = replace(each, done=True)

    def finish_all(self) -> None:
        """Every block is final: nothing changes it after the end of a run."""
        self.close_texts()
        self._cancel_calls(())
        self.streamed.clear()

    def cut_calls(self) -> None:
        """Calls that run on record were cut short: the program that ran them has ended."""
        for call in self.running:
            self.change(call.id, lambda each: replace(each, cut=True))

    def take_all(self) -> list[Block]:
        """Removes every block, as it stays when the terminal is left: a call that a person is asked about waits on."""
        self.close_texts()
        self._cancel_calls((Status.AWAITING_APPROVAL,))
        return [*self.take_finished(), *(self.blocks.pop(0) for _ in range(len(self.blocks)))]

    def _cancel_calls(self, spared: Container[Status]) -> None:
        for at in range(self.first_open, len(self.blocks)):
            each = self.blocks[at]
            if isinstance(each, CallBlock) and not each.done and each.status not in spared:
                self.blocks[at] = replace(each, status=Status.CANCELLED, question=None)

    def notice(self, text: str, level: Level = "info") -> None:
        self.add(NoticeBlock(text, level))

    # ---- measures -----------------------------------------------------------------------------------------------

    def spend(self, spent: Spent | None) -> None:
        if spent is None:
            return
        self.run_tokens += spent.usage.output
        if spent.cost is not None:
            self.cost = (self.cost or 0.0) + spent.cost
            self.run_cost = (self.run_cost or 0.0) + spent.cost


def owner(block: TextBlock | ThinkingBlock) -> str:
    """The message that a block is part of."""
    return block.id.rpartition(".")[0]

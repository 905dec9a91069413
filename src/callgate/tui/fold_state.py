"""The state that the terminal computes from events: blocks, open questions, queued prompts and measured times."""

from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from callgate.tui.blocks import Block, CallBlock, Level, NoticeBlock, TextBlock, ThinkingBlock
from callgate.tui.markdown_parts import Opened, finished_length
from callgate.words import events as e
from callgate.words.calls import Status
from callgate.words.decisions import Question
from callgate.words.events import AgentPath
from callgate.words.messages import Spent
from callgate.words.modes import Mode
from callgate.words.pending import Staged
from callgate.words.turns import Measures, PhaseStarted

MOST_LIVE = 500
"""If there are more unprinted blocks, the oldest blocks are printed in their current state."""

CallKey = tuple[AgentPath, str]
"""The path and the id of a call."""


class FoldState:
    """The state of the terminal.

    blocks         the whole conversation
    live           the blocks that have not been printed yet
    questions      the open questions, in the order in which they are shown
    waiting        queued prompts by id
    pending        staged actions by id
    run_began      the time when the run started
    work_began     the time when the status became working
    model_at       the time of the model's last chunk; None while no request runs
    model_silent   True if no chunk of the answer has arrived yet
    retry          the next retry of the request
    phases         running hooks and summaries by id
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.status: e.SessionStatus = "idle"
        self.mode: Mode = "default"
        self.model = ""
        self.title = ""
        self.questions: dict[CallKey, Question] = {}
        self.waiting: dict[str, e.PromptQueued] = {}
        self.pending: dict[str, Staged] = {}
        self.interruptible = False
        self.cost: float | None = None
        self.measures: Measures | None = None
        self.run_began: float | None = None
        self.run_tokens = 0
        self.run_cost: float | None = None
        self.stopped = False
        self.last_activity = 0.0
        self.work_began: float | None = None
        self.model_at: float | None = None
        self.model_silent = True
        self.retry: e.RequestRetried | None = None
        self.phases: dict[str, PhaseStarted] = {}
        self.streamed: set[str] = set()
        self._printed = 0  # blocks at the front that have been printed
        self._cut: tuple[str, int, Opened] | None = None  # a text of which some characters have been printed
        self._final: tuple[int, Block | None] = (0, None)

    # ---- blocks -------------------------------------------------------------------------------------------------

    @property
    def live(self) -> list[Block]:
        return [self._rest(block) for block in self.blocks[self._printed :]]

    def _rest(self, block: Block) -> Block:
        if self._cut is None or not isinstance(block, TextBlock) or block.id != self._cut[0]:
            return block
        _id, length, opened = self._cut
        return replace(block, text=block.text[length:], begun=True, opened=opened)

    @property
    def open_calls(self) -> list[CallBlock]:
        """The calls without a result, except calls that an earlier process left unfinished."""
        blocks = self.blocks[max(self.first_open, self._printed) :]
        return [each for each in blocks if isinstance(each, CallBlock) and not each.cut and not each.done]

    @property
    def running(self) -> list[CallBlock]:
        return [each for each in self.open_calls if each.status is Status.EXECUTING]

    @property
    def first_open(self) -> int:
        """The index of the first block that may still change."""
        at, last = self._final
        # The terminal adds and removes blocks too.
        if at > len(self.blocks) or (at and self.blocks[at - 1] is not last):
            at = 0
        while at < len(self.blocks) and self.blocks[at].done:
            at += 1
        self._final = (at, self.blocks[at - 1] if at else None)
        return at

    def take_finished(self) -> list[Block]:
        """Return the final live blocks before the first block that may change, and the final Markdown at the start
        of a text that still streams. The returned blocks are marked as printed."""
        ready = max(self.first_open, len(self.blocks) - MOST_LIVE, self._printed)
        live = self.live
        taken = live[: ready - self._printed]
        live = live[len(taken) :]
        self._printed = ready
        if live and isinstance(live[0], TextBlock):
            first = live[0]
            length, opened = finished_length(first.text, first.opened)
            if length:
                taken.append(replace(first, text=first.text[:length], done=True))
                before = self._cut[1] if self._cut is not None and self._cut[0] == first.id else 0
                self._cut = (first.id, before + length, opened)
        return taken

    def take_all(self) -> list[Block]:
        """Return every live block in its last state, because the terminal exits. A call with a question stays open;
        other open calls are cancelled."""
        self.close_texts()
        self._cancel_calls((Status.AWAITING_APPROVAL,))
        taken = [*self.take_finished(), *self.live]
        self._printed = len(self.blocks)
        return taken

    def skip_finished(self) -> None:
        self._printed = self.first_open

    def show(self, blocks: Iterable[Block]) -> None:
        """Insert final blocks before the blocks that may still change."""
        self.place(self.first_open, [*blocks])

    def add(self, block: Block) -> None:
        self.place(len(self.blocks), [block])

    def notice(self, text: str, level: Level = "info") -> None:
        self.add(NoticeBlock(text, level))

    def place(self, at: int, blocks: list[Block]) -> None:
        """Insert blocks before the block at this index. Adjacent calls are joined."""
        self.blocks[at:at] = blocks
        for number in range(at, min(at + len(blocks) + 1, len(self.blocks))):
            each = self.blocks[number]
            if isinstance(each, CallBlock):
                joined = number > 0 and isinstance(self.blocks[number - 1], CallBlock)
                self.blocks[number] = each if each.joined == joined else replace(each, joined=joined)

    def withdraw(self, at: int) -> bool:
        """Remove the text block at this index. Return True if some of it has been printed; the printed lines stay."""
        block = self.blocks[at]
        if at < self._printed:
            return isinstance(block, TextBlock)
        if isinstance(block, TextBlock) and self._cut is not None and block.id == self._cut[0]:
            self.blocks[at] = replace(block, text=block.text[: self._cut[1]], done=True)
            return True
        del self.blocks[at]
        return False

    def change(self, key: CallKey, change: Callable[[CallBlock], CallBlock]) -> None:
        """Change the newest block of a call, if the call is still open."""
        for at in range(len(self.blocks) - 1, self.first_open - 1, -1):
            each = self.blocks[at]
            if isinstance(each, CallBlock) and each.key == key and not each.done:
                self.blocks[at] = change(each)
                return

    def ask(self, key: CallKey, question: Question) -> None:
        """Add an open question.

        Questions are sorted by the order of their calls, because previews may be ready in another order. Questions
        of calls without a block come last, in the order in which they were asked.
        """
        self.questions[key] = question
        calls = (each for each in self.blocks[self.first_open :] if isinstance(each, CallBlock))
        places = {call.key: at for at, call in enumerate(calls)}
        self.questions = dict(sorted(self.questions.items(), key=lambda item: places.get(item[0], len(places))))

    def drop_own_questions(self) -> None:
        """Remove the questions of the session itself; questions of nested sessions stay open."""
        self.questions = {key: question for key, question in self.questions.items() if key[0]}

    def close_texts(self, message_id: str | None = None) -> None:
        """Mark the text blocks of a message as complete, or all text blocks if no message is given."""
        for at in range(self.first_open, len(self.blocks)):
            each = self.blocks[at]
            if isinstance(each, (TextBlock, ThinkingBlock)) and not each.done and message_id in (None, owner(each)):
                self.blocks[at] = replace(each, done=True)

    def finish_all(self) -> None:
        """Make every block final, at the end of a run."""
        self.close_texts()
        self._cancel_calls(())
        self.streamed.clear()

    def cut_calls(self) -> None:
        """Mark the running calls as cut short, because the program that ran them has ended."""
        for call in self.running:
            self.change(call.key, lambda each: replace(each, cut=True))

    def _cancel_calls(self, spared: Container[Status]) -> None:
        for at in range(self.first_open, len(self.blocks)):
            each = self.blocks[at]
            if isinstance(each, CallBlock) and not each.done and each.status not in spared:
                self.blocks[at] = replace(each, status=Status.CANCELLED, question=None)

    # ---- measures -----------------------------------------------------------------------------------------------

    def request_ended(self) -> None:
        self.model_at = self.retry = None

    def spend(self, spent: Spent | None) -> None:
        if spent is None:
            return
        self.run_tokens += spent.usage.output
        if spent.cost is not None:
            self.cost = (self.cost or 0.0) + spent.cost
            self.run_cost = (self.run_cost or 0.0) + spent.cost


def owner(block: TextBlock | ThinkingBlock) -> str:
    return block.id.rpartition(".")[0]

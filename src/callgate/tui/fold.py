"""The state of the terminal as a pure fold of events: the blocks on screen, open questions, prompts that wait.

The fold never raises and reads nothing but events, so that it can be tested, replayed and drawn without a terminal.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from callgate.tui.blocks import (
    ActionBlock,
    Block,
    CallBlock,
    EndBlock,
    Level,
    NoticeBlock,
    PromptBlock,
    TextBlock,
    ThinkingBlock,
)
from callgate.tui.streaming import finished_length
from callgate.words import events as e
from callgate.words.calls import Status
from callgate.words.decisions import Allow, Question
from callgate.words.messages import Message, Spent, Text, Thinking, Usage
from callgate.words.model import WantedEffort
from callgate.words.modes import Mode
from callgate.words.pending import Staged
from callgate.words.turns import Measures

LONGEST_OUTPUT = 20_000
"""Characters of a running call's output that are kept for the screen; the whole of it is in the result."""

B = TypeVar("B", bound=Block)


class ConversationFold:
    """``apply`` takes each event of one session, in order. ``blocks`` are the ones that are still on the screen;
    ``take_finished`` removes those that will not change any more."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.status: e.SessionStatus = "idle"
        self.mode: Mode = "default"
        self.model = ""
        self.effort: WantedEffort | None = None
        self.title = ""
        self.questions: dict[tuple[str, ...], Question] = {}
        self.waiting: dict[str, e.PromptQueued] = {}
        self.pending: dict[str, Staged] = {}
        self.interruptible = False
        self.usage = Usage()
        self.cost: float | None = None
        self.last_request: Usage | None = None
        self.measures: Measures | None = None
        self.run_began: float | None = None
        self.turn_began: float | None = None
        self.last_activity: float = 0.0
        self.retry: e.RequestRetried | None = None
        self._run_tokens = 0
        self._run_cost: float | None = None
        self._streamed: set[str] = set()

    # ---- what is shown ------------------------------------------------------------------------------------------

    def take_finished(self) -> list[Block]:
        """Removes the blocks at the front that are final, and the whole Markdown blocks at the front of a text that is
        still streaming."""
        taken: list[Block] = []
        while self.blocks and self.blocks[0].done:
            taken.append(self.blocks.pop(0))
        first = self.blocks[0] if self.blocks else None
        if isinstance(first, TextBlock):
            length = finished_length(first.text)
            if length:
                taken.append(replace(first, text=first.text[:length], done=True))
                self.blocks[0] = replace(first, text=first.text[length:], begun=True)
        return taken

    @property
    def running(self) -> list[CallBlock]:
        return [each for each in self._calls() if each.status is Status.EXECUTING]

    @property
    def question(self) -> Question | None:
        """The open question that came first."""
        return next(iter(self.questions.values()), None)

    # ---- events -------------------------------------------------------------------------------------------------

    def apply(self, event: e.Event) -> None:
        self.last_activity = event.at
        take = _APPLY.get(type(event))
        if take is not None:
            take(self, event)

    def apply_all(self, events: Iterable[e.Event]) -> None:
        for event in events:
            self.apply(event)

    def _message(self, event: e.MessageAdded) -> None:
        message = event.message
        if event.queued is not None:
            self.waiting.pop(event.queued, None)
        if message.role == "user" and event.about is None:
            others = sum(not isinstance(part, Text) for part in message.parts)
            self.blocks.append(PromptBlock(message.id, message.text, others))
        elif message.role == "assistant":
            self._answer(message)

    def _answer(self, message: Message) -> None:
        """The streamed blocks of a message are final; a message that was not streamed is placed before its calls."""
        if message.usage is not None:
            self.last_request = message.usage
        if message.id in self._streamed:
            self._streamed.discard(message.id)
            self._close_texts(message.id)
            return
        made: list[Block] = []
        for number, part in enumerate(message.parts):
            if isinstance(part, Text) and part.text.strip():
                made.append(TextBlock(f"{message.id}.{number}", part.text, done=True))
            elif isinstance(part, Thinking) and part.text.strip():
                made.append(ThinkingBlock(f"{message.id}.{number}", part.text, done=True))
        place = next(
            (
                at
                for at, each in enumerate(self.blocks)
                if isinstance(each, CallBlock) and each.message_id == message.id
            ),
            len(self.blocks),
        )
        self.blocks[place:place] = made

    def _streams(self, event: e.TextStreamed | e.ThinkingStreamed) -> None:
        kind = TextBlock if isinstance(event, e.TextStreamed) else ThinkingBlock
        self._streamed.add(event.message_id)
        last = self.blocks[-1] if self.blocks else None
        if isinstance(last, kind) and not last.done and last.id.startswith(f"{event.message_id}."):
            ended = {"ended": event.at} if isinstance(last, ThinkingBlock) else {}
            self.blocks[-1] = replace(last, text=last.text + event.text, **ended)
            return
        self._close_texts(event.message_id)
        number = sum(1 for each in self.blocks if not isinstance(each, (NoticeBlock, EndBlock)))
        name = f"{event.message_id}.{number}"
        if isinstance(event, e.TextStreamed):
            self.blocks.append(TextBlock(name, event.text))
        else:
            self.blocks.append(ThinkingBlock(name, event.text, began=event.at, ended=event.at))

    def _close_texts(self, message_id: str) -> None:
        for at, each in enumerate(self.blocks):
            if isinstance(each, (TextBlock, ThinkingBlock)) and not each.done and each.id.startswith(f"{message_id}."):
                self.blocks[at] = replace(each, done=True)

    def _arrived(self, event: e.CallArrived) -> None:
        self._close_texts(event.message_id)
        self.blocks.append(
            CallBlock(
                id=event.call_id,
                name=event.name,
                arguments=event.arguments,
                message_id=event.message_id,
                index=event.index,
                arrived=event.at,
            )
        )

    def _decided(self, event: e.CallDecided) -> None:
        def with_decision(call: CallBlock) -> CallBlock:
            status = Status.SCHEDULED if isinstance(event.decision, Allow) else call.status
            changed = getattr(event.decision, "arguments", None)
            return replace(
                call, decision=event.decision, status=status, arguments=call.arguments if changed is None else changed
            )

        self._change(event.call_id, with_decision)

    def _asked(self, event: e.QuestionAsked) -> None:
        question = event.question
        self.questions[(*question.path, question.call_id)] = question
        if not question.path:
            self._change(
                question.call_id, lambda call: replace(call, question=question, status=Status.AWAITING_APPROVAL)
            )

    def _answered(self, event: e.QuestionAnswered) -> None:
        said = event.confirmation
        self.questions.pop((*said.path, said.call_id), None)
        if not said.path:
            status = Status.AWAITING_APPROVAL if said.outcome == "no" else Status.SCHEDULED
            arguments = said.arguments
            self._change(
                said.call_id,
                lambda call: replace(
                    call,
                    question=None,
                    answered=said.outcome,
                    status=status,
                    arguments=call.arguments if arguments is None else arguments,
                ),
            )

    def _started(self, event: e.CallStarted) -> None:
        self._change(
            event.call_id, lambda call: replace(call, status=Status.EXECUTING, started=event.at, of=event.of or call.of)
        )

    def _progressed(self, event: e.CallProgressed) -> None:
        self._change(
            event.call_id,
            lambda call: replace(
                call,
                output=(call.output + event.text)[-LONGEST_OUTPUT:],
                current=call.current if event.current is None else event.current,
                total=call.total if event.total is None else event.total,
            ),
        )

    def _settled(self, event: e.CallSettled) -> None:
        self.questions = {key: each for key, each in self.questions.items() if key != (event.call_id,)}
        self._change(
            event.call_id,
            lambda call: replace(
                call,
                result=event.result,
                status=event.result.status,
                duration_ms=event.duration_ms,
                question=None,
                of=event.of or call.of,
            ),
        )

    def _staged(self, event: e.ActionStaged) -> None:
        self.pending[event.action.id] = event.action

    def _resolved(self, event: e.ActionResolved) -> None:
        self.pending.pop(event.id, None)
        self.blocks.append(ActionBlock(event.id, event.label, event.ended, event.reason, event.by))

    def _turn_started(self, event: e.TurnStarted) -> None:
        self.turn_began = event.at
        self.retry = None
        if self.run_began is None:
            self.run_began = event.at

    def _turn_ended(self, event: e.TurnEnded) -> None:
        self.turn_began = None
        self.measures = event.measures or self.measures
        self._spend(event.spent)
        for at, each in enumerate(self.blocks):
            if isinstance(each, (TextBlock, ThinkingBlock)) and not each.done:
                self.blocks[at] = replace(each, done=True)

    def _spend(self, spent: Spent | None) -> None:
        if spent is None:
            return
        self.usage += spent.usage
        self._run_tokens += spent.usage.output
        if spent.cost is not None:
            self.cost = (self.cost or 0.0) + spent.cost
            self._run_cost = (self._run_cost or 0.0) + spent.cost

    def _run_ended(self, event: e.RunEnded) -> None:
        began = event.at if self.run_began is None else self.run_began
        self._finish_all()
        self.blocks.append(EndBlock(event, max(event.at - began, 0.0), self._run_tokens, self._run_cost))
        self.run_began = self.turn_began = self.retry = None
        self._run_tokens, self._run_cost = 0, None

    def _retried(self, event: e.RequestRetried) -> None:
        """Text of the failed attempt that is still on the screen goes; what has left it stays, with a notice."""
        self._spend(event.spent)
        self.retry = event
        left = any(isinstance(each, TextBlock) and each.begun for each in self.blocks)
        self.blocks = [
            each
            for each in self.blocks
            if not (isinstance(each, (TextBlock, ThinkingBlock)) and each.id.startswith(f"{event.message_id}."))
        ]
        self._streamed.discard(event.message_id)
        where = f" from {event.instead}" if event.instead else ""
        wait = f" in {event.delay:.0f} s" if event.delay >= 1 else ""
        again = "; the answer above broke off" if left else ""
        self._notice(
            f"{event.detail or event.kind}: asking again{where}{wait} (attempt {event.attempt}){again}", "warning"
        )

    def _compacted(self, event: e.Compacted) -> None:
        self._spend(None if event.usage is None else Spent(event.model, event.usage, event.cost))
        tokens = f", {event.tokens_before:,} to {event.tokens_after:,} tokens" if event.tokens_before else ""
        self._notice(f"The conversation was compacted: a summary stands for {event.covered} messages{tokens}.")

    def _moved(self, event: e.Rewound | e.Branched) -> None:
        self._finish_all()
        self.questions.clear()
        where = "before" if isinstance(event, e.Rewound) else "right after"
        self._notice(f"The conversation goes on from {where} message {event.message_id}.")

    def _metadata(self, event: e.MetadataSet) -> None:
        self._spend(event.spent)
        if event.key == "title":
            self.title = str(event.value or "")

    def _finish_all(self) -> None:
        """Every block is final: nothing changes it after the end of a run."""
        for at, each in enumerate(self.blocks):
            if isinstance(each, (TextBlock, ThinkingBlock)):
                self.blocks[at] = replace(each, done=True)
            elif isinstance(each, CallBlock) and not each.done:
                self.blocks[at] = replace(each, status=Status.CANCELLED, question=None)
        self._streamed.clear()

    def _notice(self, text: str, level: Level = "info") -> None:
        self.blocks.append(NoticeBlock(text, level))

    def _calls(self) -> list[CallBlock]:
        return [each for each in self.blocks if isinstance(each, CallBlock)]

    def _change(self, call_id: str, change: Callable[[CallBlock], CallBlock]) -> None:
        """Changes the newest block of a call; a call that is not on the screen any more changes nothing."""
        for at in range(len(self.blocks) - 1, -1, -1):
            each = self.blocks[at]
            if isinstance(each, CallBlock) and each.id == call_id and not each.done:
                self.blocks[at] = change(each)
                return


def _status(fold: ConversationFold, event: e.StatusChanged) -> None:
    fold.status = event.status


def _mode(fold: ConversationFold, event: e.ModeSet) -> None:
    fold.mode = event.mode


def _model(fold: ConversationFold, event: e.ModelSet) -> None:
    fold.model = event.model


def _effort(fold: ConversationFold, event: e.EffortSet) -> None:
    fold.effort = event.effort


def _queued(fold: ConversationFold, event: e.PromptQueued) -> None:
    fold.waiting[event.id] = event


def _dequeued(fold: ConversationFold, event: e.PromptDequeued) -> None:
    fold.waiting.pop(event.id, None)


def _interruptible(fold: ConversationFold, event: e.InterruptibleChanged) -> None:
    fold.interruptible = event.interruptible


def _noted(fold: ConversationFold, event: e.Noted) -> None:
    fold.blocks.append(NoticeBlock(event.text, event.level))


def _refused(fold: ConversationFold, event: e.InputRefused) -> None:
    fold.blocks.append(NoticeBlock(f"{event.input} was refused: {event.reason}", "warning"))


def _paused(fold: ConversationFold, event: e.Paused) -> None:
    fold.blocks.append(NoticeBlock(f"The agent paused: {event.reason}", "warning"))


F = ConversationFold
# pyright: reportPrivateUsage=false
_APPLY: dict[type[e.Event], Callable[[ConversationFold, "object"], None]] = {  # pyright: ignore[reportAssignmentType]
    e.MessageAdded: F._message,
    e.TextStreamed: F._streams,
    e.ThinkingStreamed: F._streams,
    e.CallArrived: F._arrived,
    e.CallDecided: F._decided,
    e.QuestionAsked: F._asked,
    e.QuestionAnswered: F._answered,
    e.CallStarted: F._started,
    e.CallProgressed: F._progressed,
    e.CallSettled: F._settled,
    e.ActionStaged: F._staged,
    e.ActionResolved: F._resolved,
    e.TurnStarted: F._turn_started,
    e.TurnEnded: F._turn_ended,
    e.RunEnded: F._run_ended,
    e.RequestRetried: F._retried,
    e.Compacted: F._compacted,
    e.Rewound: F._moved,
    e.Branched: F._moved,
    e.MetadataSet: F._metadata,
    e.StatusChanged: _status,
    e.ModeSet: _mode,
    e.ModelSet: _model,
    e.EffortSet: _effort,
    e.PromptQueued: _queued,
    e.PromptDequeued: _dequeued,
    e.InterruptibleChanged: _interruptible,
    e.Noted: _noted,
    e.InputRefused: _refused,
    e.Paused: _paused,
}

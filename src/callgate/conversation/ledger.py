"""State is the fold of events: where every call is, what was said, what is remembered."""

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any, cast

from callgate.conversation.view import History, View
from callgate.core.call_ledger import CALL_FOLDS, EXECUTING, CallLedger
from callgate.words.calls import CODES
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.errors import StateError
from callgate.words.events import (
    AgentOpened,
    AgentSpent,
    AnswerUnused,
    Branched,
    CallSettled,
    CallStarted,
    Compacted,
    Counted,
    Durable,
    EffortSet,
    Forked,
    LinesQuarantined,
    MessageAdded,
    MetadataSet,
    ModelSet,
    ModeSet,
    Paused,
    PromptDequeued,
    PromptQueued,
    RequestRetried,
    ResultReplaced,
    Rewound,
    RunEnded,
    SessionOpened,
    Snipped,
    TurnEnded,
    TurnStarted,
)
from callgate.words.messages import Message, Spent, Text, Usage
from callgate.words.model import WHOLE, RunOptions, WantedEffort
from callgate.words.modes import MODES, Mode
from callgate.words.spending import spent_in
from callgate.words.turns import CONTINUING_REASONS

LONGEST_NUMBER = 12


class Ledger(CallLedger):
    """The fold. Settled calls are let go when their turn ends; the history keeps what was said.

    ``events`` come from a log, of which lines may be lost: what does not fit without them is left out.
    """

    def __init__(
        self,
        events: Iterable[Durable] = (),
        *,
        context: Mapping[str, Any] | None = None,
        mode: Mode = "default",
    ) -> None:
        super().__init__(context=context, mode=mode)
        self.view = View()
        self.mode_before: Mode = "default"  # plan mode
        self.effort: WantedEffort | None = None
        self.model: str | None = None
        self.usage = Usage()
        self.costs: dict[str, Spent] = {}  # by model
        self.turn = 0
        self.open_turn: TurnStarted | None = None
        self.open_message: MessageAdded | None = None
        self.open_results = False
        self.running = False
        self.options: RunOptions | None = None  # of the prompt that the last run was for
        self.ended: RunReason | None = None  # the cause that ended the last run, until there is something new to do
        self.paused = False  # in the middle of its work, until a person says that it may go on
        self.added = 0
        self.denied = self.denied_in_a_row = 0  # since a person last looked into it
        self.metadata: dict[str, Any] = {}
        self.about: dict[str, str] = {}  # the subjects of reminders, by the ids of their messages
        self.quoted: set[str] = set()  # ids of prompts with words of servers or the model
        self.agents: dict[str, AgentOpened] = {}  # nested sessions by name, also those that ended
        self.charged: dict[str, int] = {}  # the last event of each nested session whose costs are in here
        self.waiting: dict[str, PromptQueued] = {}  # prompts, in the order in which they are delivered
        self.queued = 0  # the number of the last one
        self.inherited: set[str] = set()  # open calls that belong to the session this one was forked from
        self.copying = False  # all so far was copied from the session this one was forked from
        for event in events:
            self._restore(event)
        if self.copying:  # the copy is cut off before its end
            self.inherited = set(self.calls)

    def _restore(self, event: Durable) -> None:
        """Lines before it may be lost. That a call has started or settled counts all the same."""
        try:
            self.fold(event)
        except LookupError:
            return
        except StateError:
            entry = self.calls.get(event.call_id) if isinstance(event, CallStarted | CallSettled) else None
            if entry is not None and entry.result is None:
                entry.status = EXECUTING
                self.fold(event)

    @property
    def messages(self) -> list[Message]:
        """The messages since the last boundary."""
        return self.view.messages

    @property
    def counted(self) -> Counted:
        return Counted(self.added, self.turn, self.usage, tuple(self.costs.values()))

    @property
    def cost(self) -> float:
        """Dollars of the whole session, as far as prices are known."""
        return sum(spent.cost or 0.0 for spent in self.costs.values())

    def spend(self, spent: Spent | None) -> None:
        if spent is not None:
            before = self.costs.get(spent.model)
            self.costs[spent.model] = spent if before is None else before + spent

    @property
    def continues(self) -> bool:
        """True if ``Continue()`` takes up the run that has ended or paused."""
        return self.paused or (self.ended is not None and ENDINGS[self.ended].continues)

    @property
    def whole(self) -> bool:
        """True if the open turn's message is known to be complete."""
        return self.open_message is not None and self.open_message.stop_reason in WHOLE

    @property
    def mentioned(self) -> bool:
        """True if the calls of the open turn are not the model's: a person's message mentions their subjects."""
        return self.open_turn is not None and self.open_turn.because == "mention"

    @property
    def unanswered(self) -> list[Message]:
        """The messages of people since the model's last one, oldest first."""
        since = takewhile(lambda each: each.role != "assistant", reversed(self.messages))
        said = [each for each in since if each.id[:1] == "u" and each.id not in self.about]
        return [each for each in reversed(said) if each.id not in self.quoted]

    def history(self) -> History:
        return self.view.history()


def _message_added(ledger: Ledger, event: MessageAdded) -> None:
    message = event.message
    ledger.view.add(message)
    number = message.id[1:] if message.id[:1] == "u" else ""
    ledger.added = max(ledger.added + 1, int(number) if number.isdecimal() and len(number) < LONGEST_NUMBER else 0)
    if event.about is not None:
        ledger.about[message.id] = event.about
        return  # a reminder: nobody said it, so no work comes of it
    if message.role == "user":
        if event.options is not None and event.options.quoted:
            ledger.quoted.add(message.id)
        ledger.options = ledger.options if ledger.running else event.options
        ledger.waiting.pop(event.queued or "", None)
        ledger.running, ledger.paused, ledger.ended = True, False, None
        ledger.recent = ()
        ledger.denied_in_a_row = 0
    elif message.role == "assistant":
        if message.usage is not None:
            ledger.usage = ledger.usage + message.usage
        if ledger.open_turn is not None and ledger.open_turn.message_id == message.id:
            ledger.open_message = event
    elif ledger.open_turn is not None:
        ledger.open_results = True


def _agent_opened(ledger: Ledger, event: AgentOpened) -> None:
    ledger.agents[event.name] = event


def _agent_spent(ledger: Ledger, event: AgentSpent) -> None:
    ledger.charged[event.name] = event.number
    _spent(ledger, event)


def _queued(ledger: Ledger, event: PromptQueued) -> None:
    ledger.waiting[event.id] = event
    if event.id[1:].isdecimal():
        ledger.queued = max(ledger.queued, int(event.id[1:]))


def _dequeued(ledger: Ledger, event: PromptDequeued) -> None:
    ledger.waiting.pop(event.id, None)


def _turn_started(ledger: Ledger, event: TurnStarted) -> None:
    ledger.turn = event.turn
    ledger.open_turn = event
    ledger.open_message = None
    ledger.open_results = False
    ledger.running, ledger.paused, ledger.ended = True, False, None
    ledger.calls = {}  # there is none left of an earlier turn, unless lines were lost


def _turn_ended(ledger: Ledger, event: TurnEnded) -> None:
    if event.spent is not None and ledger.open_message is None:
        ledger.usage = ledger.usage + event.spent.usage  # nothing came of the message
    ledger.spend(event.spent)
    ledger.open_turn = ledger.open_message = None
    ledger.running = event.reason in CONTINUING_REASONS
    ledger.calls = {call_id: entry for call_id, entry in ledger.calls.items() if entry.result is None}


def _run_ended(ledger: Ledger, event: RunEnded) -> None:
    ledger.running, ledger.paused = False, event.reason == "paused"
    ledger.ended = event.reason


def _spent(ledger: Ledger, event: RequestRetried | MetadataSet | AnswerUnused | AgentSpent) -> None:
    if event.spent is not None:
        ledger.usage = ledger.usage + event.spent.usage
        ledger.spend(event.spent)


def _paused(ledger: Ledger, event: Paused) -> None:
    ledger.paused, ledger.running = True, False
    ledger.denied = ledger.denied_in_a_row = 0


def _mode(ledger: Ledger, event: ModeSet) -> None:
    if not MODES[ledger.mode].forbids_changes:
        ledger.mode_before = ledger.mode
    CALL_FOLDS[ModeSet](ledger, event)


def _settled(ledger: Ledger, event: CallSettled) -> None:
    CALL_FOLDS[CallSettled](ledger, event)
    if event.result.code == "ok":
        ledger.denied_in_a_row = 0
    elif CODES[event.result.code].denial and not ledger.mentioned:
        ledger.denied_in_a_row += 1
        ledger.denied += 1


def _model(ledger: Ledger, event: ModelSet) -> None:
    ledger.model = event.model


def _effort(ledger: Ledger, event: EffortSet) -> None:
    ledger.effort = event.effort


def _moved(ledger: Ledger, event: Rewound | Branched) -> None:
    """The totals that a fold of the live messages cannot know; the journal decides which messages are live."""
    _count(ledger, event.counted)


def boundary_parts(event: Compacted) -> tuple[Text, ...]:
    """The content of the message that stands for the history before a boundary."""
    return (Text(event.summary), Text(f"\n\n{event.restored}")) if event.restored else (Text(event.summary),)


def _compacted(ledger: Ledger, event: Compacted) -> None:
    ledger.view.compact(Message(f"c{event.counted.messages}", "user", boundary_parts(event)), event.kept)
    ledger.context = dict(event.context)
    ledger.running, ledger.paused, ledger.options = event.running, event.paused, event.options
    ledger.denied = ledger.denied_in_a_row = 0
    ledger.recent = ()
    ledger.message_of = {call.id: message.id for message in ledger.messages for call in message.calls}
    _count(ledger, event.counted)  # its usage is in there
    ledger.spend(spent_in(event))


def _count(ledger: Ledger, counted: Counted) -> None:
    ledger.added = max(ledger.added, counted.messages)
    ledger.turn = max(ledger.turn, counted.turns)
    ledger.usage = counted.usage
    ledger.costs = {spent.model: spent for spent in counted.costs}


def _snipped(ledger: Ledger, event: Snipped) -> None:
    ledger.view.snip(event.message_ids)


def _replaced(ledger: Ledger, event: ResultReplaced) -> None:
    ledger.view.replace(event.message_id, event.call_id, event.content)


def _metadata(ledger: Ledger, event: MetadataSet) -> None:
    ledger.metadata[event.key] = event.value
    _spent(ledger, event)


def _forked(ledger: Ledger, event: Forked) -> None:
    ledger.inherited, ledger.copying = set(ledger.calls), False
    _count(ledger, event.counted)


def _opened(ledger: Ledger, event: SessionOpened) -> None:
    ledger.copying = event.forked


def _quarantined(ledger: Ledger, event: LinesQuarantined) -> None:
    """The lost lines may have held messages and turns: their numbers are not given out again."""
    lost = sum(length // 100 + 1 for _, length in event.ranges)
    ledger.added = max(ledger.added, event.counted.messages) + lost
    ledger.turn = max(ledger.turn, event.counted.turns) + lost
    ledger.queued += lost


Ledger.FOLDS = cast(
    Mapping[type, Callable[[Any, Any], None]],
    {
        **CALL_FOLDS,
        MessageAdded: _message_added,
        AgentOpened: _agent_opened,
        AgentSpent: _agent_spent,
        PromptQueued: _queued,
        PromptDequeued: _dequeued,
        TurnStarted: _turn_started,
        TurnEnded: _turn_ended,
        RunEnded: _run_ended,
        RequestRetried: _spent,
        CallSettled: _settled,
        Paused: _paused,
        ModeSet: _mode,
        ModelSet: _model,
        EffortSet: _effort,
        Rewound: _moved,
        Branched: _moved,
        Compacted: _compacted,
        Snipped: _snipped,
        ResultReplaced: _replaced,
        MetadataSet: _metadata,
        AnswerUnused: _spent,
        SessionOpened: _opened,
        Forked: _forked,
        LinesQuarantined: _quarantined,
    },
)

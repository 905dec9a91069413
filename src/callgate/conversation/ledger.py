"""The state of a conversation, computed from events: calls, messages, costs, mode, queued prompts."""

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any, cast

from callgate.conversation.view import AnswerText, View
from callgate.core.call_ledger import CALL_FOLDS, EXECUTING, CallLedger
from callgate.words import events
from callgate.words.calls import CODES, Status
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.errors import StateError
from callgate.words.events import spent_in
from callgate.words.messages import Message, Spent, Text, Usage
from callgate.words.model import WHOLE, RunOptions, WantedEffort
from callgate.words.modes import MODES, Mode
from callgate.words.turns import CONTINUING_REASONS, INJECTED

LONGEST_NUMBER = 12


class Ledger(CallLedger):
    """The state of a conversation. Settled calls are dropped when their turn ends.

    The parameter ``log`` has the events of a log in which lines may be missing. Events that depend on missing lines are
    skipped.

    costs            costs by model
    options          the options of the prompt of the last run
    ended            the reason for the end of the last run; None while a run is open
    paused           the agent waits until the user continues it
    denied           the number of denials after the last action of the user
    denied_in_a_row  the number of consecutive denials
    about            subjects of reminders by message id
    quoted           ids of prompts with text of servers or models
    waiting          queued prompts in the order of delivery
    queued           the number of the last queued prompt
    inherited        open calls that belong to the session from which this session was forked
    copying          all events so far were copied from another session
    agents           nested sessions by name, including ended ones
    charged          the number of the last charged event of each nested session
    called           the number of tool calls of the model in the open run
    failing          the number of consecutive failures by tool in the open run
    answer           the text of the model in the last run since its last tool call
    """

    def __init__(
        self,
        log: Iterable[events.Durable] = (),
        *,
        context: Mapping[str, Any] | None = None,
        mode: Mode = "default",
    ) -> None:
        super().__init__(context=context, mode=mode)
        self.view = View()
        self.answer = AnswerText()
        self.called = 0
        self.failing: dict[str, int] = {}
        self.mode_before: Mode = "default"
        self.effort: WantedEffort | None = None
        self.model: str | None = None
        self.usage = Usage()
        self.costs: dict[str, Spent] = {}
        self.turn = 0
        self.open_turn: events.TurnStarted | None = None
        self.open_message: events.MessageAdded | None = None
        self.open_results = False
        self.running = False
        self.options: RunOptions | None = None
        self.ended: RunReason | None = None
        self.paused = False
        self.added = 0
        self.denied = self.denied_in_a_row = 0
        self.metadata: dict[str, Any] = {}
        self.about: dict[str, str] = {}
        self.quoted: set[str] = set()
        self.agents: dict[str, events.AgentOpened] = {}
        self.charged: dict[str, int] = {}
        self.waiting: dict[str, events.PromptQueued] = {}
        self.queued = 0
        self.inherited: set[str] = set()
        self.copying = False
        for event in log:
            self._restore(event)
        if self.copying:  # the copy is incomplete
            self.inherited = set(self.calls)

    def _restore(self, event: events.Durable) -> None:
        """Process an event of a log. The start and the end of a call are processed even if earlier events of the
        call are missing."""
        try:
            self.fold(event)
        except LookupError:
            return
        except StateError:
            entry = (
                self.calls.get(event.call_id) if isinstance(event, events.CallStarted | events.CallSettled) else None
            )
            if entry is not None and entry.result is None:
                entry.status = EXECUTING
                self.fold(event)

    @property
    def messages(self) -> list[Message]:
        """The messages after the last boundary."""
        return self.view.messages

    @property
    def counted(self) -> events.Counted:
        return events.Counted(self.added, self.turn, self.usage, tuple(self.costs.values()))

    @property
    def cost(self) -> float:
        """The cost of the whole session in dollars, as far as prices are known."""
        return sum(spent.cost or 0.0 for spent in self.costs.values())

    def spend(self, spent: Spent | None) -> None:
        if spent is not None:
            before = self.costs.get(spent.model)
            self.costs[spent.model] = spent if before is None else before + spent

    @property
    def continues(self) -> bool:
        """True if ``Continue()`` can resume the last run."""
        return self.paused or (self.ended is not None and ENDINGS[self.ended].continues)

    @property
    def whole(self) -> bool:
        """True if the message of the open turn is complete."""
        return self.open_message is not None and self.open_message.stop_reason in WHOLE

    @property
    def injected(self) -> bool:
        """True if the calls of the open turn come from a mention or a program."""
        return self.open_turn is not None and self.open_turn.because in INJECTED

    @property
    def unanswered(self) -> list[Message]:
        """The messages of the user after the last message of the model, oldest first."""
        since = takewhile(lambda each: each.role != "assistant", reversed(self.messages))
        said = [each for each in since if each.id[:1] == "u" and each.id not in self.about]
        return [each for each in reversed(said) if each.id not in self.quoted]

    def history(self) -> list[Message]:
        return self.view.history()


def _message_added(ledger: Ledger, event: events.MessageAdded) -> None:
    message = event.message
    ledger.view.add(message)
    number = message.id[1:] if message.id[:1] == "u" else ""
    ledger.added = max(ledger.added + 1, int(number) if number.isdecimal() and len(number) < LONGEST_NUMBER else 0)
    if event.about is not None:
        ledger.about[message.id] = event.about
        return  # a reminder starts no work
    if message.role == "user":
        if event.options is not None and event.options.quoted:
            ledger.quoted.add(message.id)
        if not ledger.running:
            ledger.answer.begin()
        ledger.options = ledger.options if ledger.running else event.options
        ledger.waiting.pop(event.queued or "", None)
        ledger.running, ledger.paused, ledger.ended = True, False, None
        ledger.recent = ()
        ledger.denied_in_a_row = 0
    elif message.role == "assistant":
        if message.usage is not None:
            ledger.usage = ledger.usage + message.usage
        if not ledger.injected:
            ledger.answer.add(message, is_whole=event.stop_reason is None or event.stop_reason in WHOLE)
        if ledger.open_turn is not None and ledger.open_turn.message_id == message.id:
            ledger.open_message = event
    elif ledger.open_turn is not None:
        ledger.open_results = True


def _arrived(ledger: Ledger, event: events.CallArrived) -> None:
    CALL_FOLDS[events.CallArrived](ledger, event)
    ledger.called += not ledger.injected


def _agent_opened(ledger: Ledger, event: events.AgentOpened) -> None:
    ledger.agents[event.name] = event


def _agent_spent(ledger: Ledger, event: events.AgentSpent) -> None:
    ledger.charged[event.name] = event.number
    _spent(ledger, event)


def _queued(ledger: Ledger, event: events.PromptQueued) -> None:
    ledger.waiting[event.id] = event
    if event.id[1:].isdecimal():
        ledger.queued = max(ledger.queued, int(event.id[1:]))


def _dequeued(ledger: Ledger, event: events.PromptDequeued) -> None:
    ledger.waiting.pop(event.id, None)


def _turn_started(ledger: Ledger, event: events.TurnStarted) -> None:
    ledger.turn = event.turn
    ledger.open_turn = event
    ledger.open_message = None
    ledger.open_results = False
    if event.because != "call":  # the turn is not part of a run
        if not ledger.running and event.because == "notice":
            ledger.answer.begin()
        ledger.running, ledger.paused, ledger.ended = True, False, None
    ledger.calls = {}  # only calls of missing turns could be left


def _turn_ended(ledger: Ledger, event: events.TurnEnded) -> None:
    if event.spent is not None and ledger.open_message is None:
        ledger.usage = ledger.usage + event.spent.usage  # the message was not added
    ledger.spend(event.spent)
    if ledger.open_turn is None or ledger.open_turn.because != "call":
        ledger.running = event.reason in CONTINUING_REASONS
    ledger.open_turn = ledger.open_message = None
    ledger.calls = {call_id: entry for call_id, entry in ledger.calls.items() if entry.result is None}


def _run_ended(ledger: Ledger, event: events.RunEnded) -> None:
    ledger.running, ledger.paused = False, event.reason == "paused"
    ledger.ended = event.reason
    ledger.called, ledger.failing = 0, {}


def _spent(
    ledger: Ledger, event: events.RequestRetried | events.MetadataSet | events.AnswerUnused | events.AgentSpent
) -> None:
    if event.spent is not None:
        ledger.usage = ledger.usage + event.spent.usage
        ledger.spend(event.spent)


def _paused(ledger: Ledger, event: events.Paused) -> None:
    ledger.paused, ledger.running = True, False
    ledger.denied = ledger.denied_in_a_row = 0


def _mode(ledger: Ledger, event: events.ModeSet) -> None:
    if not MODES[ledger.mode].forbids_changes:
        ledger.mode_before = ledger.mode
    CALL_FOLDS[events.ModeSet](ledger, event)


def _settled(ledger: Ledger, event: events.CallSettled) -> None:
    CALL_FOLDS[events.CallSettled](ledger, event)
    name, row = ledger.calls[event.call_id].name, CODES[event.result.code]
    if event.result.code == "ok":
        ledger.denied_in_a_row = 0
        ledger.failing.pop(name, None)
    elif row.status is Status.ERROR and not row.denial and not ledger.injected:
        ledger.failing[name] = ledger.failing.get(name, 0) + 1
    elif CODES[event.result.code].denial and not ledger.injected:
        ledger.denied_in_a_row += 1
        ledger.denied += 1


def _model(ledger: Ledger, event: events.ModelSet) -> None:
    ledger.model = event.model


def _effort(ledger: Ledger, event: events.EffortSet) -> None:
    ledger.effort = event.effort


def _moved(ledger: Ledger, event: events.Rewound | events.Branched) -> None:
    """Set the totals of the session from the event. The live events are not sufficient to compute them."""
    _count(ledger, event.counted)


def boundary_parts(event: events.Compacted) -> tuple[Text, ...]:
    """Return the parts of the message that replaces the history before a boundary."""
    return (Text(event.summary), Text(f"\n\n{event.restored}")) if event.restored else (Text(event.summary),)


def _compacted(ledger: Ledger, event: events.Compacted) -> None:
    ledger.view.compact(Message(f"c{event.counted.messages}", "user", boundary_parts(event)), event.kept)
    ledger.context = dict(event.context)
    ledger.running, ledger.paused, ledger.options = event.running, event.paused, event.options
    ledger.denied = ledger.denied_in_a_row = 0
    ledger.recent = ()
    if event.running and event.answer:
        ledger.answer.begin(event.answer)
    ledger.message_of = {call.id: message.id for message in ledger.messages for call in message.calls}
    _count(ledger, event.counted)  # includes the usage of the summary before
    ledger.spend(spent_in(event))


def _count(ledger: Ledger, counted: events.Counted) -> None:
    ledger.added = max(ledger.added, counted.messages)
    ledger.turn = max(ledger.turn, counted.turns)
    ledger.usage = counted.usage
    ledger.costs = {spent.model: spent for spent in counted.costs}


def _snipped(ledger: Ledger, event: events.Snipped) -> None:
    ledger.view.snip(event.message_ids)


def _replaced(ledger: Ledger, event: events.ResultReplaced) -> None:
    ledger.view.replace(event.message_id, event.call_id, event.content)


def _metadata(ledger: Ledger, event: events.MetadataSet) -> None:
    ledger.metadata[event.key] = event.value
    _spent(ledger, event)


def _forked(ledger: Ledger, event: events.Forked) -> None:
    ledger.inherited, ledger.copying = set(ledger.calls), False
    _count(ledger, event.counted)


def _opened(ledger: Ledger, event: events.SessionOpened) -> None:
    ledger.copying = event.forked


def _quarantined(ledger: Ledger, event: events.LinesQuarantined) -> None:
    """Skip the numbers of messages and turns that may have been used in the lost lines."""
    lost = sum(length // 100 + 1 for _, length in event.ranges)
    ledger.added = max(ledger.added, event.counted.messages) + lost
    ledger.turn = max(ledger.turn, event.counted.turns) + lost
    ledger.queued += lost


Ledger.FOLDS = cast(
    Mapping[type, Callable[[Any, Any], None]],
    {
        **CALL_FOLDS,
        events.MessageAdded: _message_added,
        events.AgentOpened: _agent_opened,
        events.AgentSpent: _agent_spent,
        events.PromptQueued: _queued,
        events.PromptDequeued: _dequeued,
        events.TurnStarted: _turn_started,
        events.TurnEnded: _turn_ended,
        events.RunEnded: _run_ended,
        events.RequestRetried: _spent,
        events.CallArrived: _arrived,
        events.CallSettled: _settled,
        events.Paused: _paused,
        events.ModeSet: _mode,
        events.ModelSet: _model,
        events.EffortSet: _effort,
        events.Rewound: _moved,
        events.Branched: _moved,
        events.Compacted: _compacted,
        events.Snipped: _snipped,
        events.ResultReplaced: _replaced,
        events.MetadataSet: _metadata,
        events.AnswerUnused: _spent,
        events.SessionOpened: _opened,
        events.Forked: _forked,
        events.LinesQuarantined: _quarantined,
    },
)

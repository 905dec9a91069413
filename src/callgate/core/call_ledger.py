"""The state of calls, computed from events: status, remembered answers, context and permission mode."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, cast

from callgate.words import events
from callgate.words.calls import CODES, Edited, Repair, Result, Status, ToolCall, check_move
from callgate.words.decisions import ApprovalPolicy, Ask, Confirmation, Decision, Deny, Question, arguments_hash
from callgate.words.modes import Mode

LIVE_OUTPUT_CHARS = 10_000
RECENT_CALLS = 12

# By name, because looking a member up in its class costs more than comparing it.
VALIDATING, AWAITING_APPROVAL = Status.VALIDATING, Status.AWAITING_APPROVAL
SCHEDULED, EXECUTING = Status.SCHEDULED, Status.EXECUTING


_shown = attrgetter(*ToolCall.__match_args__)


class Entry:
    """The state of one call. Only events change the state.

    answer   a recorded answer that has not been applied yet, or None
    hashed   the hash of the arguments; None until the arguments are read
    updated  True if the context update of the call has been applied
    """

    __slots__ = (*ToolCall.__match_args__, "answer", "asked_as", "attempt", "hashed", "updated")

    def __init__(self, event: events.CallArrived) -> None:
        self.id = event.call_id
        self.name = event.name
        self.arguments: Mapping[str, Any] = event.arguments
        self.raw_arguments = event.raw_arguments
        self.repairs: tuple[Repair, ...] = event.repairs
        self.kept = event.kept
        self.from_text = event.from_text
        self.asked_as = event.asked_as
        self.hashed = event.arguments_hash
        self.index = event.index
        self.message_id = event.message_id
        self.status = VALIDATING
        self.attempt = 0
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.duration_ms: float | None = None
        self.live_output = ""
        self.result: Result | None = None
        self.question: Question | None = None
        self.answer: Confirmation | None = None
        self.decision: Decision | None = None
        self.edited: Edited | None = None
        self.updated = False

    def move(self, after: Status) -> None:
        check_move(self.id, self.status, after)
        self.status = after

    def snapshot(self) -> ToolCall:
        call = ToolCall(*_shown(self))
        return call if self.asked_as is None else replace(call, raw_arguments=None)  # the text for the other name


class CallLedger:
    """The calls of one message or batch, and the state that decisions depend on, computed from events.

    message_of  message ids by call id, for calls after the last boundary
    recent      hashes of the last calls, newest last
    """

    FOLDS: ClassVar[Mapping[type, Callable[[Any, Any], None]]]

    def __init__(self, *, context: Mapping[str, Any] | None = None, mode: Mode = "default") -> None:
        self.calls: dict[str, Entry] = {}
        self.context: Mapping[str, Any] = dict(context or {})
        self.policies: list[ApprovalPolicy] = []
        self.mode: Mode = mode
        self.message_of: dict[str, str] = {}
        self.recent: tuple[str, ...] = ()

    def hashes_before(self, call_id: str) -> tuple[str, ...]:
        """Return the hashes of the calls before the given call, newest last. The given call is excluded, also if it
        was resumed."""
        recent, entry = self.recent, self.calls.get(call_id)
        if entry is None:
            return recent
        since = sum(each.index >= entry.index and each.hashed is not None for each in self.calls.values())
        return recent[: max(0, len(recent) - since)]

    def call(self, call_id: str) -> ToolCall:
        return self.calls[call_id].snapshot()

    def fold(self, event: events.Event) -> None:
        step = self.FOLDS.get(event.__class__)
        if step is not None:
            step(self, event)


def _arrived(ledger: CallLedger, event: events.CallArrived) -> None:
    ledger.calls[event.call_id] = Entry(event)
    ledger.message_of[event.call_id] = event.message_id
    if event.arguments_hash is not None:
        ledger.recent = (*ledger.recent[1 - RECENT_CALLS :], event.arguments_hash)


def _decided(ledger: CallLedger, event: events.CallDecided) -> None:
    entry = ledger.calls[event.call_id]
    decision = event.decision
    entry.decision = decision
    if not isinstance(decision, Ask) or event.arguments_hash != entry.hashed:
        entry.answer = None  # applied already, or given for other arguments
    entry.hashed = event.arguments_hash
    if not isinstance(decision, Deny):
        if decision.arguments is not None:
            before = entry.arguments if entry.edited is None else entry.edited.before  # what the model wrote
            entry.edited = Edited(decision.changed_by or decision.by, before)
            entry.arguments = decision.arguments
        if entry.status not in (SCHEDULED, EXECUTING):  # a call that is repeated after a crash keeps its position
            entry.move(SCHEDULED)


def _asked(ledger: CallLedger, event: events.QuestionAsked) -> None:
    if not event.question.is_about_call:
        return
    entry = ledger.calls[event.question.call_id]
    if entry.status is not AWAITING_APPROVAL:  # asked again after a restart
        entry.move(AWAITING_APPROVAL)
    entry.question = event.question
    entry.answer = None


def _answered(ledger: CallLedger, event: events.QuestionAnswered) -> None:
    ledger.recent = ()
    answer = event.confirmation
    entry = ledger.calls.get(answer.call_id)
    if entry is not None:
        given = None if answer.arguments is None else arguments_hash(entry.name, answer.arguments)
        entry.answer = answer if event.edited is None or event.edited == given else None


def _started(ledger: CallLedger, event: events.CallStarted) -> None:
    entry = ledger.calls[event.call_id]
    if entry.status is SCHEDULED:
        entry.status = EXECUTING
    elif entry.status is not EXECUTING:  # a call that is repeated after a crash keeps its position
        entry.move(EXECUTING)
    entry.attempt = event.attempt
    entry.started_at = event.at


def _progressed(ledger: CallLedger, event: events.CallProgressed) -> None:
    entry = ledger.calls[event.call_id]
    if event.text:
        entry.live_output = (entry.live_output + event.text)[-LIVE_OUTPUT_CHARS:]


def _settled(ledger: CallLedger, event: events.CallSettled) -> None:
    entry, result = ledger.calls[event.call_id], event.result
    code = result.code
    entry.move(CODES[code].status)
    entry.result = result
    entry.ended_at = event.at
    entry.duration_ms = event.duration_ms


def _context(ledger: CallLedger, event: events.ContextUpdated) -> None:
    entry = ledger.calls.get(event.call_id)
    if entry is not None:
        entry.updated = True
    ledger.context = {**ledger.context, **event.update}


def _policy(ledger: CallLedger, event: events.PolicyAdded) -> None:
    ledger.policies.append(event.policy)


def _mode(ledger: CallLedger, event: events.ModeSet) -> None:
    ledger.mode = event.mode


CALL_FOLDS = cast(
    Mapping[type, Callable[[Any, Any], None]],
    {
        events.CallArrived: _arrived,
        events.CallDecided: _decided,
        events.QuestionAsked: _asked,
        events.QuestionAnswered: _answered,
        events.CallStarted: _started,
        events.CallProgressed: _progressed,
        events.CallSettled: _settled,
        events.ContextUpdated: _context,
        events.PolicyAdded: _policy,
        events.ModeSet: _mode,
    },
)
CallLedger.FOLDS = CALL_FOLDS

"""ToolCallRunner runs complete batches of calls, without a session. Imported on first use.

A run returns when every call has settled or waits for an answer. The caller keeps the calls, and runs them again
with the answers. Without a journal the runner keeps no state.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar

from callgate.assembly.options import AnyPath, as_gate, as_host, as_journal, as_settings
from callgate.conversation.ports import Journal
from callgate.core import outcomes
from callgate.core.call_ledger import CallLedger, Entry
from callgate.core.executor import CallExecutor
from callgate.core.gate import policy_fault
from callgate.core.ports import Gate, Host, Target, ToolSource
from callgate.core.record import CallRecord, DiscardedLog, OwnListener
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.calls import Accepted, Result, Status, ToolCall
from callgate.words.decisions import Allow, ApprovalPolicy, Confirmation, Question, arguments_hash
from callgate.words.errors import UsageError
from callgate.words.events import CallArrived, CallDecided, CallSettled, CallStarted, ContextUpdated, Event
from callgate.words.limits import ExecutorSettings
from callgate.words.modes import Mode, check_mode
from callgate.words.noun import nothing, noun

T = TypeVar("T")


@noun
class RefusedAnswer:
    """A refused confirmation and the reason."""

    confirmation: Confirmation
    reason: str


@noun
class RunOutcome:
    """The calls of a batch by state, in arrival order. ``context`` is the context for the next run."""

    executed: tuple[ToolCall, ...] = ()
    still_needs_approval: tuple[ToolCall, ...] = ()
    held: tuple[ToolCall, ...] = ()
    failed: tuple[ToolCall, ...] = ()
    new_policies: tuple[ApprovalPolicy, ...] = ()
    refused: tuple[RefusedAnswer, ...] = ()
    context: Mapping[str, Any] = field(default_factory=nothing)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions to answer before the remaining calls can run."""
        return tuple(call.question for call in self.still_needs_approval if call.question is not None)


class ToolCallRunner:
    """Runs complete batches of calls, without a session. Without a journal it has no state between runs.

    With a journal, the start and the end of each call are recorded. A call that has settled in the journal is not run
    again; its recorded result is returned. A call that had started when an earlier program ended is run again only if
    it is declared safe to repeat; otherwise its result has the code ``outcome_unknown``.

    tools     functions, tools, or a Toolbox
    gate      the gate; default: the default gate
    host      the host for the tools, or the folder for the local host; default: the current folder
    settings  how calls run: maximum concurrency, time limits, sizes (ExecutorSettings)
    on_event  listener for every event of a batch
    mode      the permission mode
    deps      any object, passed to tools as ``run.deps``
    journal   stores the calls, from ``await store.create()`` or ``store.open(…)``: after a crash inside a batch, pass
              the same calls again. Each call id must be unique in the whole journal. Default: nothing is stored
    """

    def __init__(
        self,
        tools: Tools,
        gate: Gate | None = None,
        *,
        host: Host | AnyPath | None = None,
        settings: ExecutorSettings | None = None,
        on_event: OwnListener | None = None,
        mode: Mode = "default",
        deps: Any = None,
        journal: Journal | None = None,
    ) -> None:
        kept = None if journal is None else as_journal(journal)
        self._toolbox = as_toolbox(tools)
        self._gate = as_gate(gate)
        self._host = as_host(host, kept)
        self._settings = as_settings(settings)
        self._deps = deps
        self._past = None if kept is None else _Past(kept, self._toolbox)
        self._listeners = () if on_event is None else (on_event,)
        self._mode: Mode = check_mode(mode)

    async def execute(
        self,
        calls: Iterable[ToolCall],
        confirmations: Iterable[Confirmation] = (),
        policies: Iterable[ApprovalPolicy] = (),
        context: Mapping[str, Any] | None = None,
    ) -> RunOutcome:
        """Run the calls that may run and return the outcome. Calls that already have a result are skipped and are
        not in the outcome."""
        batch = _in_order(calls)
        answers = _all_of(Confirmation, confirmations)
        given = _all_of(ApprovalPolicy, policies)
        for policy in given:
            wrong = policy_fault(policy)
            if wrong is not None:
                raise UsageError(wrong)
        ledger = CallLedger(context=context, mode=self._mode)
        ledger.policies.extend(given)
        past = self._past
        settled = set[str]() if past is None else past.restore(batch, ledger)
        listeners = self._listeners if past is None else (past.on_event, *self._listeners)
        record = CallRecord(DiscardedLog() if past is None else past.journal, ledger, listeners)
        executor = CallExecutor(
            self._toolbox,
            self._gate,
            host=self._host,
            record=record,
            settings=self._settings,
            confirmations=answers,
            deps=self._deps,
        )
        for call in batch:
            entry = ledger.calls.get(call.id)
            if call.id in settled and entry is not None:
                executor.recall(entry.snapshot(), updated=entry.updated)
            else:
                refused, attempt = (None, 1) if past is None else past.outcome(call)
                executor.add(call, refused=refused, attempt=attempt)
        executor.close()
        await executor.stalled()
        await executor.unwound()
        executor.apply_updates()
        after = executor.calls()
        record.deliver()
        outcome = RunOutcome(
            executed=_having(after, Status.SUCCESS),
            still_needs_approval=_having(after, Status.AWAITING_APPROVAL),
            held=_having(after, Status.SCHEDULED, Status.VALIDATING),
            failed=_having(after, Status.ERROR, Status.CANCELLED),
            new_policies=tuple(ledger.policies[len(given) :]),
            refused=tuple(RefusedAnswer(*refused) for refused in executor.refused_answers()),
            context=dict(ledger.context),
        )
        executor.leave("The batch pauses.")  # end the questions
        await executor.unwound()
        if past is not None and (waiting := past.journal.barrier()) is not None:
            await waiting
        return outcome


_KEPT = (CallArrived, CallDecided, CallStarted, CallSettled, ContextUpdated)


class _Past:
    """The recorded events of calls, by call id."""

    def __init__(self, journal: Journal, toolbox: ToolSource) -> None:
        self.journal = journal
        self._toolbox = toolbox
        self._events: dict[str, list[Event]] = {}
        for event in journal.read():
            self.on_event(event)

    def on_event(self, event: Event) -> None:
        if isinstance(event, CallArrived):
            self._events[event.call_id] = [event]
        elif isinstance(event, _KEPT) and event.call_id in self._events:
            self._events[event.call_id].append(event)

    def restore(self, batch: Sequence[ToolCall], ledger: CallLedger) -> set[str]:
        """Fold the events of settled calls into the ledger and return the ids of these calls. Raise UsageError if a
        call id belongs to another call of the journal."""
        found: set[str] = set()
        for call in batch:
            entry = self._entry(call.id)
            if entry is None:
                continue
            self._check_same(call, entry)
            if entry.result is not None:
                found.add(call.id)
                for event in self._events[call.id]:
                    ledger.fold(event)
        return found

    def outcome(self, call: ToolCall) -> tuple[Result | None, int]:
        """Return the result and the number of the next attempt of a call that had started when an earlier program
        ended. The result is None if the call may run again."""
        entry = self._entry(call.id)
        if entry is None or entry.status is not Status.EXECUTING:
            return None, 1
        target, arguments = self._read(call)
        try:
            effects = "mutating" if target is None else target.tool.traits(arguments).effects
        except Exception:  # assume effects
            effects = "mutating"
        return (outcomes.outcome_unknown(effects) if effects == "mutating" else None), entry.attempt + 1

    def _entry(self, call_id: str) -> Entry | None:
        events = self._events.get(call_id)
        if events is None:
            return None
        ledger = CallLedger()
        for event in events:
            ledger.fold(event)
        return ledger.calls[call_id]

    def _check_same(self, call: ToolCall, entry: Entry) -> None:
        target, arguments = self._read(call)
        name = call.name if target is None else target.tool.spec.name
        before = entry.hashed if entry.edited is None else arguments_hash(entry.name, entry.edited.before)
        given = arguments_hash(name, arguments)
        is_same = before is None or target is None or given in (before, entry.hashed) or arguments == entry.arguments
        if name != entry.name or not is_same:
            raise UsageError(
                f"call id {call.id!r} belongs to another call in the journal; use a unique id for each call"
            )

    def _read(self, call: ToolCall) -> tuple[Target | None, Mapping[str, Any]]:
        raw = call.arguments if call.arguments or call.raw_arguments is None else call.raw_arguments
        try:
            target = self._toolbox.resolve(call.name, raw)
            read = target.tool.read(target.raw) if isinstance(target, Target) else None
        except Exception:  # the call is reported as failed when it is added
            return None, call.arguments
        return (target, read.arguments) if isinstance(target, Target) and isinstance(read, Accepted) else (None, {})


def _all_of(kind: type[T], given: Iterable[T]) -> tuple[T, ...]:
    """Return the items as a tuple. Raise UsageError for a single item, or for an item of the wrong type."""
    found = (given,) if isinstance(given, kind) else tuple(given)
    wrong = next((each for each in found if not isinstance(each, kind)), None)
    if wrong is not None or isinstance(given, kind):
        what = "one" if wrong is None else f"a {type(wrong).__name__} in it"
        raise UsageError(f"pass a list of {kind.__name__}, not {what}")
    return found


def _having(calls: Sequence[ToolCall], *statuses: Status) -> tuple[ToolCall, ...]:
    return tuple(call for call in calls if call.status in statuses)


def _in_order(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Return the unsettled calls sorted by index. A call without an index keeps its position after the calls before
    it in the list."""
    batch: list[ToolCall] = []
    last = -1
    for call in _all_of(ToolCall, calls):
        if (call.result is None) == call.settled:
            has = "no result" if call.result is None else "a result"
            raise UsageError(
                f"call {call.id!r} has {has}, but its status is {call.status.value!r}:"
                " pass the status together with the result, or neither of them"
            )
        call = _judged_anew(call)
        batch.append(call if call.index >= 0 else replace(call, index=last + 1))
        last = max(last, batch[-1].index)
    ids = [call.id for call in batch]
    if len(set(ids)) != len(ids):
        twice = next(call_id for call_id in ids if ids.count(call_id) > 1)
        raise UsageError(f"call id {twice!r} is in the batch twice; use a unique id for each call")
    return sorted((call for call in batch if not call.settled), key=lambda call: call.index)


def _judged_anew(call: ToolCall) -> ToolCall:
    """Return the call without its Allow, because the program may have changed the arguments. An Allow is kept only
    if the user gave the same arguments with the answer."""
    decision = call.decision
    if isinstance(decision, Allow) and (call.edited is None or decision.arguments != call.arguments):
        return replace(call, decision=None)
    return call

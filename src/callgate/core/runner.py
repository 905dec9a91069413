"""BatchRunner runs complete batches of calls without keeping state.

A run returns when every call has settled or waits for an answer. The caller keeps the calls, and runs them again
with the answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar

from callgate.core.call_ledger import CallLedger
from callgate.core.executor import CallExecutor
from callgate.core.gate import policy_fault
from callgate.core.ports import Gate, Host, ToolSource
from callgate.core.record import CallRecord, DiscardedLog, OwnListener
from callgate.words.calls import Status, ToolCall
from callgate.words.decisions import Allow, ApprovalPolicy, Confirmation, Question
from callgate.words.errors import UsageError
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


class BatchRunner:
    """Runs complete batches of calls. It has no state between runs."""

    def __init__(
        self,
        toolbox: ToolSource,
        gate: Gate,
        *,
        host: Host,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        on_event: OwnListener | None = None,
        mode: Mode = "default",
        deps: Any = None,
    ) -> None:
        self._deps = deps
        self._toolbox = toolbox
        self._gate = gate
        self._host = host
        self._settings = settings
        self._lineage = lineage
        self._listeners = () if on_event is None else (on_event,)
        self._mode: Mode = check_mode(mode)

    async def execute(
        self,
        calls: Iterable[ToolCall],
        confirmations: Iterable[Confirmation] = (),
        policies: Iterable[ApprovalPolicy] = (),
        context: Mapping[str, Any] | None = None,
    ) -> RunOutcome:
        """Run the calls that may run. Calls that had already settled are skipped and are not in the outcome."""
        batch = _in_order(calls)
        answers = _all_of(Confirmation, confirmations)
        given = _all_of(ApprovalPolicy, policies)
        for policy in given:
            wrong = policy_fault(policy)
            if wrong is not None:
                raise UsageError(wrong)
        ledger = CallLedger(context=context, mode=self._mode)
        ledger.policies.extend(given)
        record = CallRecord(DiscardedLog(), ledger, self._listeners)
        executor = CallExecutor(
            self._toolbox,
            self._gate,
            host=self._host,
            record=record,
            settings=self._settings,
            lineage=self._lineage,
            confirmations=answers,
            deps=self._deps,
        )
        for call in batch:
            executor.add(call)
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
        return outcome


def _all_of(kind: type[T], given: Iterable[T]) -> tuple[T, ...]:
    """Return the items as a tuple. Raise UsageError for a single item, or for an item of another type."""
    found = (given,) if isinstance(given, kind) else tuple(given)
    wrong = next((each for each in found if not isinstance(each, kind)), None)
    if wrong is not None or isinstance(given, kind):
        what = "one" if wrong is None else f"a {type(wrong).__name__} in it"
        raise UsageError(f"pass a list of {kind.__name__}, not {what}")
    return found


def _having(calls: Sequence[ToolCall], *statuses: Status) -> tuple[ToolCall, ...]:
    return tuple(call for call in calls if call.status in statuses)


def _in_order(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Return the unsettled calls sorted by index. A call without an index is placed after the calls before it in the
    list."""
    batch: list[ToolCall] = []
    last = -1
    for call in _all_of(ToolCall, calls):
        call = _judged_anew(call)
        batch.append(call if call.index >= 0 else replace(call, index=last + 1))
        last = max(last, batch[-1].index)
    ids = [call.id for call in batch]
    if len(set(ids)) != len(ids):
        twice = next(call_id for call_id in ids if ids.count(call_id) > 1)
        raise UsageError(f"call id {twice!r} is in the batch twice; give every call its own id")
    return sorted((call for call in batch if not call.settled), key=lambda call: call.index)


def _judged_anew(call: ToolCall) -> ToolCall:
    """Return the call without its Allow, because the program may have changed the arguments.

    An Allow is only kept if the user gave the same arguments with the answer.
    """
    decision = call.decision
    if isinstance(decision, Allow) and (call.edited is None or decision.arguments != call.arguments):
        return replace(call, decision=None)
    return call

"""BatchRunner: the stateless batch door of the same engine.

It feeds the executor a closed batch and comes back when nothing can move without an answer. The caller keeps
everything; running on after an answer is the same method again.
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
    """A confirmation that was not taken, and why."""

    confirmation: Confirmation
    reason: str


@noun
class RunOutcome:
    """The calls of the batch by their state, each list in arrival order; the next run starts from ``context``."""

    executed: tuple[ToolCall, ...] = ()
    still_needs_approval: tuple[ToolCall, ...] = ()
    held: tuple[ToolCall, ...] = ()
    failed: tuple[ToolCall, ...] = ()
    new_policies: tuple[ApprovalPolicy, ...] = ()
    refused: tuple[RefusedAnswer, ...] = ()
    context: Mapping[str, Any] = field(default_factory=nothing)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions to answer before the rest can run."""
        return tuple(call.question for call in self.still_needs_approval if call.question is not None)


class BatchRunner:
    """Holds no state between runs: same inputs, same outputs."""

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
        """Run what may run. Calls already settled are not run again and appear in no list."""
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
        executor.leave("The batch pauses.")  # nothing waits for an answer any more
        await executor.unwound()
        return outcome


def _all_of(kind: type[T], given: Iterable[T]) -> tuple[T, ...]:
    """A list of these, and not one of them or something else."""
    found = (given,) if isinstance(given, kind) else tuple(given)
    wrong = next((each for each in found if not isinstance(each, kind)), None)
    if wrong is not None or isinstance(given, kind):
        what = "one" if wrong is None else f"a {type(wrong).__name__} in it"
        raise UsageError(f"pass a list of {kind.__name__}, not {what}")
    return found


def _having(calls: Sequence[ToolCall], *statuses: Status) -> tuple[ToolCall, ...]:
    return tuple(call for call in calls if call.status in statuses)


def _in_order(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Unsettled calls by arrival; a call without an index arrives behind those passed before it."""
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
    """An Allow that comes back from outside was for earlier arguments, which may have changed: it is asked for again.
    It holds only if the arguments are still those that a person gave with their yes."""
    decision = call.decision
    if isinstance(decision, Allow) and (call.edited is None or decision.arguments != call.arguments):
        return replace(call, decision=None)
    return call

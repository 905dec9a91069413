"""ToolCallRunner: the stateless batch door of the same engine.

It feeds the executor a closed batch and comes back when nothing can move without an answer. The caller keeps
everything; running on after an answer is the same method again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from callgate.core.executor import Executor, ExecutorSettings
from callgate.core.ledger import Ledger
from callgate.core.ports import Gate, Host, Toolbox
from callgate.core.record import Listener, MemoryJournal, Record
from callgate.words.calls import Status, ToolCall
from callgate.words.decisions import ApprovalPolicy, Confirmation
from callgate.words.errors import UsageError
from callgate.words.noun import nothing, noun


@noun
class RunOutcome:
    """Where every call of the batch is now, each list in arrival order; the next run starts from ``context``."""

    executed: tuple[ToolCall, ...] = ()
    still_needs_approval: tuple[ToolCall, ...] = ()
    held: tuple[ToolCall, ...] = ()
    failed: tuple[ToolCall, ...] = ()
    new_policies: tuple[ApprovalPolicy, ...] = ()
    context: Mapping[str, Any] = field(default_factory=nothing)


class ToolCallRunner:
    """Holds no state between runs: same inputs, same outputs."""

    def __init__(
        self,
        toolbox: Toolbox,
        gate: Gate,
        *,
        host: Host,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        on_event: Listener | None = None,
    ) -> None:
        self._toolbox = toolbox
        self._gate = gate
        self._host = host
        self._settings = settings
        self._lineage = lineage
        self._listeners = () if on_event is None else (on_event,)

    async def execute(
        self,
        calls: Iterable[ToolCall],
        confirmations: Iterable[Confirmation] = (),
        policies: Iterable[ApprovalPolicy] = (),
        context: Mapping[str, Any] | None = None,
    ) -> RunOutcome:
        """Run what may run. Calls already settled are not run again and appear in no list."""
        batch = _in_order(calls)
        given = tuple(policies)
        ledger = Ledger(context=context)
        ledger.policies.extend(given)
        record = Record(MemoryJournal(), ledger, self._listeners)
        executor = Executor(
            self._toolbox,
            self._gate,
            host=self._host,
            record=record,
            settings=self._settings,
            lineage=self._lineage,
            confirmations=confirmations,
        )
        for call in batch:
            executor.add(call)
        executor.close()
        await executor.stalled()
        executor.apply_updates()
        after = executor.calls()
        return RunOutcome(
            executed=_having(after, Status.SUCCESS),
            still_needs_approval=_having(after, Status.AWAITING_APPROVAL),
            held=_having(after, Status.SCHEDULED, Status.VALIDATING),
            failed=_having(after, Status.ERROR, Status.CANCELLED),
            new_policies=tuple(ledger.policies[len(given) :]),
            context=dict(ledger.context),
        )


def _having(calls: Sequence[ToolCall], *statuses: Status) -> tuple[ToolCall, ...]:
    return tuple(call for call in calls if call.status in statuses)


def _in_order(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Unsettled calls by arrival; a call without an index arrives behind those passed before it."""
    batch: list[ToolCall] = []
    last = -1
    for call in calls:
        batch.append(call if call.index >= 0 else replace(call, index=last + 1))
        last = max(last, batch[-1].index)
    ids = [call.id for call in batch]
    if len(set(ids)) != len(ids):
        twice = next(call_id for call_id in ids if ids.count(call_id) > 1)
        raise UsageError(f"call id {twice!r} is in the batch twice; give every call its own id")
    return sorted((call for call in batch if not call.settled), key=lambda call: call.index)

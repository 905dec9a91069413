"""Resolutions by people: each runs through an executor of its own, whose questions are answered with yes."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, cast

from callgate.core.executor import CallExecutor
from callgate.core.ledger import Ledger
from callgate.core.ports import Case, Gate
from callgate.core.record import MemoryJournal, Record
from callgate.core.turn import Equipment
from callgate.staging.resolve import NOTHING, bound
from callgate.staging.stack import Stack
from callgate.staging.state import State
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Ask
from callgate.words.inputs import Resolve
from callgate.words.modes import MODES
from callgate.words.pending import RESOLVE, ResolveAction, Staged


class _Work:
    """One resolution under way: why it was stopped, and its executor once it runs."""

    def __init__(self) -> None:
        self.stopped = ""
        self.executor: CallExecutor | None = None


class People:
    """Performs the input ``Resolve``."""

    def __init__(
        self,
        equipment: Equipment,
        stack: Stack,
        state: State,
    ) -> None:
        self._equipment = equipment
        self._stack = stack
        self._state = state
        self._works: set[_Work] = set()

    def resolve(self, sent: Resolve, ready: Callable[[], Awaitable[None]]) -> Coroutine[Any, Any, str | None]:
        """Resolves as the person says, after ``ready``; gives the reason if it could not. Interruptible at once."""
        work = _Work()
        self._works.add(work)
        return self._resolve(sent, ready, work)

    def interrupt(self, because: str) -> bool:
        """Stops what is under way. False if there is nothing."""
        for work in self._works:
            work.stopped = because
            if work.executor is not None:
                work.executor.interrupt(because)
        return bool(self._works)

    async def _resolve(self, sent: Resolve, ready: Callable[[], Awaitable[None]], work: _Work) -> str | None:
        try:
            await ready()
            if work.stopped:
                return work.stopped
            staged = self._meant(sent)
            if not isinstance(staged, Staged):
                return staged
            arguments = {"action": sent.action, "reason": sent.reason, "id": staged.id}
            if sent.extra is not None:
                arguments["extra"] = sent.extra
            call = ToolCall(f"{RESOLVE}-{staged.id}", RESOLVE, arguments)
            with self._stack.claimed(staged):
                result = await self._run(staged, call, sent.action, work)
            return result.text if result.is_error else None
        finally:
            self._works.discard(work)

    def _meant(self, sent: Resolve) -> Staged | str:
        """The action, or why it cannot be resolved."""
        if not sent.reason.strip():
            return "the reason must not be blank: say why"
        staged = self._state.newest if sent.id is None else self._stack.get(sent.id)
        if staged is None:
            there = ", ".join(each.id for each in self._stack.newest())
            return f"there is no pending action {sent.id!r}; pending: {there}" if there else NOTHING
        if self._stack.busy(staged.id):
            return f"{staged.label} is being resolved right now"
        if staged.id in self._state.claimed:
            return f"the model is resolving {staged.label}: answer its question, or wait for the end of it"
        return staged

    async def _run(self, staged: Staged, call: ToolCall, action: ResolveAction, work: _Work) -> Result:
        equipment, session = self._equipment, self._equipment.record.ledger
        # The person is there to be asked.
        ledger = Ledger(mode="default" if MODES[session.mode].never_asks else session.mode)
        ledger.policies = session.policies
        executor = CallExecutor(
            Toolbox(bound(self._stack, staged, action, by="person")),
            cast(Gate, _WithoutRequests(equipment.gate)),
            host=equipment.host,
            record=Record(MemoryJournal(), ledger),
            settings=replace(equipment.settings, patience=None),
            lineage=(*equipment.lineage, f"p{staged.number}"),
        )
        work.executor = executor
        async with executor:
            executor.add(call)
            executor.close()
            await executor.stalled()
            while executor.questions:
                for question in executor.questions:
                    executor.answer(question.yes())
                await executor.stalled()
        result = executor.calls()[0].result
        assert result is not None
        return result


class _WithoutRequests:
    """The gate without the hooks that may answer in a person's place: the person is there."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gate, name)

    def requested(self, case: Case, ask: Ask) -> None:
        return None

"""Calls that the user makes outside of a turn, such as a ``Resolve``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from callgate.conversation.equipment import Equipment
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.executor import CallExecutor
from callgate.core.ports import Case, Gate, ToolSource
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Ask
from callgate.words.modes import MODES


class UnrecordedCall:
    """A call that the user makes during an open turn. It is recorded in memory only, because the turn uses the
    record of the session."""

    def __init__(self, equipment: Equipment) -> None:
        self.stopped = ""
        self._equipment = equipment
        self._executor: CallExecutor | None = None

    def interrupt(self, because: str) -> None:
        self.stopped = because
        if self._executor is not None:
            self._executor.interrupt(because)

    async def run(self, tools: ToolSource, call: ToolCall, name: str) -> Result:
        kit, session = self._equipment, self._equipment.record.ledger
        ledger = Ledger(mode="default" if MODES[session.mode].never_asks else session.mode)
        ledger.policies = session.policies
        self._executor = executor = CallExecutor(
            tools,
            cast(Gate, _WithoutRequests(kit.gate)),
            host=kit.host,
            record=Record(MemoryJournal(), ledger),
            settings=replace(kit.settings, patience=None),
            lineage=(*kit.lineage, name),
        )
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
    """Wraps a gate and removes the hooks that answer questions in place of the user."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gate, name)

    def requested(self, case: Case, ask: Ask) -> None:
        return None

"""Calls that the user makes outside of a turn, such as a ``Resolve``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from callgate.conversation.feature import OpenSession
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.executor import CallExecutor
from callgate.core.ports import Case, Gate, ToolSource
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Ask
from callgate.words.modes import MODES


class UnrecordedCall:
    """A call that the user makes outside a turn, perhaps during a turn. The gate and the locks apply to the call. Its
    questions are answered with "yes". It is recorded in memory only, because the turn uses the record of the session.

    stopped  the reason of an interrupt; empty without an interrupt
    """

    def __init__(self, opened: OpenSession) -> None:
        self.stopped = ""
        self._opened = opened
        self._executor: CallExecutor | None = None

    def interrupt(self, because: str) -> None:
        """Cancel the call. If ``run`` has not been called, the call will not start."""
        self.stopped = because
        if self._executor is not None:
            self._executor.interrupt(because)

    async def run(self, tools: ToolSource, call: ToolCall, name: str) -> Result:
        """Make the call and return its result. ``name`` is shown to calls that wait for the locks of this call."""
        opened, session = self._opened, self._opened.record.ledger
        ledger = Ledger(mode="default" if MODES[session.mode].never_asks else session.mode)
        ledger.policies = session.policies
        self._executor = executor = CallExecutor(
            tools,
            cast(Gate, _WithoutRequests(opened.equipment.gate)),
            host=opened.host,
            record=Record(MemoryJournal(), ledger),
            settings=replace(opened.settings, patience=None),
            lineage=(*opened.lineage, name),
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

"""Calls that programs make with ``Session.call``."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count
from json import dumps
from typing import Any

from callgate.conversation.feature import MOST_CALLS, GrowingMessage, InjectedCall, InjectedCalls
from callgate.conversation.record import Record
from callgate.core.executor import CallExecutor
from callgate.words.calls import Result
from callgate.words.errors import StateError, UsageError
from callgate.words.events import CallSettled, Event

CLOSED = "The session was closed."


class ProgramCalls:
    """The calls of programs that have no result yet. Each call belongs to a message of its program.

    start      callback for calls that wait for a message
    executor   returns the executor of the current message
    message    the current message, which later calls may join
    is_closed  True if new calls are refused
    """

    def __init__(
        self, record: Record, *, start: Callable[[], None], executor: Callable[[], CallExecutor | None]
    ) -> None:
        self.message: GrowingMessage | None = None
        self._record = record
        self._start = start
        self._executor = executor
        self._waiting: deque[tuple[InjectedCall, str]] = deque()
        self._results: dict[str, asyncio.Future[Result]] = {}
        self._numbers = count(1)
        self.is_closed = False
        self._stop_listening: Callable[[], None] = lambda: None

    async def call(self, name: str, arguments: Mapping[str, Any], *, by: str, id: str) -> Result:
        """Run a call and return its result. See ``Session.call``."""
        call = self._checked(name, arguments, by, id)
        if self.is_closed:
            return _never_started(CLOSED)
        if not self._results:
            self._stop_listening = self._record.on_event(self._on_event)
        self._results[call.id] = result = asyncio.get_running_loop().create_future()
        try:
            if self._waiting or self.message is None or not self.message.join(call, by):
                self._waiting.append((call, by))
                self._start()
            return await result
        finally:
            if result.cancelled():
                self.cancel(call.id, f"Cancelled by {by}.")
            self._forget(call.id)

    def _checked(self, name: str, arguments: Mapping[str, Any], by: str, id: str) -> InjectedCall:
        if not name or not by.strip():
            raise UsageError("a call needs the name of a tool, and by=, the name of the program that calls")
        try:
            dumps(dict(arguments), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"the arguments of {name} are not a JSON object: {error}") from error
        ledger, executor = self._record.ledger, self._executor()
        if id in self._results or id in ledger.message_of:
            raise UsageError(f"the id {id!r} belongs to another call of this session")
        if executor is not None and executor.has_task(asyncio.current_task()):
            raise StateError("a tool cannot wait for a call in the session that runs the tool: use a nested session")
        while not id or id in self._results or id in ledger.message_of:
            id = f"call_{ledger.turn + 1}_{next(self._numbers)}"
        return InjectedCall(id, name, arguments)

    def cancel(self, call_id: str, because: str) -> bool:
        """Cancel a call of a program or of the model. Return False if no call with this id is queued or running."""
        if self._withdraw(call_id):
            self._settle(call_id, Result.failed("cancelled_by_user", because, effects="none"))
            return True
        executor = self._executor()
        if executor is None or all(call.id != call_id for call in executor.calls()):
            return False
        executor.cancel(call_id, because)
        return True

    # ---- messages -----------------------------------------------------------------------------------------------

    @property
    def next_by(self) -> str | None:
        return self._waiting[0][1] if self._waiting else None

    def take(self) -> InjectedCalls:
        taken: list[InjectedCall] = []
        by = self.next_by or ""
        while self._waiting and self.next_by == by and len(taken) < MOST_CALLS:
            taken.append(self._waiting.popleft()[0])
        return InjectedCalls(taken, by, self)

    def refuse(self, injected: InjectedCalls, why: str) -> None:
        for call in injected.calls:
            self._settle(call.id, _never_started(why))

    def _withdraw(self, call_id: str) -> bool:
        before = len(self._waiting)
        self._waiting = deque(each for each in self._waiting if each[0].id != call_id)
        return len(self._waiting) < before

    # ---- results ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Settle the calls without a result at the end of the session."""
        self.failed(CLOSED)

    def failed(self, why: str) -> None:
        """Settle the calls without a result after the work of the session has failed."""
        for call_id in self._results:
            if self._withdraw(call_id):
                self._settle(call_id, _never_started(why))
            else:
                text = f"Its outcome is unknown. {why}"
                self._settle(call_id, Result.failed("outcome_unknown", text, effects="unknown"))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, CallSettled):
            self._settle(event.call_id, event.result)

    def _settle(self, call_id: str, result: Result) -> None:
        waiting = self._results.get(call_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(result)

    def _forget(self, call_id: str) -> None:
        self._results.pop(call_id, None)
        if not self._results:
            self._stop_listening()


def _never_started(why: str) -> Result:
    return Result.failed("never_started", f"Not run: {why}", effects="none")

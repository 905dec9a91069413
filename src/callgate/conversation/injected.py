"""Messages with calls that come from a mention or a program, not from a model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from json import dumps
from typing import Any

from callgate.conversation.feature import InjectedCall
from callgate.conversation.feature_set import Equipment
from callgate.conversation.intake import Intake, Refused
from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.conversation.recovery import Remedy
from callgate.conversation.reminders import UnmadeCall
from callgate.core.executor import CallExecutor
from callgate.words.calls import Result, ToolCall
from callgate.words.errors import ModelError, StateError, UsageError
from callgate.words.events import CallSettled, Event
from callgate.words.messages import Spent
from callgate.words.model import ArgumentsDelta, MessageEnded, MessageStarted, PartEnded, PartStarted, ToolChoice
from callgate.words.noun import noun

CLOSED = "The session was closed."
MOST_CALLS = 50
"""The maximum number of calls of a program in one message."""

Wait = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until all calls of the message have settled, or the condition is true."""


@noun
class InjectedCalls:
    """The calls of a message that no model writes.

    by     the program that makes the calls; empty for mentions
    queue  the queue from which later calls are added to the message; only for calls of a program
    """

    calls: Sequence[InjectedCall]
    by: str = ""
    queue: ProgramCalls | None = None


class InjectedMessage:
    """A message of the assistant that passes a given list of calls to the executor.

    grows  True if later calls may be added to the message
    """

    error: ModelError | None = None
    remedy: Remedy = "show"
    unmade: UnmadeCall | None = None
    spent: Spent | None = None

    def __init__(
        self, kit: Equipment, executor: CallExecutor, message_id: str, injected: InjectedCalls, model: Model, wait: Wait
    ) -> None:
        self.model = model
        self.grows = injected.queue is not None
        self.intake = Intake(message_id, kit.record.ledger, max_chars=None)
        self._room = kit.record.room
        self._executor = executor
        self._injected = injected
        self._wait = wait
        self._count = 0
        self._is_ended = False

    async def run(self, wanted: ToolChoice) -> None:
        injected, queue = self._injected, self._injected.queue
        self.intake.feed(MessageStarted("", injected.by))
        for call in injected.calls:
            self._add(call)
            crowded = self._room()
            if crowded is not None:
                await crowded
        if queue is not None:
            queue.message = self
            try:
                await self._wait(lambda: self._is_ended)
            finally:
                queue.message = None
        self.intake.feed(MessageEnded("tool_calls"))

    def join(self, call: InjectedCall, by: str) -> bool:
        """Add a call to the message. Return False if the message has ended, is full, or belongs to another program."""
        joins = not self._is_ended and by == self._injected.by and self._count < MOST_CALLS
        if joins:
            self._add(call)
        return joins

    def end(self) -> None:
        """Close the message for further calls, because a call waits for the end of the message or the turn was
        interrupted."""
        self._is_ended = True
        self._executor.wake()

    def leave(self) -> None:
        """Do nothing. The message has no text to store, and its calls are recorded already."""

    def _add(self, call: InjectedCall) -> None:
        feed, at = self.intake.feed, self._count
        self._count += 1
        feed(PartStarted(at, "tool_call", call.id, call.name))
        feed(ArgumentsDelta(at, dumps(dict(call.arguments), ensure_ascii=False)))
        arrived = feed(PartEnded(at))
        if isinstance(arrived, ToolCall):
            self._executor.add(arrived)
        elif isinstance(arrived, Refused):
            self._executor.add(arrived.call, refused=arrived.result)


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
        self.message: InjectedMessage | None = None
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
        """The program that makes the next call; None if the queue is empty."""
        return self._waiting[0][1] if self._waiting else None

    def take(self) -> InjectedCalls:
        """Remove the next calls of one program from the queue and return them, at most ``MOST_CALLS``."""
        taken: list[InjectedCall] = []
        by = self.next_by or ""
        while self._waiting and self.next_by == by and len(taken) < MOST_CALLS:
            taken.append(self._waiting.popleft()[0])
        return InjectedCalls(taken, by, self)

    def refuse(self, injected: InjectedCalls, why: str) -> None:
        """Settle calls that must not be made. ``why`` is the reason."""
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

"""Messages with calls that come from a mention or a program, not from a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from json import dumps

from callgate.conversation.equipment import Equipment
from callgate.conversation.feature import MOST_CALLS, InjectedCall, InjectedCalls
from callgate.conversation.intake import Intake, Refused
from callgate.conversation.ports import Model
from callgate.conversation.recovery import Remedy
from callgate.conversation.reminders import UnmadeCall
from callgate.core.executor import CallExecutor
from callgate.words.calls import ToolCall
from callgate.words.errors import ModelError
from callgate.words.messages import Spent
from callgate.words.model import ArgumentsDelta, MessageEnded, MessageStarted, PartEnded, PartStarted, ToolChoice

Wait = Callable[[Callable[[], bool]], Awaitable[None]]
"""Waits until all calls of the message have settled, or the condition is true."""


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

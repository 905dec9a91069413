"""Messages with calls that do not come from a model but from a mention or a program."""

from collections.abc import Sequence
from json import dumps
from typing import Protocol

from callgate.conversation.equipment import Equipment
from callgate.conversation.feature import InjectedCall
from callgate.conversation.intake import Intake, Refused
from callgate.conversation.ports import Model
from callgate.conversation.recovery import Remedy
from callgate.core.executor import CallExecutor
from callgate.words.calls import ToolCall
from callgate.words.errors import ModelError
from callgate.words.messages import Spent
from callgate.words.model import ArgumentsDelta, MessageEnded, MessageStarted, PartEnded, PartStarted, ToolChoice


class CallSource(Protocol):
    """The source of a turn's calls: the stream of a model, or a list."""

    @property
    def intake(self) -> Intake:
        """The message so far."""
        ...

    @property
    def error(self) -> ModelError | None:
        """The failure of the last attempt."""
        ...

    @property
    def remedy(self) -> Remedy:
        """The step after ``error``."""
        ...

    @property
    def model(self) -> Model:
        """The model that answers the next request."""
        ...

    @property
    def spent(self) -> Spent | None:
        """The price of the last attempt."""
        ...

    async def run(self, wanted: ToolChoice, /) -> None:
        """Read the message, and give each call to the executor as soon as it is complete."""
        ...

    def leave(self) -> None:
        """Keep the text so far as a draft when the source is cancelled."""
        ...


class InjectedMessage:
    """Gives a list of calls to the executor, as one message of the assistant."""

    error: ModelError | None = None
    remedy: Remedy = "show"
    spent: Spent | None = None

    def __init__(
        self, kit: Equipment, executor: CallExecutor, message_id: str, calls: Sequence[InjectedCall], model: Model
    ) -> None:
        self.model = model
        self.intake = Intake(message_id, kit.record.ledger)
        self._room = kit.record.room
        self._executor = executor
        self._calls = calls

    async def run(self, wanted: ToolChoice) -> None:
        feed = self.intake.feed
        feed(MessageStarted(""))
        for at, call in enumerate(self._calls):
            feed(PartStarted(at, "tool_call", call.id, call.name))
            feed(ArgumentsDelta(at, dumps(dict(call.arguments), ensure_ascii=False)))
            arrived = feed(PartEnded(at))
            if isinstance(arrived, ToolCall):
                self._executor.add(arrived)
            elif isinstance(arrived, Refused):
                self._executor.add(arrived.call, refused=arrived.result)
            crowded = self._room()
            if crowded is not None:
                await crowded
        feed(MessageEnded("tool_calls"))

    def leave(self) -> None:
        """No text is lost: the calls are on record."""

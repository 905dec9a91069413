"""The record of a conversation, and a journal in memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from callgate.conversation.chain import live_events
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Drafted, Journal
from callgate.core.ports import Maybe
from callgate.core.record import CallRecord, OwnListener
from callgate.words.decisions import Confirmation
from callgate.words.events import AgentPath, Durable, MessageAdded
from callgate.words.messages import Message

T = TypeVar("T")


class MemoryJournal:
    """A journal in memory. Its events are lost when the process ends."""

    def __init__(self, events: Iterable[Durable] = (), *, session: str = "") -> None:
        self.events: list[Durable] = list(events)
        self.session = session
        self._drafts: dict[str, Drafted] = {}

    @property
    def number(self) -> int:
        return len(self.events)

    @property
    def path(self) -> Path | None:
        return None

    def clean(self, value: T, /) -> T:
        return value

    def append(self, event: Durable) -> None:
        self.events.append(event)

    def barrier(self) -> Maybe:
        return None

    def room(self) -> Maybe:
        return None

    def read(self) -> Iterable[Durable]:
        return live_events(self.events)

    def draft(self, message_id: str, text: Drafted) -> None:
        self._drafts = {message_id: text}

    def drafted(self, message_id: str) -> Drafted:
        return self._drafts.get(message_id, ())

    async def live(self) -> Sequence[Durable]:
        return live_events(self.events)

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        return list(enumerate(self.events[number:], number + 1))

    async def recall(self, message_id: str) -> Message | None:
        said = (event.message for event in self.events if isinstance(event, MessageAdded))
        return next((message for message in said if message.id == message_id), None)

    async def answers(self) -> Sequence[Confirmation]:
        return ()

    def answer_faults(self) -> Sequence[str]:
        return ()

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        return None

    async def aclose(self) -> None:
        return


class Record(CallRecord[Ledger]):
    """The record of a conversation. It also stores drafts of messages that are still streaming."""

    def __init__(
        self,
        journal: Journal,
        ledger: Ledger,
        listeners: Iterable[OwnListener] = (),
        *,
        folds: Mapping[type, Callable[[Any], None]] = MappingProxyType({}),
        path: AgentPath = (),
    ) -> None:
        super().__init__(journal, ledger, listeners, folds=folds, path=path)
        self.draft = journal.draft
        self.drafted = journal.drafted
        self.after = journal.after

"""The Protocols that conversations require from other packages, with their contracts."""

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from callgate.core.ports import EventLog, Maybe
from callgate.words.decisions import Confirmation
from callgate.words.events import Durable
from callgate.words.messages import Message
from callgate.words.model import Abilities, ModelEvent, Request

T = TypeVar("T")


class Model(Protocol):
    """Answers a request with a stream of model events."""

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one message. Raise ModelError for failures. A stream without MessageEnded is treated as cut off.

        The iterator may be closed at any time and must then release the connection.
        """
        ...


Drafted = tuple[tuple[int, str], ...]
"""Pieces of the text of a message, each with the number of calls before it."""


class Journal(EventLog, Protocol):
    """The append-only log of one session. One writer calls its methods, on the thread of the event loop.

    A session masks secrets in events before it passes them to a journal, unless the journal masks secrets itself:
    see Masking.
    """

    @property
    def session(self) -> str:
        """The id of the session, the same after a restart; empty for a journal in memory."""
        ...

    @property
    def path(self) -> Path | None:
        """The path of the log file, or None for a journal in memory.

        Artifacts and changes are stored in a folder with the path of the log without the suffix.
        """
        ...

    def read(self) -> Iterable[Durable]:
        """Return the live events, oldest first. Called once, at the start."""
        ...

    def draft(self, message_id: str, text: Drafted) -> None:
        """Store the current text of a streaming message. Never raises. A crash may lose the text."""

    def drafted(self, message_id: str) -> Drafted:
        """Return the last draft of this message from an earlier run of the program."""
        ...

    async def live(self) -> Sequence[Durable]:
        """Wait until all appended events are stored, then return the live events. A rewind changes which events are
        live."""
        ...

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        """Return all events with a higher number than this one, with their numbers. Events that are not live are
        included."""
        ...

    async def recall(self, message_id: str) -> Message | None:
        """Return a recorded message, even if it is not live; None for an unknown id."""
        ...

    async def answers(self) -> Sequence[Confirmation]:
        """Return answers of other programs to open questions. An answer is returned until it is recorded or refused."""
        ...

    def answer_faults(self) -> Sequence[str]:
        """Return descriptions of invalid answer files. Each file is described once."""
        ...

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        """Remove recorded or refused answers of other programs to questions about these calls."""
        ...

    async def aclose(self) -> None:
        """Close the journal. Raise JournalError if events could not be written."""


class Masking(Journal, Protocol):
    """A journal that masks secrets itself, or stores nothing."""

    def clean(self, value: T, /) -> T:
        """Return the value with secrets masked, as the journal stores it."""
        ...

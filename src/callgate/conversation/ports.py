"""The Protocols that other packages implement for conversations, with their contracts."""

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from callgate.core.ports import EventLog, Maybe
from callgate.words.decisions import Confirmation
from callgate.words.events import Durable
from callgate.words.messages import Message, Usage
from callgate.words.model import Abilities, ModelEvent, Request
from callgate.words.turns import Measures

T = TypeVar("T")


class Model(Protocol):
    """Answers a request with a stream of model events."""

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one message. Raise ModelError for failures. A stream without MessageEnded is cut off. The iterator may
        be closed at any time and must then release the connection."""
        ...


class Meter(Protocol):
    """Measures requests and turns. No method may raise or wait."""

    def requested(self, model: Model, request: Request) -> None: ...

    def streaming(self) -> None:
        """The first event of the answer arrived."""

    def received(self, usage: Usage | None) -> None:
        """The stream ended."""

    def waiting(self, *, person: bool) -> None:
        """The turn waits for a person from now on, or continues."""

    def turn_over(self, calls: Iterable[tuple[float, float]]) -> Measures:
        """Return the durations of a turn. ``calls`` has the start and the end of each call in wall time."""
        ...


Drafted = tuple[tuple[int, str], ...]
"""Pieces of the text of a message, each with the number of calls before it."""


class Journal(EventLog, Protocol):
    """The append-only log of one session, called on the loop's thread by one writer.

    A session masks secrets in events before a journal gets them, unless the journal masks them: see Masking."""

    @property
    def session(self) -> str:
        """The id of the session, the same after a restart; empty for a journal in memory."""
        ...

    @property
    def path(self) -> Path | None:
        """The file of the log, or None for a journal in memory. Artifacts and changes are stored in a folder beside it,
        with its name without the suffix."""
        ...

    def read(self) -> Iterable[Durable]:
        """Return the live events, oldest first. Called once, at the start."""
        ...

    def draft(self, message_id: str, text: Drafted) -> None:
        """Store the text so far of a streaming message. Never raises; it may be lost."""

    def drafted(self, message_id: str) -> Drafted:
        """Return the last draft of this message from before the start of the program."""
        ...

    async def live(self) -> Sequence[Durable]:
        """Return the live events now, after all appended events. A rewind changes them."""
        ...

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        """Return all events after this number with their numbers, also events that are not live."""
        ...

    async def recall(self, message_id: str) -> Message | None:
        """Return a message on record, also one that is not live; None for an unknown id."""
        ...

    async def answers(self) -> Sequence[Confirmation]:
        """Return answers of other programs to open questions. They are returned until they are on record."""
        ...

    def answer_faults(self) -> Sequence[str]:
        """Return descriptions of invalid answer files, each once."""
        ...

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        """Remove answers of other programs about these calls: they are on record, or refused."""
        ...

    async def aclose(self) -> None:
        """Close the journal. Raise JournalError if events could not be written."""


class Masking(Journal, Protocol):
    """A journal that masks secrets itself, or stores nothing."""

    def clean(self, value: T, /) -> T:
        """Return the value with masked secrets, as the journal stores it."""
        ...

"""The Protocols that a conversation needs other packages to implement, with contracts in prose."""

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
    """Whatever answers a request with a stream of model events."""

    @property
    def name(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one message. Failures are raised as ModelError; a stream that ends without MessageEnded counts as
        cut off. The iterator may be closed at any point and must then let go of the connection."""
        ...


class Meter(Protocol):
    """Measures requests and turns. Called at their moments; none of it may raise or wait."""

    def requested(self, model: Model, request: Request) -> None: ...

    def streaming(self) -> None:
        """The first piece of the answer is there."""
        ...

    def received(self, usage: Usage | None) -> None:
        """The stream is over."""
        ...

    def waiting(self, *, person: bool) -> None:
        """From now on only a person's answer can move the turn on, or it goes on."""
        ...

    def turn_over(self, calls: Iterable[tuple[float, float]]) -> Measures:
        """``calls`` are start and end of each, in wall time."""
        ...


Drafted = tuple[tuple[int, str], ...]
"""Pieces of text of a message, each with the number of calls before it."""


class Journal(EventLog, Protocol):
    """The append-only record of one session. One writer; only the loop's thread calls it.

    A session masks secrets in what it gives to a journal, unless the journal does so itself: see Masking."""

    @property
    def session(self) -> str:
        """The session's id, the same after every restart; empty for a record that ends with the program."""
        ...

    @property
    def path(self) -> Path | None:
        """The file it is kept in. Artifacts and the history of changes are kept in a folder beside it, which has its
        name without the suffix. None for a record that ends with the program."""
        ...

    def read(self) -> Iterable[Durable]:
        """The live events on record, oldest first. Called once, at the beginning."""
        ...

    def draft(self, message_id: str, text: Drafted) -> None:
        """Keep what has streamed so far of a message that will be appended as a whole. Only an attempt: never fails."""
        ...

    def drafted(self, message_id: str) -> Drafted:
        """The last draft of this message that was kept before the program started."""
        ...

    async def live(self) -> Sequence[Durable]:
        """The same as it is now, after all that was appended. A rewind changes what is live."""
        ...

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        """All that was appended after the event of this number, live or not, each with its own number."""
        ...

    async def recall(self, message_id: str) -> Message | None:
        """A message from anywhere on record, also one that is not live."""
        ...

    async def answers(self) -> Sequence[Confirmation]:
        """Answers of other programs to questions that are open now; repeated until they are on record."""
        ...

    def answer_faults(self) -> Sequence[str]:
        """In words, what was found where answers should be and is none; each once."""
        ...

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        """Drop other programs' answers about these calls: they are on record, or cannot be taken."""
        ...

    async def aclose(self) -> None:
        """Nothing is appended any more. JournalError when something could not be written."""
        ...


class Masking(Journal, Protocol):
    """A journal that stores no secrets: it masks them itself, or stores nothing."""

    def clean(self, value: T, /) -> T:
        """The value without secrets, as it would be on record."""
        ...

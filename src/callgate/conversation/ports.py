"""The Protocols that a conversation needs other packages to implement, with contracts in prose."""

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from callgate.core.ports import EventLog, Maybe
from callgate.words.calls import Result
from callgate.words.decisions import Confirmation
from callgate.words.events import Durable, TurnEnded
from callgate.words.messages import Message, Usage
from callgate.words.model import Abilities, ModelEvent, Request, ToolChoice
from callgate.words.noun import noun
from callgate.words.traits import Traits
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


@noun
class Reminder:
    """A message for the model that no person wrote. ``about`` is the id of its subject."""

    text: str
    about: str


class Staging(Protocol):
    """Actions that wait to be applied or discarded, as the loop and its turns need them. It folds the events of the
    record into its own state (see Record). None of it may raise."""

    @property
    def unresolved(self) -> bool:
        """True while an action is pending: the run does not end before it is resolved."""
        ...

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        """The reminders to put on record before a model with these abilities is asked, and the tool choice."""
        ...

    def admits(self, name: str, traits: Traits) -> Result | None:
        """None if a call may run now; otherwise its result."""
        ...

    def message_over(self, message_id: str, *, whole: bool) -> None:
        """The message has ended: what its calls push is staged now, or, unless it is whole, never."""
        ...

    async def after_turn(self, ended: TurnEnded) -> None:
        """Called after a turn without an interrupt: discards an action that was asked about too often, and begins
        afresh from a plan where the person who approved it said so."""
        ...


class Suggestions(Protocol):
    """Tells the model of tools that it is not told about with every request. None of it may raise."""

    def before_request(self) -> Sequence[Reminder]:
        """The reminders to put on record before the model is asked, behind all others."""
        ...


class Opening(Protocol):
    """Makes the calls that people's words ask for by themselves, such as the read of a resource that they mention.
    It may not raise."""

    def stand_in(self, said: Sequence[Message], abilities: Abilities) -> Model | None:
        """A model that makes these calls, asked once in place of the session's own, which has these abilities. None if
        there are none to make. ``said`` are the messages of people since the model's last one."""
        ...

    async def before_resume(self, tools: Sequence[str]) -> None:
        """Waits until it is known whether these tools are there, calls of which were left open. May be cancelled."""
        ...


class Compaction(Protocol):
    """Keeps the history within the window of a model: trims results, writes summaries. It works between two turns,
    when no turn is open, and writes boundaries to the record. None of it may raise."""

    async def before_request(self, model: Model) -> str | None:
        """Trims or compacts if the next request would pass the limit. A sentence if it must not be sent at all."""
        ...

    async def too_long(self, model: Model) -> bool:
        """Compacts after the model refused a request as too long. False: nothing could be made shorter."""
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

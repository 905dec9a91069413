"""The one writer: journal, then ledger, then doors.

``Record.write`` is the only thing that changes state. A resumed turn is the same code on a longer log.
"""

from asyncio import ensure_future, shield
from collections.abc import Awaitable, Callable, Iterable

from callgate.core.ledger import Ledger
from callgate.core.ports import Journal, Maybe
from callgate.words.events import Durable, Event, Passing


class MemoryJournal:
    """The record in memory: gone with the process, durable as far as it goes."""

    def __init__(self, events: Iterable[Durable] = ()) -> None:
        self.events: list[Durable] = list(events)

    def append(self, event: Durable) -> None:
        self.events.append(event)

    def barrier(self) -> Maybe:
        return None

    def read(self) -> Iterable[Durable]:
        return list(self.events)


Listener = Callable[[Event], None]
"""Called on the loop's thread for every event; must not raise and must not block."""


class Record:
    """The one writer."""

    __slots__ = ("_append", "_barrier", "_fold", "_listeners", "ledger")

    def __init__(self, journal: Journal, ledger: Ledger, listeners: Iterable[Listener] = ()) -> None:
        self.ledger = ledger
        self._fold = ledger.fold
        self._append = journal.append
        self._barrier = journal.barrier
        self._listeners = list(listeners)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every event from now on; the answer stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def heard(self) -> bool:
        """Whether anybody listens; what only passes by need not be said otherwise."""
        return bool(self._listeners)

    def write(self, event: Durable) -> None:
        """Journal, then ledger, then doors."""
        self._append(event)
        self._fold(event)
        for listener in self._listeners:
            listener(event)

    def tell(self, event: Passing) -> None:
        """For what is never stored."""
        self._fold(event)
        for listener in self._listeners:
            listener(event)

    def write_first(self, event: Durable) -> Awaitable[None] | None:
        """Like ``write``, but doors hear of it only once it is durable; None when that is already so."""
        self._append(event)
        self._fold(event)
        waiting = self._barrier()
        if waiting is None:
            for listener in self._listeners:
                listener(event)
            return None
        return self._then_publish(waiting, event)

    async def _then_publish(self, waiting: Awaitable[None], event: Durable) -> None:
        await shield(ensure_future(waiting))  # who gives up waiting must not cancel the journal's own work
        for listener in self._listeners:
            listener(event)

"""The one writer: journal, then ledger, then doors.

``Record.write`` is the only thing that changes state. A resumed turn is the same code on a longer log.
"""

from asyncio import ensure_future, get_running_loop, shield
from collections.abc import Awaitable, Callable, Iterable, Sequence

from callgate.core.chain import live_events
from callgate.core.ledger import FOLD, Ledger
from callgate.core.ports import Drafted, Journal, Maybe
from callgate.words.decisions import Confirmation
from callgate.words.errors import in_words
from callgate.words.events import Durable, Event, MessageAdded, Noted, Passing
from callgate.words.messages import Message


class MemoryJournal:
    """The record in memory: gone with the process, durable as far as it goes."""

    def __init__(self, events: Iterable[Durable] = (), *, session: str = "") -> None:
        self.events: list[Durable] = list(events)
        self.session = session
        self._drafts: dict[str, Drafted] = {}

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


Listener = Callable[[Event], None]
"""Called on the loop's thread for every event, in order, and never in the middle of a step of the engine, so it may act
on what it hears. Must not block. One that raises is heard of and not called again."""


class Record:
    """The one writer. ``folds`` are states beside the ledger, which see every durable event; none may raise."""

    __slots__ = (
        "_append",
        "_barrier",
        "_delivering",
        "_folds",
        "_listeners",
        "_pending",
        "_scheduled",
        "draft",
        "drafted",
        "ledger",
        "room",
    )

    def __init__(
        self,
        journal: Journal,
        ledger: Ledger,
        listeners: Iterable[Listener] = (),
        *,
        folds: Iterable[Callable[[Durable], None]] = (),
    ) -> None:
        self.ledger = ledger
        self._folds = tuple(folds)
        self._append = journal.append
        self._barrier = journal.barrier
        self.room = journal.room
        self.draft = journal.draft
        self.drafted = journal.drafted
        self._listeners = tuple(listeners)
        self._pending: list[Event] = []
        self._scheduled = False
        self._delivering = False

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every event from now on; the answer stops it."""
        self.deliver()
        self._listeners = (*self._listeners, listener)
        return lambda: self._drop(listener)

    @property
    def heard(self) -> bool:
        """Whether anybody listens; what only passes by need not be said otherwise."""
        return bool(self._listeners)

    def write(self, event: Durable) -> None:
        """Journal, then ledger, then doors."""
        self._append(event)
        step = FOLD.get(event.__class__)
        if step is not None:
            step(self.ledger, event)
        for fold in self._folds:
            fold(event)
        if self._listeners:
            self._pending.append(event)
            if not self._scheduled:
                self._schedule()

    def tell(self, event: Passing) -> None:
        """For what is never stored."""
        step = FOLD.get(event.__class__)
        if step is not None:
            step(self.ledger, event)
        self._publish(event)

    def relay(self, event: Event) -> None:
        """For what happened elsewhere, and is on record there."""
        self._publish(event)

    def write_first(self, event: Durable, then: Callable[[], bool] | None = None) -> Awaitable[None] | None:
        """Like ``write``, but doors hear of it only once it is durable; None when that is already so.

        ``then`` is called at that moment; what it makes moot (False) is not told to anybody.
        """
        self._append(event)
        self.ledger.fold(event)
        for fold in self._folds:
            fold(event)
        waiting = self._barrier()
        if waiting is None:
            if then is None or then():
                self._publish(event)
            return None
        return self._then_publish(waiting, event, then)

    def deliver(self) -> None:
        """Let doors hear now what has happened. Not from inside a step of the engine."""
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._pending:
                events, self._pending = self._pending, []
                for event in events:
                    for listener in self._listeners:
                        try:
                            listener(event)
                        except Exception as error:  # a broken door must not stop the work
                            self._drop(listener)
                            note = f"a listener failed and is not called any more: {in_words(error)}"
                            self.write(Noted(event.at, note, "error"))
        finally:
            self._delivering = False

    async def _then_publish(self, waiting: Awaitable[None], event: Durable, then: Callable[[], bool] | None) -> None:
        await shield(ensure_future(waiting))  # who gives up waiting must not cancel the journal's own work
        if then is None or then():
            self._publish(event)

    def _publish(self, event: Event) -> None:
        if self._listeners:
            self._pending.append(event)
            if not self._scheduled:
                self._schedule()

    def _schedule(self) -> None:
        try:
            get_running_loop().call_soon(self._deliver_later)
            self._scheduled = True
        except RuntimeError:  # no loop: nobody is in the middle of anything
            self.deliver()

    def _deliver_later(self) -> None:
        self._scheduled = False
        self.deliver()

    def _drop(self, listener: Listener) -> None:
        self._listeners = tuple(each for each in self._listeners if each is not listener)

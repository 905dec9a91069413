"""The record writes each event to the journal, then to the ledger, then calls the listeners.

Only ``CallRecord.write`` changes the state. A resumed turn runs the same code on a longer log.
"""

from asyncio import Future, ensure_future, get_running_loop, shield
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from callgate.core.call_ledger import CallLedger
from callgate.core.ports import EventLog, Maybe
from callgate.words.errors import in_words
from callgate.words.event_table import EVENTS
from callgate.words.events import AgentPath, CallSettled, CallStarted, Durable, Event, Noted, Passing

if TYPE_CHECKING:  # for the default, which typing has from Python 3.13 on
    from typing_extensions import TypeVar as DefaultTypeVar

    L = DefaultTypeVar("L", bound=CallLedger, default=CallLedger, covariant=True)
else:
    L = TypeVar("L", bound=CallLedger, covariant=True)


class DiscardedLog:
    """An event log that stores nothing, for an executor or a batch without a journal."""

    def __init__(self) -> None:
        self.number = 0

    def append(self, event: Durable) -> None:
        self.number += 1

    def barrier(self) -> Maybe:
        return None

    def room(self) -> Maybe:
        return None


Listener = Callable[[AgentPath, int, Event], None]
"""Called with the path of the session that wrote the event, the number of the event in the record of that session, and
the event. The number is 0 if the event is not recorded.

Listeners are called on the thread of the loop, in order, and between steps of the engine, so a listener may act on the
event. It must not block. A listener that raises is reported and removed."""

OwnListener = Callable[[Event], None]
"""Like Listener, but only called with events of this session."""


@final
class _Held:
    """A queue entry for an event that is published when it is durable. Later events are published after it. The
    event is None if it must not be published."""

    __slots__ = ("event", "number", "waits")

    def __init__(self, event: Event, number: int) -> None:
        self.event: Event | None = event
        self.number = number
        self.waits = True


_FIRST = {cls for cls, row in EVENTS.items() if row.published == "durable"} | {CallSettled}


class CallRecord(Generic[L]):
    """Writes the events of a session and publishes them to listeners in order.

    The column ``published`` of the table of events defines when an event is published. An event that could not be made
    durable is published with the next durable event.

    folds  functions that update further state from durable events of a class; none may raise
    path   the names of the agents from the root to the session of this record
    """

    def __init__(
        self,
        journal: EventLog,
        ledger: L,
        listeners: Iterable[OwnListener] = (),
        *,
        folds: Mapping[type, Callable[[Any], None]] = MappingProxyType({}),
        path: AgentPath = (),
    ) -> None:
        self.adopt(ledger, folds)
        self._journal = journal
        self._append = journal.append
        self._number = journal.number  # of the last event written
        self.room = journal.room
        self.path = path
        self._listeners: tuple[Listener, ...] = ()
        self._pending: deque[tuple[AgentPath, int, Event] | _Held] = deque()
        self._failed: list[tuple[int, Event]] = []  # not durable so far, because the journal failed
        self.position = journal.number
        """The highest number such that all events up to this number were published."""
        self._with_effects: set[str] = set()  # calls whose start and end wait until they are durable
        self._scheduled = False
        self._delivering = False
        for each in listeners:
            self.on_event(each)

    def adopt(self, ledger: L, folds: Mapping[type, Callable[[Any], None]]) -> None:  # pyright: ignore[reportGeneralTypeIssues]
        """Replace the ledger and the functions that update further state from events."""
        self.ledger = ledger
        self._routes = {cls: (ledger.FOLDS.get(cls), folds.get(cls), cls in _FIRST) for cls in EVENTS}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every later event of this session and of nested sessions. Return a function that
        removes the listener."""
        self.deliver()
        self._listeners = (*self._listeners, listener)
        return lambda: self._drop(listener)

    def on_event(self, listener: OwnListener) -> Callable[[], None]:
        """Call the listener with every later event of this session. Return a function that removes the listener."""

        def own(path: AgentPath, number: int, event: Event) -> None:
            if path is self.path:
                listener(event)

        return self.listen(own)

    @property
    def number(self) -> int:
        """The number of the last event that was written."""
        return self._number

    @property
    def has_listeners(self) -> bool:
        """False if events that are not stored need not be published."""
        return bool(self._listeners)

    def write(
        self, event: Durable, *, first: bool = False, then: Callable[[], bool] | None = None
    ) -> Future[None] | None:
        """Append the event to the journal, update the ledger, and publish the event. Return a future that is done when
        the event is durable; None if no wait is necessary.

        first  publish the event only when it is durable
        then   callback for this moment; if it returns False, the event is not published
        """
        self._append(event)
        self._number = number = self._number + 1
        fold, beside, may_wait = self._routes[event.__class__]
        if fold is not None:
            fold(self.ledger, event)
        if beside is not None:
            beside(event)
        if first or (may_wait and self._is_first(event)):
            return self._hold(number, event, self._journal.barrier(), then)
        self._publish(event, number)
        return None

    def write_first(self, event: Durable, then: Callable[[], bool] | None = None) -> Awaitable[None] | None:
        """Call ``write`` with ``first``. If the caller is cancelled while it waits, the event is still written."""
        if isinstance(event, CallStarted):
            self._with_effects.add(event.call_id)
        durable = self.write(event, first=True, then=then)
        return None if durable is None else shield(durable)

    def _is_first(self, event: Durable) -> bool:
        """Return True if the event is published only when it is durable. For CallSettled, return True if this also
        applied to the CallStarted of the call."""
        if type(event) is not CallSettled:
            return True
        if event.call_id not in self._with_effects:
            return False
        self._with_effects.remove(event.call_id)
        return True

    def publish(self, event: Passing) -> None:
        """Update the ledger by an event that is not stored, and publish the event."""
        self.ledger.fold(event)
        self._publish(event)

    def relay(self, path: AgentPath, number: int, event: Event) -> None:
        """Publish an event of a nested session. The record of the nested session calls this method as a listener."""
        if self._listeners:
            self._pending.append((path, number, event))
            if not self._scheduled:
                self._schedule()

    def deliver(self) -> bool:
        """Call the listeners with all pending events, between steps of the engine. Return False if some pending
        events are not durable yet."""
        if self._delivering:
            return True
        self._delivering = True
        try:
            pending, failed = self._pending, self._failed
            while pending:
                first = pending[0]
                if type(first) is _Held:
                    if first.waits:
                        return False
                    path, number, event = self.path, first.number, first.event
                else:
                    path, number, event = first
                pending.popleft()
                # A program that continues from this position must not miss failed events.
                if path is self.path and number > self.position and not failed:
                    self.position = number
                if event is not None:
                    for listener in self._listeners:
                        try:
                            listener(path, number, event)
                        except Exception as error:
                            self._drop(listener)
                            note = f"a listener raised an exception and was removed: {in_words(error)}"
                            self.write(Noted(event.at, note, "error"))
            return True
        finally:
            self._delivering = False

    def _hold(
        self, number: int, event: Durable, waiting: Maybe, then: Callable[[], bool] | None
    ) -> Future[None] | None:
        """Publish the event when the future ``waiting`` is done."""
        if waiting is None:
            if then is None or then():
                self._publish(event, number)
            return None
        held = _Held(event, number)
        self._pending.append(held)
        durable = ensure_future(waiting)
        durable.add_done_callback(lambda done: self._release(held, done, then))
        return durable

    def _release(self, held: _Held, done: Future[None], then: Callable[[], bool] | None) -> None:
        held.waits = False
        failure = None if done.cancelled() else done.exception()
        if done.cancelled() or failure is not None:
            assert held.event is not None
            self._failed.append((held.number, held.event))
            note = (
                Noted(held.event.at, f"this event could not be recorded yet: {in_words(failure)}", "error")
                if failure
                else None
            )
            held.event, held.number = note, 0
        else:
            if then is not None and not then():
                held.event = None
            self._pending.extendleft((self.path, *each) for each in reversed(self._failed))
            self._failed.clear()
        self.deliver()

    def _publish(self, event: Event, number: int = 0) -> None:
        if self._listeners:
            self.relay(self.path, number, event)
        elif number > self.position and not self._failed:
            self.position = number

    def _schedule(self) -> None:
        try:
            get_running_loop().call_soon(self._deliver_later)
            self._scheduled = True
        except RuntimeError:  # no loop: no step of the engine is running
            self.deliver()

    def _deliver_later(self) -> None:
        self._scheduled = False
        self.deliver()

    def _drop(self, listener: Listener) -> None:
        self._listeners = tuple(each for each in self._listeners if each is not listener)

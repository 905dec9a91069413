"""The one writer: journal, then ledger, then doors.

``Record.write`` is the only thing that changes state. A resumed turn is the same code on a longer log.
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
from callgate.words.events import CallSettled, CallStarted, Durable, Event, Noted, Passing

if TYPE_CHECKING:  # for the default, which typing has from Python 3.13 on
    from typing_extensions import TypeVar as DefaultTypeVar

    L = DefaultTypeVar("L", bound=CallLedger, default=CallLedger, covariant=True)
else:
    L = TypeVar("L", bound=CallLedger, covariant=True)


class DiscardedLog:
    """An event log that keeps nothing: the log of an executor or a batch without a journal."""

    def __init__(self) -> None:
        self.number = 0

    def append(self, event: Durable) -> None:
        self.number += 1

    def barrier(self) -> Maybe:
        return None

    def room(self) -> Maybe:
        return None


Listener = Callable[[Event], None]
"""Called on the loop's thread for every event, in order, and never in the middle of a step of the engine, so it may act
on what it hears. Must not block. One that raises is heard of and not called again."""


@final
class _Held:
    """An event that doors hear of once it is durable; None when it has become moot. Later events wait behind it."""

    __slots__ = ("event", "number", "waits")

    def __init__(self, event: Event, number: int) -> None:
        self.event: Event | None = event
        self.number = number
        self.waits = True


_FIRST = {cls for cls, row in EVENTS.items() if row.told == "durable"} | {CallSettled}


class CallRecord(Generic[L]):
    """The one writer. Doors hear events in the order of the record, each at the moment that the column ``told`` of the
    table of events says. An event that could not be made durable is told when a later one is.

    ``folds`` fold durable events of a class into state beside the ledger; none may raise."""

    def __init__(
        self,
        journal: EventLog,
        ledger: L,
        listeners: Iterable[Listener] = (),
        *,
        folds: Mapping[type, Callable[[Any], None]] = MappingProxyType({}),
    ) -> None:
        self.adopt(ledger, folds)
        self._journal = journal
        self._append = journal.append
        self._number = journal.number  # of the last event written
        self.room = journal.room
        self._listeners = tuple(listeners)
        self._pending: deque[tuple[int, Event] | _Held] = deque()
        self._failed: list[tuple[int, Event]] = []  # not durable so far, because the journal failed
        self.position = journal.number
        """The number on record of the last event that doors were told, and all before it; see ``Journal.number``."""
        self._with_effects: set[str] = set()  # calls whose start was made durable first: so is their end
        self._scheduled = False
        self._delivering = False

    def adopt(self, ledger: L, folds: Mapping[type, Callable[[Any], None]]) -> None:  # pyright: ignore[reportGeneralTypeIssues]
        """Use this state from now on, with these functions that fold events into state beside it."""
        self.ledger = ledger
        self._routes = {cls: (ledger.FOLDS.get(cls), folds.get(cls), cls in _FIRST) for cls in EVENTS}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every event from now on; the answer stops it."""
        self.deliver()
        self._listeners = (*self._listeners, listener)
        return lambda: self._drop(listener)

    @property
    def heard(self) -> bool:
        """True if there are listeners; without any, transient events need not be sent."""
        return bool(self._listeners)

    def write(
        self, event: Durable, *, first: bool = False, then: Callable[[], bool] | None = None
    ) -> Future[None] | None:
        """Journal, then ledger, then doors. Gives what is waited for until the event is durable, if anything is.

        ``first``: doors hear of it only once it is durable. ``then`` is called at that moment; what it makes moot
        (False) is not told to anybody.
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
        if self._scheduled:
            self._pending.append((number, event))
        else:
            self._publish(event, number)
        return None

    def write_first(self, event: Durable, then: Callable[[], bool] | None = None) -> Awaitable[None] | None:
        """``write`` with ``first``, for a caller that waits: one that gives up must not cancel the journal's work."""
        if isinstance(event, CallStarted):
            self._with_effects.add(event.call_id)
        durable = self.write(event, first=True, then=then)
        return None if durable is None else shield(durable)

    def _is_first(self, event: Durable) -> bool:
        """The end of a call is told before it is durable, unless its start was not."""
        if type(event) is not CallSettled:
            return True
        if event.call_id not in self._with_effects:
            return False
        self._with_effects.remove(event.call_id)
        return True

    def tell(self, event: Passing) -> None:
        """For what is never stored."""
        self.ledger.fold(event)
        self._publish(event)

    def relay(self, event: Event) -> None:
        """For what happened elsewhere, and is on record there."""
        self._publish(event)

    def deliver(self) -> bool:
        """Let doors hear now what has happened. Not from inside a step of the engine. False: some of it waits until it
        is durable."""
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
                    number, event = first.number, first.event
                else:
                    number, event = first
                pending.popleft()
                if number > self.position and not failed:  # a door that goes on from here must not miss them
                    self.position = number
                if event is not None:
                    for listener in self._listeners:
                        try:
                            listener(event)
                        except Exception as error:  # a broken door must not stop the work
                            self._drop(listener)
                            note = f"a listener failed and is not called any more: {in_words(error)}"
                            self.write(Noted(event.at, note, "error"))
            return True
        finally:
            self._delivering = False

    def _hold(
        self, number: int, event: Durable, waiting: Maybe, then: Callable[[], bool] | None
    ) -> Future[None] | None:
        """Keep it from doors until ``waiting`` is over."""
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
            held.event = (
                Noted(held.event.at, f"this is not on record yet: {in_words(failure)}", "error") if failure else None
            )
        else:
            if then is not None and not then():
                held.event = None
            self._pending.extendleft(reversed(self._failed))
            self._failed.clear()
        self.deliver()

    def _publish(self, event: Event, number: int = 0) -> None:
        if self._listeners:
            self._pending.append((number, event))
            if not self._scheduled:
                self._schedule()
        elif number > self.position and not self._failed:
            self.position = number

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

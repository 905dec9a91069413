"""The events that follow an input, as an iterator."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any, Protocol
from weakref import finalize

from callgate.core.outlet import merged_progress
from callgate.core.record import Listener
from callgate.words.events import CallProgressed, Event, SessionStatus

AT_REST: tuple[SessionStatus, ...] = ("idle", "waiting_confirmation", "paused", "closed")


class Source(Protocol):
    """A session, as far as a reply needs it."""

    @property
    def status(self) -> SessionStatus: ...

    def listen(self, listener: Listener) -> Callable[[], None]: ...

    def deliver(self) -> bool: ...

    @property
    def position(self) -> int:
        """The number on record of the event that listeners are told now, or were told last."""
        ...

    async def told_after(self, number: int) -> Sequence[tuple[int, Event]]:
        """The events on record after this number, as far as listeners were told of them."""
        ...

    def take_failure(self) -> Exception | None: ...


class _Told:
    """An event and its number on record; progress that is not fetched yet grows."""

    __slots__ = ("event", "number")

    def __init__(self, number: int, event: Event) -> None:
        self.number = number
        self.event = event


class _Feed:
    """Events that a reader has not fetched yet. Progress of a call is merged as long as only progress comes, of however
    many calls."""

    __slots__ = ("_progress", "_source", "_waiting", "events")

    def __init__(self, source: Source) -> None:
        self.events: deque[_Told] = deque()
        self._progress: dict[str, _Told] = {}  # since the last event of another kind
        self._source = source
        self._waiting: list[asyncio.Future[None]] = []

    def pop(self) -> _Told:
        told = self.events.popleft()
        if isinstance(told.event, CallProgressed):
            self._progress.pop(told.event.call_id, None)
        return told

    def hear(self, event: Event) -> None:
        told = _Told(self._source.position, event)
        if isinstance(event, CallProgressed):
            unread = self._progress.setdefault(event.call_id, told)
            if unread is not told and isinstance(unread.event, CallProgressed):
                unread.event = merged_progress(unread.event, event)
                return
        else:
            self._progress.clear()
        self.events.append(told)
        while self._waiting:
            waiting = self._waiting.pop()
            if not waiting.done():
                waiting.set_result(None)

    async def more(self) -> None:
        """Wait until there is something to fetch."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting


class Reply:
    """The events that follow an input, until the session rests: iterate over it, or await it for all of them.

    An open question is a rest, but a loop that answers inside its body goes on. Progress that is not fetched is merged,
    so a slow reader delays nothing.
    """

    def __init__(
        self, session: Source, ending: tuple[SessionStatus, ...] = AT_REST, *, after: int | None = None
    ) -> None:
        self._session = session
        self._ending = ending
        self._after = after
        self._feed = feed = _Feed(session)
        self._stop = finalize(self, session.listen(feed.hear))  # a reply that nobody keeps stops listening
        self.position = session.position
        """The number on record of the last durable event that was read here. It is the same for every reader and after
        a restart; an event that is not on record has the number of the one before it. ``session.events(after=number)``
        goes on from there."""

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._after is not None:
            await self._catch_up(self._after)
        events = self._feed.events
        while not events:
            if self._over():
                raise StopAsyncIteration
            if not events:
                await self._feed.more()
        told = self._feed.pop()
        self.position = told.number
        return told.event

    async def _catch_up(self, after: int) -> None:
        """Puts the events on record before those that came since."""
        upto, self._after = self.position, None
        self.position = min(after, upto)
        found = await self._session.told_after(after)
        self._feed.events.extendleft(_Told(*each) for each in reversed(found) if each[0] <= upto)

    def __await__(self) -> Generator[Any, None, list[Event]]:
        return self._all().__await__()

    async def _all(self) -> list[Event]:
        return [event async for event in self]

    def _over(self) -> bool:
        all_told = self._session.deliver()
        if self._feed.events or not all_told or self._session.status not in self._ending:
            return False
        self._stop()
        failure = self._session.take_failure()
        if failure is not None:
            raise failure
        return True

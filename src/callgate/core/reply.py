"""What follows an input, for whoever wants to hear it."""

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


class _Feed:
    """Events that a reader has not fetched yet."""

    __slots__ = ("_source", "_waiting", "events")

    def __init__(self, source: Source) -> None:
        self.events: deque[tuple[int, Event]] = deque()
        self._source = source
        self._waiting: list[asyncio.Future[None]] = []

    def hear(self, event: Event) -> None:
        events = self.events
        if isinstance(event, CallProgressed) and events:
            number, last = events[-1]
            if isinstance(last, CallProgressed) and last.call_id == event.call_id:
                events[-1] = number, merged_progress(last, event)
                return
        events.append((self._source.position, event))
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

    An open question is a rest, but a loop that answers inside its body goes on. Progress that nobody fetched is merged,
    so a slow reader holds nobody up.
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
        self.position, event = events.popleft()
        return event

    async def _catch_up(self, after: int) -> None:
        """Puts the events on record before those that came since."""
        upto, self._after = self.position, None
        self.position = min(after, upto)
        found = await self._session.told_after(after)
        self._feed.events.extendleft(reversed([each for each in found if each[0] <= upto]))

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

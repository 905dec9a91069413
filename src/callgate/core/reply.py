"""What follows an input, for whoever wants to hear it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
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

    def take_failure(self) -> Exception | None: ...


class _Feed:
    """Events that a reader has not fetched yet."""

    __slots__ = ("_waiting", "events")

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self._waiting: list[asyncio.Future[None]] = []

    def hear(self, event: Event) -> None:
        events = self.events
        if isinstance(event, CallProgressed) and events:
            last = events[-1]
            if isinstance(last, CallProgressed) and last.call_id == event.call_id:
                events[-1] = merged_progress(last, event)
                return
        events.append(event)
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

    def __init__(self, session: Source, ending: tuple[SessionStatus, ...] = AT_REST) -> None:
        self._session = session
        self._ending = ending
        self._feed = feed = _Feed()
        self._stop = finalize(self, session.listen(feed.hear))  # a reply that nobody keeps stops listening

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        events = self._feed.events
        while not events:
            if self._over():
                raise StopAsyncIteration
            if not events:
                await self._feed.more()
        return events.popleft()

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

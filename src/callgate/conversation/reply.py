"""The events that follow an input, or all events of a session, as an iterator."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar
from weakref import finalize

from callgate.core.record import Listener
from callgate.core.sizes import merged_progress
from callgate.words.events import CallProgressed, Event, QuestionAnswered, QuestionAsked, SessionStatus
from callgate.words.session_event import AgentPath, SessionEvent

T = TypeVar("T", covariant=True)
AT_REST: tuple[SessionStatus, ...] = ("idle", "waiting_confirmation", "paused", "closed")


class EventSource(Protocol):
    """A session, as far as a stream of its events needs it."""

    @property
    def status(self) -> SessionStatus: ...

    @property
    def path(self) -> AgentPath: ...

    def listen(self, listener: Listener) -> Callable[[], None]: ...

    def deliver(self) -> bool: ...

    @property
    def position(self) -> int:
        """The number on record of the event that listeners receive now, or received last."""
        ...

    async def events_after(self, number: int) -> Sequence[tuple[int, Event]]:
        """The events on record after this number, as far as they were published."""
        ...

    def take_failure(self) -> Exception | None: ...


class _Unread:
    """An event, and the position of its session at that time; progress that is not fetched yet grows."""

    __slots__ = ("found", "position")

    def __init__(self, position: int, found: SessionEvent) -> None:
        self.position = position
        self.found = found


class _Feed:
    """Events that a reader has not fetched yet. Progress of a call is merged as long as only progress comes, of however
    many calls."""

    __slots__ = ("_progress", "_source", "_waiting", "_wanted", "events")

    def __init__(self, source: EventSource, wanted: Callable[[AgentPath, Event], bool]) -> None:
        self.events: deque[_Unread] = deque()
        self._progress: dict[tuple[AgentPath, str], _Unread] = {}  # since the last event of another kind
        self._source = source
        self._wanted = wanted
        self._waiting: list[asyncio.Future[None]] = []

    def pop(self) -> _Unread:
        unread = self.events.popleft()
        if isinstance(unread.found.event, CallProgressed):
            self._progress.pop((unread.found.path, unread.found.event.call_id), None)
        return unread

    def add(self, path: AgentPath, number: int, event: Event) -> None:
        if not self._wanted(path, event):
            return
        unread = _Unread(self._source.position, SessionEvent(path, number, event))
        if isinstance(event, CallProgressed):
            earlier = self._progress.setdefault((path, event.call_id), unread)
            if earlier is not unread and isinstance(earlier.found.event, CallProgressed):
                earlier.found = SessionEvent(path, number, merged_progress(earlier.found.event, event))
                return
        else:
            self._progress.clear()
        self.events.append(unread)
        while self._waiting:
            waiting = self._waiting.pop()
            if not waiting.done():
                waiting.set_result(None)

    async def more(self) -> None:
        """Wait until there is something to fetch."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting


class EventStream(Generic[T]):
    """Events of a session as an iterator that ends with one of the given statuses. Progress that is not fetched is
    merged, so a slow reader delays nothing.

    wanted  selects the events by their path
    value   makes the value that the reader gets
    after   a position: the events on record since then come first
    """

    def __init__(
        self,
        session: EventSource,
        ending: tuple[SessionStatus, ...],
        value: Callable[[SessionEvent], T],
        wanted: Callable[[AgentPath, Event], bool] = lambda path, event: True,
        *,
        after: int | None = None,
    ) -> None:
        self._session = session
        self._ending = ending
        self._value = value
        self._after = after
        self._feed = feed = _Feed(session, wanted)
        self._stop = finalize(self, session.listen(feed.add))  # a stream that nobody keeps stops listening
        self.position = session.position
        """The number on record of the session's own last durable event that was read here. It is the same for every
        reader and after a restart; an event that is not on record has the number of the one before it.
        ``session.events(after=number)`` goes on from there."""

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._after is not None:
            await self._catch_up(self._after)
        events = self._feed.events
        while not events:
            if self._over():
                raise StopAsyncIteration
            if not events:
                await self._feed.more()
        unread = self._feed.pop()
        self.position = unread.position
        return self._value(unread.found)

    async def _catch_up(self, after: int) -> None:
        """Put the events on record before those that came since."""
        upto, self._after = self.position, None
        self.position = min(after, upto)
        found = await self._session.events_after(after)
        path = self._session.path
        earlier = [_Unread(number, SessionEvent(path, number, event)) for number, event in found if number <= upto]
        self._feed.events.extendleft(reversed(earlier))

    def __await__(self) -> Generator[Any, None, list[T]]:
        return self._all().__await__()

    async def _all(self) -> list[T]:
        return [event async for event in self]

    def _over(self) -> bool:
        all_published = self._session.deliver()
        if self._feed.events or not all_published or self._session.status not in self._ending:
            return False
        self._stop()
        failure = self._session.take_failure()
        if failure is not None:
            raise failure
        return True


class Reply(EventStream[Event]):
    """The events that follow an input, until the session rests: iterate over it, or await it for all of them. They are
    the events of the session itself, and questions of the sessions inside it with their answers.

    An open question is a rest, but a loop that answers inside its body goes on.
    """

    def __init__(self, session: EventSource, ending: tuple[SessionStatus, ...] = AT_REST) -> None:
        own = session.path
        super().__init__(
            session,
            ending,
            lambda found: found.event,
            lambda path, event: path == own or isinstance(event, QuestionAsked | QuestionAnswered),
        )

"""Events of a session as an asynchronous iterator."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any, Generic, TypeVar
from weakref import finalize

from callgate.conversation.record import Record
from callgate.core.sizes import merged_progress
from callgate.session.work import Work
from callgate.words import events

T = TypeVar("T", covariant=True)
AT_REST: tuple[events.SessionStatus, ...] = ("idle", "waiting_confirmation", "paused", "closed")


class _Unread:
    """An unread event, and the position of its session when the event was published.

    Later progress of the same call is merged into an unread progress event.
    """

    __slots__ = ("found", "position")

    def __init__(self, position: int, found: events.SessionEvent) -> None:
        self.position = position
        self.found = found


class _Feed:
    """A queue of unread events. Progress events are merged by call until an event of another kind is added."""

    __slots__ = ("_progress", "_record", "_waiting", "_wanted", "unread")

    def __init__(self, record: Record, wanted: Callable[[events.AgentPath, events.Event], bool]) -> None:
        self.unread: deque[_Unread] = deque()
        self._progress: dict[tuple[events.AgentPath, str], _Unread] = {}  # since the last event of another kind
        self._record = record
        self._wanted = wanted
        self._waiting: list[asyncio.Future[None]] = []

    def pop(self) -> _Unread:
        unread = self.unread.popleft()
        if isinstance(unread.found.event, events.CallProgressed):
            self._progress.pop((unread.found.path, unread.found.event.call_id), None)
        return unread

    def add(self, path: events.AgentPath, number: int, event: events.Event) -> None:
        if not self._wanted(path, event):
            return
        unread = _Unread(self._record.position, events.SessionEvent(path, number, event))
        if isinstance(event, events.CallProgressed):
            earlier = self._progress.setdefault((path, event.call_id), unread)
            if earlier is not unread and isinstance(earlier.found.event, events.CallProgressed):
                earlier.found = events.SessionEvent(path, number, merged_progress(earlier.found.event, event))
                return
        else:
            self._progress.clear()
        self.unread.append(unread)
        while self._waiting:
            waiting = self._waiting.pop()
            if not waiting.done():
                waiting.set_result(None)

    async def more(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting


class EventStream(Generic[T]):
    """An iterator over the events of a session. The iterator ends when the session reaches one of the given statuses.
    Unread progress events are merged, so a slow consumer does not delay the session.

    wanted  selects events by path and event
    value   converts an event to the value of the iterator
    after   a position; the recorded events after this position are returned first
    """

    def __init__(
        self,
        session: Work,
        ending: tuple[events.SessionStatus, ...],
        value: Callable[[events.SessionEvent], T],
        wanted: Callable[[events.AgentPath, events.Event], bool] = lambda path, event: True,
        *,
        after: int | None = None,
    ) -> None:
        self._session = session
        self._record = record = session.record
        self._ending = ending
        self._value = value
        self._after = after
        self._feed = feed = _Feed(record, wanted)
        self._stop = finalize(self, record.listen(feed.add))  # a collected stream stops listening
        self.position = record.position
        """The number of the last recorded event of this session that was read here. ``session.events(after=number)``
        continues from it, also after a restart."""

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._after is not None:
            await self._catch_up(self._after)
        unread_events = self._feed.unread
        while not unread_events:
            if self._over():
                raise StopAsyncIteration
            if not unread_events:
                await self._feed.more()
        unread = self._feed.pop()
        self.position = unread.position
        return self._value(unread.found)

    async def _catch_up(self, after: int) -> None:
        """Insert the recorded events in front of the unread events."""
        upto, self._after = self.position, None
        self.position = min(after, upto)
        found = await self._record.after(after)
        path = self._record.path
        earlier = [
            _Unread(number, events.SessionEvent(path, number, event)) for number, event in found if number <= upto
        ]
        self._feed.unread.extendleft(reversed(earlier))

    def __await__(self) -> Generator[Any, None, list[T]]:
        return self._all().__await__()

    async def _all(self) -> list[T]:
        return [event async for event in self]

    def _over(self) -> bool:
        all_published = self._record.deliver()
        if self._feed.unread or not all_published or self._session.status not in self._ending:
            return False
        self._stop()
        failure = self._session.take_failure()
        if failure is not None:
            raise failure
        return True


class Reply(EventStream[events.Event]):
    """The events after an input, until the session has no more work. Iterate over a reply, or await it for a list.

    A reply contains the events of the session, and the questions and answers of nested sessions. An open question
    ends the reply, unless the question is answered in the body of the loop.
    """

    def __init__(self, session: Work, ending: tuple[events.SessionStatus, ...] = AT_REST) -> None:
        own = session.record.path
        super().__init__(
            session,
            ending,
            lambda found: found.event,
            lambda path, event: path == own or isinstance(event, events.QuestionAsked | events.QuestionAnswered),
        )

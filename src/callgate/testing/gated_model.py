"""A model whose events a test releases one at a time."""

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Self

from callgate.conversation.ports import Model
from callgate.core.capabilities import close_stream
from callgate.words.model import Abilities, MessageEnded, ModelEvent, Request


class _Signal:
    """Wakes all tasks that wait for a condition, so that they check it again."""

    def __init__(self) -> None:
        self._waiters: list[Future[None]] = []

    async def until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            waiter: Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def pulse(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class GatedStream:
    """A stream that passes on each event of another stream only when a test releases the event.

    The stream ends when it is closed or cancelled, and after MessageEnded. If a message is cut off, its end or error
    must be released like an event.
    """

    def __init__(self, source: AsyncIterator[ModelEvent]) -> None:
        self.passed: list[ModelEvent] = []
        self._source = source
        self._permits = 0
        self._open = False
        self._asked = False
        self._whole = False
        self._over = False
        self._signal = _Signal()

    @property
    def over(self) -> bool:
        """True if the stream has no more events to pass on."""
        return self._over or self._whole

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        self._asked = True
        self._signal.pulse()
        try:
            await self._signal.until(lambda: self._open or self._permits > 0 or self.over)
            if self._over:
                raise StopAsyncIteration
            self._permits = max(self._permits - 1, 0)
            self._asked = False
            event = await anext(self._source)
        except BaseException:
            await self.aclose()
            raise
        self.passed.append(event)
        if isinstance(event, MessageEnded):
            self._whole = True
            self._signal.pulse()
        return event

    async def aclose(self) -> None:
        if not self._over:
            self._over = True
            self._signal.pulse()
            await close_stream(self._source)

    async def release(self) -> bool:
        """Release one event and wait until the consumer has processed it: the consumer requests the next event or
        closes the stream. Return False if there was no event."""
        before = len(self.passed)
        await self._signal.until(lambda: self._asked or self.over)
        if not self.over:
            self._asked = False
            self._permits += 1
            self._signal.pulse()
            await self._signal.until(lambda: self._asked or self.over)
            await self._last_words()
        return len(self.passed) > before

    async def release_all(self) -> None:
        """Release all further events and wait for the end of the message."""
        self.open()
        await self._signal.until(lambda: self.over)
        await self._last_words()

    def open(self) -> None:
        """Release all further events without waiting."""
        self._open = True
        self._signal.pulse()

    async def _last_words(self) -> None:
        """Wait briefly until the consumer requests another event after MessageEnded. A consumer may never request
        this event."""
        for _ in range(100):
            if self._asked or self._over:
                return
            await asyncio.sleep(0)


class GatedModel:
    """A model that returns the streams of another model, or a fixed list of events, as gated streams."""

    def __init__(self, source: Model | Iterable[ModelEvent]) -> None:
        self.streams: list[GatedStream] = []
        self._model = None if isinstance(source, Iterable) else source
        self._events = tuple(source) if isinstance(source, Iterable) else ()
        self.name = "gated" if self._model is None else self._model.name
        self.abilities = Abilities() if self._model is None else self._model.abilities
        self._open = False
        self._opened = _Signal()

    def stream(self, request: Request) -> GatedStream:
        stream = GatedStream(_recited(self._events) if self._model is None else self._model.stream(request))
        if self._open:
            stream.open()
        self.streams.append(stream)
        self._opened.pulse()
        return stream

    @property
    def passed(self) -> list[ModelEvent]:
        """All events released so far."""
        return [event for stream in self.streams for event in stream.passed]

    async def release(self, n: int = 1) -> None:
        """Release ``n`` events, of one or several messages, and wait until the last event is processed."""
        while n > 0:
            if await (await self._current()).release():
                n -= 1

    async def release_until(self, kind: type[ModelEvent]) -> None:
        """Release all events up to and including the next event of this type."""
        while True:
            stream = await self._current()
            if await stream.release() and isinstance(stream.passed[-1], kind):
                return

    async def release_all(self) -> None:
        """Release the remaining events of the current message and wait for its end."""
        await (await self._current()).release_all()

    def open(self) -> None:
        """Release all events of this message and all later messages without waiting."""
        self._open = True
        for stream in self.streams:
            stream.open()

    async def _current(self) -> GatedStream:
        await self._opened.until(lambda: bool(self.streams) and not self.streams[-1].over)
        return self.streams[-1]


async def _recited(events: tuple[ModelEvent, ...]) -> AsyncIterator[ModelEvent]:
    for event in events:
        yield event

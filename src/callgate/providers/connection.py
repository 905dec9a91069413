"""One HTTP/1.1 connection on asyncio and h11.

``Pipe`` is the asyncio protocol, which buffers received bytes and pauses reading while the buffer is full.
``Connection`` performs one exchange after another on a ``Pipe``. ``Watchdog`` is the idle timeout, on the Clock port.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import h11

from callgate.core.ports import Clock, Timer
from callgate.providers.addresses import Proxy, ServerAddress
from callgate.words.noun import noun

T = TypeVar("T")


class SilentTooLong(Exception):
    """Raised if the server sends nothing until the idle timeout."""


class Watchdog:
    """A timeout for each wait for the server. The time between two waits, while the consumer is busy, is not measured.

    One timer serves many waits: when it fires, it is started again for the remaining time of the current wait.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._timer: Timer | None = None
        self._task: asyncio.Task[Any] | None = None
        self._since = 0.0
        self._fired = False

    async def wait(self, coming: Awaitable[T]) -> T:
        """Wait for an awaitable and return its result. After the timeout, cancel the awaitable and raise
        SilentTooLong."""
        self._task = task = asyncio.current_task()
        self._since = self._clock.monotonic()
        if self._timer is None:
            self._timer = self._clock.call_later(self._seconds, self._due)
        try:
            return await coming
        except asyncio.CancelledError:
            if self._fired and (task is None or task.uncancel() == 0):
                raise SilentTooLong from None
            raise
        finally:
            self._task = None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        if self._task is None:
            return  # the next wait starts it again
        left = self._seconds - (self._clock.monotonic() - self._since)
        if left > 0:
            self._timer = self._clock.call_later(left, self._due)
        else:
            self._fired = True
            self._task.cancel()


KEPT_BYTES = 256 * 1024
"""The buffer size above which reading from the socket is paused."""
PIECE = 64 * 1024


class BrokenConnection(Exception):
    """Raised if the server or the network closed the connection before the answer was complete."""


class ProxyRefused(Exception):
    """Raised if the proxy refused the tunnel. The message contains the status and reason of the proxy."""


@noun
class AnswerHead:
    """The status and headers of an answer.

    headers  the headers by lower-case name; the values of repeated headers are joined with commas
    """

    status: int
    headers: Mapping[str, str]


class Pipe(asyncio.Protocol):
    """An asyncio protocol that buffers the received bytes of a connection."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._paused = self._full = False
        self.transport: asyncio.Transport | None = None

    @property
    def is_quiet(self) -> bool:
        """True if the connection is open and its buffer is empty."""
        return not self._kept and not self._ended

    @property
    def ended(self) -> bool:
        return self._ended

    async def read(self) -> bytes:
        """Wait for received bytes and return them; return empty bytes at the end of the connection."""
        if not self._kept and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        return self.take_received()

    def take_received(self) -> bytes:
        """Return the buffered bytes. Raise BrokenConnection after a network error."""
        if not self._kept and self._error is not None:
            raise BrokenConnection(str(self._error) or type(self._error).__name__) from self._error
        data = bytes(self._kept)
        self._kept.clear()
        if self._paused and self.transport is not None and not self._ended:
            self._paused = False
            self.transport.resume_reading()
        return data

    async def wait_writable(self) -> None:
        """Wait until the write buffer of the transport has space."""
        if self._full and not self._ended:
            self._writer = asyncio.get_running_loop().create_future()
            try:
                await self._writer
            finally:
                self._writer = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > KEPT_BYTES and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> bool:
        self._ended = True
        _wake(self._reader)
        _wake(self._writer)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._error = True, self._error or exc
        _wake(self._reader)
        _wake(self._writer)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        _wake(self._writer)


class Connection:
    """An HTTP connection that performs one exchange at a time."""

    def __init__(self, pipe: Pipe, origin: ServerAddress, proxy: Proxy | None) -> None:
        self._pipe = pipe
        self._h11 = h11.Connection(h11.CLIENT)
        self._unread: h11.Event | type[h11.NEED_DATA | h11.PAUSED] | h11.RemoteProtocolError | None = None
        self._loop = asyncio.get_running_loop()
        self.origin = origin
        self.proxy = proxy
        self.answered = False
        """True once a byte of the current answer was received."""

    async def send(self, target: str, headers: list[tuple[str, str]], body: bytes, watchdog: Watchdog) -> None:
        """Send one POST. Return early if the server answers or closes the connection before the whole body is sent."""
        self.answered = False
        self._write(self._h11.send(h11.Request(method="POST", target=target, headers=headers)))
        for start in range(0, len(body), PIECE):
            if not self._pipe.is_quiet:
                return
            self._write(self._h11.send(h11.Data(data=body[start : start + PIECE])))
            await watchdog.wait(self._pipe.wait_writable())
        if self._pipe.is_quiet:
            self._write(self._h11.send(h11.EndOfMessage()))

    async def head(self, watchdog: Watchdog) -> AnswerHead:
        while True:
            event = await self._next(watchdog)
            if isinstance(event, h11.Response):
                headers: dict[str, str] = {}
                for raw, given in event.headers:
                    name, value = raw.decode("latin-1").lower(), given.decode("latin-1")
                    headers[name] = f"{headers[name]}, {value}" if name in headers else value
                return AnswerHead(event.status_code, headers)

    async def piece(self, watchdog: Watchdog) -> bytes | None:
        """Return the next bytes of the body, or None at the end of the body."""
        while True:
            event = await self._next(watchdog)
            if isinstance(event, h11.Data):
                return self._with_received(bytes(event.data))
            if isinstance(event, h11.EndOfMessage):
                return None

    def _with_received(self, data: bytes) -> bytes:
        """Return the bytes followed by all received bytes of the body, because a server sends each event as a chunk."""
        pieces, size = [data], len(data)
        while size < PIECE:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                self._unread = error
                break
            if not isinstance(event, h11.Data):
                self._unread = None if event is h11.NEED_DATA else event
                break
            pieces.append(bytes(event.data))
            size += len(pieces[-1])
        return b"".join(pieces)

    def can_be_reused(self) -> bool:
        """Return True if both sides have completed the exchange, so that the connection can be reused. Does not
        wait."""
        if self._loop is not asyncio.get_running_loop() or self._pipe.ended:
            return False
        try:
            while self._h11.their_state is h11.SEND_BODY:
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    data = self._pipe.take_received()
                    if not data:
                        return False
                    self._h11.receive_data(data)
            if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
                self._h11.start_next_cycle()
        except (BrokenConnection, h11.ProtocolError):
            return False
        return self._h11.our_state is h11.IDLE and not self._h11.trailing_data[0] and self._pipe.is_quiet

    def close(self) -> None:
        """Close the connection immediately. Unsent bytes are dropped."""
        if self._pipe.transport is not None and not self._loop.is_closed():
            self._pipe.transport.abort()

    async def _next(self, watchdog: Watchdog) -> h11.Event:
        ended = False
        while True:
            try:
                event = self._read_event()
            except h11.RemoteProtocolError:
                if ended:
                    event = h11.PAUSED
                else:
                    raise
            if event is h11.NEED_DATA:
                data = await watchdog.wait(self._pipe.read())
                ended = not data
                self.answered = self.answered or not ended
                self._h11.receive_data(data)
            elif isinstance(event, type | h11.ConnectionClosed):
                raise BrokenConnection("the server closed it before the end of the answer")
            else:
                return event

    def _read_event(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        event, self._unread = self._unread, None
        if isinstance(event, h11.RemoteProtocolError):
            raise event
        return self._h11.next_event() if event is None else event

    def _write(self, data: bytes | None) -> None:
        if data and self._pipe.transport is not None:
            self._pipe.transport.write(data)


async def open_connection(
    origin: ServerAddress, proxy: Proxy | None, context: Callable[[], ssl.SSLContext], watchdog: Watchdog
) -> Connection:
    """Open a connection to a server, directly or through a proxy. An encrypted connection uses a tunnel of the proxy.

    context  a callback that loads the system's certificates; because it is slow, it is called in a worker thread while
             the connection is made
    """
    loop = asyncio.get_running_loop()
    first = origin if proxy is None else proxy.origin
    secure = origin.secure or first.secure
    certificates = loop.run_in_executor(None, context) if secure else None
    pipe = Pipe()
    try:
        connecting = loop.create_connection(lambda: pipe, first.host, first.port, happy_eyeballs_delay=0.25)
        await watchdog.wait(connecting)
        if first.secure and certificates is not None:
            await _start_tls(pipe, await asyncio.shield(certificates), first.host, watchdog)
        if proxy is not None and origin.secure and certificates is not None:
            await _open_tunnel(pipe, origin, proxy, watchdog)
            await _start_tls(pipe, await asyncio.shield(certificates), origin.host, watchdog)
        return Connection(pipe, origin, proxy)
    except BaseException:
        if pipe.transport is not None:
            pipe.transport.abort()
        raise


async def _start_tls(pipe: Pipe, context: ssl.SSLContext, host: str, watchdog: Watchdog) -> None:
    assert pipe.transport is not None
    if not pipe.is_quiet:  # the asyncio handshake never ends on a transport that is closing
        raise ssl.SSLError("the server does not support TLS")
    loop = asyncio.get_running_loop()
    upgraded = await watchdog.wait(loop.start_tls(pipe.transport, pipe, context, server_hostname=host))
    if upgraded is None:
        raise BrokenConnection("the server closed it during the TLS handshake")
    pipe.transport = upgraded


async def _open_tunnel(pipe: Pipe, origin: ServerAddress, proxy: Proxy, watchdog: Watchdog) -> None:
    assert pipe.transport is not None
    http = h11.Connection(h11.CLIENT)
    headers = [("Host", str(origin))]
    if proxy.authorization is not None:
        headers.append(("Proxy-Authorization", proxy.authorization))
    for event in (h11.Request(method="CONNECT", target=str(origin), headers=headers), h11.EndOfMessage()):
        pipe.transport.write(http.send(event) or b"")
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            data = await watchdog.wait(pipe.read())
            if not data:
                raise ProxyRefused("it closed the connection")
            http.receive_data(data)
        elif isinstance(event, h11.Response):
            if 200 <= event.status_code < 300:
                return
            raise ProxyRefused(f"HTTP {event.status_code} {bytes(event.reason).decode('latin-1')}".strip())


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)

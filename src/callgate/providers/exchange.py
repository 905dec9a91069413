"""Performs one HTTP exchange on a pooled or new connection, and converts network exceptions to ModelErrors.

Also detects answers that are not an event stream: error statuses, HTML pages of proxies, single JSON bodies.
"""

import asyncio
import errno
import json
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, cast

import h11

from callgate.core.ports import Clock
from callgate.providers.addresses import BaseUrl, ServerAddress, proxy_for
from callgate.providers.connection import (
    AnswerHead,
    BrokenConnection,
    Connection,
    ProxyRefused,
    SilentTooLong,
    Watchdog,
    open_connection,
)
from callgate.providers.family import Family, HttpPost
from callgate.providers.fault_table import fault_of, http_fault, request_id_of
from callgate.providers.stream_parser import EventTooLarge
from callgate.providers.wire_recording import WireTape
from callgate.words.errors import ModelError, UsageError
from callgate.words.late_pattern import late_pattern

MOST_IDLE = 4
IDLE_SECONDS = 60.0
"""Older connections are not reused: a router on the path may have dropped them silently."""


class ConnectionPool:
    """A pool of idle connections, which the models of a session and of its nested sessions can share.

    Each event loop has its own idle connections, because a connection works only in the loop that opened it. They are
    closed at the end of their loop. A connection that was idle for too long is closed instead of reused.
    """

    def __init__(self, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self._clock = clock
        self._environment = os.environ if environment is None else environment
        self._idle: dict[asyncio.AbstractEventLoop, list[tuple[float, Connection]]] = {}
        self._ends: dict[asyncio.AbstractEventLoop, AsyncIterator[None]] = {}
        self._context: ssl.SSLContext | None = None
        self._lock = Lock()

    def take_idle(self, origin: ServerAddress) -> Connection | None:
        """Remove the newest idle connection to a server from the pool and return it; None if there is none."""
        now, idle = self._clock.monotonic(), self._idle.get(asyncio.get_running_loop(), [])
        for index in reversed(range(len(idle))):
            since, connection = idle[index]
            if connection.origin == origin or now - since > IDLE_SECONDS:
                del idle[index]
                if now - since <= IDLE_SECONDS and connection.can_be_reused():
                    return connection
                connection.close()
        return None

    async def connect(self, origin: ServerAddress, watchdog: Watchdog) -> Connection:
        made = await open_connection(origin, proxy_for(origin, self._environment), self._certificates, watchdog)
        loop = asyncio.get_running_loop()
        if loop not in self._ends:
            self._ends[loop] = end = self._until_end_of(loop)
            await anext(end)
        return made

    async def _until_end_of(self, loop: asyncio.AbstractEventLoop) -> AsyncIterator[None]:
        """Close the idle connections of a loop when the loop closes its asynchronous generators, which is at its
        end."""
        try:
            yield
        finally:
            self._ends.pop(loop, None)
            self._close(loop)

    def put_back(self, connection: Connection) -> None:
        """Add an idle connection to the pool. The last bytes of its answer may still be in transit."""
        idle = self._idle.setdefault(asyncio.get_running_loop(), [])
        idle.append((self._clock.monotonic(), connection))
        if len(idle) > MOST_IDLE:
            idle.pop(0)[1].close()

    def close(self) -> None:
        running = asyncio.get_running_loop()
        for loop in tuple(self._idle):
            if loop is running or loop.is_closed():
                self._close(loop)
            else:
                with suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(self._close, loop)

    def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        for _, connection in self._idle.pop(loop, ()):
            connection.close()

    def _certificates(self) -> ssl.SSLContext:
        """Return the system's certificates, or the certificates of SSL_CERT_FILE and SSL_CERT_DIR. They are loaded
        once. Runs in a worker thread."""
        with self._lock:
            if self._context is None:
                context = ssl.create_default_context()
                context.set_alpn_protocols(["http/1.1"])
                self._context = context
            return self._context


_REFUSED = f"[Errno {errno.ECONNREFUSED}]"


class Exchange:
    """One request and its answer. ``open`` sends the request and reads the head of the answer; ``piece`` reads the
    body; ``close`` must be called at the end."""

    def __init__(self, pool: ConnectionPool, base: BaseUrl, watchdog: Watchdog, tape: WireTape | None = None) -> None:
        self._pool = pool
        self._base = base
        self._watchdog = watchdog
        self._connection: Connection | None = None
        self._pushed = b""
        self._over = False
        self.tape = tape

    async def open(self, post: HttpPost) -> AnswerHead:
        origin = self._base.origin
        self._connection = kept = self._pool.take_idle(origin)
        if kept is not None:
            try:
                return await self._send(kept, post)
            except BrokenConnection:
                kept.close()
                if kept.answered:
                    raise
        self._connection = await self._pool.connect(origin, self._watchdog)
        return await self._send(self._connection, post)

    async def _send(self, connection: Connection, post: HttpPost) -> AnswerHead:
        target, lines = self._base.target(post.path), [("Host", self._base.origin.header), *post.headers.items()]
        if connection.proxy is not None and not self._base.origin.secure:
            target = f"http://{self._base.origin.header}{target}"
            if connection.proxy.authorization is not None:
                lines.append(("Proxy-Authorization", connection.proxy.authorization))
        lines.append(("Content-Length", str(len(post.body))))
        await connection.send(target, lines, post.body, self._watchdog)
        head = await connection.head(self._watchdog)
        if self.tape is not None:
            self.tape.answered(head.status, head.headers)
        return head

    async def piece(self) -> bytes | None:
        """Return the next bytes of the body, or None at the end of the body."""
        if self._pushed:
            piece, self._pushed = self._pushed, b""
            return piece
        if self._over or self._connection is None:
            return None
        piece = await self._connection.piece(self._watchdog)
        self._over = piece is None
        return piece

    async def peek(self, least: int) -> bytes:
        """Return the first ``least`` bytes of the body, or the whole body if it is shorter, without leading white
        space and byte order mark. ``piece`` returns these bytes again."""
        seen = b""
        while len(start := seen.lstrip(b"\xef\xbb\xbf \t\r\n")) < least:
            piece = await self.piece()
            if piece is None:
                break
            seen += piece
        self._pushed = seen
        return start

    async def body(self, most: int) -> bytes:
        """Return the first ``most`` bytes of the body. If the connection breaks, return the bytes received before."""
        parts: list[bytes] = []
        try:
            while sum(map(len, parts)) < most and (piece := await self.piece()) is not None:
                parts.append(piece)
        except (BrokenConnection, SilentTooLong, h11.RemoteProtocolError):
            self._over = False
        found = b"".join(parts)[:most]
        if self.tape is not None:
            self.tape.content(found)
        return found

    def close(self, *, whole: bool, over: bool = True, failed: Exception | None = None) -> None:
        """Return the connection to the pool after a complete answer; otherwise close the connection. Does not wait.

        whole   True if the answer is complete
        over    False if the consumer stopped reading before the end of the body
        failed  the error that ended the exchange
        """
        self._watchdog.stop()
        if self.tape is not None:
            left = "cut off" if over else "closed"
            self.tape.ended("whole" if whole else "failed" if failed is not None else left, failed)
        if self._connection is None:
            return
        if whole or self._over:
            self._pool.put_back(self._connection)
        else:
            self._connection.close()
        self._connection = None


def fault_of_exception(error: Exception, provider: str, base: BaseUrl, seconds: float) -> Exception:
    """Return the ModelError for a network exception. Other exceptions are returned unchanged."""
    where = str(base.origin)
    match error:
        case ModelError():
            return error
        case SilentTooLong():
            return fault_of("timeout", provider, f"{where}, {seconds:g} seconds without data")
        case EventTooLarge():
            return fault_of("protocol", provider, "an event that is too large")
        case ProxyRefused() | UsageError():
            return fault_of("proxy", provider, str(error))
        case socket.gaierror():
            return fault_of("dns", provider, base.origin.host)
        case ssl.SSLError():
            said = getattr(error, "verify_message", "") or getattr(error, "reason", "") or error.args[-1]
            return fault_of("tls", provider, f"{where}, {said}")
        case BrokenConnection():
            return fault_of("connection", provider, f"{where}, {error}")
        case h11.RemoteProtocolError():
            return fault_of("protocol", provider, f"{where}, {error}")
        case h11.LocalProtocolError() | UnicodeError():  # its message contains the header, possibly the key
            return fault_of("wrong_key", provider, "the key or another header has characters that cannot be sent")
        case OSError() if isinstance(error, ConnectionRefusedError) or _REFUSED in str(error):
            return fault_of("not_running" if base.origin.loopback else "nobody_there", provider, where)
        case OSError():
            return fault_of("connection", provider, f"{where}, {error.strerror or error}")
        case _:
            return error


BODY_BYTES = 256 * 1024
"""The maximum number of bytes read of an answer that is not a stream."""
_TITLE = late_pattern(rb"<title[^>]*>(.{0,300}?)</title", re.IGNORECASE | re.DOTALL)
_FIELDS = (b"data", b"event", b"id", b"retry", b":")


async def failure(exchange: Exchange, head: AnswerHead, family: Family, provider: str) -> ModelError | None:
    """Return the error for an answer that is not an event stream; None if the answer is an event stream."""
    if not 200 <= head.status < 300:
        return _failed(head, await exchange.body(BODY_BYTES), family, provider)
    if head.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        return fault_of("protocol", provider, "it is compressed although compression was not requested")
    kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    named = kind == "text/event-stream"
    start = await exchange.peek(1 if named else len(b"event:"))
    if start[:1] not in (b"{", b"[", b"<") and (named or start.startswith(_FIELDS)):
        return None
    body = await exchange.body(BODY_BYTES)
    if _reports_error(body):
        return family.fault(head.status, head.headers, body)
    return fault_of("protocol", provider, _described(kind, body), request_id=request_id_of(head.headers))


def _failed(head: AnswerHead, body: bytes, family: Family, provider: str) -> ModelError:
    if 300 <= head.status < 400:
        return http_fault(head.status, head.headers, provider, f"to {head.headers.get('location', 'nowhere')}")
    if body.lstrip()[:1] == b"<":  # an HTML page of a proxy, which the family cannot parse
        return http_fault(head.status, head.headers, provider, _described("", body))
    return family.fault(head.status, head.headers, body)


def _reports_error(body: bytes) -> bool:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, list) and value:
        value = cast(list[Any], value)[0]
    return isinstance(value, dict) and bool(cast(dict[str, Any], value).get("error"))


def _described(kind: str, body: bytes) -> str:
    text = body.strip()
    if not text:
        return "an empty answer"
    if text[:1] == b"<":
        title = _TITLE.search(text)
        named = " ".join(title[1].decode("utf-8", "replace").split()) if title else ""
        return f"an HTML page “{named}”" if named else "an HTML page"
    shown = text[:200].decode("utf-8", "replace")
    if text[:1] in (b"{", b"["):
        return f"one JSON value instead of a stream of events: {shown}"
    return f"{kind or 'something'} instead of a stream of events: {shown}"

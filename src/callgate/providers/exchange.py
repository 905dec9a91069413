"""Performs one HTTP exchange on a pooled or new connection, and converts network exceptions to ModelErrors."""

import errno
import socket
import ssl

import h11

from callgate.providers.addresses import BaseUrl
from callgate.providers.connection import AnswerHead, BrokenConnection, Connection, ProxyRefused
from callgate.providers.family import HttpPost
from callgate.providers.fault_table import fault_of
from callgate.providers.pool import ConnectionPool
from callgate.providers.sse import EventTooLarge
from callgate.providers.watchdog import SilentTooLong, Watchdog
from callgate.providers.wire_recording import WireTape
from callgate.words.errors import ModelError, UsageError

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

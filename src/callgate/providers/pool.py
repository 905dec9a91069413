"""A pool of idle HTTP connections."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from threading import Lock

from callgate.core.ports import Clock
from callgate.providers.addresses import ServerAddress, proxy_for
from callgate.providers.connection import Connection, open_connection
from callgate.providers.watchdog import Watchdog

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

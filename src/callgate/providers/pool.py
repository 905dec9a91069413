"""A pool of idle HTTP connections."""

import os
import ssl
from collections.abc import Mapping
from threading import Lock

from callgate.core.ports import Clock
from callgate.providers.addresses import ServerAddress, proxy_for
from callgate.providers.connection import Connection, open_connection
from callgate.providers.watchdog import Watchdog

MOST_IDLE = 4
IDLE_SECONDS = 60.0
"""Older connections are not reused: a router on the path may have dropped them silently."""


class ConnectionPool:
    """A pool of idle connections, which the models of a session can share. A connection that was idle for too long
    is closed instead of reused."""

    def __init__(self, clock: Clock, environment: Mapping[str, str] | None = None) -> None:
        self._clock = clock
        self._environment = os.environ if environment is None else environment
        self._idle: list[tuple[float, Connection]] = []
        self._context: ssl.SSLContext | None = None
        self._lock = Lock()

    def take_idle(self, origin: ServerAddress) -> Connection | None:
        """Remove the newest idle connection to a server from the pool and return it; None if there is none."""
        now = self._clock.monotonic()
        for index in reversed(range(len(self._idle))):
            since, connection = self._idle[index]
            if connection.origin == origin or now - since > IDLE_SECONDS:
                del self._idle[index]
                if now - since <= IDLE_SECONDS and connection.can_be_reused():
                    return connection
                connection.close()
        return None

    async def connect(self, origin: ServerAddress, watchdog: Watchdog) -> Connection:
        return await open_connection(origin, proxy_for(origin, self._environment), self._certificates, watchdog)

    def put_back(self, connection: Connection) -> None:
        """Add an idle connection to the pool. The end of its last answer may still be in transit."""
        self._idle.append((self._clock.monotonic(), connection))
        if len(self._idle) > MOST_IDLE:
            self._idle.pop(0)[1].close()

    def close(self) -> None:
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    def _certificates(self) -> ssl.SSLContext:
        """Return the system's certificates, or the certificates of SSL_CERT_FILE and SSL_CERT_DIR, loaded once. Runs
        in a worker thread."""
        with self._lock:
            if self._context is None:
                context = ssl.create_default_context()
                context.set_alpn_protocols(["http/1.1"])
                self._context = context
            return self._context

"""The sessions of all clients, one for each connection. A session is closed by its client, or after a time without
calls."""

import asyncio
from asyncio import TimerHandle

from callgate.mcp_server.served_session import ServedSession, SessionOpener

IDLE = 1800.0
"""Seconds without a call after which a session is closed, for transports without an end of the connection."""
MOST_SESSIONS = 64
"""Maximum number of open sessions. A further session closes the least recently used session that runs no call."""


class ServedSessions:
    """The open sessions by the key of their connection.

    idle  seconds without a call after which a session is closed; None for transports that report the end of a
          connection
    """

    def __init__(self, open_session: SessionOpener, *, idle: float | None = None) -> None:
        self._open_session = open_session
        self._idle = idle
        self._sessions: dict[str, ServedSession] = {}
        self._timers: dict[str, TimerHandle] = {}
        self._locks: dict[str, asyncio.Lock] = {}  # one for each session that is open or being opened
        self._closing: set[asyncio.Task[None]] = set()

    async def of(self, key: str, client: str) -> ServedSession | None:
        """Return the session of the connection. Open a new one if the connection has none. Return None if the
        maximum number of sessions is open and all are busy."""
        if key not in self._locks and len(self._locks) >= MOST_SESSIONS:
            unused = next((each for each, session in self._sessions.items() if not session.busy), None)
            if unused is None:
                return None
            self.end(unused)
        async with self._locks.setdefault(key, asyncio.Lock()):
            found = self._sessions.get(key)
            if found is None or found.session.status == "closed":
                try:
                    found = self._sessions[key] = await self._open_session(client)
                except BaseException:
                    self._locks.pop(key, None)
                    raise
            self._sessions[key] = self._sessions.pop(key, found)  # to the end: most recently used
        self._watch(key)
        return found

    def end(self, key: str) -> None:
        """Close the session of a connection in the background."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._locks.pop(key, None)
        session = self._sessions.pop(key, None)
        if session is not None:
            task = asyncio.get_running_loop().create_task(session.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closed)

    async def aclose(self) -> None:
        for key in [*self._sessions]:
            self.end(key)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _closed(self, task: asyncio.Task[None]) -> None:
        """Ignore the error of closing a session, because its client has disconnected."""
        self._closing.discard(task)
        if not task.cancelled():
            task.exception()

    def _watch(self, key: str) -> None:
        if self._idle is None:
            return
        timer = self._timers.get(key)
        if timer is not None:
            timer.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(self._idle, self._look, key)

    def _look(self, key: str) -> None:
        session = self._sessions.get(key)
        if session is not None and session.busy:
            self._watch(key)
        else:
            self.end(key)

"""The sessions of clients, one for each connection. A session runs the calls of its client, and reports progress,
questions and results. It is closed by its client, or after a time without calls."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

from callgate import Session, Store
from callgate.assembly.serving import served_session, served_tools
from callgate.config import Config
from callgate.words.calls import Result
from callgate.words.decisions import Confirmation, Question
from callgate.words.errors import StateError
from callgate.words.events import AgentPath, CallProgressed, QuestionAsked
from callgate.words.inputs import Answer, CancelCall, Input, Interrupt, SetTitle

Outcome = CallProgressed | Question | Result
"""An outcome of a call: any number of progress events and questions, then the result."""

_LONGEST_PROGRESS = 2_000


class ServedCall:
    """A running call of a client. ``next`` returns its outcomes in order, the result last."""

    def __init__(self, session: ServedSession, call_id: str) -> None:
        self.id = call_id
        self._session = session
        self._outcomes: deque[Outcome] = deque()
        self._changed = asyncio.Event()

    async def next(self) -> Outcome:
        while not self._outcomes:
            self._changed.clear()
            await self._changed.wait()
        return self._outcomes.popleft()

    def add(self, outcome: Outcome) -> None:
        """Append an outcome to the queue. Progress is merged with queued progress, so the queue of a slow client
        stays short."""
        last = self._outcomes[-1] if self._outcomes else None
        if isinstance(outcome, CallProgressed) and isinstance(last, CallProgressed):
            self._outcomes[-1] = replace(outcome, text=f"{last.text}{outcome.text}"[-_LONGEST_PROGRESS:])
        else:
            self._outcomes.append(outcome)
        self._changed.set()

    def answer(self, confirmation: Confirmation) -> None:
        self._session.post(Answer(confirmation))

    def cancel(self, because: str) -> None:
        """Cancel the call and everything it has started. Do nothing if the call has a result."""
        self._session.post(CancelCall(self.id, because))


class ServedSession:
    """A session whose tools are called by the program ``by``."""

    def __init__(self, session: Session, by: str) -> None:
        self.session = session
        self._by = by
        self._calls: dict[str, ServedCall] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = count(1)
        session.listen(self._on_event)

    @property
    def busy(self) -> bool:
        return bool(self._calls)

    def begin(self, name: str, arguments: Mapping[str, Any]) -> ServedCall:
        """Start a call in the background and return it."""
        call = ServedCall(self, f"call_{next(self._numbers)}")
        self._calls[call.id] = call
        task = asyncio.get_running_loop().create_task(self._run(call, name, arguments))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return call

    async def _run(self, call: ServedCall, name: str, arguments: Mapping[str, Any]) -> None:
        try:
            call.add(await self.session.call(name, arguments, by=self._by, id=call.id))
        finally:
            del self._calls[call.id]

    def post(self, sent: Input) -> None:
        with suppress(StateError):  # the session is closed, so the call has its result
            self.session.post(sent)

    async def aclose(self) -> None:
        """Cancel the running calls and their processes, and close the session."""
        if self._calls:
            self.post(Interrupt("The client has disconnected."))
        await self.session.aclose()

    def _on_event(self, path: AgentPath, number: int, event: object) -> None:
        if isinstance(event, QuestionAsked) and event.question.call_id in self._calls:
            self._calls[event.question.call_id].add(event.question)
        elif isinstance(event, CallProgressed) and not path and event.call_id in self._calls:
            self._calls[event.call_id].add(event)


SessionOpener = Callable[[str], Awaitable[ServedSession]]
"""A function that opens the session of the client with this name."""


def session_opener(config: Config, names: Sequence[str] | None, store: Store | None) -> SessionOpener:
    """Return a function that opens a session with the named tools. With a store, the sessions are stored in it."""

    async def open_session(client: str) -> ServedSession:
        tools, _ = await served_tools(config, names)  # for each session, because some tools keep state
        session = served_session(config, tools, None if store is None else await store.create())
        session.post(SetTitle(f"MCP: {client}"))
        return ServedSession(session, f"mcp/{client}")

    return open_session


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

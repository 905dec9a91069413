"""A journal in an SQLite database: one file per session, one writer thread, one commit per group of events.

The database is in WAL mode with ``synchronous=FULL``: a commit returns once its pages are on disk. The connection keeps
SQLite's exclusive lock until it is closed or the process ends, so that a session has one writer.

python sqlite_journal.py
"""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from errno import EIO, ENOSPC
from functools import partial
from json import dumps, loads
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from callgate import Prompt, Session
from callgate.conversation.chain import live_events
from callgate.conversation.ports import Drafted
from callgate.formats.jsonable import from_json, to_json
from callgate.host.threads import in_thread
from callgate.testing import ScriptedModel, say, turn
from callgate.transcript.writer import WrittenJournal
from callgate.words.errors import JournalError, SessionLocked, UsageError
from callgate.words.events import Durable, MessageAdded
from callgate.words.messages import Message
from callgate.words.plain import plain_json

_MAX_UNSYNCED = 8 << 20
_SETUP = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS events (n INTEGER PRIMARY KEY, event TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS draft (one INTEGER PRIMARY KEY, message TEXT NOT NULL, pieces TEXT NOT NULL);
COMMIT;
"""


class SqliteJournal(WrittenJournal):
    """A session in a database, which is created with the first message. The session's id is the stem of the file name.

    The Session masks secrets before it passes events to its journal.
    """

    def __init__(self, database: "_Database", events: Sequence[Durable], draft: tuple[str, Drafted]) -> None:
        super().__init__(database.path, database, exists=database.exists, number=len(events), draft=draft)
        self._events = events

    @classmethod
    async def open(cls, path: str | PathLike[str]) -> "SqliteJournal":
        """Open the session at ``path``, or a new one.

        Raises SessionLocked if another program has the database open, and JournalError if it cannot be read.
        """
        return await in_thread(partial(cls._open, Path(fspath(path))))

    @classmethod
    def _open(cls, path: Path) -> "SqliteJournal":
        path = path.absolute()
        database = _Database(path)
        if not path.exists():
            return cls(database, (), ("", ()))
        try:
            database.connect()
            return cls(database, [event for _, event in database.after(0)], database.read_draft())
        except BaseException as error:
            database.close()
            if isinstance(error, sqlite3.Error | UsageError):
                raise JournalError(f"{path} cannot be read as a session: {error}") from error
            raise

    def read(self) -> Iterable[Durable]:
        return live_events(self._events)

    async def live(self) -> Sequence[Durable]:
        return live_events(event for _, event in await self.after(0))

    async def recall(self, message_id: str) -> Message | None:
        said = (event.message for _, event in await self.after(0) if isinstance(event, MessageAdded))
        return next((message for message in said if message.id == message_id), None)


class _Database:
    """The connection, used by the writer thread alone once it is open.

    It implements the writer's file interface: ``put`` buffers rows, ``write`` inserts them, ``sync`` commits.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.exists = False
        self.draft: tuple[str, Drafted] | None = None
        self.end = self._safe = 0  # bytes put, bytes committed
        self._connection: sqlite3.Connection | None = None
        self._pending: list[bytes] = []
        self._uncommitted: list[bytes] = []

    def connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._connection = connection = sqlite3.connect(
            self.path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            connection.executescript(_SETUP)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                why = f"session {self.path.stem} is open in another program: close it there"
                raise SessionLocked(why, pid=None, since=None) from None
            raise
        self.exists = True
        return connection

    def open(self) -> "_Database":
        try:
            self._connection = self._connection or self.connect()
        except sqlite3.Error as error:
            raise _as_os_error(error) from error
        return self

    def line(self, event: Durable, at: int) -> bytes:
        data = to_json(event)
        try:
            text = dumps(data, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            text = dumps(plain_json(data))
        return text.encode()

    @property
    def unsynced(self) -> bool:
        return self._safe < self.end

    @property
    def crowded(self) -> bool:
        return self.end - self._safe > _MAX_UNSYNCED

    def put(self, data: bytes) -> None:
        self._pending.append(data)
        self.end += len(data)

    def write(self) -> None:
        if self._pending:
            rows = [(data.decode(),) for data in self._pending]
            self._do("INSERT INTO events (event) VALUES (?)", rows)
            self._uncommitted += self._pending
            self._pending = []

    def sync(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._do("COMMIT")
        self._uncommitted, self._safe = [], self.end

    def _do(self, statement: str, rows: Sequence[tuple[str]] = ()) -> None:
        assert self._connection is not None
        try:
            if rows and not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(statement, rows) if rows else self._connection.execute(statement)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            self._pending, self._uncommitted = [*self._uncommitted, *self._pending], []
            raise _as_os_error(error) from error

    def after(self, number: int) -> list[tuple[int, Durable]]:
        assert self._connection is not None
        rows = self._connection.execute("SELECT n, event FROM events WHERE n > ? ORDER BY n", (number,))
        return [(n, from_json(cast(Any, Durable), loads(event))) for n, event in rows]

    def read_draft(self) -> tuple[str, Drafted]:
        assert self._connection is not None
        found = self._connection.execute("SELECT message, pieces FROM draft").fetchone()
        return ("", ()) if found is None else (found[0], tuple((calls, text) for calls, text in loads(found[1])))

    def aside(self) -> None:
        draft, self.draft = self.draft, None
        if draft is not None and self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("INSERT OR REPLACE INTO draft VALUES (1, ?, ?)", (draft[0], dumps(draft[1])))

    def rest(self) -> None:
        return

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _as_os_error(error: sqlite3.Error) -> OSError:
    full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
    return OSError(ENOSPC if full else EIO, str(error))


async def main(folder: str) -> None:
    """Create a session, then resume it."""
    for text in ("Hello.", "And again."):
        journal = await SqliteJournal.open(f"{folder}/first.sqlite")
        async with Session(ScriptedModel(turn(say("Yes?"))), journal=journal) as session:
            await session.send(Prompt(text))
            print(session.id, len(session.messages))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))

"""What the tests of ``changes`` and ``undo`` share: sessions on record, with real changes to real files."""

import asyncio
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.assembly.options import as_host
from callgate.changes.history_host import HistoryHost
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, Decision
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    MessageAdded,
    SessionOpened,
)
from callgate.words.messages import Message, Text
from tests.cli.session_kit import Desk

AT = 1_700_000_000.0
LINES = "".join(f"line {number}\n" for number in range(1, 21)).encode()
HOSTILE = "\x1b[2Jx\ny\u202e\x07.txt"
PERSON = Allow("person")


class Works:
    """A desk with sessions that change files."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        self.root = desk.work
        self._monkeypatch = monkeypatch
        self._sessions = 0

    def session(self, *calls: list[Durable], workspace: Path | None = None) -> Path:
        """The log of a session with these calls on record; it is used later than those before it."""
        self._sessions += 1
        at, hello = AT + self._sessions, Message("u1", "user", (Text("Write."),))
        events = [SessionOpened(at, "1", str(workspace or self.root)), MessageAdded(at, hello)]
        session = self.desk.store.write([*events, *(event for call in calls for event in call)])
        return self.desk.store.folder / f"{session}.jsonl"

    def apply(self, log: Path, *files: FileChange, by: str = "a1/c1", label: str = "edit", tool: str = "Edit") -> None:
        """As a call of the session does it: on the host that a session has."""
        changes = ChangeSet(label, files, tool, by)
        self.on_host(log, lambda host: host.apply(changes))

    def on_host(self, log: Path, act: Callable[[HistoryHost], Any]) -> None:
        async def main() -> None:
            journal = await self.desk.store.open(log.stem)
            try:
                host = as_host(self.root, journal)
                assert isinstance(host, HistoryHost)
                await act(host)
            finally:
                await journal.aclose()

        asyncio.run(main())

    def edit(self, log: Path, name: str, old: bytes, new: bytes, **more: str) -> None:
        """Replace some bytes of a file by others."""
        before = (self.root / name).read_bytes()
        self.apply(log, FileChange(name, before, before.replace(old, new)), **more)

    def put(self, name: str, data: bytes) -> None:
        (self.root / name).write_bytes(data)

    def get(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.root.iterdir())}

    def answers(self, said: str) -> None:
        """Somebody sits at a terminal and will say this."""
        stream = io.StringIO(said)
        for each in (stream, sys.stdout):
            self._monkeypatch.setattr(each, "isatty", lambda: True, raising=False)
        self._monkeypatch.setattr(sys, "stdin", stream)
        self._monkeypatch.setenv("NO_COLOR", "1")


def ran(
    message: str, call: str, tool: str, result: Result | None = None, decision: Decision = PERSON, **given: Any
) -> list[Durable]:
    """A call from its arrival to its end."""
    arrived = CallArrived(
        at=AT, call_id=call, name=tool, arguments=given, index=0, message_id=message, arguments_hash="h"
    )
    settled = CallSettled(AT, call, result or Result((Text("done"),)))
    return [arrived, CallDecided(AT, call, decision, "h"), CallStarted(AT, call), settled]

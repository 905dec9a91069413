"""The example journal on SQLite passes the contract checks of every journal, and resumes, locks, masks and retries."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from callgate import Answer, Continue, Prompt, Session
from callgate.conversation.record import MemoryJournal
from callgate.testing import ScriptedModel, call, check_journal, pause, say, turn
from callgate.transcript.masking import Masker, masked
from callgate.words.errors import JournalError, SessionLocked
from callgate.words.events import MessageAdded, Noted
from callgate.words.inputs import Branch, Rewind, SetTitle
from callgate.words.messages import Message, Text
from examples.journals.sqlite_journal import SqliteJournal
from tests.flows.keep import SECRET
from tests.house.tree import ROOT
from tests.transcript.kit import toolbox

EXAMPLE = ROOT / "examples/journals/sqlite_journal.py"


def test_it_passes_the_checks_of_every_journal(tmp_path: Path) -> None:
    asyncio.run(check_journal(lambda: SqliteJournal.open(tmp_path / "session.sqlite")))


def test_the_program_prints_the_messages_of_both_runs() -> None:
    ran = subprocess.run([sys.executable, "-W", "error", EXAMPLE], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "first 2\nfirst 4\n", "")


def at(path: Path, journal: SqliteJournal, *scenes: Any) -> Session:
    return Session(ScriptedModel(*scenes, otherwise=turn(say("ok"))), toolbox(), journal=journal, host=path)


@pytest.mark.spec("TRS-2")
def test_a_session_without_a_message_leaves_nothing_behind(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "kept" / "session.sqlite"
        async with at(tmp_path, await SqliteJournal.open(path)) as session:
            session.post(SetTitle("Nothing said"))
        assert not path.parent.exists()

    asyncio.run(main())


@pytest.mark.spec("TRS-7", "TRS-9")
def test_a_session_is_resumed_with_its_messages_branches_artifacts_and_open_question(tmp_path: Path) -> None:
    path = tmp_path / "session.sqlite"

    async def main() -> None:
        async with at(tmp_path, await SqliteJournal.open(path), turn(say("one")), turn(say("two"))) as session:
            await session.send(Prompt("first"))
            await session.send(Prompt("second"))
            await session.send(Rewind(session.messages[-2].id))
            assert [message.text for message in session.messages] == ["first", "one"]
        async with at(tmp_path, await SqliteJournal.open(path), turn(call("write", path="a"))) as session:
            assert [message.text for message in session.messages] == ["first", "one"]
            await session.send(Branch("a2"))
            assert [message.text for message in session.messages] == ["first", "one", "second", "two"]
            await session.send(Prompt("third"))
            assert session.status == "waiting_confirmation"
        async with at(tmp_path, await SqliteJournal.open(path)) as session:
            assert (session.id, session.status) == ("session", "paused")

            await session.send(Continue())
            (question,) = session.questions
            await session.send(Answer(question.yes()))
            assert session.messages[-1].text == "ok"

    asyncio.run(main())


@pytest.mark.spec("TRS-6")
def test_a_second_writer_is_refused_and_the_lock_goes_with_the_session(tmp_path: Path) -> None:
    path = tmp_path / "session.sqlite"

    async def main() -> None:
        async with at(tmp_path, await SqliteJournal.open(path)) as session:
            await session.send(Prompt("hello"))
            with pytest.raises(SessionLocked):
                await SqliteJournal.open(path)
        async with at(tmp_path, await SqliteJournal.open(path)) as session:
            assert session.messages[0].text == "hello"

    asyncio.run(main())


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "session.sqlite"
    path.write_text("no database at all, but text of some length" * 100)
    with pytest.raises(JournalError, match="cannot be read as a session"):
        asyncio.run(SqliteJournal.open(path))


@pytest.mark.spec("TRS-13")
def test_secrets_reach_no_journal_whatever_kind_it_is(tmp_path: Path) -> None:
    path = tmp_path / "session.sqlite"
    foreign = MemoryJournal(session="elsewhere")

    class Foreign:
        """A journal of another package: it does not know of masking."""

        def __getattr__(self, name: str) -> Any:
            if name == "clean":
                raise AttributeError(name)
            return getattr(foreign, name)

    async def main() -> None:
        for journal in (await SqliteJournal.open(path), Foreign()):
            scene = turn(say("here it is: "), say(SECRET), pause(0.2), say(" and more"))
            async with at(tmp_path, journal, scene) as session:  # pyright: ignore[reportArgumentType]
                await session.send(Prompt(f"my key is {SECRET}"))
                assert SECRET in session.messages[0].text, "the model gets it"

    asyncio.run(main())
    with sqlite3.connect(path) as connection:
        rows = (
            connection.execute("SELECT event FROM events").fetchall()
            + connection.execute("SELECT message || pieces FROM draft").fetchall()
        )
    assert rows
    assert SECRET not in str(rows)
    assert "[masked:anthropic]" in str(rows)
    said = [event for event in foreign.events if isinstance(event, MessageAdded)]
    assert said
    assert SECRET not in str(foreign.events)


def test_a_draft_is_masked_before_the_journal_has_it() -> None:
    journal = MemoryJournal(session="s")
    masked(journal, Masker({})).draft("a1", ((0, f"the key {SECRET} is"),))
    assert SECRET not in str(journal.drafted("a1"))


@pytest.mark.spec("TRS-4")
def test_a_write_that_fails_is_tried_again_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "session.sqlite"

    async def main() -> None:
        journal = await SqliteJournal.open(path)
        journal.append(MessageAdded(1.0, Message("u1", "user", (Text("a"),))))
        await journal.after(0)
        with sqlite3.connect(path, timeout=0) as other, pytest.raises(sqlite3.OperationalError):
            other.execute("SELECT * FROM events").fetchall()  # the lock is held
        connection = cast(Any, journal)._lines._connection
        connection.execute("PRAGMA max_page_count = 3")
        journal.append(Noted(2.0, "x" * 100_000))
        waiting = journal.barrier()
        assert waiting is not None
        with pytest.raises(JournalError, match="full"):
            await waiting
        connection.execute("PRAGMA max_page_count = 1000000")
        again = journal.barrier()
        assert again is not None
        await again
        await journal.aclose()
        journal = await SqliteJournal.open(path)
        assert [type(event).__name__ for event in journal.read()] == ["MessageAdded", "Noted"]
        await journal.aclose()

    asyncio.run(main())

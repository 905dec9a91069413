"""Forks, copies, newer versions, a log that others take away: what a Store makes of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate import Continue, Prompt, Session
from callgate.admin.sessions import Archive
from callgate.conversation.ledger import Ledger
from callgate.testing import ManualClock, MemoryHost, ScriptedModel, say, turn
from callgate.transcript import disk_journal as journals
from callgate.transcript.lock import holder_of
from callgate.transcript.store import Store
from callgate.transcript.tape import Tape
from callgate.words.errors import JournalError, UsageError
from callgate.words.events import CallStarted, Noted
from tests.transcript.kit import SESSION, drop_index, one_call, put_log, run, said, session_on, store_in, talk, verified


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def texts(store: Store, which: str) -> list[str]:
    ledger = Ledger(store.read(which).events)
    return [message.text for message in ledger.messages if message.role == "user"]


async def say_twice(store: Store, which: str) -> None:
    for prompt in ("one", "two"):
        async with session_on(await store.open(which)) as session:
            await session.send(Prompt(prompt))


TORN: dict[str, Callable[[], bytes]] = {
    "inside the last line": lambda: talk(2).says("u3", "a2", "prompt 3").image[:-20],
    "two prompts in a row": lambda: talk(2).says("u3", "a2", "three").says("u4", "u3", "four").image[:-20],
    "a number that was skipped": lambda: talk(2).says("u9", "a2", "nine").says("u10", "u9", "ten").image[:-20],
    "not torn": lambda: talk(2).says("u9", "a2", "nine").image,
}


@pytest.mark.spec("TRS-9")
@pytest.mark.parametrize("image", TORN.values(), ids=TORN.keys())
def test_prompts_in_a_fork_of_a_torn_session_get_ids_that_are_free(store: Store, image: Callable[[], bytes]) -> None:
    put_log(store, image())

    async def main() -> None:
        async with session_on(await store.open(SESSION)) as session:  # mends it
            assert session.messages
        forked = await store.fork(SESSION)
        name = forked.session
        await forked.aclose()
        before = texts(store, name)
        await say_twice(store, name)
        assert texts(store, name) == [*before, "one", "two"]
        ids = said(store.read(name).events)
        assert len(ids) == len(set(ids))

    run(main())


@pytest.mark.spec("TRS-9")
def test_a_fork_that_is_cut_off_in_the_middle_is_not_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put_log(store, talk(3).image)
    before = [each.session for each in store.list()]

    class Killed(BaseException):
        pass

    def dies(self: Tape) -> None:
        raise Killed

    monkeypatch.setattr(journals, "sync_folder", lambda folder: None)
    monkeypatch.setattr(Tape, "sync", dies)
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)  # nobody cleans up behind a kill
    with pytest.raises(Killed):
        store.copy(store.read(SESSION))
    monkeypatch.undo()
    assert [each.session for each in store.list()] == before
    (left,) = [path for path in store.folder.iterdir() if path.suffix == ".tmp"]
    os.utime(left, (0, 0))
    Archive(store.workspace, store.data).clean(None, everywhere=True, dry_run=False)
    assert not left.exists()


@pytest.mark.spec("TRS-8", "TRS-9")
def test_every_prefix_of_a_fork_leaves_open_calls_to_the_original(store: Store) -> None:
    put_log(store, one_call().image)
    name = store.copy(store.read(SESSION))
    lines = store.find(name).read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines) + 1):
        put_log(store, b"".join(lines[:count]), name)
        drop_index(store.find(name))

        async def main() -> None:
            async with session_on(await store.open(name)) as session:
                if session.status == "paused":
                    await session.send(Continue())

        started = sum(isinstance(event, CallStarted) for event in store.read(name).events)
        run(main())
        after = sum(isinstance(event, CallStarted) for event in store.read(name).events)
        assert after == started, f"the call runs again after {count} lines"


# ---- a newer version ----------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-1")
@pytest.mark.parametrize("kind", ["message_added", "from_tomorrow"])
def test_what_is_said_behind_lines_of_a_newer_version_is_there_at_the_next_resume(store: Store, kind: str) -> None:
    own = "u3" if kind == "message_added" else None
    log = talk(2).add(kind, own, "a2", {"new": "shape"}, v=2)
    if own is not None:
        log.says("a3", "u3", "answer", "assistant")
    put_log(store, log.image)
    run(say_twice(store, SESSION))
    assert texts(store, SESSION)[-2:] == ["one", "two"]
    assert store.read(SESSION).damages == []


@pytest.mark.spec("TRS-12")
def test_a_person_hears_of_lines_of_a_newer_version_everywhere(store: Store) -> None:
    put_log(store, talk(2).add("from_tomorrow", None, "a2", {"x": 1}).image)
    shown = Archive(store.workspace, store.data).show(SESSION)
    assert all("newer version" in shown.written_as(shape) for shape in ("markdown", "html"))
    assert verified(store.find(SESSION)).unknown == 1
    name = store.copy(store.read(SESSION))
    assert any(isinstance(event, Noted) and "newer version" in event.text for event in store.read(name).events)

    async def main() -> None:
        async with session_on(await store.open(SESSION)) as session:
            heard = await session.send(Prompt("hello"))
            assert any(isinstance(event, Noted) and "newer version" in event.text for event in heard)

    run(main())


# ---- others at the file -------------------------------------------------------------------------------------------


def _remove(log: Path) -> None:
    log.unlink()


def _replace(log: Path) -> None:
    copy = log.with_suffix(".copy")
    copy.write_bytes(log.read_bytes())
    copy.replace(log)


def _move_away(log: Path) -> None:
    log.rename(log.with_suffix(".moved"))


@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize("take_away", [_remove, _replace, _move_away])
def test_a_log_that_is_taken_away_stops_the_session_in_words(store: Store, take_away: Callable[[Path], None]) -> None:
    put_log(store, talk(1).image)

    async def main() -> None:
        session = session_on(await store.open(SESSION))
        await session.send(Prompt("kept"))
        take_away(store.folder / f"{SESSION}.jsonl")
        with pytest.raises(JournalError, match="removed or replaced"):
            await session.send(Prompt("not kept"))
        with pytest.raises(JournalError):
            await session.aclose()

    run(main())


@pytest.mark.spec("TRS-6")
def test_a_child_process_made_by_fork_does_not_keep_the_lock(store: Store) -> None:
    put_log(store, talk(1).image)

    journal = run(store.open(SESSION))
    ready, stop = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # lives on until it is told to end
        os.write(ready[1], b"x")
        os.close(stop[1])
        os.read(stop[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        assert holder_of(store.find(SESSION)) is not None, "the parent still has it"
        run(journal.aclose())
        assert holder_of(store.find(SESSION)) is None
    finally:
        for fd in (*ready, *stop):
            os.close(fd)
        os.waitpid(child, 0)


# ---- lists --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-12")
@pytest.mark.parametrize("spoken", [False, True])
def test_a_list_shows_a_question_only_where_it_can_be_answered(store: Store, spoken: bool) -> None:
    log = talk(1).says("u2", "a1", "write it").add("turn_started", None, "a2", {"turn": 2, "message_id": "a2"})
    arrived = {"call_id": "c1", "name": "write", "arguments": {"path": "x"}, "index": 0, "message_id": "a2"}
    question = {
        "call_id": "c1",
        "tool": "write",
        "arguments": {"path": "x"},
        "arguments_hash": "0" * 64,
        "asked_at": 1.0,
    }
    question |= {"by": "rule", "reason": "it writes", "asked_at": 1.0}
    log.add("call_arrived", None, "a2", arrived).add("question_asked", None, "a2", {"question": question})
    if spoken:
        log.calls("a2", "u2", "c1")
    put_log(store, log.image)
    assert len(store.questions(SESSION)) == store.list()[0].about.asking == spoken


@pytest.mark.spec("TRS-16")
def test_the_newest_session_that_no_program_holds_is_found_and_those_passed_over_are_named(store: Store) -> None:
    async def main() -> None:
        ids: list[str] = []
        for name in ("first", "second"):
            async with session_on(await store.create(name)) as session:
                await session.send(Prompt(name))
                ids.append(session.id)
        assert ids == ["first", "second"]
        assert store.unheld() == ("second", ())
        async with session_on(await store.open("second")):
            which, (passed,) = store.unheld()
            assert which == "first"
            assert f"session second is open in process {os.getpid()}" in str(passed)
            async with session_on(await store.open(store.find("first"))) as session:  # by the path of its log
                assert session.id == "first"
                with pytest.raises(JournalError, match="every session of this workspace is open elsewhere"):
                    store.unheld()

    with pytest.raises(JournalError, match="this workspace has no sessions yet"):
        store.unheld()
    run(main())


@pytest.mark.spec("TRS-16")
@pytest.mark.parametrize("ages", [(0.0, 0.0), (1e6, 1.0), (1e9, -1e9)])
def test_the_session_that_was_used_last_does_not_depend_on_the_clock(store: Store, ages: tuple[float, float]) -> None:
    """The clock is set back between two sessions, and again before the first is continued."""

    async def use(name: str, offset: float, *, new: bool) -> None:
        journal = await (store.create(name) if new else store.open(name))
        model, host = ScriptedModel(otherwise=turn(say("done"))), MemoryHost(clock=ManualClock(4e9 + offset))
        async with Session(model, host=host, journal=journal) as session:
            await session.send(Prompt(name))
        os.utime(store.find(name), (4e9 + offset, 4e9 + offset))

    async def main() -> None:
        await use("first", ages[0], new=True)
        await use("second", ages[1], new=True)
        assert (store.unheld()[0], store.find().stem) == ("second", "second")
        await use("first", ages[1] - 1e6, new=False)
        assert (store.unheld()[0], store.find().stem) == ("first", "first")

    run(main())


@pytest.mark.parametrize("name", ["", "abc", "a/../b", "-rf-x", "latest", "x" * 65, "two words"])
def test_an_id_that_could_be_something_else_is_refused(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="not a session id"):
        run(store.create(name))


def test_an_id_that_is_taken_is_refused(store: Store) -> None:
    put_log(store, talk(1).image)
    with pytest.raises(JournalError, match=f"session {SESSION} already exists"):
        run(store.create(SESSION))

"""Kept sessions: moves, forks, compaction and closing while something else is under way."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from threading import Event as ThreadEvent
from typing import Any

import pytest

from callgate import Continue, Prompt, Session, Store, Toolbox
from callgate.conversation.chain import Chain
from callgate.core.ports import Run
from callgate.features import compaction_feature
from callgate.host.threads import in_thread
from callgate.testing import PlainTool, ScriptedModel, call, pause, say, turn
from callgate.testing.script import Scene, fail
from callgate.transcript import disk_journal as journal_module
from callgate.words.errors import CallgateError, JournalError
from callgate.words.events import InputRefused, MessageAdded
from callgate.words.inputs import Branch, Close, Compact, Interrupt, Rewind, SetMode, SetTitle, Snip
from callgate.words.traits import Traits, shared
from tests.flows.keep import on_disk, run, until

SECONDS = 5.0
"""For what used to wait for ever."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, tmp_path / "data")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Lines that hold any of these do not fit on the disk."""
    unwanted: list[bytes] = []
    real = os.pwrite

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        if any(each in bytes(data) for each in unwanted):
            raise OSError(28, "No space left on device")
        return real(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    monkeypatch.setattr("callgate.transcript.writer.Writer.__init__.__kwdefaults__", {"name": "", "patience": ()})
    return unwanted


class Ending:
    """The last step of closing a journal, which gives its lock back: it has ``begun``, and waits for ``go_on``."""

    def __init__(self) -> None:
        self.begun, self.go_on = ThreadEvent(), ThreadEvent()
        self._real = journal_module.drop_name

    def drop_name(self, log: Path) -> None:
        self.begun.set()
        self.go_on.wait(SECONDS)
        self._real(log)


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Ending:
    """Journals close in its time."""
    ending = Ending()
    monkeypatch.setattr(journal_module, "drop_name", ending.drop_name)
    return ending


def talk(*scenes: Scene) -> ScriptedModel:
    return ScriptedModel(*scenes, otherwise=turn(say("ok")))


def ids(session: Session) -> list[str]:
    return [message.id for message in session.messages]


async def summarize(_messages: Any, _instructions: str) -> str:
    return "what was said"


def crashed(store: Store) -> Store:
    data = store.data.with_name("crashed")
    shutil.copytree(store.data, data)
    return Store(store.workspace, data)


# ---- moves ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-9")
def test_a_fork_begins_with_the_live_history_whatever_moves_led_to_it(store: Store) -> None:
    async def main() -> None:
        journal = await store.create()
        async with Session(talk(), journal=journal) as session:
            for text in ("one", "two", "three"):
                await session.send(Prompt(text))
            await session.send(Branch("a1"))
            await session.send(Prompt("four"))
            await session.send(Rewind("u5"))  # on the branch that was left: before "three"
            assert ids(session) == ["u1", "a1", "u3", "a2"]
            async with Session(talk(), journal=await store.fork(journal)) as fork:
                assert ids(fork) == ids(session)

    run(main())


@pytest.mark.spec("TRS-9")
def test_what_is_set_while_a_rewind_reads_the_log_is_not_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        journal = await store.create()
        async with Session(talk(), journal=journal) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await on_disk(journal)
            real = Chain.live

            async def meanwhile() -> None:
                session.post(SetMode("plan"))
                session.post(SetTitle("A title"))

            def live(chain: Chain) -> list[tuple[int, int]]:
                found = real(chain)
                if session.title == "":
                    asyncio.run_coroutine_threadsafe(meanwhile(), loop).result(SECONDS)
                return found

            monkeypatch.setattr(Chain, "live", live)
            await session.send(Rewind("u3"))
            monkeypatch.undo()
            assert (session.mode, session.title) == ("plan", "A title")

    run(main())


@pytest.mark.spec("TRS-9")
def test_a_rewind_that_is_on_record_is_not_undone_by_an_interrupt(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        journal = await store.create()
        async with Session(talk(), journal=journal) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await on_disk(journal)
            real, interrupted = Chain.live, list[bool]()

            async def meanwhile() -> None:
                session.post(Interrupt())

            def live(chain: Chain) -> list[tuple[int, int]]:
                if not interrupted:
                    interrupted.append(True)
                    asyncio.run_coroutine_threadsafe(meanwhile(), loop).result(SECONDS)
                return real(chain)

            monkeypatch.setattr(Chain, "live", live)
            await session.send(Rewind("u3"))
            monkeypatch.undo()
            on_record = [event.message.id for event in store.read().events if isinstance(event, MessageAdded)]
            assert ids(session) == on_record == ["u1", "a1"]

    run(main())


@pytest.mark.spec("TRS-4", "TRS-9")
def test_after_a_rewind_that_could_not_be_written_a_compaction_is_about_what_is_live(
    store: Store, full: list[bytes]
) -> None:
    async def main() -> None:
        journal = await store.create()
        async with Session(talk(), journal=journal, features=[compaction_feature(summarize)]) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await on_disk(journal)
            full.append(b'"rewound"')
            with pytest.raises(JournalError):
                await session.send(Rewind("u3"))
            full.clear()
            await session.send(Compact(keep=2))
            assert ids(session) == ["u1", "a1"]
        async with Session(talk(), journal=await store.open()) as again:
            assert ids(again) == ids(session)

    run(main())


@pytest.mark.spec("TRS-9", "TRS-10")
def test_what_ended_on_another_branch_does_not_end_this_one(store: Store) -> None:
    async def main() -> None:
        model = talk(turn(say("A")), turn(say("B")), turn(fail("no answer")))
        async with Session(model, journal=await store.create()) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await session.send(Branch("u3"))
            assert session.status == "paused"
            await session.send(Branch("u1"))
            await session.send(Continue())  # fails and says nothing: a branch without a message
            assert session.status == "idle"
            await session.send(Branch("u3"))
            assert session.status == "paused", "the same place as before"

    run(main())


# ---- compaction -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-1", "TRS-10")
def test_what_happens_after_a_compaction_is_live_also_before_the_next_message(store: Store) -> None:
    async def main() -> None:
        model = talk(turn(say("A")), turn(fail("no answer")))
        async with Session(model, journal=await store.create(), features=[compaction_feature(summarize)]) as session:
            await session.send(Prompt("one"))
            await session.send(Branch("u1"))
            await session.send(Compact())
            await session.send(Continue())
            assert session.status == "idle"
        async with Session(talk(), journal=await store.open()) as again:
            assert again.status == "idle"

    run(main())


@pytest.mark.spec("CMP-1", "TRS-7")
def test_a_call_under_way_right_after_a_compaction_is_known_after_a_crash(store: Store) -> None:
    inside = asyncio.Event()
    keys: list[tuple[str, int]] = []

    async def look(_arguments: Mapping[str, Any], run_: Run) -> str:
        keys.append((run_.idempotency_key, run_.attempt))
        inside.set()
        if len(keys) == 1:
            await asyncio.Event().wait()
        return "seen"

    async def main() -> None:
        tools = Toolbox(PlainTool("look", look, traits=Traits("none", shared)))
        journal = await store.create()
        model = talk(turn(say("A")), turn(call("look", at="this"), pause(3600)))
        async with Session(model, tools, journal=journal, features=[compaction_feature(summarize)]) as session:
            await session.send(Prompt("one"))
            await session.send(Branch("u1"))
            await session.send(Compact())
            session.post(Continue())
            await inside.wait()
            await on_disk(journal)
            after = crashed(store)
            session.post(Interrupt())
        async with Session(talk(turn(call("look", at="that"))), tools, journal=await after.open()) as again:
            assert [each.name for each in again.calls] == ["look"]
            await again.send(Continue())
        assert len(set(keys)) == len(keys), "another call has another key"

    run(main())


@pytest.mark.spec("CMP-1")
def test_a_compaction_ends_when_it_is_interrupted(store: Store) -> None:
    begun = asyncio.Event()

    async def never(_messages: Any, _instructions: str) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async def main() -> None:
        session = Session(talk(), journal=await store.create(), features=[compaction_feature(never)])
        await session.send(Prompt("one"))
        session.post(Compact())
        await begun.wait()
        heard = await asyncio.wait_for(session.send(Interrupt()), SECONDS)
        assert not any(isinstance(event, InputRefused) and event.input == "Interrupt" for event in heard)
        assert ids(session) == ["u1", "a1"]
        await asyncio.wait_for(session.aclose(), SECONDS)

    run(main())


@pytest.mark.spec("CMP-1")
def test_a_session_closes_while_a_summary_is_being_written(store: Store) -> None:
    begun = asyncio.Event()

    async def never(_messages: Any, _instructions: str) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async def main() -> None:
        session = Session(talk(), journal=await store.create(), features=[compaction_feature(never)])
        await session.send(Prompt("one"))
        session.post(Compact())
        await begun.wait()
        await asyncio.wait_for(session.aclose(), SECONDS)

    run(main())


# ---- snips ----------------------------------------------------------------------------------------------------------


async def sent_next(session: Session, model: ScriptedModel) -> list[str]:
    await session.send(Prompt("next"))
    return [message.id for message in model.requests[-1].messages]


def test_a_snip_holds_after_a_compaction_and_a_restart_in_whatever_order_it_named_messages(store: Store) -> None:
    async def main() -> None:
        model = talk()
        async with Session(model, journal=await store.create(), features=[compaction_feature(summarize)]) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await session.send(Snip(("u3", "u1")))
            await session.send(Compact(keep=2))
        async with Session(model, journal=await store.open()) as again:
            assert "u3" not in await sent_next(again, model)

    run(main())


def test_what_was_snipped_together_with_a_later_message_stays_snipped_when_that_is_rewound(store: Store) -> None:
    async def main() -> None:
        model = talk()
        async with Session(model, journal=await store.create()) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await session.send(Snip(("u1", "a1", "u3")))
            await session.send(Rewind("u3"))
            assert "u1" not in await sent_next(session, model)

    run(main())


# ---- closing --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-6")
def test_a_session_that_says_it_is_closed_can_be_opened_again(store: Store, ending: Ending) -> None:
    async def main() -> None:
        session = Session(talk(), journal=await store.create())
        await session.send(Prompt("one"))
        reply = session.send(Close())
        await in_thread(ending.begun.wait)
        told = session.status
        ending.go_on.set()
        await reply
        assert told != "closed", "the lock is still held"
        await (await store.open(session.id)).aclose()

    run(main())


def test_a_session_closes_right_after_a_prompt(store: Store) -> None:
    async def main() -> None:
        session = Session(ScriptedModel(turn(pause(3600))), journal=await store.create())
        session.post(Prompt("one"))
        await asyncio.wait_for(session.aclose(), SECONDS)
        async with Session(talk(), journal=await store.open()) as again:
            assert [message.text for message in again.messages] == ["one"]

    run(main())


@pytest.mark.spec("TRS-6")
def test_whoever_closes_a_second_time_waits_for_the_end_too(store: Store, ending: Ending) -> None:
    async def main() -> None:
        session = Session(talk(), journal=await store.create())
        await session.send(Prompt("one"))
        first = asyncio.create_task(session.aclose())
        await in_thread(ending.begun.wait)
        second = asyncio.create_task(session.aclose())
        for _ in range(10):
            await asyncio.sleep(0)
        early = second.done()
        ending.go_on.set()
        await first
        await second
        assert not early

    run(main())


@pytest.mark.spec("TRS-4")
def test_a_close_that_could_not_write_the_record_says_so(store: Store, full: list[bytes]) -> None:
    async def main() -> None:
        journal = await store.create()
        session = Session(talk(), journal=journal)
        await session.send(Prompt("one"))
        await on_disk(journal)
        full.append(b'"metadata_set"')
        session.post(SetTitle("lost"))
        with pytest.raises(JournalError):
            await session.send(Close())

    run(main())


@pytest.mark.spec("TRS-9")
def test_a_closed_session_can_be_forked_by_its_journal(store: Store) -> None:
    async def main() -> None:
        journal = await store.create()
        async with Session(talk(), journal=journal) as session:
            await session.send(Prompt("one"))
        async with Session(talk(), journal=await asyncio.wait_for(store.fork(journal), SECONDS)) as fork:
            assert ids(fork) == ids(session)

    run(main())


@pytest.mark.spec("TRS-4")
def test_a_barrier_after_a_close_that_failed_does_not_wait_for_ever(store: Store, full: list[bytes]) -> None:
    async def main() -> None:
        journal = await store.create()
        session = Session(talk(), journal=journal)
        await session.send(Prompt("one"))
        await on_disk(journal)
        full.append(b'"metadata_set"')
        session.post(SetTitle("lost"))
        with pytest.raises(JournalError):
            await session.aclose()
        with pytest.raises(JournalError):
            await asyncio.wait_for(on_disk(journal), SECONDS)

    run(main())


# ---- doors to the store ---------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-6")
def test_a_journal_that_has_a_session_is_not_given_to_a_second_one(store: Store) -> None:
    async def main() -> None:
        journal = await store.create()
        async with Session(talk(), journal=journal) as session:
            await session.send(Prompt("one"))
            with pytest.raises(CallgateError):
                Session(talk(), journal=journal)

    run(main())


def test_words_that_are_too_long_for_a_file_name_are_still_only_words(store: Store) -> None:
    async def main() -> None:
        async with Session(talk(), journal=await store.create()) as session:
            await session.send(Prompt("one"))
        with pytest.raises(JournalError, match="there is no session"):
            await store.open("word " * 100)

    run(main())


@pytest.mark.spec("TRS-13")
def test_half_a_secret_of_several_words_is_not_in_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_PASSWORD", "correct horse battery staple")
    store = Store(tmp_path, tmp_path / "data")

    async def main() -> None:
        journal = await store.create()
        scene = turn(say("The password is correct horse battery "), pause(3600))
        async with Session(ScriptedModel(scene), journal=journal) as session:
            session.post(Prompt("one"))
            draft = journal.path.with_suffix(".draft")
            await until(draft.exists)
            assert "horse" not in draft.read_text()
            session.post(Interrupt())

    run(main())

"""Two programs and one session: the second is told who has it, may read or fork, and gets it when the first is dead."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from callgate import Prompt, Session
from callgate.testing import ScriptedModel, say, turn
from callgate.transcript.lock import holder_of, lock_path
from callgate.words.errors import SessionLocked
from tests.crash.stage import Facts, Stage, check_finished, check_resumed, intact
from tests.crash.talk import Talk

pytestmark = pytest.mark.spec("TRS-6")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def holder(stage: Stage) -> Iterator[Talk]:
    """A program that has the session open and waits."""
    with Talk(stage.command("hold")) as program:
        program.until("waiting")
        yield program


@pytest.fixture
def left(stage: Stage) -> Path:
    """The name that the last holder of a session would have left behind, had it been killed."""
    asyncio.run(say_hello(stage, "create"))
    return lock_path(stage.store.find())


async def say_hello(stage: Stage, how: Literal["create", "open", "fork"]) -> str:
    """Say something in a session; gives its id."""
    journal = await getattr(stage.store, how)()
    async with Session(ScriptedModel(turn(say("Hello."))), journal=journal) as session:
        await session.send(Prompt("Hello?"))
        assert session.messages[-1].text == "Hello."
        return session.id


def test_a_second_program_is_refused_and_told_who_has_the_session(stage: Stage, holder: Talk) -> None:
    with pytest.raises(SessionLocked, match=f"process {holder.pid} .*since .*fork the session") as refused:
        asyncio.run(asyncio.wait_for(stage.store.open(), 1.0))
    assert refused.value.pid == holder.pid
    assert refused.value.since == pytest.approx(os.stat(lock_path(stage.log)).st_mtime, abs=1.0)
    ran = stage.run("resume")
    assert ran.code == 3
    assert f"is open in process {holder.pid}" in ran.errors[0]
    holder.go_on()
    holder.until("waiting")
    holder.go_on()
    assert holder.end().code == 0
    check_finished(stage, Facts(stage.bytes()))


def test_a_session_is_read_and_forked_while_another_program_has_it(stage: Stage, holder: Talk) -> None:
    os.kill(holder.pid, signal.SIGSTOP)  # so that every byte that changes is our doing
    os.waitpid(holder.pid, os.WUNTRACED)
    before = stage.bytes()
    assert len(stage.store.read().events) > 10
    forked = asyncio.run(say_hello(stage, "fork"))
    assert forked != stage.log.stem
    assert stage.bytes() == before
    os.kill(holder.pid, signal.SIGCONT)
    holder.go_on()
    holder.until("waiting")
    assert stage.bytes().startswith(before)
    holder.go_on()
    assert holder.end().said[-1] == "end idle"
    check_finished(stage, Facts(stage.bytes()))
    Facts(stage.log.with_stem(forked).read_bytes())


def test_the_lock_of_a_killed_program_is_free_at_once(stage: Stage, holder: Talk) -> None:
    holder.kill()
    assert lock_path(stage.log).exists()
    assert holder_of(stage.log) is None
    before = stage.bytes()
    check_resumed(stage, Facts(intact(before)), before, stage.run("resume"))
    assert not lock_path(stage.log).exists()


def test_the_children_of_a_killed_program_do_not_hold_its_lock(stage: Stage) -> None:
    with Talk(stage.command("hold", "--child")) as program:
        heard = program.until("waiting")
        child = int(next(line for line in heard if line.startswith("child")).split()[1])
        try:
            program.kill()
            assert holder_of(stage.log) is None
            asyncio.run(say_hello(stage, "open"))
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize(
    "name", ['{"pid": %d, "since": 1.0, "host": "here"}', "garbage", ""], ids=["pid", "no", "empty"]
)
def test_a_name_that_was_left_behind_locks_nobody_out(stage: Stage, left: Path, name: str) -> None:
    left.write_text(name.replace("%d", str(os.getpid())))  # the number is somebody else's by now
    asyncio.run(say_hello(stage, "open"))
    assert not left.exists()


def test_a_name_that_is_a_link_is_not_followed(stage: Stage, left: Path) -> None:
    victim = stage.folder / "victim"
    victim.write_text("keep me")
    left.symlink_to(victim)
    asyncio.run(say_hello(stage, "open"))
    assert victim.read_text() == "keep me"


@pytest.mark.usefixtures("left")
def test_a_session_is_not_opened_twice_in_one_program(stage: Stage) -> None:
    async def twice() -> None:
        journal = await stage.store.open()
        with pytest.raises(SessionLocked) as refused:
            await stage.store.open()
        assert refused.value.pid == os.getpid()
        await journal.aclose()
        await (await stage.store.open()).aclose()

    asyncio.run(twice())

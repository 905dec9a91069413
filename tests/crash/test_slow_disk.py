"""A disk that takes its time: the loop never waits for it, and nothing follows from what is not on disk yet."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session, tool
from callgate.testing import ScriptedModel, call, say, turn
from callgate.transcript import tape
from callgate.transcript.store import Store
from callgate.words.inputs import SetTitle
from tests.crash.stage import Facts, Stage, check_finished
from tests.crash.tracing import WRITING, need_strace, traced

WAITING = ("epoll_wait", "epoll_pwait", "epoll_pwait2")


@pytest.mark.spec("TRS-3", "TRS-4")
@pytest.mark.parametrize("mode", ["run", pytest.param("resume", marks=pytest.mark.slow)])
def test_the_thread_of_the_loop_never_writes_and_never_syncs(tmp_path: Path, mode: str) -> None:
    need_strace()
    stage = Stage(tmp_path)
    if mode == "resume":
        assert stage.run("run", "--file-size", "5000").code == 3
    slow = "fdatasync:delay_exit=2000000:when=2"
    calls = (*WRITING, "rename", *WAITING)
    ran = traced(stage.command(mode), tmp_path / "trace", calls=calls, faults=[slow])
    assert ran.said[-1:] == ("end idle",), ran
    assert ran.hit
    check_finished(stage, Facts(stage.bytes()))
    loops = [thread for thread in ran.threads if any(call.name in WAITING for call in thread)]
    assert len(loops) == 1
    kept = str(stage.data)
    assert [call for call in loops[0] if kept in call.arguments] == []
    others = {call.name for thread in ran.threads if thread not in loops for call in thread if kept in call.arguments}
    assert {"openat", "pwrite64", "fdatasync"} <= others


class Disk:
    """Notes on which threads the system is asked to write; a sync waits until the disk is let go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.threads: set[int] = set()
        self.syncing = threading.Event()
        self.free = threading.Event()
        for name in ("pwrite", "fsync", "ftruncate", "replace"):
            patch.setattr(os, name, self._noted(getattr(os, name)))
        patch.setattr(tape, "_fdatasync", self._noted(self._sync))

    def _sync(self, fd: int) -> None:
        self.syncing.set()
        assert self.free.wait(60)
        os.fsync(fd)

    def _noted(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any) -> Any:
            self.threads.add(threading.get_ident())
            return work(*args)

        return noted


@tool(effects="none")
def look(q: str) -> str:
    """Look."""
    return f"saw {q}"


@pytest.mark.spec("TRS-3", "TRS-4")
def test_while_a_sync_hangs_the_loop_goes_on_and_the_model_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    model = ScriptedModel(turn(call("look", q="a")), turn(say("Done.")))

    async def scene() -> None:
        store = Store(tmp_path, tmp_path / "data")
        journal = await store.create()
        async with Session(model, [look], journal=journal) as session:
            reply = session.send(Prompt("go"))
            assert await asyncio.to_thread(disk.syncing.wait, 60)
            for number in range(100):  # the sync hangs all the time, and nobody here notices
                session.post(SetTitle(f"title {number}"))
                await asyncio.sleep(0)
            assert session.title == "title 99"
            assert model.requests == []
            assert session.status == "working"
            disk.free.set()
            await reply
            assert session.messages[-1].text == "Done."
            await session.aclose()
            Facts(journal.path.read_bytes())

    asyncio.run(scene())
    assert disk.threads
    assert threading.get_ident() not in disk.threads

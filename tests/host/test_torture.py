"""Commands that do all they can to stay, to fill memory or to confuse; and a Callgate that is killed among them."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from callgate import Session
from callgate.host.clock import LoopClock
from callgate.host.local import LocalHost
from callgate.host.ports import Command
from callgate.host.processes import LocalProcesses, end_process
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import builtin_tools
from callgate.tools.builtin.bash import bash
from callgate.transcript.store import Store
from callgate.words.events import CallSettled, MessageAdded, Noted
from tests.tools.fake_run import FakeRun

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

ENV = {"PATH": os.environ["PATH"]}
PROGRAM = str(Path(__file__).with_name("tortured_program.py"))
ROOT = Path(__file__).parents[2]


def token() -> str:
    """A number of seconds that no other process sleeps for: by it the processes of a test are found."""
    return f"9{random.randrange(10**8, 10**9)}"


def alive(mark: str) -> list[int]:
    """The processes, zombies left out, that have the mark among their arguments."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                if mark.encode() in words and int(entry.name) != os.getpid():
                    found.append(int(entry.name))
    return found


def wait_for(mark: str, count: int) -> None:
    until = time.monotonic() + 20
    while len(alive(mark)) < count:
        assert time.monotonic() < until, f"{len(alive(mark))} of {count} processes have begun"
        time.sleep(0.01)


STAYS = {
    "double fork": "( (sleep {m} &) & ) ; sleep {m}",
    "setsid daemon": "(setsid setsid sleep {m} &) ; sleep {m}",
    "daemon without an environment": "(env -i setsid /bin/sh -c 'sleep {m} & sleep {m}' &) ; sleep {m}",
    "closed descriptors": "(setsid sleep {m} <&- >&- 2>&- &) ; sleep {m}",
    "TERM ignored": "trap '' TERM HUP INT; for i in 1 2 3; do sleep {m} & done; while :; do sleep {m}; done",
    "stopped": "sleep {m} & kill -STOP $!; sleep {m}",
    "starts another when it is told to end": "trap 'sleep {m} & sleep {m} & wait' TERM; sleep {m} & wait; wait",
    "renamed": "bash -c 'exec -a sshd sleep {m}' & sleep {m}",
    "bomb": "trap '' TERM; b() {{ [ $1 = 0 ] || {{ b $(($1-1)) & b $(($1-1)) & }}; sleep {m}; }}; b 5",
    "forks all the time": "trap '' TERM; for i in 1 2 3 4; do (while :; do sleep {m} & sleep 0.01; done) & done; wait",
}


@pytest.mark.parametrize("shape", STAYS)
def test_nothing_stays_when_it_is_ended(tmp_path: Path, shape: str) -> None:
    mark = token()

    async def main() -> float:
        command = Command(("/bin/bash", "-c", STAYS[shape].format(m=mark)), str(tmp_path), ENV)
        process = await LocalProcesses().start(command, lambda _: None)
        await asyncio.to_thread(wait_for, mark, 2)
        began = time.monotonic()
        await end_process(process, LoopClock(), grace=0.3)
        return time.monotonic() - began

    taken = asyncio.run(main())
    assert alive(mark) == []
    assert taken < 5


def test_a_gigabyte_of_output_takes_little_memory(tmp_path: Path) -> None:
    argv = [sys.executable, PROGRAM, "gigabyte", str(tmp_path)]
    told = subprocess.run(argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True)
    grown, size, shown = map(int, told.stdout.split())
    for path in (tmp_path / "data").iterdir():
        path.unlink()
    assert size == 1_000_000_000
    assert shown < 31_000
    assert grown < 40_000  # kilobytes


def test_a_million_short_lines_are_all_there(tmp_path: Path) -> None:
    run = FakeRun(host=LocalHost(tmp_path, tmp_path / "data"))
    result = asyncio.run(bash().run({"command": "seq 1 1000000"}, run))
    whole = "".join(f"{number}\n" for number in range(1, 1_000_001))
    assert Path(result.artifacts[0].path).read_text() == whole
    assert result.text.startswith("1\n2\n3\n")
    assert result.text.endswith("\n1000000")


def test_half_written_characters_are_joined_or_replaced(tmp_path: Path) -> None:
    run = FakeRun(host=LocalHost(tmp_path, tmp_path / "data"))
    script = r"printf 'caf\303'; sleep 0.2; printf '\251 \360\237'; sleep 0.2; printf '\230\200 \342\202'"
    assert asyncio.run(bash().run({"command": script}, run)).text == "café 😀 \ufffd"


def test_two_hundred_starts_and_cancels_leave_nothing(tmp_path: Path) -> None:
    mark, chance = token(), random.Random(7)

    async def one(host: LocalHost, number: int) -> None:
        command = f"trap '' TERM; (setsid sleep {mark} &); sleep {mark}" if number % 4 == 0 else f"sleep {mark} & wait"
        run = FakeRun(call_id=f"c{number}", host=host)
        work = asyncio.ensure_future(bash().run({"command": command}, run))
        await asyncio.sleep(chance.random() * 0.02)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    async def main() -> None:
        host = LocalHost(tmp_path, tmp_path / "data")
        await one(host, 1)
        before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
        for first in range(0, 200, 10):
            await asyncio.gather(*(one(host, number) for number in range(first, first + 10)))
        assert len(os.listdir("/proc/self/fd")) <= before + 2
        assert threading.active_count() <= threads + 8  # those that wait for the next work

    asyncio.run(main())
    assert alive(mark) == []


# ---- Callgate is killed ---------------------------------------------------------------------------------------------


@contextmanager
def program(which: str, folder: Path, command: str) -> Iterator[subprocess.Popen[str]]:
    (folder / "work").mkdir()
    argv = [sys.executable, PROGRAM, which, str(folder), command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def until_said(running: subprocess.Popen[str], text: str) -> None:
    assert running.stdout is not None
    for line in running.stdout:
        if line.strip() == text:
            return
    raise AssertionError(f"it ended without {text}")


@pytest.mark.parametrize("shape", [name for name in STAYS if name != "renamed"])
def test_two_seconds_after_callgate_was_killed_there_is_no_orphan(tmp_path: Path, shape: str) -> None:
    mark = token()
    with program("foreground", tmp_path, STAYS[shape].format(m=mark)) as running:
        until_said(running, "CallStarted")
        wait_for(mark, 3)  # the program itself has it among its arguments
        running.send_signal(signal.SIGKILL)
        running.wait()
        until = time.monotonic() + 2
        while alive(mark) and time.monotonic() < until:
            time.sleep(0.01)
        assert alive(mark) == []


def let_go(fifo: Path) -> None:
    while not fifo.is_fifo():
        time.sleep(0.01)
    fifo.write_text("go\n")


async def resumed(folder: Path, *turns: Any) -> list[Any]:
    journal = await Store(folder / "work", folder / "kept").open()
    tools = builtin_tools("Bash", "TaskOutput", "TaskStop")
    model = ScriptedModel(*turns)
    async with Session(model, tools, host=folder / "work", mode="bypass", journal=journal) as session:
        return [event async for event in session.send("what runs?")]


def texts(events: list[Any]) -> list[str]:
    return [event.result.text for event in events if isinstance(event, CallSettled)]


def test_a_declared_background_job_outlives_callgate_and_is_listed_by_the_next_start(tmp_path: Path) -> None:
    mark = token()
    with program(
        "background", tmp_path, f"echo before; mkfifo g; read _ < g; echo after; exec sleep {mark}"
    ) as running:
        until_said(running, "rests")
        running.kill()
        running.wait()
    let_go(tmp_path / "work" / "g")
    wait_for(mark, 1)

    look = (turn(call("TaskOutput", id="bg-1")), turn(call("TaskStop", id="bg-1")), turn(say("done")))
    events = asyncio.run(resumed(tmp_path, *look))
    notes = [event.text for event in events if isinstance(event, Noted)]
    assert any("background task bg-1 of an earlier start is still running" in note for note in notes)
    read, stopped = texts(events)
    assert read.startswith("before\nafter\n[bg-1: command")
    assert "running, from an earlier start of Callgate" in read
    assert "killed" in stopped
    assert alive(mark) == []
    assert list((tmp_path / "kept").rglob("tasks/*")) == []


def test_the_end_of_a_job_while_callgate_was_gone_is_told_by_the_next_start(tmp_path: Path) -> None:
    with program("background", tmp_path, "echo before; mkfifo g; read _ < g; echo after; exit 7") as running:
        until_said(running, "rests")
        running.kill()
        running.wait()
    let_go(tmp_path / "work" / "g")
    while not list((tmp_path / "kept").rglob("tasks/*.status")):
        time.sleep(0.01)
    events = asyncio.run(resumed(tmp_path, turn(call("TaskOutput", id="bg-1")), turn(say("done"))))
    told = [
        str(event.message)
        for event in events
        if isinstance(event, MessageAdded) and (event.about or "").startswith("bg-1@")
    ]
    assert "Background task bg-1 failed (exit code 7)" in told[0]
    assert texts(events)[0].startswith("before\nafter\n")

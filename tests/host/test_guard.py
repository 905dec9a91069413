"""Commands end with Callgate, whatever ends it; only those declared to outlive it go on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from callgate.host import command_launcher
from callgate.host.command_launcher import Launcher
from callgate.host.ports import Command, GuardLost, processes_of
from callgate.host.processes import LocalProcesses
from callgate.words.errors import ToolFailure, UsageError

PROGRAM = str(Path(__file__).with_name("guarded_program.py"))
ENV = {"PATH": os.environ["PATH"]}
WAIT = "mkfifo never; exec 8<>never; "
DAEMON = WAIT + "(env -i setsid sh -c 'trap \"\" TERM; echo >&9; read _ <&8' &); echo >&9; read _ <&8"


@contextmanager
def callgate(script: str, folder: Path, how: str = "", **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Callgate with a command under way; the FIFO ``life`` is open in all that the command started."""
    os.mkfifo(folder / "life")
    argv = [sys.executable, PROGRAM, "exec 9>life; " + script, str(folder), how]
    held = tuple(int(each) for each in env.values())
    program = subprocess.Popen(argv, stdout=subprocess.PIPE, pass_fds=held, env={**os.environ, **env})
    try:
        yield program
    finally:
        with suppress(ProcessLookupError):
            program.kill()
        program.communicate()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def heard(life: int, count: int) -> bytes:
    said = b""
    while len(said) < count and (more := os.read(life, count - len(said))):
        said += more
    return said


@pytest.mark.spec("BLT-1")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_when_callgate_is_killed_nothing_is_left_of_its_commands(tmp_path: Path, number: signal.Signals) -> None:
    with callgate(DAEMON, tmp_path) as program:
        life = os.open(tmp_path / "life", os.O_RDONLY)
        assert heard(life, 2) == b"\n\n"
        program.send_signal(number)
        assert os.read(life, 1) == b""  # closed in all of them, also in the daemon that ignores TERM
        os.close(life)


def test_a_fork_that_holds_our_descriptors_does_not_keep_commands_alive(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with callgate(WAIT + "echo >&9; read _ <&8", tmp_path, "forked", HELD=str(reader)) as program:
        life = os.open(tmp_path / "life", os.O_RDONLY)
        assert heard(life, 1) == b"\n"
        assert program.stdout is not None
        assert program.stdout.readline() == b"started\n"
        program.kill()
        assert os.read(life, 1) == b""
        os.close(life)
        os.close(writer)
    os.close(reader)


def test_one_that_is_declared_outlives_callgate_with_its_output_and_its_end(tmp_path: Path) -> None:
    script = WAIT + "echo before; echo >&9; read _ <&8; echo after; exit 4"
    with callgate(script, tmp_path, "outlives") as program:
        life = os.open(tmp_path / "life", os.O_RDONLY)
        assert heard(life, 1) == b"\n"
        assert program.stdout is not None
        assert program.stdout.readline() == b"started\n"
        program.kill()
        program.wait()
        (tmp_path / "never").write_text("go\n")
        assert os.read(life, 1) == b""
        os.close(life)
    while not (tmp_path / "status").exists():
        os.sched_yield()
    told = json.loads((tmp_path / "status").read_text())
    assert told["code"] == 4
    assert told["ended"] > 0
    assert (tmp_path / "output").read_bytes().endswith(b"after\n")


def test_what_is_left_of_a_command_is_known_until_it_is_gone(tmp_path: Path) -> None:
    async def main() -> None:
        heard = bytearray()
        script = WAIT + "(setsid sh -c 'read _ <&8; echo late' >&1 &); echo out"
        process = await LocalProcesses().start(Command(("/bin/sh", "-c", script), str(tmp_path), ENV), heard.extend)
        assert await process.ended() == 0
        assert process.running
        (tmp_path / "never").write_text("go\n")
        await process.gone()
        assert not process.running
        assert heard == b"out\nlate\n"

    asyncio.run(main())


def test_a_command_has_only_the_descriptors_it_was_given(tmp_path: Path) -> None:
    async def main() -> None:
        said = bytearray()
        reader, writer = os.pipe()
        leaked = os.open("/dev/null", os.O_RDONLY)
        os.set_inheritable(leaked, True)
        os.write(writer, b"passed")
        os.close(writer)
        script = f"ls /proc/self/fd | wc -l; cat /dev/fd/{reader}"
        command = Command(("/bin/sh", "-c", script), str(tmp_path), ENV, pass_fds=(reader,))
        process = await LocalProcesses().start(command, said.extend)
        assert await process.ended() == 0
        os.close(reader)
        os.close(leaked)
        assert said.split() == [b"5", b"passed"]  # three, the passed one, and that of ls itself

    asyncio.run(main())


def test_a_command_reads_the_end_of_its_input_and_has_no_terminal(tmp_path: Path) -> None:
    async def main() -> None:
        said = bytearray()
        script = "cat; (: </dev/tty) 2>/dev/null || echo no terminal"
        process = await LocalProcesses().start(Command(("/bin/sh", "-c", script), str(tmp_path), ENV), said.extend)
        assert await process.ended() == 0
        assert said == b"no terminal\n"

    asyncio.run(main())


def test_a_launcher_that_was_killed_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Launcher()
    monkeypatch.setattr(command_launcher, "LAUNCHER", fresh)

    async def main() -> None:
        for _ in range(2):
            said = bytearray()
            command = Command(("/bin/sh", "-c", "echo here"), str(tmp_path), ENV)
            process = await LocalProcesses().start(command, said.extend)
            await process.gone()
            assert said == b"here\n"
            os.kill(fresh._pid, signal.SIGKILL)
            await asyncio.to_thread(os.waitid, os.P_PID, fresh._pid, os.WEXITED | os.WNOWAIT)

    asyncio.run(main())
    fresh.close()


def test_a_command_ends_when_its_guard_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        command = Command(("/bin/sh", "-c", "echo; exec sleep 1000"), str(tmp_path), ENV)
        process = await LocalProcesses().start(command, lambda _: loop.call_soon_threadsafe(ready.set) and None)
        await ready.wait()
        os.kill(parent_of(process.pid), signal.SIGKILL)
        with pytest.raises(GuardLost):
            await process.ended()
        await process.gone()

    asyncio.run(main())


def test_starting_it_leaves_no_thread_behind(tmp_path: Path) -> None:
    async def main() -> None:
        before = threading.active_count()
        process = await LocalProcesses().start(Command(("true",), str(tmp_path), ENV), lambda _: None)
        await process.gone()
        assert threading.active_count() == before

    asyncio.run(main())


def test_without_an_interpreter_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_launcher, "LAUNCHER", Launcher())
    monkeypatch.setattr(sys, "executable", "")

    async def main() -> None:
        await LocalProcesses().start(Command(("true",), str(tmp_path), ENV), lambda _: None)

    with pytest.raises(UsageError, match=r"sys\.executable"):
        asyncio.run(main())


def test_a_host_without_processes_fails_in_words() -> None:
    class Bare:
        processes = None

    with pytest.raises(ToolFailure, match="cannot run commands"):
        processes_of(Bare())  # pyright: ignore[reportArgumentType]

"""Programs end, with all they started, and nobody hangs on what they leave open."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from callgate.host import guard, processes
from callgate.host.clock import LoopClock
from callgate.host.command_launcher import LAUNCHER
from callgate.host.ports import Command
from callgate.host.processes import Finished, LocalProcesses, run_process
from callgate.testing import ManualClock, settle
from callgate.words.errors import UsageError

T = TypeVar("T")
ENV = {"PATH": os.environ["PATH"]}
BLOCK = "read _ <&8"
"""Waits for ever: nobody writes into the pipe that descriptor 8 is."""


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(main)


class Stage:
    """Shell programs that say through a FIFO that they are there, and whose end is seen by its closing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.fifo = folder / "life"
        os.mkfifo(self.fifo)
        self.life = -1

    def run(self, script: str, **options: Any) -> Coroutine[Any, Any, Finished]:
        """A script that speaks through descriptor 9 speaks into the FIFO; whatever inherits that keeps it open."""
        given: dict[str, Any] = {"cwd": self.folder, "env": ENV, "clock": self.clock, **options}
        opened = "exec 9>life; " if ">&9" in script else ""
        return run_process(["/bin/sh", "-c", opened + script], **given)

    async def open(self) -> None:
        if self.life < 0:
            self.life = await asyncio.to_thread(os.open, self.fifo, os.O_RDONLY)

    async def said(self, count: int) -> bytes:
        """What was written to the FIFO: the first bytes of it."""
        await self.open()
        heard = b""
        while len(heard) < count:
            more = await asyncio.to_thread(os.read, self.life, count - len(heard))
            assert more, f"it ended after {heard!r}"
            heard += more
        return heard

    async def silence(self) -> bytes:
        """Wait until nobody holds the FIFO open any more, and give what was not heard yet."""
        await self.open()
        heard = b""
        while more := await asyncio.to_thread(os.read, self.life, 65536):
            heard += more
        return heard


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_program_gets_its_input_and_gives_its_output_and_its_code(stage: Stage) -> None:
    finished = run(stage.run("cat; echo oops >&2; exit 3", stdin=b"hello"))
    assert finished == Finished(3, b"hello", b"oops\n")


def test_it_has_the_folder_and_the_environment_it_was_given(stage: Stage) -> None:
    finished = run(stage.run('pwd; echo "$A|$HOME"', env={**ENV, "A": "b"}))
    assert finished.stdout.decode().splitlines() == [str(stage.folder.resolve()), "b|"]


def test_no_thread_of_the_loop_starts_a_program(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real, where = LAUNCHER.start, list[threading.Thread]()

    def watched(*args: Any) -> Any:
        where.append(threading.current_thread())
        return real(*args)

    monkeypatch.setattr(LAUNCHER, "start", watched)
    run(stage.run("true"))
    assert len(where) == 1
    assert where[0] is not threading.main_thread()


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(run_process(["/no/such/program"], cwd=tmp_path, env={}, clock=ManualClock()))
    with pytest.raises(FileNotFoundError):
        run(run_process(["/bin/sh"], cwd=tmp_path / "missing", env={}, clock=ManualClock()))
    for argv, env in ((["/bin/echo", "a\0b"], {}), (["/bin/echo"], {"A": "a\0b"})):
        with pytest.raises(ValueError, match="a NUL character"):
            run(run_process(argv, cwd=tmp_path, env=env, clock=ManualClock()))


def test_a_system_without_process_groups_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(UsageError, match="not on this system"):
        run(run_process(["/bin/sh"], cwd=tmp_path, env={}, clock=ManualClock()))


def test_a_program_that_never_reads_does_not_hang_the_one_who_writes(stage: Stage) -> None:
    finished = run(stage.run("exec 0<&-; echo done", stdin=b"x" * 1_000_000))
    assert finished == Finished(0, b"done\n")


def test_both_directions_flow_at_once(stage: Stage) -> None:
    sent = os.urandom(700_000)
    finished = run(stage.run("cat", stdin=sent))
    assert finished.stdout == sent
    assert not finished.cut


@pytest.mark.parametrize(("size", "cut"), [(999, False), (1000, False), (1001, True)])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_is_kept_up_to_the_limit(stage: Stage, size: int, cut: bool, stream: str) -> None:
    to = "2" if stream == "stderr" else "1"
    finished = run(stage.run(f"head -c {size} /dev/zero >&{to}", limit=1000))
    assert getattr(finished, stream) == b"\0" * min(size, 1000)
    assert finished.cut == cut


def test_one_that_talks_too_much_is_read_to_its_end(stage: Stage) -> None:
    finished = run(stage.run("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", limit=10))
    assert finished == Finished(0, b"\0" * 10, b"\0" * 10, cut=True)


def test_a_timeout_ends_the_program(stage: Stage) -> None:
    async def main() -> Finished:
        task = asyncio.create_task(
            stage.run("mkfifo never; exec 8<>never; echo so far; echo >&9; read _ <&8", timeout=60)
        )
        await stage.said(1)
        stage.clock.advance(59.9)
        assert not task.done()
        stage.clock.advance(0.1)
        return await task

    finished = run(main())
    assert finished == Finished(-signal.SIGTERM, b"so far\n", timed_out=True)
    assert stage.clock.next_timer is None


def test_a_program_that_ended_in_time_leaves_no_timer_behind(stage: Stage) -> None:
    assert run(stage.run("true", timeout=60)) == Finished(0)
    assert stage.clock.next_timer is None


def test_a_program_may_clean_up_when_it_is_told_to_end(stage: Stage) -> None:
    async def main() -> Finished:
        wait = "while :; do read _ <&8; done"
        script = f"mkfifo never; exec 8<>never; trap 'echo cleaned; exit 7' TERM; echo >&9; {wait}"
        task = asyncio.create_task(stage.run(script, timeout=1))
        await stage.said(1)
        stage.clock.advance(1)
        return await task

    assert run(main()) == Finished(7, b"cleaned\n", timed_out=True)


TREES = {
    "a child": f"({BLOCK}) & wait",
    "a grandchild": f"( ({BLOCK}) & wait ) & wait",
    "a child in a group of its own": f"setsid sh -c '{BLOCK}' & wait",
    "a daemon": f"(setsid sh -c '({BLOCK}) & echo >&9' &) ; {BLOCK}",
    "a daemon without our environment": f"(env -i setsid sh -c '({BLOCK}) & echo >&9' &) ; {BLOCK}",
    "one whose parent is gone": f"(sh -c '{BLOCK}' &) ; {BLOCK}",
}
STUBBORN = f'trap "" TERM; echo >&9; {BLOCK}'


@pytest.mark.parametrize("shape", TREES)
@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_whole_tree_is_ended(stage: Stage, shape: str, how: str) -> None:
    async def main() -> None:
        script = f"mkfifo never; exec 8<>never; {TREES[shape].replace(BLOCK, 'echo >&9; ' + BLOCK)}"
        task = asyncio.create_task(stage.run(script, timeout=1))
        await stage.said(script.count("echo >&9"))
        if how == "timeout":
            stage.clock.advance(1)
            assert (await task).timed_out
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await stage.silence() == b""

    run(main())


@pytest.mark.parametrize(
    "shape",
    {
        "itself": STUBBORN,
        "a child": f"({STUBBORN}) & wait",
        "a daemon": f"(setsid sh -c '{STUBBORN}' &) ; exec 9>&-; {BLOCK}",
        "a daemon of a program that ends at once": f"setsid sh -c '{STUBBORN}' & exec 9>&-; {BLOCK}",
    }.items(),
    ids=lambda shape: shape[0],
)
@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_what_does_not_listen_is_killed_after_a_grace(stage: Stage, shape: tuple[str, str], how: str) -> None:
    async def main() -> None:
        script = f"mkfifo never; exec 8<>never; {shape[1]}"
        task = asyncio.create_task(stage.run(script, timeout=1, grace=5))
        await stage.said(1)
        if how == "timeout":
            stage.clock.advance(1)
        else:
            task.cancel()
            await settle()
        stage.clock.advance(4.9)
        await settle()
        assert not task.done()
        stage.clock.advance(0.1)
        if how == "timeout":
            assert (await task).timed_out
        else:
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await stage.silence() == b""
        assert stage.clock.next_timer is None

    run(main())


def test_a_second_cancel_does_not_wait_and_still_kills(stage: Stage) -> None:
    async def main() -> None:
        script = f"mkfifo never; exec 8<>never; trap '' TERM; echo >&9; {BLOCK}"
        task = asyncio.create_task(stage.run(script, grace=1000))
        await stage.said(1)
        task.cancel()
        await settle()
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stage.silence()

    run(main())


def test_an_order_that_comes_before_the_program_ends_it_too(stage: Stage) -> None:
    async def main() -> None:
        task = asyncio.create_task(stage.run(f"mkfifo never; exec 8<>never; {BLOCK}"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_a_cancel_that_comes_with_the_end_is_not_lost(stage: Stage) -> None:
    async def main() -> None:
        task = asyncio.create_task(stage.run("true"))
        while not task.done():  # at every point of its way
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_a_daemon_that_holds_the_output_open_does_not_hang_and_may_stay(stage: Stage) -> None:
    async def main() -> Finished:
        daemon = f"echo >&9; {BLOCK}; echo bye >&9"
        script = f"mkfifo never; exec 8<>never; (setsid sh -c '{daemon}' &); echo out; echo err >&2"
        task = asyncio.create_task(stage.run(script, linger=0))
        await stage.said(1)
        finished = await task
        (stage.folder / "never").write_text("go\n")
        assert await stage.silence() == b"bye\n"
        return finished

    assert run(main()) == Finished(0, b"out\n", b"err\n")


def test_what_a_child_says_just_after_the_end_is_still_heard(stage: Stage) -> None:
    async def main() -> Finished:
        script = "mkfifo never; exec 8<>never; (read _ <&8; echo late) 9>&- & echo >&9; exit 0"
        task = asyncio.create_task(stage.run(script, linger=1000))
        await stage.silence()
        (stage.folder / "never").write_text("go\n")
        return await task

    assert run(main()) == Finished(0, b"late\n")


def test_nobody_but_the_tree_is_ended(stage: Stage) -> None:
    """Two at once from the same parent, with the same environment: only one is cancelled."""

    async def main() -> Finished:
        block = f"mkfifo $$; exec 8<>$$; echo >&9; {BLOCK}"
        task = asyncio.create_task(stage.run(block))
        other = asyncio.create_task(stage.run(f"mkfifo other; exec 8<>other; echo >&9; {BLOCK}; echo alive"))
        await stage.said(2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (stage.folder / "other").write_text("go\n")
        return await other

    assert run(main()) == Finished(0, b"alive\n")


@pytest.mark.parametrize("system", [guard._from_proc, guard._from_ps], ids=["proc", "ps"])
def test_the_list_of_processes_knows_parents_and_groups(system: Callable[[], dict[int, guard.Process]]) -> None:
    if system is guard._from_proc and not Path("/proc/self/stat").exists():
        pytest.skip("no /proc here")
    parent, group, _session, began = system()[os.getpid()]
    assert (parent, group) == (os.getppid(), os.getpgrp())
    assert began == system()[os.getpid()][3]


def test_a_program_does_not_outlive_a_failure_of_whoever_looks_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(output: Any, data: bytes) -> None:
        raise MemoryError

    monkeypatch.setattr(processes._Kept, "take", fails)

    async def main() -> None:
        script = f"mkfifo never; exec 8<>never; echo >&9; echo out; {BLOCK}"
        task = asyncio.create_task(stage.run(script))
        await stage.silence()
        with pytest.raises(MemoryError):
            await task

    run(main())


def test_on_a_real_clock_a_short_limit_is_enough(tmp_path: Path) -> None:
    finished = run(
        run_process([sys.executable, "-c", "input()"], cwd=tmp_path, env=ENV, clock=LoopClock(), stdin=b"", timeout=30)
    )
    assert finished.returncode == 1  # end of input

    async def endless() -> Finished:
        return await run_process(["/bin/sleep", "1000"], cwd=tmp_path, env=ENV, clock=LoopClock(), timeout=0.01)

    assert run(endless()) == Finished(-signal.SIGTERM, timed_out=True)


def test_many_at_once_do_not_disturb_each_other(stage: Stage) -> None:
    async def main() -> list[Finished]:
        waiting: list[Awaitable[Finished]] = [stage.run(f"cat; exit {n}", stdin=b"%d" % n) for n in range(20)]
        return await asyncio.gather(*waiting)

    assert run(main()) == [Finished(n, b"%d" % n) for n in range(20)]


def test_the_ends_of_pipes_that_a_program_gets_are_closed_here(tmp_path: Path) -> None:
    async def main(script: str, program: str = "/bin/sh") -> bytes:
        """The output: reading it would not end while its other end is open here."""
        (input_fd, writer), (reader, output_fd) = os.pipe(), os.pipe()
        command = Command((program, "-c", script), str(tmp_path), ENV, input_fd=input_fd, output_fd=output_fd)
        err = bytearray()
        with os.fdopen(reader, "rb") as output, os.fdopen(writer, "wb", buffering=0) as given:
            given.write(b"in\n")
            try:
                process = await LocalProcesses().start(command, err.extend)
            except FileNotFoundError:
                err += b"missing"
            else:
                await process.gone()
            assert bytes(err) in (b"err\n", b"missing")
            with pytest.raises(BrokenPipeError):
                given.write(b"nobody reads")
            return output.read()

    assert run(main("read line; echo $line; echo err >&2")) == b"in\n"
    assert run(main("", "/no/such/program")) == b""

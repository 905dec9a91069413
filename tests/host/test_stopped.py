"""Callgate was stopped (SIGSTOP, Ctrl-Z) while a command ended: timeouts look at the command first."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from callgate.host.clock import CATCH_UP_SECONDS, LoopClock
from callgate.host.local import LocalHost
from callgate.host.processes import run_process
from callgate.tools.builtin.bash import bash
from callgate.words.calls import Result
from tests.core.kit import Desk, call
from tests.rows import rows
from tests.tools.bash_kit import until

T = TypeVar("T")
HOURS = 10_000.0


class StoppedLoop(asyncio.SelectorEventLoop):
    """A loop whose time can be advanced as if the process had been stopped."""

    stopped = 0.0

    def time(self) -> float:
        return super().time() + self.stopped


def run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=StoppedLoop) as runner:
        return runner.run(main)


def sleep_through_the_end(folder: Path) -> None:
    """Let the command end while the event loop is blocked, and advance the time beyond every timeout."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StoppedLoop)
    life = os.open(folder / "life", os.O_RDONLY)
    with open(folder / "gate", "wb") as gate:  # the command goes on
        gate.write(b"\n")
    assert os.read(life, 1) == b"", "the command has ended"
    os.close(life)
    loop.stopped += HOURS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "gate")
    os.mkfifo(tmp_path / "life")
    return tmp_path


COMMANDS = [
    ("echo done", "ok", "done"),
    ("echo done; exit 3", "tool_error", "done\n[exit code 3]"),
    ("echo done >&2", "ok", "done"),
    ("true", "ok", "(Bash completed with no output)"),
    ("printf done", "ok", "done"),
    ("seq 1 3", "ok", "1\n2\n3"),
    ("bash -c 'echo done'", "ok", "done"),
    ("echo done | cat", "ok", "done"),
    ("(exit 1) || echo done", "ok", "done"),
    ("kill -9 $$", "tool_error", "[ended by signal 9]"),
]


@pytest.mark.spec("EXE-20")
@rows("command, code, text", COMMANDS)
def test_a_command_that_ended_while_callgate_was_stopped_has_its_result(
    command: str, code: str, text: str, folder: Path
) -> None:
    async def main() -> Result:
        desk = Desk(bash(), host=LocalHost(folder, folder / ".data"))
        waits = f"echo begun > begun; read _ < gate; {command}"
        await desk.begin(call("a", "Bash", command=f"exec 9> life; {waits}" if command else waits))
        opened = await asyncio.to_thread(os.open, folder / "life", os.O_RDONLY)
        await until((folder / "begun").exists)
        sleep_through_the_end(folder)
        os.close(opened)
        await desk.rest()
        return desk.result("a")

    for leftover in folder.glob("begun"):
        leftover.unlink()
    result = run(main())
    assert (result.code, result.text) == (code, text)


@pytest.mark.spec("EXE-20")
def test_a_program_of_a_hook_that_ended_while_callgate_was_stopped_has_its_result(folder: Path) -> None:
    async def main() -> tuple[int, bool]:
        script = "exec 9> life; echo > begun; read _ < gate; exit 4"
        env = {"PATH": os.environ["PATH"]}
        work = run_process(["/bin/sh", "-c", script], cwd=folder, env=env, clock=LoopClock(), timeout=60)
        task = asyncio.ensure_future(work)
        opened = await asyncio.to_thread(os.open, folder / "life", os.O_RDONLY)
        await until((folder / "begun").exists)
        sleep_through_the_end(folder)
        os.close(opened)
        finished = await task
        return finished.returncode, finished.timed_out

    assert run(main()) == (4, False)


@pytest.mark.spec("EXE-20")
def test_a_command_that_still_runs_after_the_stop_has_timed_out(folder: Path) -> None:
    async def main() -> Result:
        desk = Desk(bash(), host=LocalHost(folder, folder / ".data"))
        await desk.begin(call("a", "Bash", command="exec 9<>gate; echo begun; read _ <&9"))
        await until(lambda: "begun" in desk.now("a").live_output)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, StoppedLoop)
        loop.stopped += HOURS
        await desk.rest()
        return desk.result("a")

    result = run(main())
    assert result.code == "timed_out"
    assert "begun" in result.text


def test_a_late_timer_lets_other_events_pass_and_can_be_cancelled() -> None:
    fired: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, StoppedLoop)
        clock = LoopClock()

        def note(text: str) -> Callable[[], None]:
            return lambda: fired.append(text)

        late, cancelled = clock.call_later(60, note("late")), clock.call_later(60, note("cancelled"))
        loop.stopped += HOURS
        loop.call_soon(note("event"))
        clock.call_later(CATCH_UP_SECONDS / 5, cancelled.cancel)
        await until(lambda: "late" in fired)
        late.cancel()

    run(main())
    assert fired == ["event", "late"]

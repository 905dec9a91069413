"""The output that a call printed before it was interrupted, cancelled or timed out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.core.ports import Run, Timer
from callgate.host.clock import LoopClock
from callgate.host.local import LocalHost
from callgate.testing import PlainTool
from callgate.tools.builtin.bash import bash
from callgate.tools.commands.command_output import MOST_CHARACTERS
from callgate.tools.tool import tool
from callgate.words.calls import PARTIAL_OUTPUT, Result
from callgate.words.traits import Traits
from tests.core.kit import Desk, call, virtual_host
from tests.rows import rows
from tests.tools.bash_kit import BLOCK, GATE, until

HANGING = [
    "echo begun",
    "echo begun >&2",
    "printf begun",
    "trap 'echo cleaned up; exit 1' TERM; echo begun",
    "trap '' TERM; echo begun",
    "(echo begun; read _ <&8) | cat",
    "echo begun & ",
    "bash -c 'echo begun; read _ <&8'",
    "seq 1 60000; echo begun",
    "printf 'ü\\xff begun'",
    "setsid bash -c 'echo begun; read _ <&8' & wait",
    "cd sub; echo begun",
    "for i in 1 2 3; do echo test $i; done; echo begun",
]


class PatientClock(LoopClock):
    """Stores long timeouts until the test lets them expire."""

    def __init__(self) -> None:
        super().__init__()
        self.long: dict[float, Callable[[], None]] = {}

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        if delay > 60:
            self.long[delay] = callback
            return super().call_later(delay, lambda: None)
        return super().call_later(delay, callback)


async def hang(desk: Desk, command: str) -> None:
    """Run a command until it has printed ``begun`` and waits."""
    await desk.begin(call("a", "Bash", command=f"rm -f never; {GATE}{command}\n{BLOCK}"))
    await until(lambda: "begun" in desk.now("a").live_output)


def ways(desk: Desk) -> dict[str, Callable[[], object]]:
    return {
        "interrupt": desk.executor.interrupt,
        "cancel": lambda: desk.executor.cancel("a", "Not needed."),
        "timeout": lambda: desk.host.clock.long[120](),
    }


@pytest.mark.spec("EXE-30")
@pytest.mark.parametrize("how", ["interrupt", "cancel", "timeout"])
@rows("command", HANGING)
def test_the_output_of_a_command_that_was_stopped_is_kept(how: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir(exist_ok=True)

    async def main() -> Result:
        desk = Desk(bash(), host=LocalHost(tmp_path, tmp_path / ".data", PatientClock()))
        await hang(desk, command)
        ways(desk)[how]()
        await desk.rest()
        return desk.result("a")

    result = asyncio.run(main())
    assert result.code == ("timed_out" if how == "timeout" else "cancelled_by_user")
    assert "begun" in result.text
    assert ("may have partly run" in result.text) is (how != "timeout")
    assert (result.details.get(PARTIAL_OUTPUT) is True) is (how != "timeout")
    assert result.effects == "unknown"
    if "seq" in command:
        (artifact,) = result.artifacts
        text = Path(artifact.path).read_text()
        assert text == "".join(f"{n}\n" for n in range(1, 60001)) + "begun\n"
        assert artifact.path in result.text, "the model can read the rest"
        assert len(result.text) <= 10_500
    if "cleaned up" in command:
        assert "cleaned up" in result.text


@pytest.mark.spec("EXE-30")
def test_a_command_that_printed_nothing_has_the_plain_sentence(tmp_path: Path) -> None:
    async def main() -> Result:
        desk = Desk(bash(), host=LocalHost(tmp_path, tmp_path / ".data"))
        await desk.begin(call("a", "Bash", command=f"{GATE}touch begun; {BLOCK}"))
        await until((tmp_path / "begun").exists)
        desk.executor.interrupt()
        await desk.rest()
        return desk.result("a")

    result = asyncio.run(main())
    assert result.text.endswith("The call was interrupted and may have partly run. Check before you repeat it.")
    assert PARTIAL_OUTPUT not in result.details


@pytest.mark.spec("EXE-30")
def test_a_failed_command_with_long_output_names_the_file_with_all_of_it(tmp_path: Path) -> None:
    async def main() -> Result:
        desk = Desk(bash(), host=LocalHost(tmp_path, tmp_path / ".data"))
        await desk.finish(call("a", "Bash", command=f"seq 1 {MOST_CHARACTERS // 10}; exit 3"))
        return desk.result("a")

    result = asyncio.run(main())
    (artifact,) = result.artifacts
    assert artifact.path in result.text
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("[exit code 3]")


# ---- other tools ----------------------------------------------------------------------------------------------------


async def reports(_arguments: Any, run: Run) -> str:
    run.progress("step 1\n")
    run.progress("step 2\n")
    await asyncio.Event().wait()
    return "never"


@tool(name="Report", effects="none", timeout=9)
async def steps() -> AsyncIterator[str]:
    """Yield steps."""
    yield "step 1\n"
    yield "step 2\n"
    await asyncio.Event().wait()


def swallows(opened: asyncio.Event) -> PlainTool:
    async def run(_arguments: Any, run: Run) -> str:
        run.progress("step 1\nstep 2\n")
        while not opened.is_set():
            try:
                await opened.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    return PlainTool("Report", run, traits=Traits(effects="mutating", timeout=9))


@pytest.mark.spec("EXE-30")
@pytest.mark.parametrize("how", ["interrupt", "cancel", "timeout"])
@pytest.mark.parametrize("kind", ["reports", "yields", "does not stop"])
async def test_the_progress_of_a_tool_that_was_stopped_is_kept(how: str, kind: str) -> None:
    opened = asyncio.Event()
    found = {
        "reports": PlainTool("Report", reports, traits=Traits(effects="none", timeout=9)),
        "yields": steps,
        "does not stop": swallows(opened),
    }[kind]
    desk = Desk(found, host=virtual_host())
    await desk.begin(call("a", "Report"))
    await until(lambda: "step 2" in desk.now("a").live_output)
    if how != "timeout":
        ways(desk)[how]()
    await desk.rest()
    result = desk.result("a")
    opened.set()
    assert "Output until then:\nstep 1\nstep 2\n" in result.text
    assert result.details[PARTIAL_OUTPUT] is True

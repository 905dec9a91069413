"""Every implementation of a port we ship keeps the promises of that port."""

import asyncio
from pathlib import Path

import pytest

from callgate.assembly import DecisionGate
from callgate.conversation.ports import Model
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Host, Tool
from callgate.host.clock import LoopClock
from callgate.host.local import LocalHost
from callgate.search.search_toolbox import SearchToolbox
from callgate.testing import (
    Barrier,
    GatedModel,
    Latch,
    ManualClock,
    MemoryHost,
    PlainRun,
    PlainTool,
    PlainToolbox,
    Recorder,
    ScriptedModel,
    call,
    check_clock,
    check_gate,
    check_host,
    check_journal,
    check_model,
    check_tool,
    check_toolbox,
    cut_off,
    limit,
    open_call,
    pause,
    run_virtual,
    say,
    think,
    turn,
)
from callgate.tools.tool import tool
from callgate.tools.toolbox import Filtered, Merged, Named, Toolbox
from callgate.transcript.masking import Masker, masked
from callgate.transcript.store import Store
from callgate.words.changes import ChangeSet
from tests.contracts.host_part_checks import check_files


def test_the_clock_of_the_loop() -> None:
    run_virtual(check_clock(LoopClock))


def test_the_manual_clock() -> None:
    run_virtual(check_clock(ManualClock, lambda clock, seconds: clock.advance_and_settle(seconds)))


def test_the_local_host(tmp_path: Path) -> None:
    workspace, data = tmp_path / "workspace", tmp_path / "data"
    workspace.mkdir()
    made: list[Host] = []

    def make() -> Host:
        made.append(LocalHost(workspace, data))
        return made[-1]

    run_virtual(check_host(make))
    assert [path.name for path in workspace.rglob("*") if path.is_file()] == []


def test_the_memory_host() -> None:
    host = MemoryHost()
    run_virtual(check_host(lambda: host))
    assert host.files == {}


@pytest.mark.spec("BLT-1")
def test_the_files_of_both_hosts(tmp_path: Path) -> None:
    memory = MemoryHost()
    asyncio.run(check_files(lambda: memory))
    assert memory.files == {}
    asyncio.run(check_files(lambda: LocalHost(tmp_path)))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def open_gate(model: Model) -> GatedModel:
    gated = GatedModel(model)
    gated.open()
    return gated


SCRIPTS = [
    turn(),
    turn(say("Hello, you"), call("Read", path="a"), pause(60), think("hm", signature="s"), say("over", over=2)),
    turn(open_call("Write", '{"path'), limit()),
    turn(say("Hel"), cut_off()),
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripted_and_the_gated_model(script: object) -> None:
    run_virtual(check_model(lambda: ScriptedModel(script)))  # type: ignore[arg-type]
    run_virtual(check_model(lambda: open_gate(ScriptedModel(script))))  # type: ignore[arg-type]


def test_the_tools_of_the_testing_room() -> None:
    latch = Latch()
    latch.open()
    recorder = Recorder()
    tools: list[Tool] = [
        PlainTool("Plain", aliases=["Simple"], preview=lambda _, __: ChangeSet("nothing", ())),
        Barrier(1),
        latch,
        recorder.watch(PlainTool("Watched")),
    ]
    for each in tools:
        run_virtual(check_tool(each, {"any": ["thing", 1, None]}, PlainRun()))
    run_virtual(check_toolbox(lambda: PlainToolbox(*tools)))
    assert recorder.order == ["started call_1", "ended call_1"]


@tool(effects="none", aliases=["Sum"])
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def test_a_defined_tool_and_its_toolbox() -> None:
    run_virtual(check_tool(add, {"a": 1}, PlainRun()))
    run_virtual(check_toolbox(lambda: Toolbox(add)))


def test_the_wrappers_of_a_toolbox() -> None:
    box = Toolbox(add)
    plain = PlainToolbox(PlainTool("Plain", aliases=["Simple"]))
    for wrapped in (
        Filtered(box, ["add"]),
        Filtered(box, []),
        Toolbox(Named(add, "plus")),
        Merged(box, plain),
        Merged(),
    ):
        run_virtual(check_toolbox(lambda wrapped=wrapped: wrapped))
        for each in wrapped.tools():
            run_virtual(check_tool(each, {"a": 1}, PlainRun()))


@pytest.mark.parametrize("mode", ["on", "off", "auto"])
def test_a_toolbox_with_deferred_tools(mode: str) -> None:
    deferred = PlainToolbox(PlainTool("Plain", aliases=["Simple"]))
    run_virtual(check_toolbox(lambda: SearchToolbox(Toolbox(add), deferred, mode, lambda: 1_000)))


def test_the_gate() -> None:
    run_virtual(check_gate(DecisionGate))
    run_virtual(check_gate(lambda: DecisionGate(checks=())))


def test_the_memory_journal() -> None:
    run_virtual(check_journal(MemoryJournal))


def test_a_journal_that_is_given_masked_events() -> None:
    run_virtual(check_journal(lambda: masked(MemoryJournal(), Masker({}))))


def test_the_journal_on_disk(tmp_path: Path) -> None:
    asyncio.run(check_journal(Store(tmp_path, tmp_path / "data").create))

"""Small tools that make a test's point."""

import asyncio

import pytest

from callgate.core.ports import Target, Unknown
from callgate.testing import (
    Barrier,
    Latch,
    MemoryHost,
    PlainRun,
    PlainTool,
    PlainToolbox,
    Recorder,
    StuckError,
    VirtualLoop,
    run_virtual,
    settle,
)
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.traits import Traits, exclusive


def test_a_plain_tool_takes_any_object_and_gives_text() -> None:
    async def slow(arguments: object, _run: object) -> Result:
        return Result.failed("tool_error", str(arguments))

    async def main() -> None:
        run = PlainRun()
        assert (await PlainTool("A").run({}, run)).text == "done"
        assert (await PlainTool("A", lambda arguments, _: arguments["n"] + 1).run({"n": 1}, run)).text == "2"
        assert (await PlainTool("A", slow).run({}, run)).is_error
        with pytest.raises(ToolFailure):
            await PlainTool("A").preview({}, run)
        previewing = PlainTool("A", preview=lambda _, __: ChangeSet("x", ()))
        assert previewing.previews
        assert await previewing.preview({}, run) == ChangeSet("x", ())

    run_virtual(main())
    tool = PlainTool("A", traits=lambda arguments: Traits(declared_locks=exclusive if arguments else None))
    assert tool.read('{"a": 1}') == tool.read({"a": 1}) == Accepted({"a": 1})
    assert isinstance(tool.read("[1]"), Rejected)
    assert tool.traits({"a": 1}).declared_locks == exclusive


def test_a_plain_toolbox_finds_names_aliases_and_close_names() -> None:
    tool = PlainTool("Read", aliases=["Open"])
    box = PlainToolbox(tool)
    assert box.resolve("Open", "{}") == box.resolve("Read", "{}") == Target(tool, "{}")
    assert box.resolve("Raed", "{}") == Unknown("Raed", ("Read",))


def test_a_barrier_opens_only_for_calls_that_overlap() -> None:
    async def together() -> None:
        barrier = Barrier(3)
        await asyncio.gather(*(barrier.run({}, PlainRun()) for _ in range(3)))
        assert (barrier.most, barrier.inside) == (3, 0)

    async def one_by_one() -> None:
        barrier = Barrier(2)
        await barrier.run({}, PlainRun())

    run_virtual(together())
    with pytest.raises(StuckError), asyncio.Runner(loop_factory=lambda: VirtualLoop(patience=0.01)) as runner:
        runner.run(one_by_one())


def test_a_latch_holds_calls_until_it_is_opened() -> None:
    async def main() -> None:
        latch = Latch()
        tasks = [asyncio.create_task(latch.run({}, PlainRun(call_id=id))) for id in "abc"]
        await latch.entered("a", "c")
        latch.open("b")
        tasks[0].cancel()
        await settle()
        assert [task.done() for task in tasks] == [True, True, False]
        assert latch.inside == ["c"]
        assert latch.cancelled == ["a"]
        latch.open()
        await tasks[2]
        assert (await latch.run({}, PlainRun(call_id="late"))).text == "let go"

    run_virtual(main())


def test_a_recorder_notes_order_and_overlap() -> None:
    async def main() -> None:
        recorder, latch = Recorder(), Latch()
        tool = recorder.watch(latch)
        tasks = [asyncio.create_task(tool.run({}, PlainRun(call_id=id))) for id in "ab"]
        await latch.entered("a", "b")
        latch.open("b")
        await settle()
        tasks[0].cancel()
        await settle()
        assert recorder.order == ["started a", "started b", "ended b", "cancelled a", "ended a"]
        assert (recorder.started, recorder.ended, recorder.most_at_once) == (["a", "b"], ["b", "a"], 2)
        assert tool.spec is latch.spec

    run_virtual(main())


def test_a_plain_run_keeps_what_the_tool_says() -> None:
    run = PlainRun(MemoryHost({"a": "text"}), context={"k": 1})
    run.progress("half", current=1, total=2)
    assert [(said.text, said.current, said.total) for said in run.said] == [("half", 1, 2)]
    assert run.context == {"k": 1}


def test_a_memory_host_shows_what_happened() -> None:
    host = MemoryHost({"a.py": "one", "/workspace/b.py": b"two"})
    assert host.text("./a.py") == "one"
    assert host.normal("/x/../y") == "/y"
    assert run_virtual(host.keep("out", b"x")) in host.artifacts

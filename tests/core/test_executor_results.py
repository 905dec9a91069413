"""What comes out: order, exactly one each, unknown names, sizes, progress, and nothing that raises."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from callgate.assembly import Executor
from callgate.core.ports import Run
from callgate.host.local import LocalHost
from callgate.testing import Latch, MemoryHost, PlainTool, PlainToolbox, Recorder, VirtualLoop, run_virtual, settle
from callgate.tools.tool import tool
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Result, Status, ToolCall
from callgate.words.errors import StateError
from callgate.words.events import CallProgressed, CallReleased, CallSettled, Noted
from callgate.words.messages import Image, Text
from callgate.words.traits import Traits, shared
from tests.core.kit import (
    ALONE,
    FREE,
    Desk,
    allow_all,
    call,
    codes,
    failing,
    ids,
    lasting,
    saying,
    the_result,
)

# ---- order (EXE-7) ----------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-7")
async def test_results_leave_in_arrival_order_whatever_ends_first() -> None:
    desk = Desk(lasting())
    results = await desk.finish(call("a", "Sleep", seconds=3), call("b", "Sleep", seconds=1), call("c", "Nothing"))
    assert list(results) == ["a", "b", "c"]
    assert [event.call_id for event in desk.told(CallSettled)] == ["c", "b", "a"]
    assert [event.held for event in desk.told(CallSettled)] == [True, True, False]
    assert [event.call_id for event in desk.told(CallReleased)] == ["b", "c"]


@pytest.mark.spec("EXE-7")
async def test_completed_gives_only_what_is_not_behind_an_unfinished_call() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch)
    desk.add(call("a", "Latch"), call("b", "Latch"), call("c", "Latch"))
    await settle()
    latch.open("b")
    await settle()
    assert desk.executor.completed() == []
    latch.open("a")
    await settle()
    assert ids(desk.executor.completed()) == ["a", "b"]
    assert desk.executor.completed() == []
    latch.open("c")
    assert list(await desk.finish()) == ["c"]


@pytest.mark.spec("EXE-7")
async def test_progress_leaves_at_once_whatever_its_position() -> None:
    latch = Latch(traits=FREE)

    async def tell(_arguments: Mapping[str, Any], run: Run) -> str:
        run.progress("half way", current=1, total=2)
        return "done"

    desk = Desk(latch, PlainTool("Tell", tell, traits=FREE))
    desk.add(call("a", "Latch"), call("b", "Tell"))
    await settle()
    # b is behind a, so its result has to wait; its progress has not
    (progress,) = desk.executor.completed()
    assert isinstance(progress, CallProgressed)
    assert (progress.call_id, progress.text, progress.current, progress.total) == ("b", "half way", 1, 2)
    latch.open()
    assert list(await desk.finish()) == ["a", "b"]


@pytest.mark.spec("EXE-7")
async def test_remaining_gives_progress_while_it_waits() -> None:
    latch = Latch(traits=FREE)

    async def tell(_arguments: Mapping[str, Any], run: Run) -> str:
        run.progress("looking")
        return "done"

    desk = Desk(latch, PlainTool("Tell", tell, traits=FREE))
    desk.add(call("a", "Latch"), call("b", "Tell"))
    desk.executor.close()
    seen: list[str] = []
    async for item in desk.executor.remaining():
        seen += ids([item])
        latch.open()
    assert seen == ["progress b", "a", "b"]


# ---- exactly one (EXE-8, CALL-3) --------------------------------------------------------------------------------


@pytest.mark.spec("EXE-8", "CALL-3")
async def test_every_id_gets_exactly_one_result_whatever_becomes_of_its_call() -> None:
    desk = Desk(saying("Good", "fine"), failing("Bad"), lasting(traits=Traits(effects="none", timeout=1)))
    batch = [call("a", "Good"), call("b", "Bad"), call("c", "None"), call("d", "Sleep", seconds=9)]
    results = await desk.finish(*batch)
    assert codes(results) == {"a": "ok", "b": "tool_error", "c": "unknown_tool", "d": "timed_out"}
    assert sorted(event.call_id for event in desk.told(CallSettled)) == ["a", "b", "c", "d"]
    assert all(desk.now(each.id).settled for each in batch)


@pytest.mark.spec("EXE-8")
async def test_an_id_cannot_be_added_twice() -> None:
    desk = Desk(saying("Good", "fine"))
    desk.add(call("a", "Good"))
    with pytest.raises(StateError, match="added already"):
        desk.add(call("a", "Good"))
    assert list(await desk.finish()) == ["a"]


@pytest.mark.spec("EXE-8")
async def test_a_settled_call_cannot_be_added() -> None:
    desk = Desk(saying("Good", "fine"))
    with pytest.raises(StateError, match="settled"):
        desk.add(ToolCall("a", "Good", status=Status.SUCCESS, result=Result()))


@pytest.mark.spec("EXE-8")
async def test_nothing_can_be_added_to_a_closed_message() -> None:
    desk = Desk()
    desk.executor.close()
    with pytest.raises(StateError, match="closed"):
        desk.add(call("a", "Good"))


@pytest.mark.spec("EXE-8")
async def test_remaining_before_close_is_an_error_of_whoever_drives_the_executor() -> None:
    desk = Desk()
    with pytest.raises(StateError, match=r"close\(\) before"):
        await desk.rest()


# ---- unknown names and invalid arguments (EXE-9, EXE-10) --------------------------------------------------------


@pytest.mark.spec("EXE-9")
async def test_an_unknown_name_is_answered_at_once_naming_close_names() -> None:
    desk = Desk(toolbox=Toolbox(*(tool(lambda: "", name=name) for name in ("read_file", "read_dir", "write_file"))))
    desk.add(call("a", "read_fil"))
    result = desk.result("a")
    assert (result.code, result.status, result.effects) == ("unknown_tool", Status.ERROR, "none")
    assert "read_file" in result.text
    await desk.finish()


@pytest.mark.spec("EXE-9")
async def test_no_more_than_three_close_names_are_named() -> None:
    desk = Desk(toolbox=Toolbox(*(tool(lambda: "", name=f"read_file_{n}") for n in range(8))))
    desk.add(call("a", "read_file"))
    assert 1 <= desk.result("a").text.count("read_file_") <= 3
    await desk.finish()


@pytest.mark.spec("EXE-9")
async def test_an_alias_is_a_known_name() -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(PlainTool("Read", aliases=["View"])))
    results = await desk.finish(call("a", "View"))
    assert codes(results) == {"a": "ok"}
    assert desk.now("a").name == "Read"


@pytest.mark.spec("EXE-9")
async def test_an_unknown_name_behind_an_exclusive_call_does_not_starve_the_loop() -> None:
    desk = Desk(lasting("Alone", ALONE))
    results = await desk.finish(call("a", "Alone", seconds=5), call("b", "Nothing"))
    assert codes(results) == {"a": "ok", "b": "unknown_tool"}


@pytest.mark.spec("EXE-10")
async def test_invalid_arguments_are_an_error_result_that_waits_for_nobody() -> None:
    latch = Latch(traits=ALONE)
    desk = Desk(latch, saying("Good", "fine"))
    await desk.begin(call("a", "Latch"), ToolCall("b", "Good", raw_arguments="[1]"))
    # the exclusive call still runs, and the other has its result already
    assert latch.inside == ["a"]
    assert (desk.result("b").code, desk.result("b").effects) == ("invalid_arguments", "none")
    latch.open()
    await desk.rest()


@pytest.mark.spec("EXE-10")
async def test_invalid_arguments_are_told_one_by_one() -> None:
    def add(x: int, y: int) -> int:
        return x + y

    desk = Desk(toolbox=Toolbox(tool(add, effects="none")))
    results = await desk.finish(ToolCall("a", "add", raw_arguments='{"x": "one", "y": []}'))
    assert results["a"].code == "invalid_arguments"
    assert "$.x" in results["a"].text
    assert "$.y" in results["a"].text


# ---- waiting (EXE-11) -------------------------------------------------------------------------------------------


class CountingLoop(VirtualLoop):
    """Counts how often it had nothing left to do."""

    rests = 0

    def pass_time(self, timeout: float | None, select: Any, files: int) -> Any:
        self.rests += 1
        return super().pass_time(timeout, select, files)


@pytest.mark.spec("EXE-11")
def test_remaining_sleeps_until_there_is_something_to_emit() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingLoop)
        desk = Desk(lasting("Alone", ALONE))
        desk.add(call("a", "Alone", seconds=3600), call("b", "Nothing"))
        desk.executor.close()
        before = loop.rests
        await desk.rest()
        assert loop.time() >= 3600
        return loop.rests - before

    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        # one rest for the hour; polling would take one for each look
        assert runner.run(main()) <= 2


# ---- sizes (EXE-12) ---------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-12")
def test_a_large_result_is_spilled_whole_to_an_artifact_on_disk(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(10_000))

    async def main() -> Result:
        host = LocalHost(tmp_path, data=tmp_path / "kept")
        async with Executor(PlainToolbox(saying("Cat", text)), allow_all(), host=host) as executor:
            executor.add(call("a", "Cat"))
            executor.close()
            (done,) = [item async for item in executor.remaining()]
            assert isinstance(done, ToolCall)
            return the_result(done)

    result = run_virtual(main())
    (artifact,) = result.artifacts
    assert Path(artifact.path).read_text() == text
    assert artifact.size == len(text)
    assert artifact.path in result.text
    assert result.text.startswith("line 0\n")
    assert result.text.endswith("line 9999\n")
    assert len(result.text) < len(text) / 2


@pytest.mark.spec("EXE-12")
async def test_the_limit_is_the_tools_own() -> None:
    tight = Traits(effects="none", declared_locks=shared, max_result_chars=100)
    desk = Desk(saying("Short", "x" * 101, tight), saying("Long", "x" * 101))
    results = await desk.finish(call("a", "Short"), call("b", "Long"))
    (path,) = [artifact.path for artifact in results["a"].artifacts]
    assert desk.host.artifacts[path] == b"x" * 101
    assert results["b"].text == "x" * 101


@pytest.mark.spec("EXE-12")
async def test_a_result_at_its_limit_is_left_alone() -> None:
    tight = Traits(effects="none", declared_locks=shared, max_result_chars=100)
    desk = Desk(saying("Short", "x" * 100, tight))
    results = await desk.finish(call("a", "Short"))
    assert (results["a"].text, results["a"].artifacts) == ("x" * 100, ())


@pytest.mark.spec("EXE-12")
async def test_an_image_beside_a_long_text_stays() -> None:
    image = Image("image/png", b"png")
    desk = Desk(saying("Shot", Result((Text("x" * 50_000), image))))
    results = await desk.finish(call("a", "Shot"))
    assert image in results["a"].content


@pytest.mark.spec("EXE-12")
async def test_where_the_artifact_cannot_be_kept_the_success_stays_a_success() -> None:
    class FullDisk(MemoryHost):
        async def keep(self, name: str, data: bytes) -> str:
            raise OSError("no space left on device")

    desk = Desk(saying("Cat", "x" * 50_000), host=FullDisk())
    results = await desk.finish(call("a", "Cat"))
    assert results["a"].code == "ok"
    assert "no space left" in results["a"].text
    assert len(results["a"].text) < 40_000


@pytest.mark.spec("EXE-12")
@pytest.mark.parametrize("nothing", [None, "", Result(), Result((Text(""),))])
async def test_an_empty_result_says_so(nothing: object) -> None:
    desk = Desk(saying("Touch", nothing))
    results = await desk.finish(call("a", "Touch"))
    assert results["a"].text == "(Touch completed with no output)"


@pytest.mark.spec("EXE-12")
async def test_a_long_error_is_cut_to_head_and_tail() -> None:
    desk = Desk(failing(message="first " + "x" * 50_000 + " last"))
    results = await desk.finish(call("a", "Bash"))
    text = results["a"].text
    assert text.startswith("first ")
    assert text.endswith(" last")
    assert len(text) < 11_000
    assert results["a"].artifacts == ()


# ---- nothing raises (EXE-13, TOOL-5) ----------------------------------------------------------------------------


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot even be said")


@pytest.mark.spec("EXE-13")
@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), asyncio.CancelledError(), Unspeakable()])
async def test_whatever_a_tool_raises_becomes_its_error_and_nobody_elses(error: BaseException) -> None:
    def burst(_arguments: object, _run: object) -> str:
        raise error

    desk = Desk(PlainTool("Burst", burst, traits=FREE), saying("Good", "fine"))
    results = await desk.finish(call("a", "Burst"), call("b", "Good"))
    assert codes(results) == {"a": "tool_error", "b": "ok"}


@pytest.mark.spec("EXE-13")
async def test_the_type_and_message_are_for_the_model_and_the_traceback_for_the_record() -> None:
    def burst(_arguments: object, _run: object) -> str:
        raise ValueError("not a number")

    desk = Desk(PlainTool("Burst", burst, traits=FREE))
    result = (await desk.finish(call("a", "Burst")))["a"]
    assert result.text == "ValueError: not a number"
    assert "Traceback" in result.details["traceback"]


@pytest.mark.spec("EXE-13")
async def test_a_failure_in_the_tools_own_words_reaches_the_model_unchanged() -> None:
    desk = Desk(failing(message="no such branch"))
    assert (await desk.finish(call("a", "Bash")))["a"].text == "no such branch"


class Panic(BaseException):
    """What an extension module raises when it is broken."""


@pytest.mark.spec("EXE-28")
@pytest.mark.parametrize("error", [KeyError("path"), SystemExit(3), Panic("broken")])
async def test_traits_that_raise_make_the_call_run_alone_as_one_with_effects(error: BaseException) -> None:
    def broken(_arguments: object) -> Traits:
        raise error

    recorder = Recorder()
    desk = Desk(recorder.watch(PlainTool("Odd", traits=broken)), saying("Good", "fine"))
    # before the message is whole it does not start, and nothing passes it
    desk.add(call("a", "Odd"), call("b", "Good"))
    await settle()
    assert [desk.status("a"), desk.status("b")] == [Status.SCHEDULED, Status.SCHEDULED]
    assert recorder.started == []
    assert codes(await desk.finish()) == {"a": "ok", "b": "ok"}
    notes = desk.told(Noted)
    assert [(note.call_id, note.level) for note in notes] == [("a", "warning")]
    assert "the traits of Odd failed" in notes[0].text


@pytest.mark.spec("EXE-13")
async def test_a_toolbox_that_raises_fails_the_call() -> None:
    class Broken(PlainToolbox):
        def resolve(self, name: str, raw: object) -> Any:
            raise RuntimeError("no index")

    desk = Desk(toolbox=Broken())
    assert codes(await desk.finish(call("a", "X"))) == {"a": "tool_error"}


@pytest.mark.spec("EXE-13")
async def test_a_tool_that_gives_back_no_result_fails() -> None:
    class Odd(PlainTool):
        async def run(self, arguments: Mapping[str, Any], run: Run) -> Any:
            return 42

    desk = Desk(Odd("Odd"))
    assert codes(await desk.finish(call("a", "Odd"))) == {"a": "tool_error"}


@pytest.mark.spec("CALL-4", "EXE-13")
async def test_an_error_result_with_the_code_of_a_success_counts_as_a_tool_error() -> None:
    desk = Desk(saying("Odd", Result((Text("no"),), is_error=True)))
    await desk.finish(call("a", "Odd"))
    assert desk.result("a").code == "tool_error"
    assert desk.status("a") is Status.ERROR


class Noting(ThreadPoolExecutor):
    """Notes how much was handed to a thread."""

    submitted = 0

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        self.submitted += 1
        return super().submit(*args, **kwargs)


@pytest.mark.spec("EXE-12")
@pytest.mark.parametrize(("size", "in_threads"), [(100_000, 0), (3_000_000, 1)])
def test_a_very_large_result_is_made_into_bytes_off_the_loop(size: int, in_threads: int) -> None:
    host = MemoryHost()

    async def main() -> int:
        threads = Noting(1)
        asyncio.get_running_loop().set_default_executor(threads)
        results = await Desk(saying("Big", "é" * size), host=host).finish(call("a", "Big"))
        assert results["a"].artifacts[0].size == 2 * size
        return threads.submitted

    assert asyncio.run(main()) == in_threads
    assert [len(data) for data in host.artifacts.values()] == [2 * size]

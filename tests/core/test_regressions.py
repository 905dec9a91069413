"""Known failures of other runtimes, one test each. The docstring is the failure that the test guards against."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from callgate import Session
from callgate.core.ports import Case, Check
from callgate.testing import Latch, PlainTool, Recorder, ScriptedModel, fail, say, settle, turn
from callgate.testing import call as scripted
from callgate.tools.tool import tool
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Result
from callgate.words.decisions import Deny
from callgate.words.errors import ModelError, StateError
from callgate.words.events import CallSettled, ContextUpdated
from callgate.words.inputs import Prompt
from callgate.words.messages import ResultPart, Text
from callgate.words.traits import Traits, shared
from tests.core.kit import (
    ALONE,
    FREE,
    Desk,
    allow_all,
    batch,
    call,
    changed_by_hook,
    codes,
    deaf,
    failing,
    file_writer,
    ids,
    lasting,
    lists,
    saying,
    updating,
    virtual_host,
)

CASCADING = Traits(effects="none", declared_locks=shared, cascade=True)
MUTATING = Traits(declared_locks=shared)


# ---- the executor -----------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-9", "EXE-11")
async def test_an_exclusive_call_followed_by_an_unknown_name_does_not_spin() -> None:
    """A finished result hidden behind an unfinished one counted as "something to emit": the loop never slept again."""
    desk = Desk(lasting("Alone", ALONE))
    desk.add(call("a", "Alone", seconds=1), call("b", "Unknown"))
    desk.executor.close()
    reader = asyncio.ensure_future(desk.rest())
    await settle()  # never returns where somebody spins
    assert not reader.done()
    assert ids(await reader) == ["a", "b"]


@pytest.mark.spec("EXE-7")
async def test_results_do_not_leave_out_of_order_when_a_later_one_is_ready_first() -> None:
    """Safe A (60 ms), safe B (10 ms), unknown C left as C, B, A although arrival order was promised."""
    desk = Desk(lasting())
    results = await desk.finish(
        call("A", "Sleep", seconds=0.06), call("B", "Sleep", seconds=0.01), call("C", "Unknown")
    )
    assert list(results) == ["A", "B", "C"]


@pytest.mark.spec("EXE-3")
async def test_a_thousand_shared_calls_respect_the_cap() -> None:
    """A hundred safe tools ran a hundred at once: the limit was honoured by one of two paths only."""
    recorder = Recorder()
    desk = Desk(recorder.watch(lasting()))
    results = await desk.finish(*(call(f"c{n}", "Sleep", seconds=1) for n in range(1000)))
    assert recorder.most_at_once == 10
    assert len(results) == 1000


async def broken_generator():
    """Yield once, then break."""
    yield "half"
    raise RuntimeError("generator broke")


@pytest.mark.spec("EXE-13")
async def test_a_tool_that_raises_in_its_generator_loses_nobodys_result() -> None:
    """A rejected tool promise: the reader threw, all siblings lost their results and stayed "executing" for ever."""
    broken = tool(broken_generator, effects="none")
    desk = Desk(toolbox=Toolbox(broken, saying("Good", "fine")))
    results = await desk.finish(call("a", "broken_generator"), call("b", "Good"))
    assert codes(results) == {"a": "tool_error", "b": "ok"}


@pytest.mark.spec("EXE-13", "EXE-23")
async def test_a_tool_that_raises_in_its_context_modifier_loses_nobodys_result() -> None:
    """A throwing context modifier did the same."""

    def broken(_context: Mapping[str, Any]) -> Mapping[str, Any]:
        raise RuntimeError("modifier broke")

    desk = Desk(saying("Odd", Result((Text("odd"),), context_update=broken)), saying("Good", "fine"))
    results = await desk.finish(call("a", "Odd"), call("b", "Good"))
    assert {call_id: result.text for call_id, result in results.items()} == {"a": "odd", "b": "fine"}


@pytest.mark.spec("EXE-8")
async def test_a_sibling_that_fails_after_a_success_does_not_add_a_second_result() -> None:
    """A success already collected, then a sibling's error: two results with one id, the real one and "Cancelled"."""
    opened = asyncio.Event()

    async def slow_hook(case: Case, result: Result) -> Result:
        if case.name == "Good":
            await opened.wait()
        return result

    desk = Desk(saying("Good", "fine"), failing(traits=CASCADING), gate=allow_all(after=[slow_hook]))
    desk.add(call("a", "Good"))
    await settle()
    desk.add(call("b", "Bash"))
    await settle()
    opened.set()
    results = await desk.finish()
    assert codes(results) == {"a": "ok", "b": "tool_error"}
    assert len(desk.told(CallSettled)) == 2


@pytest.mark.spec("EXE-8")
async def test_a_tool_that_ends_silently_after_a_cancel_still_gets_one_result() -> None:
    """A generator that ended after the abort without another update left no result at all for its id."""

    async def silent(_arguments: object, _run: object) -> Result:
        seconds = 60.0
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            return Result()
        return Result()

    desk = Desk(PlainTool("Silent", silent, traits=MUTATING))
    await desk.begin(call("a", "Silent"))
    desk.executor.interrupt()
    assert ids(await desk.rest()) == ["a"]
    assert desk.result("a").code == "cancelled_by_user"
    assert desk.result("a").text


@pytest.mark.spec("EXE-8", "EXE-18")
async def test_a_tool_that_finished_before_the_cancel_keeps_its_result() -> None:
    """The edit had written the file, and the model was told that it was NOT written."""
    written: list[str] = []

    async def write(_arguments: object, _run: object) -> str:
        written.append("x")
        return "written"

    opened = asyncio.Event()

    async def hook(_case: Case, result: Result) -> Result:
        await opened.wait()
        return result

    desk = Desk(PlainTool("Edit", write, traits=MUTATING), gate=allow_all(after=[hook]))
    await desk.begin(call("a", "Edit"))
    desk.executor.interrupt()
    opened.set()
    await desk.rest()
    assert written == ["x"]
    assert (desk.result("a").code, desk.result("a").text) == ("ok", "written")


@pytest.mark.spec("EXE-15")
async def test_a_denial_does_not_cancel_siblings() -> None:
    """Any error of Bash counted, a denial too, and a later Read was "Cancelled: parallel tool call Bash errored"."""
    deny = Check("rule", lambda case: Deny("rule") if case.name == "Bash" else None)
    desk = Desk(saying("Bash", "ran", CASCADING), saying("Read", "text"), gate=allow_all(deny))
    results = await desk.finish(call("a", "Bash"), call("b", "Read"))
    assert codes(results) == {"a": "denied", "b": "ok"}


@pytest.mark.spec("EXE-18")
async def test_a_tool_ignoring_cancellation_does_not_hold_the_turn_past_the_grace_period() -> None:
    """After an abort the loop waited without limit for a tool that ignored the signal."""
    opened = asyncio.Event()
    desk = Desk(deaf(opened, traits=MUTATING), grace=2)
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    await desk.rest()
    assert asyncio.get_running_loop().time() == 2.0
    assert "Interrupted" in desk.result("a").text
    opened.set()


@pytest.mark.spec("EXE-19")
async def test_a_discard_leaves_no_id_in_progress() -> None:
    """Ids were never taken out of the in-progress set: spinners for ever."""
    desk = Desk(lasting(), saying("Do", "did", MUTATING))
    desk.add(call("a", "Sleep", seconds=60), call("b", "Do"))
    await settle()
    await desk.executor.discard()
    assert [each.settled for each in desk.executor.calls()] == [True, True]
    assert desk.executor.settled


@pytest.mark.spec("EXE-23")
async def test_context_updates_of_concurrent_tools_are_not_dropped() -> None:
    """Modifiers of concurrency-safe tools were dropped when streaming and applied in a batch."""
    calls = [call("a", "Set", x=1), call("b", "Set", y=2)]
    desk = Desk(updating())
    await desk.finish(*calls)
    assert desk.executor.context == (await batch(updating()).execute(calls)).context == {"x": 1, "y": 2}


@pytest.mark.spec("EXE-23")
async def test_an_update_of_a_call_drained_during_the_stream_is_not_lost() -> None:
    """Modifiers of a tool drained while the model still streamed were lost when no tool came afterwards."""
    desk = Desk(updating())
    desk.add(call("a", "Set", x=1))
    await settle()
    assert ids(desk.executor.completed()) == ["a"]
    assert await desk.finish() == {}
    assert desk.executor.context == {"x": 1}
    assert len(desk.told(ContextUpdated)) == 1


@pytest.mark.spec("EXE-5", "EXE-19")
async def test_a_retry_does_not_repeat_effects_because_nothing_with_effects_had_started() -> None:
    """Effects before the response was known to be complete: the fallback sent the call again and it ran twice."""
    recorder = Recorder()
    edit = recorder.watch(file_writer())
    first = Desk(edit)
    first.add(call("a", "Edit", path="a.py"))
    await settle()
    assert await first.executor.discard() == ()
    await Desk(edit).finish(call("a2", "Edit", path="a.py"))
    assert recorder.started == ["a2"]


@pytest.mark.spec("EXE-19")
async def test_a_retry_is_told_what_had_already_run() -> None:
    """The same with eager start: the retry knew nothing of what had been done."""
    desk = Desk(file_writer(), start="eager")
    desk.add(call("a", "Edit", path="a.py"))
    await settle()
    assert ids(await desk.executor.discard()) == ["a"]


@pytest.mark.spec("EXE-6", "EXE-8")
async def test_a_model_error_ends_running_tools_and_adds_no_second_result() -> None:
    """Tools ran on after the turn had ended in a model error, and answered ids got a second, made-up result."""
    model = ScriptedModel(turn(scripted("Good"), scripted("Do"), say("…"), fail(ModelError("overloaded"))))
    tools = [saying("Good", "fine"), saying("Do", "did", MUTATING)]
    session = Session(model, tools, gate=allow_all(), host=virtual_host())
    await session.send(Prompt("Go"))
    parts = [part for message in session.messages for part in message.parts if isinstance(part, ResultPart)]
    assert [(part.call_id, part.is_error) for part in parts] == [("call_1", False), ("call_2", True)]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await session.aclose()


@pytest.mark.spec("EXE-16", "EXE-8")
async def test_calls_that_arrive_after_an_abort_still_get_their_result() -> None:
    """Blocks that arrived after the abort flag were not added, so they had no result."""
    desk = Desk(saying("Good", "fine"))
    desk.executor.interrupt()
    desk.add(call("late", "Good"))
    assert codes(await desk.finish()) == {"late": "cancelled_by_user"}


@pytest.mark.spec("EXE-22")
async def test_arguments_changed_by_a_hook_are_classified_anew() -> None:
    """``ls`` became ``rm`` in a hook and still ran beside others as a reader."""

    def traits(arguments: Mapping[str, Any]) -> Traits:
        return FREE if arguments["command"] == "ls" else ALONE

    latch, recorder = Latch(traits=FREE), Recorder()
    shell = recorder.watch(PlainTool("Bash", traits=traits))
    desk = Desk(latch, shell, gate=allow_all(changed_by_hook("Bash", command="rm x")))
    await desk.begin(call("a", "Latch"), call("b", "Bash", command="ls"))
    assert recorder.started == []
    latch.open()
    await desk.rest()
    assert recorder.started == ["b"]


@pytest.mark.spec("EXE-24")
async def test_a_failing_tool_does_not_lose_what_hooks_had_to_say() -> None:
    """On a failure everything gathered before it was thrown away."""

    def annotate(_case: Case, result: Result) -> Result:
        return Result((*result.content, Text(" (see the log)")), is_error=result.is_error, code=result.code)

    desk = Desk(failing(message="broke"), gate=allow_all(after=[annotate]))
    assert (await desk.finish(call("a", "Bash")))["a"].text == "broke (see the log)"


@pytest.mark.spec("EXE-9")
async def test_an_alias_works_through_both_doors() -> None:
    """The executor looked names up in its own list: aliases worked in a batch and not when streaming."""
    aliased = PlainTool("Read", aliases=["View"])
    assert codes(await Desk(aliased).finish(call("a", "View"))) == {"a": "ok"}
    assert lists(await batch(aliased).execute([call("a", "View")])) == {"executed": ["a"]}


@pytest.mark.spec("EXE-19")
async def test_adding_after_a_discard_queues_nothing() -> None:
    """A call added after the discard was still queued and never closed."""
    desk = Desk(saying("Good", "fine"))
    await desk.executor.discard()
    events = len(desk.events)
    with pytest.raises(StateError):
        desk.add(call("a", "Good"))
    assert len(desk.events) == events


@pytest.mark.spec("EXE-6")
async def test_nothing_from_a_truncated_message_runs_if_it_has_effects() -> None:
    """A truncated turn executed its side effects, so one SDK gave up early start altogether."""
    recorder = Recorder()
    desk = Desk(recorder.watch(file_writer()), recorder.watch(saying("Look", "seen")))
    desk.add(call("edit", "Edit", path="a.py"), call("look", "Look"))
    await settle()
    desk.executor.close("max_tokens")
    await desk.rest()
    assert recorder.started == ["look"]

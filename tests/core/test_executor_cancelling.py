"""Cancelling: levels and reasons, cascades, steering, interrupting, timeouts, and the program going down."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.core.call import CallRun
from callgate.core.ports import Check, Run
from callgate.testing import Latch, PlainTool, PlainToolbox, Recorder, run_virtual, settle
from callgate.tools.tool import tool
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Result, Status, ToolCall
from callgate.words.decisions import Allow, Ask
from callgate.words.messages import Text
from callgate.words.traits import Locks, Traits, exclusive, shared, workspace
from tests.core.kit import (
    ALONE,
    FREE,
    Desk,
    allow_all,
    answer,
    call,
    codes,
    deaf,
    failing,
    lasting,
    saying,
    virtual_host,
)

CASCADING = Traits(effects="none", declared_locks=shared, cascade=True)
MUTATING = Traits(declared_locks=shared)
YIELDING = Traits(effects="none", declared_locks=shared, interrupt="cancel")


def made_of(desk: Desk, *call_ids: str) -> dict[str, str]:
    return {call_id: desk.result(call_id).code for call_id in call_ids}


# ---- levels (EXE-14) --------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-14")
async def test_cancelling_one_call_leaves_the_others_alone() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch)
    await desk.begin(call("a", "Latch"), call("b", "Latch"))
    desk.executor.cancel("a", "Not needed any more.")
    latch.open("b")
    results = {each.id: each for each in await desk.rest()}
    assert made_of(desk, *results) == {"a": "cancelled_by_user", "b": "ok"}
    assert "Not needed any more." in desk.result("a").text
    assert not desk.executor.stopped


@pytest.mark.spec("EXE-14")
async def test_cancelling_a_message_gives_every_call_the_reason() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch, max_concurrency=1)
    await desk.begin(call("a", "Latch"), call("b", "Latch"))
    desk.executor.interrupt("Enough of this.")
    await desk.rest()
    assert made_of(desk, "a", "b") == {"a": "cancelled_by_user", "b": "cancelled_by_user"}
    assert all("Enough of this." in desk.result(call_id).text for call_id in ("a", "b"))


@pytest.mark.spec("EXE-14")
async def test_cancelling_a_child_does_not_cancel_its_parent() -> None:
    host, latch = virtual_host(), Latch(traits=FREE)

    async def agent(_arguments: Mapping[str, Any], run: Run) -> str:
        async with Executor(PlainToolbox(latch), allow_all(), host=host, lineage=run.lineage) as inner:
            inner.add(call("inner", "Latch"))
            inner.close()
            await latch.entered()
            inner.interrupt("The child is stopped.")
            (done,) = [item async for item in inner.remaining()]
            assert isinstance(done, ToolCall)
            assert done.result is not None
            return f"the child was {done.result.code}"

    desk = Desk(PlainTool("Agent", agent, traits=FREE), saying("Good", "fine"), host=host)
    results = await desk.finish(call("agent", "Agent"), call("b", "Good"))
    assert codes(results) == {"agent": "ok", "b": "ok"}
    assert results["agent"].text == "the child was cancelled_by_user"


@pytest.mark.spec("EXE-14")
async def test_a_rejection_without_stop_lets_the_message_go_on() -> None:
    desk = Desk(saying("Do", "did", MUTATING), saying("Good", "fine"), gate=DecisionGate())
    await desk.begin(call("a", "Do"), call("b", "Good"))
    desk.executor.answer(answer(desk.executor.questions[0], "no"))
    await desk.rest()
    assert made_of(desk, "a", "b") == {"a": "denied", "b": "ok"}
    assert not desk.executor.stopped


@pytest.mark.spec("EXE-14")
async def test_a_rejection_with_stop_ends_everything_of_the_message() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(saying("Do", "did", MUTATING), latch, gate=DecisionGate())
    await desk.begin(call("a", "Latch"), call("b", "Do"), call("c", "Do", other=1))
    question = next(each for each in desk.executor.questions if each.call_id == "b")
    desk.executor.answer(answer(question, "no", stop=True))
    await desk.rest()
    assert made_of(desk, "a", "b", "c") == {"a": "cancelled_by_user", "b": "denied", "c": "cancelled_by_user"}
    assert desk.executor.stopped


# ---- cascade (EXE-15) -------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-15")
async def test_a_failing_cascading_tool_cancels_running_and_waiting_calls_with_effects() -> None:
    latch = Latch(traits=MUTATING)
    desk = Desk(latch, failing(traits=CASCADING), saying("Alone", "never", ALONE), start="eager")
    await desk.begin(call("a", "Latch"), call("b", "Bash", command="mkdir build"), call("c", "Alone"))
    await desk.rest()
    assert made_of(desk, "a", "b", "c") == {"a": "cancelled_by_sibling", "b": "tool_error", "c": "cancelled_by_sibling"}
    assert "Cancelled: parallel tool call Bash(mkdir build) errored" in desk.result("c").text
    assert desk.result("b").text == "exit code 1"


@pytest.mark.spec("EXE-15")
async def test_a_long_command_is_named_by_its_beginning() -> None:
    desk = Desk(failing(traits=CASCADING), saying("Alone", "never", ALONE))
    await desk.finish(call("a", "Bash", command="mkdir build && cd build && cmake .. -G Ninja"), call("b", "Alone"))
    assert "Cancelled: parallel tool call Bash(mkdir build" in desk.result("b").text
    assert "…) errored" in desk.result("b").text


@pytest.mark.spec("EXE-15")
async def test_a_timeout_of_a_cascading_tool_cascades_too() -> None:
    slow = Traits(effects="none", declared_locks=shared, cascade=True, timeout=1)
    desk = Desk(lasting("Bash", slow), lasting(traits=MUTATING))
    results = await desk.finish(call("a", "Bash", seconds=9), call("b", "Sleep", seconds=9))
    assert codes(results) == {"a": "timed_out", "b": "cancelled_by_sibling"}


@pytest.mark.spec("EXE-15")
async def test_calls_that_await_approval_or_arrive_later_are_cancelled_too() -> None:
    bad = failing("Fail", CASCADING)
    desk = Desk(bad, saying("Do", "did", MUTATING), saying("Write", "wrote", MUTATING), gate=DecisionGate())
    desk.add(call("asked", "Do"))
    await settle()
    assert desk.status("asked") is Status.AWAITING_APPROVAL
    desk.add(call("bad", "Fail"))
    await settle()
    desk.add(call("late", "Write"))
    results = await desk.finish()
    assert codes(results) == {"asked": "cancelled_by_sibling", "bad": "tool_error", "late": "cancelled_by_sibling"}


@pytest.mark.spec("EXE-15")
@pytest.mark.parametrize("order", ["before", "after", "late", "asked", "judged late"])
@pytest.mark.parametrize("locks", [shared, workspace])
async def test_a_failure_cancels_no_call_without_effects(order: str, locks: Locks) -> None:
    read = saying("Read", "text", Traits(effects="none", declared_locks=locks))
    bad = failing("Fail", Traits(declared_locks=exclusive, cascade=True))
    asks = order == "asked"
    check = Check("all", lambda case: Ask("test", "?") if asks and case.name == "Read" else Allow("test"))
    desk = Desk(read, bad, saying("Write", "wrote", MUTATING), gate=DecisionGate((check,)))
    calls = [call("bad", "Fail"), call("write", "Write")]
    calls.insert(0 if order == "before" else 2, call("read", "Read"))
    if order == "late":
        desk.add(calls[0])
        await settle()
        calls = calls[1:]
    await desk.begin(*calls)
    if asks:
        desk.executor.answer(answer(desk.executor.questions[0], "yes"))
    await desk.rest()
    assert made_of(desk, "bad", "write", "read") == {
        "bad": "tool_error",
        "write": "cancelled_by_sibling",
        "read": "ok",
    }


@pytest.mark.spec("EXE-15")
async def test_a_call_that_gets_effects_by_changed_arguments_after_a_failure_does_not_start() -> None:
    opened = asyncio.Event()
    kinds = PlainTool(
        "Kind",
        lambda arguments, _run: str(arguments["kind"]),
        traits=lambda arguments: FREE if arguments["kind"] == "read" else MUTATING,
    )

    async def changed() -> Allow:
        await opened.wait()
        return Allow("hook", arguments={"kind": "write"})

    check = Check("hook", lambda case: changed() if case.arguments.get("kind") == "read" else None)
    desk = Desk(kinds, failing("Fail", CASCADING), gate=allow_all(check))
    desk.add(call("kind", "Kind", kind="read"))
    desk.add(call("bad", "Fail"))
    await settle()
    assert desk.result("bad").code == "tool_error"
    opened.set()
    await desk.finish()
    assert made_of(desk, "kind") == {"kind": "cancelled_by_sibling"}


@pytest.mark.spec("EXE-15")
async def test_an_error_whose_details_say_so_cancels_nothing() -> None:
    answer_of_a_test = Result.failed("tool_error", "exit code 1", no_cascade=True)
    desk = Desk(saying("Bash", answer_of_a_test, CASCADING), saying("Write", "wrote", MUTATING))
    results = await desk.finish(call("a", "Bash"), call("b", "Write"))
    assert codes(results) == {"a": "tool_error", "b": "ok"}


@pytest.mark.spec("EXE-15")
async def test_finished_calls_keep_their_results_when_a_sibling_fails() -> None:
    desk = Desk(saying("Good", "fine"), lasting(), failing(traits=CASCADING))
    desk.add(call("a", "Good"))
    await settle()
    desk.add(call("b", "Bash"))
    results = await desk.finish()
    assert codes(results) == {"a": "ok", "b": "tool_error"}


@pytest.mark.spec("EXE-15")
async def test_without_the_trait_a_failure_cancels_nobody() -> None:
    desk = Desk(failing("Read"), lasting())
    results = await desk.finish(call("a", "Read"), call("b", "Sleep", seconds=5))
    assert codes(results) == {"a": "tool_error", "b": "ok"}


@pytest.mark.spec("EXE-15")
async def test_a_denial_never_cascades() -> None:
    desk = Desk(saying("Bash", "ran", Traits(declared_locks=shared, cascade=True)), lasting(), gate=DecisionGate())
    await desk.begin(call("a", "Bash"), call("b", "Sleep", seconds=5))
    desk.executor.answer(answer(desk.executor.questions[0], "no"))
    await desk.rest()
    assert made_of(desk, "a", "b") == {"a": "denied", "b": "ok"}


@pytest.mark.spec("EXE-15")
async def test_invalid_arguments_never_cascade() -> None:
    desk = Desk(saying("Bash", "ran", CASCADING), lasting())
    results = await desk.finish(ToolCall("a", "Bash", raw_arguments="{"), call("b", "Sleep", seconds=5))
    assert codes(results) == {"a": "invalid_arguments", "b": "ok"}


@pytest.mark.spec("EXE-15")
async def test_a_cancel_never_cascades() -> None:
    latch = Latch("Bash", CASCADING)
    desk = Desk(latch, lasting())
    await desk.begin(call("a", "Bash"), call("b", "Sleep", seconds=5))
    desk.executor.cancel("a")
    await desk.rest()
    assert made_of(desk, "a", "b") == {"a": "cancelled_by_user", "b": "ok"}


@pytest.mark.spec("EXE-15")
async def test_a_failure_cascades_within_its_own_message_only() -> None:
    host = virtual_host()
    other = Desk(lasting(), host=host)
    await other.begin(call("b", "Sleep", seconds=5))
    await Desk(failing(traits=CASCADING), host=host).finish(call("a", "Bash"))
    await other.rest()
    assert made_of(other, "b") == {"b": "ok"}


# ---- steering and interrupting (EXE-16) -------------------------------------------------------------------------


@pytest.mark.spec("EXE-16")
async def test_steering_cancels_what_runs_when_all_of_it_gives_way() -> None:
    latch = Latch(traits=YIELDING)
    desk = Desk(latch)
    await desk.begin(call("a", "Latch"), call("b", "Latch"))
    assert desk.executor.interruptible
    assert desk.executor.steer()
    await desk.rest()
    assert made_of(desk, "a", "b") == {"a": "cancelled_by_user", "b": "cancelled_by_user"}


@pytest.mark.spec("EXE-16")
async def test_steering_waits_when_one_running_call_does_not_give_way() -> None:
    yielding, blocking = Latch("Yielding", YIELDING), Latch("Blocking", FREE)
    desk = Desk(yielding, blocking)
    await desk.begin(call("a", "Yielding"), call("b", "Blocking"))
    assert not desk.executor.interruptible
    assert not desk.executor.steer()
    yielding.open()
    blocking.open()
    await desk.rest()
    assert made_of(desk, "a", "b") == {"a": "ok", "b": "ok"}


@pytest.mark.spec("EXE-16")
async def test_an_executor_that_runs_nothing_is_not_interruptible() -> None:
    desk = Desk()
    assert not desk.executor.interruptible
    await desk.finish()


@pytest.mark.spec("EXE-16")
async def test_an_interrupt_settles_running_waiting_and_asked_calls_and_late_arrivals() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch, saying("Do", "did", MUTATING), gate=DecisionGate(), max_concurrency=1)
    desk.add(call("running", "Latch"), call("waiting", "Latch", n=2), call("asked", "Do"))
    await settle()
    desk.executor.interrupt()
    desk.add(call("late", "Latch", n=3))
    results = await desk.finish()
    assert set(codes(results).values()) == {"cancelled_by_user"}
    assert list(results) == ["running", "waiting", "asked", "late"]
    assert latch.cancelled == ["running"]


# ---- priority (EXE-17) ------------------------------------------------------------------------------------------


def cancelled_twice(first: str, then: str) -> str:
    """The code of a deaf call that is cancelled for one reason and, within its grace, for another."""

    async def main() -> str:
        opened = asyncio.Event()
        desk = Desk(deaf(opened, traits=MUTATING), failing(traits=CASCADING), saying("Wait", "", FREE), start="eager")
        desk.add(call("deaf", "Deaf"))
        await settle()
        discarding: asyncio.Future[Any] | None = None
        for reason in (first, then):
            if reason == "user":
                desk.executor.cancel("deaf")
            elif reason == "sibling":
                desk.add(call("bash", "Bash"))
            else:
                discarding = asyncio.ensure_future(desk.executor.discard())
            await settle()
        await (desk.finish() if discarding is None else discarding)
        opened.set()
        await settle()
        result = desk.result("deaf")
        return "cancelled_by_sibling" if "parallel tool call" in result.text else result.code

    return run_virtual(main())


@pytest.mark.spec("EXE-17")
@pytest.mark.parametrize(
    ("first", "then", "code"),
    [
        ("user", "sibling", "cancelled_by_sibling"),
        ("user", "discarded", "discarded"),
        ("sibling", "user", "cancelled_by_sibling"),
        ("sibling", "discarded", "discarded"),
    ],
)
def test_of_several_reasons_discarded_goes_before_sibling_and_sibling_before_user(
    first: str, then: str, code: str
) -> None:
    assert cancelled_twice(first, then) == code


@pytest.mark.spec("EXE-17")
async def test_a_call_that_arrives_after_a_cascade_and_an_interrupt_names_the_sibling() -> None:
    desk = Desk(failing(traits=CASCADING), saying("Write", "wrote", MUTATING), saying("Good", "fine"))
    desk.add(call("bash", "Bash"))
    await settle()
    desk.executor.interrupt()
    desk.add(call("late", "Write"))
    desk.add(call("read", "Good"))
    assert made_of(desk, "late", "read") == {"late": "cancelled_by_sibling", "read": "cancelled_by_user"}
    await desk.finish()


# ---- timeouts (EXE-20) ------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-20")
async def test_a_call_past_its_timeout_settles_timed_out() -> None:
    desk = Desk(lasting(traits=Traits(effects="none", timeout=2)))
    results = await desk.finish(call("a", "Sleep", seconds=60))
    assert (results["a"].code, results["a"].status) == ("timed_out", Status.ERROR)
    assert "2 s" in results["a"].text
    assert desk.now("a").duration_ms == pytest.approx(2000)


@pytest.mark.spec("EXE-20")
async def test_a_call_within_its_timeout_is_left_alone() -> None:
    desk = Desk(lasting(traits=Traits(effects="none", timeout=2)))
    assert codes(await desk.finish(call("a", "Sleep", seconds=1))) == {"a": "ok"}


@pytest.mark.spec("EXE-20")
async def test_a_timeout_that_the_model_asks_for_is_clamped_to_the_tools_maximum() -> None:
    async def bash(seconds: float, timeout: float) -> str:
        await asyncio.sleep(seconds)
        return "ran"

    clamped = tool(bash, effects="none", timeout=lambda a: a.timeout, max_timeout=10)
    desk = Desk(toolbox=Toolbox(clamped))
    results = await desk.finish(call("a", "bash", seconds=3600, timeout=86400))
    assert results["a"].code == "timed_out"
    assert desk.now("a").duration_ms == pytest.approx(10_000)


@pytest.mark.spec("EXE-20")
async def test_a_tool_can_see_its_deadline() -> None:
    seen: list[float | None] = []

    def look(_arguments: object, run: CallRun) -> str:
        seen.append(run.deadline)
        return "seen"

    desk = Desk(PlainTool("Look", look, traits=Traits(effects="none", timeout=30)))  # pyright: ignore
    await desk.finish(call("a", "Look"))
    assert seen == [30.0]


@pytest.mark.spec("EXE-20")
async def test_what_a_tool_did_after_its_time_was_up_is_said_to_be_done() -> None:
    async def late(_arguments: object, _run: object) -> Result:
        seconds = 60.0
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            return Result((Text("wrote half of it"),))
        return Result()

    desk = Desk(PlainTool("Late", late, traits=Traits(timeout=1)))
    result = (await desk.finish(call("a", "Late")))["a"]
    assert (result.code, result.effects) == ("timed_out", "done")
    assert "wrote half of it" in result.text


@pytest.mark.spec("EXE-20")
async def test_waiting_for_approval_or_for_a_slot_does_not_use_up_the_timeout() -> None:
    recorder = Recorder()
    brief = lasting("Brief", Traits(effects="none", declared_locks=shared, timeout=2))
    desk = Desk(lasting("Long"), recorder.watch(brief), max_concurrency=1)
    results = await desk.finish(call("a", "Long", seconds=100), call("b", "Brief", seconds=1))
    assert codes(results) == {"a": "ok", "b": "ok"}

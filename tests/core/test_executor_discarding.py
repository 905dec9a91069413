"""Abandoning a message, and the program going down while calls run."""

import asyncio

import pytest

from callgate.assembly import DecisionGate
from callgate.testing import Latch, PlainTool, run_virtual, settle
from callgate.words.errors import StateError
from callgate.words.traits import Traits, shared
from tests.core.kit import FREE, Desk, call, deaf, failing, file_writer, lasting, saying

MUTATING = Traits(declared_locks=shared)

# ---- discarding (EXE-19) ----------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-19")
async def test_discarding_cancels_what_runs_and_settles_every_call_as_discarded() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch, saying("Do", "did", MUTATING), gate=DecisionGate(), max_concurrency=1)
    desk.add(call("running", "Latch"), call("waiting", "Latch", n=2), call("asked", "Do"))
    await settle()
    assert await desk.executor.discard() == ()
    assert latch.cancelled == ["running"]
    assert {desk.result(each).code for each in ("running", "waiting", "asked")} == {"discarded"}


@pytest.mark.spec("EXE-19")
async def test_nothing_is_emitted_after_a_discard() -> None:
    desk = Desk(saying("Good", "fine"))
    desk.add(call("a", "Good"))
    await settle()
    await desk.executor.discard()
    assert desk.executor.completed() == []
    assert await desk.rest() == []


@pytest.mark.spec("EXE-19")
async def test_nothing_is_emitted_while_a_discard_still_waits_for_a_tool() -> None:
    opened = asyncio.Event()
    desk = Desk(saying("Good", "fine"), deaf(opened))
    desk.add(call("a", "Good"), call("b", "Deaf"))
    await settle()
    discarding = asyncio.ensure_future(desk.executor.discard())
    await asyncio.sleep(0)
    emitted = desk.executor.completed()
    opened.set()
    await discarding
    assert emitted == []


@pytest.mark.spec("EXE-19")
async def test_a_reader_that_waits_is_let_go_by_a_discard() -> None:
    latch = Latch()
    desk = Desk(latch)
    desk.add(call("a", "Latch"))
    desk.executor.close()
    reader = asyncio.ensure_future(desk.rest())
    await settle()
    await desk.executor.discard()
    assert await reader == []


@pytest.mark.spec("EXE-19")
async def test_discarding_leaves_no_task_and_no_lock_behind() -> None:
    desk = Desk(lasting(), file_writer(), start="eager")
    desk.add(call("a", "Sleep", seconds=60), call("b", "Edit", path="a.py"))
    await settle()
    await desk.executor.discard()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert len(desk.host.locks) == 0
    assert all(each.settled for each in desk.executor.calls())


@pytest.mark.spec("EXE-19")
async def test_discarding_reports_what_had_finished_with_effects() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(saying("Write", "written", MUTATING), saying("Read", "read"), latch, start="eager")
    desk.add(call("wrote", "Write"), call("read", "Read"), call("running", "Latch"))
    await settle()
    assert [each.id for each in await desk.executor.discard()] == ["wrote"]
    # what had finished keeps its result on record
    assert (desk.result("wrote").code, desk.result("wrote").text) == ("ok", "written")


@pytest.mark.spec("EXE-19")
async def test_discarding_reports_what_may_have_had_effects() -> None:
    half = Latch("Half", MUTATING)
    desk = Desk(half, failing("Broke", MUTATING), start="eager")
    desk.add(call("interrupted", "Half"), call("failed", "Broke"))
    await settle()
    reported = {each.id: each.result and each.result.effects for each in await desk.executor.discard()}
    assert reported == {"interrupted": "unknown", "failed": "unknown"}


@pytest.mark.spec("EXE-19")
async def test_a_second_discard_gives_the_same_and_changes_nothing() -> None:
    desk = Desk(saying("Write", "written", MUTATING), start="eager")
    desk.add(call("a", "Write"))
    await settle()
    first = await desk.executor.discard()
    events = len(desk.events)
    assert await desk.executor.discard() == first
    assert len(desk.events) == events


@pytest.mark.spec("EXE-19")
async def test_adding_after_a_discard_is_a_state_error() -> None:
    desk = Desk(saying("Good", "fine"))
    await desk.executor.discard()
    with pytest.raises(StateError, match="discarded"):
        desk.add(call("a", "Good"))
    assert desk.executor.calls() == ()


# ---- the program going down (EXE-13) ----------------------------------------------------------------------------


@pytest.mark.spec("EXE-13")
async def test_a_cancel_of_whoever_reads_propagates_after_every_started_call_had_its_cancel() -> None:
    latch, opened = Latch(traits=FREE), asyncio.Event()
    desk = Desk(latch, deaf(opened), saying("Do", "did", Traits()))
    await desk.begin(call("a", "Latch"), call("b", "Deaf"), call("c", "Do"))
    reader = asyncio.ensure_future(desk.rest())
    await settle()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    # the deaf one was given its grace, and no more
    assert asyncio.get_running_loop().time() == 5.0
    assert latch.cancelled == ["a"]
    assert all(each.settled for each in desk.executor.calls())
    opened.set()


@pytest.mark.spec("EXE-13")
async def test_leaving_the_executor_gives_every_started_call_its_cancel() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch)
    async with desk.executor:
        await desk.begin(call("a", "Latch"))
    assert latch.cancelled == ["a"]
    assert desk.now("a").settled


@pytest.mark.spec("EXE-13")
def test_a_keyboard_interrupt_in_a_tool_propagates_and_its_siblings_are_cancelled() -> None:
    desks: list[Desk] = []
    latch = Latch(traits=FREE)

    def interrupted(_arguments: object, _run: object) -> str:
        raise KeyboardInterrupt

    async def main() -> None:
        desk = Desk(latch, PlainTool("Interrupted", interrupted, traits=Traits(declared_locks=shared)))
        desks.append(desk)
        await desk.begin(call("a", "Latch"), call("b", "Interrupted"))
        await desk.rest()

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main())
    assert latch.cancelled == ["a"]
    assert desks[0].now("a").settled
    assert desks[0].now("b").settled


@pytest.mark.spec("EXE-13")
async def test_breaking_off_reading_leaves_the_calls_running() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(saying("Good", "fine"), latch)
    await desk.begin(call("a", "Good"), call("b", "Latch"))
    rest = desk.executor.remaining()
    await anext(rest)
    await rest.aclose()  # pyright: ignore[reportAttributeAccessIssue]
    assert latch.inside == ["b"]
    latch.open()
    await desk.rest()

"""Calls that do not stop when told to: their grace period, and what becomes of strays."""

import asyncio
import gc
import threading
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Case, Check
from callgate.testing import Latch, PlainTool, PlainToolbox, Recorder, settle
from callgate.words.calls import Result, Status
from callgate.words.decisions import Allow
from callgate.words.errors import StateError, ToolFailure
from callgate.words.events import CallSettled, Durable, StrayEnded, StrayFound
from callgate.words.traits import Traits, shared, writes
from tests.core.kit import (
    FREE,
    Desk,
    SlowJournal,
    allow_all,
    call,
    codes,
    deaf,
    file_writer,
    lasting,
    saying,
    stuck,
    thread_ended,
    virtual_host,
)

MUTATING = Traits(declared_locks=shared)
ON_A = Traits(declared_locks=writes("a.py"))


def time() -> float:
    return asyncio.get_running_loop().time()


# ---- grace (EXE-18) ---------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-18")
@pytest.mark.parametrize(("settings", "grace"), [({}, 5.0), ({"grace": 0.5}, 0.5)])
async def test_a_tool_that_ignores_the_cancel_is_waited_for_no_longer_than_its_grace(
    settings: dict[str, Any], grace: float
) -> None:
    opened = asyncio.Event()
    desk = Desk(deaf(opened), **settings)
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    await desk.rest()
    assert time() == grace
    opened.set()


@pytest.mark.spec("EXE-18")
async def test_a_tool_that_stops_within_its_grace_is_waited_for() -> None:
    cleaned: list[str] = []

    async def tidy(_arguments: object, _run: object) -> str:
        seconds = 60.0
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            seconds = 1.0
            await asyncio.sleep(seconds)
            cleaned.append("up")
            raise
        return "never"

    desk = Desk(PlainTool("Tidy", tidy, traits=FREE))
    await desk.begin(call("a", "Tidy"))
    desk.executor.interrupt()
    await desk.rest()
    assert cleaned == ["up"]
    assert desk.told(StrayFound) == []


@pytest.mark.spec("EXE-18")
async def test_a_started_call_with_effects_that_did_not_stop_is_outcome_unknown() -> None:
    opened = asyncio.Event()
    desk = Desk(deaf(opened, traits=MUTATING))
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    await desk.rest()
    result = desk.result("a")
    assert (result.code, result.effects, desk.status("a")) == ("outcome_unknown", "unknown", Status.ERROR)
    opened.set()


@pytest.mark.spec("EXE-18")
async def test_a_started_call_without_effects_that_did_not_stop_is_cancelled() -> None:
    opened = asyncio.Event()
    desk = Desk(deaf(opened))
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    await desk.rest()
    assert (desk.result("a").code, desk.result("a").effects) == ("cancelled_by_user", "none")
    opened.set()


@pytest.mark.spec("EXE-18")
async def test_the_text_says_that_a_call_was_not_started() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch, max_concurrency=1)
    await desk.begin(call("a", "Latch"), call("b", "Latch"))
    desk.executor.interrupt()
    await desk.rest()
    assert "not started" in desk.result("b").text
    assert (desk.result("b").effects, desk.now("b").started_at) == ("none", None)


@pytest.mark.spec("EXE-18")
async def test_the_text_says_that_a_call_was_interrupted_and_may_have_partly_run() -> None:
    desk = Desk(lasting(traits=MUTATING))
    await desk.begin(call("a", "Sleep", seconds=60))
    desk.executor.interrupt()
    await desk.rest()
    assert "interrupted" in desk.result("a").text
    assert "may have partly run" in desk.result("a").text
    assert desk.result("a").effects == "unknown"


@pytest.mark.spec("EXE-18", "EXE-8")
async def test_a_call_that_completes_within_its_grace_keeps_its_real_result() -> None:
    opened = asyncio.Event()
    desk = Desk(deaf(opened, traits=MUTATING, value="written"))
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    opened.set()
    await desk.rest()
    assert (desk.result("a").code, desk.result("a").text) == ("ok", "written")


@pytest.mark.spec("EXE-8", "EXE-18")
async def test_a_tool_that_finished_before_the_cancel_keeps_its_result_although_a_hook_is_still_at_work() -> None:
    opened = asyncio.Event()

    async def slow(_case: Case, result: Result) -> Result:
        await opened.wait()
        return result

    desk = Desk(saying("Write", "written", MUTATING), gate=allow_all(after=[slow]))
    await desk.begin(call("a", "Write"))
    desk.executor.interrupt()
    await desk.rest()
    assert (desk.result("a").code, desk.result("a").text) == ("ok", "written")
    opened.set()


@pytest.mark.spec("EXE-18", "EXE-24")
async def test_a_hook_after_a_cancelled_tool_does_not_hold_the_message_past_the_grace() -> None:
    opened = asyncio.Event()

    async def endless(_case: Case, result: Result) -> Result:
        await opened.wait()
        return result

    desk = Desk(lasting(), gate=allow_all(after=[endless]))
    await desk.begin(call("a", "Sleep", seconds=60))
    # when the tool gives in to the cancel and the hook that follows hangs
    desk.executor.interrupt()
    rest = asyncio.ensure_future(desk.rest())
    seconds = 600.0
    await asyncio.wait((rest,), timeout=seconds)
    in_time = rest.done()
    opened.set()
    await rest
    # then the call has settled long ago
    assert in_time


# ---- strays (EXE-18) --------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-18")
async def test_a_thread_that_cannot_be_stopped_becomes_a_stray_that_keeps_its_locks_until_it_ends() -> None:
    released = threading.Event()
    desk = Desk(stuck(released, traits=ON_A))
    await desk.begin(call("a", "Stuck"))
    desk.executor.interrupt()
    await desk.rest()
    # settled and reported
    assert desk.result("a").code == "outcome_unknown"
    assert [event.call_id for event in desk.told(StrayFound)] == ["a"]
    # but its locks are still taken
    assert len(desk.host.locks) == 1
    assert desk.told(StrayEnded) == []
    await thread_ended(desk, released)
    await settle()
    assert [event.call_id for event in desk.told(StrayEnded)] == ["a"]
    assert [event.call_id for event in desk.told(CallSettled)] == ["a"]


@pytest.mark.spec("EXE-18")
async def test_calls_that_conflict_with_a_stray_wait_to_their_timeout_and_then_name_it() -> None:
    released, host = threading.Event(), virtual_host()
    first = Desk(stuck(released, traits=ON_A), host=host)
    await first.begin(call("a", "Stuck", command="make all"))
    first.executor.interrupt()
    await first.rest()
    # when the next message wants the same file, with a timeout of 7 s
    recorder = Recorder()
    wanting = saying("Edit", "edited", Traits(declared_locks=writes("a.py"), timeout=7))
    second = Desk(recorder.watch(wanting), recorder.watch(file_writer("Other")), host=host)
    before = time()
    results = await second.finish(call("b", "Edit"), call("c", "Other", path="b.py"))
    # then it was not run, says for whom it waited, and did not keep others from running
    assert time() - before == pytest.approx(7)
    assert (results["b"].code, results["b"].effects) == ("timed_out", "none")
    assert "Stuck(make all)" in results["b"].text
    assert recorder.started == ["c"]
    await thread_ended(first, released)


@pytest.mark.spec("EXE-18")
async def test_a_call_that_conflicts_with_a_stray_runs_when_the_stray_ends_in_time() -> None:
    opened, host = asyncio.Event(), virtual_host()
    first = Desk(deaf(opened, traits=ON_A), host=host)
    await first.begin(call("a", "Deaf"))
    first.executor.interrupt()
    await first.rest()
    second = Desk(file_writer(), host=host)
    await second.begin(call("b", "Edit", path="a.py"))
    assert second.status("b") is Status.SCHEDULED
    opened.set()
    await second.rest()
    assert second.result("b").code == "ok"


@pytest.mark.spec("EXE-18", "EXE-3")
async def test_a_stray_holds_no_slot() -> None:
    released = threading.Event()
    desk = Desk(
        stuck(released, traits=Traits(declared_locks=shared, timeout=1)), saying("Good", "ok"), max_concurrency=1
    )
    results = await desk.finish(call("a", "Stuck"), call("b", "Good"))
    assert codes(results) == {"a": "timed_out", "b": "ok"}
    await thread_ended(desk, released)


@pytest.mark.spec("EXE-18")
async def test_what_a_stray_says_later_is_not_heard_any_more() -> None:
    opened = asyncio.Event()

    async def late(_arguments: object, run: Any) -> str:
        while not opened.is_set():
            try:
                await opened.wait()
            except asyncio.CancelledError:
                continue
        run.progress("still here")
        return "too late"

    desk = Desk(PlainTool("Late", late, traits=FREE))
    await desk.begin(call("a", "Late"))
    desk.executor.interrupt()
    await desk.rest()
    told = len(desk.told(CallSettled))
    opened.set()
    await settle()
    assert desk.executor.completed() == []
    assert len(desk.told(CallSettled)) == told


# ---- what comes before the tool (EXE-18) ------------------------------------------------------------------------


async def ends_in_time(desk: Desk) -> bool:
    """Whether leaving the executor takes no longer than a few grace periods."""
    leaving = asyncio.ensure_future(desk.executor.aclose())
    seconds = 60.0
    await asyncio.wait((leaving,), timeout=seconds)
    in_time = leaving.done()
    leaving.cancel()
    await asyncio.wait((leaving,))
    return in_time


@pytest.mark.spec("EXE-13", "EXE-18")
async def test_a_preview_that_ignores_the_cancel_does_not_hold_up_the_end() -> None:
    opened = asyncio.Event()

    async def preview(_arguments: object, _run: object) -> Any:
        while not opened.is_set():
            try:
                await opened.wait()
            except asyncio.CancelledError:
                continue
        raise ToolFailure("too late")

    desk = Desk(PlainTool("Edit", traits=MUTATING, preview=preview), gate=DecisionGate())
    await desk.begin(call("a", "Edit"))
    desk.executor.interrupt()
    in_time = await ends_in_time(desk)
    opened.set()
    assert in_time
    assert (desk.result("a").code, desk.result("a").effects) == ("cancelled_by_user", "none")


@pytest.mark.spec("EXE-13", "EXE-18")
async def test_a_check_that_ignores_the_cancel_does_not_hold_up_the_end() -> None:
    opened = asyncio.Event()

    async def judge(_case: Case) -> Allow:
        while not opened.is_set():
            try:
                await opened.wait()
            except asyncio.CancelledError:
                continue
        return Allow("late")

    desk = Desk(saying("Do", "did"), gate=allow_all(Check("hook", judge)))
    await desk.begin(call("a", "Do"))
    desk.executor.interrupt()
    in_time = await ends_in_time(desk)
    opened.set()
    assert in_time


@pytest.mark.spec("EXE-18")
async def test_a_call_cancelled_while_its_start_is_still_being_written_down_has_had_no_effects() -> None:
    journal, recorder = SlowJournal(), Recorder()
    box = PlainToolbox(recorder.watch(saying("Do", "did", MUTATING)))
    ledger = Ledger()
    executor = Executor(box, allow_all(), host=virtual_host(), record=Record(journal, ledger))
    executor.add(call("a", "Do"))
    executor.close()
    await settle()
    assert recorder.started == []
    executor.interrupt()
    await settle()
    journal.synced.set()
    await executor.aclose()
    result = ledger.call("a").result
    assert result is not None
    assert (result.code, result.effects) == ("cancelled_by_user", "none")


class Closing(MemoryJournal):
    """A journal that takes nothing any more once it is closed."""

    closed = False

    def append(self, event: Durable) -> None:
        if self.closed:
            raise StateError("the journal is closed")
        super().append(event)


@pytest.mark.spec("EXE-18")
async def test_a_stray_that_ends_after_its_record_was_closed_gives_its_locks_back_in_silence() -> None:
    unhandled: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
    opened, journal = asyncio.Event(), Closing()
    desk = Desk(deaf(opened, traits=ON_A), journal=journal)
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    await desk.rest()
    assert len(desk.told(StrayFound)) == 1
    journal.closed = True
    opened.set()
    await settle()
    gc.collect()
    assert unhandled == []
    assert len(desk.host.locks) == 0

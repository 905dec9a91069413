"""The smallest form of what the property tests once found."""

import asyncio
import gc
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from callgate.core.executor import Executor, ExecutorSettings
from callgate.core.gate import DecisionGate
from callgate.core.lanes import Claim, LockTable, place
from callgate.core.ledger import Ledger
from callgate.core.ports import Case, Check, Run
from callgate.core.record import MemoryJournal, Record
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, run_virtual, settle
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Allow, Ask, Confirmation
from callgate.words.messages import Text
from callgate.words.traits import exclusive, reads, shared, writes
from tests.properties.stage import Panic, Plan, Reply, Verdicted, VirtualClock
from tests.properties.test_invariants import Schedule, play
from tests.properties.test_lanes import Waiting
from tests.properties.test_resume import Asked, Spoken, check_context, first_life, open_at, second_life
from tests.properties.test_sharing import Node, played

SOME_SECONDS = 1.0


def executor_of(body: Callable[[Mapping[str, Any], Run], Any], judge: Callable[[Case], Any], **hooks: Any) -> Executor:
    return Executor(
        PlainToolbox(PlainTool("Tool", body)),
        DecisionGate([Check("check", judge)], **hooks),
        host=MemoryHost(clock=VirtualClock()),
        record=Record(MemoryJournal(), Ledger()),
        settings=ExecutorSettings(),
    )


async def results_of(executor: Executor) -> list[ToolCall]:
    return [item async for item in executor.remaining() if isinstance(item, ToolCall)]


@pytest.mark.spec("EXE-4")
def test_two_agents_that_each_run_an_exclusive_command_do_not_lock_each_other_out() -> None:
    """Each agent holds ``shared``; the command of one waited for the other agent, and that one for its own command."""
    agent = Node(shared, 1.0, (Node(exclusive, 1.0),))
    world, took = run_virtual(played([(agent, agent)], 10))
    assert set(world.codes.values()) == {"ok"}
    assert took < 10.0


@pytest.mark.spec("EXE-4")
def test_a_descendant_does_not_pass_one_whose_ancestor_it_waits_for() -> None:
    table = LockTable()

    def enter(*lineage: str) -> Claim:
        claim = Claim(Waiting(lineage[-1]), place(writes("a"), str), lambda _who: None, lineage)
        table.enter(claim)
        return claim

    enter("a")
    agent = enter("a", "agent")
    first = enter("a", "agent", "first")
    second = enter("a", "agent", "second")
    enter("a", "other")
    assert agent.free
    assert first.free
    table.leave(first)
    assert second.free, "it waits for a claim that waits for its own parent"


@pytest.mark.spec("EXE-2", "EXE-22")
def test_a_ready_call_does_not_overtake_an_earlier_one_whose_arguments_came_to_conflict() -> None:
    """The third call waits for a slot when the first is moved to the file it reads; then it must wait for the first."""
    changed = Plan(
        effects="mutating", locks=reads("a"), other=writes("d"), verdict=Verdicted("ask"), reply=Reply("swap", 1.0)
    )
    schedule = Schedule([changed, Plan(locks=shared, lasts=2.0), Plan(locks=reads("d"))], cap=1, close_after=5.0)
    assert play(schedule).stage.faults == []


@pytest.mark.spec("EXE-7", "EXE-11")
def test_somebody_waiting_for_a_change_does_not_swallow_the_readers_wake_up() -> None:
    """c1 settles while the reader is busy with c0; c2 keeps the message open."""

    async def main() -> list[str]:
        end_of_c1, reader_goes_on = asyncio.Event(), asyncio.Event()
        got: list[str] = []

        async def body(arguments: Mapping[str, Any], _run: Run) -> str:
            if arguments["n"] == 1:
                await end_of_c1.wait()
            return "done"

        async def read() -> None:
            async for item in executor.remaining():
                assert isinstance(item, ToolCall)
                got.append(item.id)
                await reader_goes_on.wait()

        async def watch() -> None:
            while not executor.settled:
                await executor.stalled()
                await executor.changed()

        executor = executor_of(body, lambda case: Ask("check") if case.arguments["n"] == 2 else Allow("check"))
        for n in range(3):
            executor.add(ToolCall(f"c{n}", "Tool", {"n": n}))
        executor.close()
        async with executor, asyncio.TaskGroup() as group:
            group.create_task(read())
            group.create_task(watch())
            await settle()
            assert got == ["c0"]
            end_of_c1.set()
            await settle()
            reader_goes_on.set()
            await settle()
            seen = list(got)
            executor.interrupt()
        return seen

    assert run_virtual(main()) == ["c0", "c1"]


@pytest.mark.spec("EXE-19")
def test_a_reader_in_the_middle_of_its_results_gets_no_more_after_discard() -> None:
    async def main() -> list[str]:
        executor = executor_of(lambda _arguments, _run: "done", lambda _case: Allow("check"))
        for n in range(3):
            executor.add(ToolCall(f"c{n}", "Tool", {"n": n}))
        executor.close()
        await executor.stalled()
        got: list[str] = []
        async for item in executor.remaining():
            assert isinstance(item, ToolCall)
            got.append(item.id)
            await executor.discard()
        return got

    assert run_virtual(main()) == ["c0"]


def _panic(_context: Mapping[str, Any]) -> Mapping[str, Any]:
    raise Panic


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-23")
def test_a_context_update_that_panics_loses_nobodys_result() -> None:
    async def main() -> list[ToolCall]:
        executor = executor_of(
            lambda _arguments, _run: Result((Text("done"),), context_update=_panic), lambda _case: Allow("check")
        )
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _about: None)
        executor.add(ToolCall("c0", "Tool", {"n": 0}))
        executor.add(ToolCall("c1", "Tool", {"n": 1}))
        executor.close()
        results = await results_of(executor)
        del executor
        gc.collect()
        return results

    assert [call.id for call in run_virtual(main())] == ["c0", "c1"]


@pytest.mark.spec("EXE-13", "EXE-24")
def test_a_check_that_panics_refuses_the_call_and_does_not_reach_the_caller() -> None:
    def judge(_case: Case) -> Allow:
        raise Panic

    async def main() -> list[ToolCall]:
        executor = executor_of(lambda _arguments, _run: "done", judge)
        try:
            executor.add(ToolCall("c0", "Tool"))
        except Panic:
            pytest.fail("the check's own trouble reached whoever added the call")
        executor.close()
        return await results_of(executor)

    (call,) = run_virtual(main())
    assert call.result is not None
    assert call.result.code == "denied"


@pytest.mark.spec("EXE-13", "EXE-24")
@pytest.mark.parametrize("error", [Panic, asyncio.CancelledError])
def test_a_hook_after_the_call_that_breaks_in_any_way_is_not_skipped_silently(error: type[BaseException]) -> None:
    async def after(_case: Case, _result: Result) -> Result:
        raise error

    async def main() -> tuple[list[ToolCall], list[Any]]:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, about: complaints.append(about))
        executor = executor_of(lambda _arguments, _run: "done", lambda _case: Allow("check"), after=[after])
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        results = await results_of(executor)
        await executor.aclose()
        del executor
        gc.collect()
        return results, complaints

    (call,), complaints = run_virtual(main())
    assert call.result is not None
    assert "hook" in call.result.text
    assert complaints == []


@pytest.mark.spec("EXE-12")
def test_a_result_that_leaves_because_its_hook_hangs_is_bounded_too() -> None:
    async def main() -> int:
        release = asyncio.Event()

        async def after(_case: Case, result: Result) -> Result:
            await release.wait()
            return result

        executor = executor_of(lambda _arguments, _run: "x" * 100_000, lambda _case: Allow("check"), after=[after])
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        await asyncio.sleep(SOME_SECONDS)
        executor.interrupt()
        (call,) = await results_of(executor)
        release.set()
        await executor.aclose()
        assert call.result is not None
        return len(call.result.text)

    assert run_virtual(main()) < 50_000


@pytest.mark.spec("EXE-22")
def test_what_the_model_wrote_is_kept_when_a_hook_and_then_a_person_change_it() -> None:
    async def main() -> ToolCall:
        executor = executor_of(lambda _arguments, _run: "done", lambda _case: Ask("hook", arguments={"by": "hook"}))
        executor.add(ToolCall("c0", "Tool", {"by": "model"}))
        executor.close()
        (question,) = executor.questions
        answer = Confirmation("c0", "yes", question.arguments_hash, arguments={"by": "person"})
        assert executor.answer(answer) is None
        (call,) = await results_of(executor)
        return call

    call = run_virtual(main())
    assert call.arguments == {"by": "person"}
    assert call.edited is not None
    assert call.edited.before == {"by": "model"}


@pytest.mark.spec("EXE-8", "EXE-22")
def test_a_started_call_with_changed_arguments_is_taken_up_after_a_restart() -> None:
    """It is safe to repeat, and its change was approved: no second decision, and above all no illegal move."""
    script = [Spoken((Asked(tool="Put", reply="swap"),))]
    events = first_life(script).journal.events
    for end in range(1, len(events) + 1):
        if open_at(events[:end]):
            second_life(script, events[:end], prompt=False)


@pytest.mark.spec("EXE-23")
def test_a_context_update_on_record_is_applied_after_a_restart() -> None:
    script = [Spoken((Asked(updates=True),))]
    events = first_life(script).journal.events
    for end in range(1, len(events) + 1):
        if open_at(events[:end]):
            check_context(second_life(script, events[:end], prompt=False))

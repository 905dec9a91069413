"""Small schedules that random ones once reduced to: locks, relocking, waiting readers, strays."""

import asyncio
import gc
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import Record
from callgate.core.lanes import bind_locks
from callgate.core.locks import Claim, LockTable
from callgate.core.ports import Case, Check, Run
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    run_virtual,
    settle,
)
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Allow, Ask, Confirmation
from callgate.words.limits import ExecutorSettings
from callgate.words.traits import Traits, exclusive, reads, shared, writes
from tests.properties.stage import Plan, Reply, SlowJournal, Verdicted, VirtualClock, executor_of
from tests.properties.strategies import passing
from tests.properties.test_invariants import Schedule, play
from tests.properties.test_lanes import Waiting
from tests.properties.test_sharing import Node, played


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
        claim = Claim(Waiting(lineage[-1]), bind_locks(writes("a"), str), lambda _who: None, lineage)
        table.enter(claim)
        return claim

    enter("a")
    agent = enter("a", "agent")
    first = enter("a", "agent", "first")
    second = enter("a", "agent", "second")
    enter("a", "other")
    assert agent.holds
    assert first.holds
    table.leave(first)
    assert second.holds, "it waits for a claim that waits for its own parent"


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


@pytest.mark.spec("EXE-11", "EXE-18")
@pytest.mark.parametrize("ends", [True, False])
def test_an_exclusive_call_behind_a_shared_stray_does_not_wait_for_ever(ends: bool) -> None:
    """It was parked without a limit, and not looked at again when the stray had ended."""

    async def main() -> list[str | None]:
        let_go = asyncio.Event()

        async def fetch(_arguments: Mapping[str, Any], _run: Run) -> None:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

        executor = Executor(
            PlainToolbox(
                PlainTool("Fetch", fetch, traits=Traits(effects="none", declared_locks=shared, timeout=1.0)),
                PlainTool("Command", traits=Traits(effects="none", declared_locks=exclusive)),
            ),
            DecisionGate(),
            host=MemoryHost(clock=VirtualClock()),
            settings=ExecutorSettings(lock_wait=20.0),
        )
        executor.add(ToolCall("c0", "Fetch"))
        executor.add(ToolCall("c1", "Command"))
        executor.close()
        await passing(10.0)
        if ends:
            let_go.set()
        await passing(100.0)
        codes = [each.result and each.result.code for each in executor.calls()]
        let_go.set()
        executor.interrupt()
        await executor.aclose()
        return codes

    assert None not in run_virtual(main())


@pytest.mark.spec("EXE-16", "EXE-18")
def test_no_hook_holds_up_a_call_that_was_cancelled_before_its_first_step() -> None:
    """It had no grace period, because it had not started; the hook after it was called all the same, and hung."""

    async def main() -> bool:
        hang = asyncio.Event()

        async def after(_case: Case, result: Result) -> Result:
            await hang.wait()
            return result

        executor = executor_of(lambda _arguments, _run: "done", lambda _case: Allow("check"), after=[after])
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        executor.interrupt()
        await passing(100.0)
        settled = executor.settled
        hang.set()
        await executor.aclose()
        return settled

    assert run_virtual(main())


@pytest.mark.spec("EXE-14")
@pytest.mark.parametrize("slow", ["check", "record"])
def test_what_is_cancelled_at_once_leaves_nothing_unawaited(slow: str) -> None:
    """A task cancelled before its first step never gets to what it was made to wait for: the record was not synced."""

    async def judge_slowly(_case: Case) -> Allow:
        await passing(1.0)
        return Allow("check")

    async def main() -> None:
        judge = judge_slowly if slow == "check" else lambda _case: Ask("check")
        executor = Executor(
            PlainToolbox(PlainTool("Tool")),
            DecisionGate([Check("check", judge)]),
            host=MemoryHost(clock=VirtualClock()),
            record=Record(SlowJournal((0.5,)), Ledger()),
        )
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        if slow == "record":
            await passing(1.0)
            (question,) = executor.questions
            assert executor.answer(Confirmation("c0", "yes", question.arguments_hash)) is None
        executor.interrupt()
        await executor.aclose()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_virtual(main())
        gc.collect()
    assert [str(each.message) for each in caught] == []

"""Previews that are cancelled, interrupted or change nothing; always beside them."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.assembly.runner import RunOutcome, ToolCallRunner
from callgate.core.ports import Check, Run
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    run_virtual,
)
from callgate.words.calls import Result, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, ApprovalPolicy, Confirmation
from callgate.words.traits import Traits, writes
from tests.properties.stage import VirtualClock, results_of
from tests.properties.strategies import passing


def write_file(_arguments: Mapping[str, Any], run: Run) -> ChangeSet:
    return ChangeSet("write", (FileChange("a", None, run.call_id.encode()),))


@pytest.mark.spec("EXE-14", "EXE-18", "TOOL-4")
@pytest.mark.parametrize("late", [1.0, 10.0])
def test_a_preview_that_comes_after_the_cancel_is_not_applied(late: float) -> None:
    """It was applied although the call was being cancelled, even after it had its result."""

    async def preview(arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        try:
            await passing(5.0)
        except asyncio.CancelledError:
            await asyncio.sleep(late)
        return write_file(arguments, run)

    async def main() -> dict[str, bytes]:
        host = MemoryHost(clock=VirtualClock())
        executor = Executor(
            PlainToolbox(PlainTool("Edit", traits=Traits(declared_locks=writes("a")), preview=preview)),
            DecisionGate([Check("check", lambda _case: Allow("check"))]),
            host=host,
        )
        executor.add(ToolCall("c0", "Edit"))
        executor.close()
        await passing(1.0)
        executor.interrupt()
        await passing(20.0)
        await executor.aclose()
        return host.files

    assert run_virtual(main()) == {}


@pytest.mark.spec("EXE-24", "TOOL-4")
@pytest.mark.parametrize("how", ["drift", "preview"])
def test_an_edit_that_changed_nothing_does_not_claim_unknown_effects(how: str) -> None:
    def preview(arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        if how == "preview":
            raise ValueError("no such text")
        return write_file(arguments, run)

    async def main() -> Result | None:
        executor = Executor(
            PlainToolbox(PlainTool("Edit", traits=Traits(declared_locks=writes("a")), preview=preview)),
            DecisionGate([Check("check", lambda _case: Allow("check"))]),
            host=MemoryHost({"a": "somebody else's"}, clock=VirtualClock()),
        )
        executor.add(ToolCall("c0", "Edit"))
        executor.close()
        (each,) = await results_of(executor)
        return each.result

    result = run_virtual(main())
    assert result is not None
    assert result.code == "tool_error"
    assert result.effects == "none"


def edits(host: MemoryHost) -> ToolCallRunner:
    def traits(arguments: Mapping[str, Any]) -> Traits:
        return Traits(declared_locks=writes(arguments["path"]))

    async def preview(arguments: Mapping[str, Any], _run: Run) -> ChangeSet:
        await passing(1.0)
        return ChangeSet("write", (FileChange(arguments["path"], None, b"x"),))

    tools = PlainTool("Edit", traits=traits, preview=preview), PlainTool("Put", traits=traits)
    return ToolCallRunner(PlainToolbox(*tools), DecisionGate(), host=host)


async def asked_about(runner: ToolCallRunner, *tools: str) -> RunOutcome:
    batch = [ToolCall(f"c{n}", tool, {"path": f"f{n}"}) for n, tool in enumerate(tools)]
    first = await runner.execute(batch)
    assert len(first.still_needs_approval) == len(batch)
    return first


@pytest.mark.spec("RUN-3")
def test_always_also_releases_a_call_whose_preview_is_being_made() -> None:
    """Only those already asked about were looked at, and the question was put when its preview came."""

    async def main() -> RunOutcome:
        runner = edits(MemoryHost(clock=VirtualClock()))
        first = await asked_about(runner, "Edit", "Edit")
        hashed = [each.question.arguments_hash for each in first.still_needs_approval if each.question]
        always = Confirmation("c1", "yes_always", hashed[1], always=ApprovalPolicy("allow", "Edit"))
        return await runner.execute(first.still_needs_approval, [always])

    assert [each.id for each in run_virtual(main()).executed] == ["c0", "c1"]


@pytest.mark.spec("RUN-3", "RUN-4")
def test_an_always_for_one_call_does_not_overrule_the_no_for_another() -> None:
    """Both answers came with one run; the policy of the first was looked at before the answer to the second."""

    async def main() -> RunOutcome:
        runner = edits(MemoryHost(clock=VirtualClock()))
        first = await asked_about(runner, "Put", "Put")
        hashed = [each.question.arguments_hash for each in first.still_needs_approval if each.question]
        always = Confirmation("c0", "yes_always", hashed[0], always=ApprovalPolicy("allow", "Put"))
        return await runner.execute(first.still_needs_approval, [always, Confirmation("c1", "no", hashed[1])])

    assert [each.id for each in run_virtual(main()).executed] == ["c0"]


@pytest.mark.spec("RUN-1", "RUN-6")
def test_a_run_that_was_stopped_leaves_no_preview_behind() -> None:
    async def main() -> int:
        runner = edits(MemoryHost(clock=VirtualClock()))
        first = await asked_about(runner, "Edit", "Put")
        hashed = [each.question.arguments_hash for each in first.still_needs_approval if each.question]
        await runner.execute(first.still_needs_approval, [Confirmation("c1", "no", hashed[1], stop=True)])
        return len(asyncio.all_tasks()) - 1

    assert run_virtual(main()) == 0


@pytest.mark.spec("EXE-13")
def test_a_preview_that_is_interrupted_has_changed_nothing() -> None:
    async def main() -> Result | None:
        async def preview(_arguments: Mapping[str, Any], _run: Run) -> ChangeSet:
            await asyncio.Event().wait()
            raise AssertionError

        async def body(_arguments: Mapping[str, Any], _run: Run) -> str:
            return "done"

        executor = Executor(
            PlainToolbox(PlainTool("Tool", body, traits=Traits(effects="mutating"), preview=preview)),
            DecisionGate([Check("check", lambda _case: Allow("check"))]),
            host=MemoryHost(clock=VirtualClock()),
        )
        executor.add(ToolCall("c0", "Tool", {}))
        executor.close()
        await passing(1.0)
        executor.interrupt()
        await executor.aclose()
        return executor.calls()[0].result

    result = run_virtual(main())
    assert result is not None
    assert (result.code, result.effects) == ("cancelled_by_user", "none")

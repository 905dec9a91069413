"""Tools, checks, hooks and context updates that raise whatever they like."""

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Case, Check, Run
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    run_virtual,
)
from callgate.words.calls import Accepted, Rejected, Result, ToolCall
from callgate.words.decisions import Allow, Ask, Confirmation
from callgate.words.events import (
    CallArrived,
)
from callgate.words.messages import Text
from tests.properties.stage import Panic, VirtualClock, executor_of, results_of
from tests.properties.strategies import passing

SOME_SECONDS = 1.0


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


def _cancel_itself(_context: Mapping[str, Any]) -> Mapping[str, Any]:
    raise asyncio.CancelledError


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-23")
def test_a_context_update_that_raises_a_cancel_of_its_own_loses_no_result() -> None:
    """The tool had finished in spite of its cancel: the update's CancelledError was taken for the program's end."""

    async def main() -> list[str]:
        async def body(_arguments: Mapping[str, Any], _run: Run) -> Result:
            try:
                await passing(5.0)
            except asyncio.CancelledError:
                await passing(1.0)
            return Result((Text("done"),), context_update=_cancel_itself)

        executor = executor_of(body, lambda _case: Allow("check"))
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        await passing(1.0)
        executor.interrupt()
        return [each.id for each in await results_of(executor)]

    assert run_virtual(main()) == ["c0"]


@pytest.mark.spec("EXE-13")
def test_a_tool_that_cannot_read_changed_arguments_does_not_reach_whoever_answers() -> None:
    class Picky(PlainTool):
        def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
            if isinstance(raw, Mapping) and "odd" in raw:
                raise RuntimeError("read broke")
            return super().read(raw)

    async def main() -> str | None:
        executor = Executor(
            PlainToolbox(Picky("Tool")),
            DecisionGate([Check("check", lambda _case: Ask("check"))]),
            host=MemoryHost(clock=VirtualClock()),
        )
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        await executor.stalled()
        (question,) = executor.questions
        try:
            refusal = executor.answer(Confirmation("c0", "yes", question.arguments_hash, arguments={"odd": True}))
        except RuntimeError:
            pytest.fail("the tool's own trouble reached whoever answered")
        finally:
            executor.interrupt()
            await executor.aclose()
        return refusal

    run_virtual(main())


@pytest.mark.spec("CALL-3")
def test_a_tool_that_scribbles_on_its_arguments_does_not_change_the_record() -> None:
    def body(arguments: Mapping[str, Any], _run: Run) -> str:
        arguments["paths"].append("added")
        return "done"

    async def main() -> Any:
        journal = MemoryJournal()
        executor = Executor(
            PlainToolbox(PlainTool("Tool", body)),
            DecisionGate(),
            host=MemoryHost(clock=VirtualClock()),
            record=Record(journal, Ledger()),
        )
        executor.add(ToolCall("c0", "Tool", {"paths": []}))
        executor.close()
        await results_of(executor)
        return [event.arguments for event in journal.events if isinstance(event, CallArrived)]

    assert run_virtual(main()) == [{"paths": []}]

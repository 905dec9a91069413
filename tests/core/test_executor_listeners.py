"""Listeners that interrupt, cancel or answer while an event is delivered."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Check, Run
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    run_virtual,
)
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Allow, Ask, Confirmation
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallStarted,
    ContextUpdated,
    Event,
    QuestionAnswered,
    QuestionAsked,
)
from callgate.words.messages import Text
from tests.properties.stage import VirtualClock, results_of
from tests.properties.strategies import passing


async def with_reflex(kind: type, act: Callable[[Executor], object]) -> tuple[list[Event], list[str], list[str]]:
    """One call that is asked about and approved; a listener acts at once when it first hears of ``kind``."""
    heard: list[Event] = []
    faults: list[str] = []
    began: list[str] = []
    acted: list[Event] = []

    def first(event: Event) -> None:
        if isinstance(event, kind) and not acted:
            acted.append(event)
            act(executor)

    async def body(_arguments: Mapping[str, Any], run: Run) -> str:
        began.append(run.call_id)
        await passing(1.0)
        return "done"

    executor = Executor(
        PlainToolbox(PlainTool("Tool", body)),
        DecisionGate([Check("check", lambda _case: Ask("check"))]),
        host=MemoryHost(clock=VirtualClock()),
        record=Record(MemoryJournal(), Ledger(), [first, heard.append]),
    )
    try:
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        for question in executor.questions:
            executor.answer(Confirmation("c0", "yes", question.arguments_hash))
        await passing(10.0)
        executor.interrupt()
        await executor.aclose()
    except Exception as error:
        faults.append(repr(error))
    return heard, began, faults


@pytest.mark.spec("EXE-8", "EXE-13", "CALL-3")
@pytest.mark.parametrize("kind", [CallArrived, CallDecided, QuestionAsked, QuestionAnswered, CallStarted])
def test_a_listener_may_interrupt_in_the_middle_of_any_step(kind: type) -> None:
    """A settled call went on: back to being held, and then to a second result."""
    heard, began, faults = run_virtual(with_reflex(kind, lambda executor: executor.interrupt()))
    assert faults == []
    assert [type(event).__name__ for event in heard].count("CallSettled") == 1
    if kind is not CallStarted:  # doors hear between steps: of a start when it has been made
        assert began == [], "nothing starts after an interrupt"


@pytest.mark.spec("EXE-14", "CALL-3")
def test_a_listener_may_cancel_a_call_that_it_hears_arriving() -> None:
    heard, _, faults = run_virtual(with_reflex(CallArrived, lambda executor: executor.cancel("c0")))
    assert faults == []
    assert [type(event).__name__ for event in heard].count("CallSettled") == 1


@pytest.mark.spec("CALL-3")
def test_every_listener_hears_in_order_although_one_answers_at_once() -> None:
    """The second listener heard of the answer before it heard of the question."""

    def answer(executor: Executor) -> None:
        (question,) = executor.questions
        executor.answer(Confirmation("c0", "yes", question.arguments_hash))

    heard, _, faults = run_virtual(with_reflex(QuestionAsked, answer))
    assert faults == []
    kinds = [type(event).__name__ for event in heard]
    assert kinds.index("QuestionAsked") < kinds.index("QuestionAnswered")


@pytest.mark.spec("EXE-7", "EXE-23")
def test_results_keep_their_order_when_a_listener_interrupts_between_them() -> None:
    async def main() -> list[str]:
        def interrupt(event: Event) -> None:
            if isinstance(event, ContextUpdated):
                executor.interrupt()

        executor = Executor(
            PlainToolbox(PlainTool("Tool", lambda _arguments, _run: Result((Text("x"),), context_update={"k": 1}))),
            DecisionGate([Check("check", lambda case: Ask("check") if case.arguments else Allow("check"))]),
            host=MemoryHost(clock=VirtualClock()),
            record=Record(MemoryJournal(), Ledger(), [interrupt]),
        )
        executor.add(ToolCall("c0", "Tool"))
        executor.add(ToolCall("c1", "Tool", {"asks": True}))
        executor.close()
        return [each.id for each in await results_of(executor)]

    assert run_virtual(main()) == ["c0", "c1"]

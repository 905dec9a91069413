"""Facts that must be on record before they count: questions, starts, prompts, edits."""

import asyncio
import gc
from collections.abc import Awaitable, Mapping
from typing import Any

import pytest

from callgate import Session
from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Check, Run
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    ScriptedModel,
    ScriptedTurn,
    call,
    pause,
    run_virtual,
    say,
    turn,
)
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Allow, Ask, Confirmation
from callgate.words.events import (
    Event,
)
from callgate.words.inputs import Interrupt, Prompt, Steer
from callgate.words.limits import ExecutorSettings
from callgate.words.model import Request
from callgate.words.traits import Traits, writes
from tests.properties.stage import SlowJournal, VirtualClock, executor_of, results_of
from tests.properties.strategies import passing
from tests.properties.test_resume import Asked, Spoken, check_context, first_life, open_at, second_life
from tests.sessions import with_event


@pytest.mark.spec("EXE-22")
def test_what_the_model_wrote_is_kept_when_a_hook_and_then_a_person_change_it() -> None:
    async def main() -> ToolCall:
        executor = executor_of(lambda _arguments, _run: "done", lambda _case: Ask("hook", arguments={"by": "hook"}))
        executor.add(ToolCall("c0", "Tool", {"by": "model"}))
        executor.close()
        await executor.stalled()
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


async def slowly_asked(*, interrupt: bool) -> tuple[Executor, list[Event]]:
    heard: list[Event] = []
    executor = Executor(
        PlainToolbox(PlainTool("Tool")),
        DecisionGate([Check("check", lambda _case: Ask("check"))]),
        host=MemoryHost(clock=VirtualClock()),
        record=Record(SlowJournal((2.0,)), Ledger(), [heard.append]),
    )
    executor.add(ToolCall("c0", "Tool"))
    executor.close()
    await passing(1.0)
    if interrupt:
        executor.interrupt()
        await passing(5.0)
    return executor, heard


@pytest.mark.spec("EXE-21")
def test_a_question_that_is_not_on_record_is_not_shown() -> None:
    """It was open, could be answered, and counted as waiting for a person, before it was durable."""

    async def main() -> tuple[int, bool]:
        executor, _ = await slowly_asked(interrupt=False)
        shown = len(executor.questions)
        waiting = asyncio.ensure_future(executor.stalled())
        await passing(0.5)
        stalled = waiting.done()
        await waiting
        assert len(executor.questions) == 1
        executor.interrupt()
        await executor.aclose()
        return shown, stalled

    assert run_virtual(main()) == (0, False)


@pytest.mark.spec("EXE-21", "CALL-3")
def test_no_question_is_put_about_a_call_that_has_settled_meanwhile() -> None:
    async def main() -> list[str]:
        executor, heard = await slowly_asked(interrupt=True)
        await executor.aclose()
        return [type(event).__name__ for event in heard]

    assert "QuestionAsked" not in run_virtual(main())


@pytest.mark.spec("EXE-8", "EXE-13")
def test_a_question_that_cannot_be_recorded_does_not_wait_for_an_answer() -> None:
    """Nobody ever heard of it, and the call waited for good."""

    class Broken(MemoryJournal):
        def barrier(self) -> Awaitable[None] | None:
            return self._fail()

        async def _fail(self) -> None:
            raise OSError("no space left on device")

    async def main() -> tuple[bool, list[Any]]:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, about: complaints.append(about))
        executor = Executor(
            PlainToolbox(PlainTool("Tool")),
            DecisionGate([Check("check", lambda _case: Ask("check"))]),
            host=MemoryHost(clock=VirtualClock()),
            record=Record(Broken(), Ledger()),
        )
        executor.add(ToolCall("c0", "Tool"))
        executor.close()
        await passing(10.0)
        settled = executor.settled
        executor.interrupt()
        await executor.aclose()
        del executor
        gc.collect()
        return settled, complaints

    assert run_virtual(main()) == (True, [])


@pytest.mark.spec("TRN-1")
def test_what_a_person_said_is_on_record_before_the_model_is_asked() -> None:
    async def main() -> int:
        journal = SlowJournal((1.0,))
        durable: list[int] = []

        def scene(_request: Request) -> ScriptedTurn:
            durable.append(journal.durable)
            return turn(say("Yes."))

        async with Session(
            ScriptedModel(scene), PlainToolbox(), host=MemoryHost(clock=VirtualClock()), journal=journal
        ) as session:
            await session.send(Prompt("Go."))
        return durable[0]

    assert run_virtual(main()) >= 1


@pytest.mark.spec("TRN-4", "EXE-21")
def test_a_reply_that_ends_with_a_question_has_told_it() -> None:
    """The session was waiting for an answer before anybody could hear of the question."""

    async def main() -> list[str]:
        async with Session(
            ScriptedModel(turn(call("Tool"), pause(1.0)), otherwise=turn(say("Done."))),
            PlainToolbox(PlainTool("Tool", traits=Traits(declared_locks=writes("a")))),
            host=MemoryHost(clock=VirtualClock()),
            journal=SlowJournal((4.0, None)),
        ) as session:
            heard = await session.send(Prompt("Go."))
            assert session.status == "waiting_confirmation"
        return [type(event).__name__ for event in heard]

    assert "QuestionAsked" in run_virtual(main())


@pytest.mark.spec("EXE-16", "TRN-4")
def test_what_was_typed_before_an_interrupt_is_not_lost_silently() -> None:
    """Kept for the next turn, or refused in words: anything but gone."""

    async def main() -> bool:
        async def body(_arguments: Mapping[str, Any], _run: Run) -> str:
            await passing(5.0)
            return "done"

        async with Session(
            ScriptedModel(turn(call("Tool")), otherwise=turn(say("Done."))),
            PlainToolbox(PlainTool("Tool", body)),
            host=MemoryHost(clock=VirtualClock()),
        ) as session:
            heard: list[Event] = []
            session.listen(with_event(heard.append))
            session.post(Prompt("Go."))
            await passing(1.0)
            session.post(Steer("not there"))
            session.post(Interrupt())
            await passing(20.0)
            told = any("not there" in repr(event) or type(event).__name__ == "InputRefused" for event in heard)
            return told or any("not there" in repr(message) for message in session.messages)

    assert run_virtual(main())


@pytest.mark.spec("EXE-13", "EXE-18")
def test_a_call_discarded_before_its_start_was_durable_is_not_said_to_have_started() -> None:
    async def main() -> Result | None:
        async def body(_arguments: Mapping[str, Any], _run: Run) -> str:
            return "done"

        executor = Executor(
            PlainToolbox(PlainTool("Tool", body, traits=Traits(effects="mutating"))),
            DecisionGate([Check("check", lambda _case: Allow("check"))]),
            host=MemoryHost(clock=VirtualClock()),
            record=Record(SlowJournal((1.0,)), Ledger()),
            settings=ExecutorSettings(start="eager"),
        )
        executor.add(ToolCall("c0", "Tool", {}))
        await passing(0.5)
        await executor.discard()
        return executor.calls()[0].result

    result = run_virtual(main())
    assert result is not None
    assert (result.code, result.effects, result.details["started"]) == ("discarded", "none", False)


@pytest.mark.spec("TRN-4", "TRS-3")
def test_an_interrupt_while_the_prompt_is_being_written_asks_no_model() -> None:
    async def main() -> tuple[str, int]:
        model = ScriptedModel(otherwise=turn(pause(3600.0), say("never")))
        journal = SlowJournal((1.0,))
        async with Session(model, [], host=MemoryHost(clock=VirtualClock()), journal=journal) as session:
            session.post(Prompt("Go."))
            await passing(0.5)
            session.post(Interrupt())
            await passing(5.0)
            return session.status, len(model.requests)

    assert run_virtual(main()) == ("idle", 0)

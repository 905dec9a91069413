"""The smallest form of what the property tests once found."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from callgate import Session
from callgate.assembly import DecisionGate
from callgate.core.executor import Executor
from callgate.core.lanes import place
from callgate.core.ledger import Ledger
from callgate.core.locks import Claim, LockTable
from callgate.core.ports import Case, Check, Run
from callgate.core.record import MemoryJournal, Record
from callgate.core.runner import RunOutcome, ToolCallRunner
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    ScriptedModel,
    Turn,
    call,
    pause,
    run_virtual,
    say,
    settle,
    turn,
)
from callgate.words.arguments import Accepted, Rejected
from callgate.words.calls import Result, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Confirmation
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallStarted,
    ContextUpdated,
    Event,
    QuestionAnswered,
    QuestionAsked,
)
from callgate.words.inputs import Interrupt, Prompt, Steer
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Text
from callgate.words.model import Request
from callgate.words.traits import Traits, exclusive, reads, shared, writes
from tests.properties.stage import Panic, Plan, Reply, SlowJournal, Verdicted, VirtualClock
from tests.properties.strategies import passing
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


# ---- a shared stray ----------------------------------------------------------------------------------------------


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


# ---- cancelled before the first step -----------------------------------------------------------------------------


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


# ---- doors that act while they listen ----------------------------------------------------------------------------


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


# ---- a record that takes its time --------------------------------------------------------------------------------


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

        def scene(_request: Request) -> Turn:
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


# ---- previews ----------------------------------------------------------------------------------------------------


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


# ---- what comes from outside -------------------------------------------------------------------------------------


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
            session.listen(heard.append)
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

"""Known failures of other runtimes around permissions and approvals. The docstring is the failure guarded against."""

import asyncio

import pytest

from callgate.assembly import DecisionGate
from callgate.core.ports import Case, Check
from callgate.policy.checks import standard_checks
from callgate.testing import Recorder, settle
from callgate.words.decisions import Allow, ApprovalPolicy, Deny, Pattern
from callgate.words.events import ModeSet, QuestionAnswered
from callgate.words.traits import Traits, shared
from tests.core.kit import (
    Desk,
    allow_all,
    answer,
    bash,
    batch,
    call,
    codes,
    deaf,
    failing,
    file_reader,
    file_writer,
    ids,
    lasting,
    lists,
    pending,
    questions,
    saying,
)

MUTATING = Traits(declared_locks=shared)


@pytest.mark.spec("EXE-13")
async def test_a_check_that_raises_is_no_pass_even_in_bypass_mode() -> None:
    """An exception in a permission check was logged and passed over: in bypass mode the call was allowed."""

    def broken(_case: Case) -> Allow:
        raise RuntimeError("cannot parse")

    desk = Desk(saying("Do", "did", MUTATING), gate=DecisionGate((Check("rule", broken), *standard_checks())))
    desk.record.write(ModeSet(0.0, "bypass"))
    assert codes(await desk.finish(call("a", "Do"))) == {"a": "denied"}


@pytest.mark.spec("EXE-24")
async def test_a_tool_whose_author_forgot_permissions_is_asked_about() -> None:
    """The default was allow, so a tool author who forgot it got an unprompted tool."""
    desk = Desk(saying("Do", "did", Traits()), gate=DecisionGate())
    await desk.begin(call("a", "Do"))
    assert [question.call_id for question in desk.executor.questions] == ["a"]
    await desk.executor.discard()


@pytest.mark.spec("EXE-24")
async def test_plan_mode_is_a_gate_and_not_a_promise() -> None:
    """In plan mode every edit ran without a prompt because bypass was available."""
    recorder = Recorder()
    desk = Desk(recorder.watch(file_writer()), gate=DecisionGate())
    desk.record.write(ModeSet(0.0, "plan"))
    assert codes(await desk.finish(call("a", "Edit", path="a.py"))) == {"a": "denied"}
    assert recorder.started == []


@pytest.mark.spec("EXE-24")
async def test_a_block_of_one_hook_is_not_overridden_by_the_allow_of_another() -> None:
    """A hook's block was overridden by another hook's allow, in both orders of completion."""
    block = Check("block", lambda case: Deny("block", code="blocked_by_hook"))
    desk = Desk(saying("Do", "did"), gate=allow_all(block))
    assert codes(await desk.finish(call("a", "Do"))) == {"a": "blocked_by_hook"}


@pytest.mark.spec("EXE-7")
async def test_results_are_ordered_by_arrival_and_not_by_the_text_of_their_ids() -> None:
    """One library sorts results by call-id text: call_10 before call_2."""
    desk = Desk(saying("Good", "fine"))
    results = await desk.finish(*(call(f"call_{n}", "Good", n=n) for n in range(12)))
    assert list(results) == [f"call_{n}" for n in range(12)]
    out = await batch(saying("Good", "fine")).execute([call(f"call_{n}", "Good", n=n) for n in range(12)])
    assert ids(out.executed) == list(results)


@pytest.mark.spec("EXE-21")
async def test_one_gated_call_stops_none_of_the_free_ones() -> None:
    """In two libraries one gated call in a batch stopped the free ones too; in one the free call was asked about."""
    out = await batch(bash(), saying("Good", "fine")).execute([call("a", "Bash", command="make ls"), call("b", "Good")])
    assert lists(out) == {"still_needs_approval": ["a"], "executed": ["b"]}


@pytest.mark.spec("EXE-13")
async def test_a_raising_tool_does_not_abort_the_run() -> None:
    """In three libraries a raising tool aborted the run and cancelled its siblings."""
    out = await batch(failing("Fail"), lasting()).execute([call("a", "Fail"), call("b", "Sleep", seconds=9)])
    assert lists(out) == {"failed": ["a"], "executed": ["b"]}


@pytest.mark.spec("CALL-4")
async def test_a_rejected_call_does_not_run() -> None:
    """Rejected calls executed anyway."""
    recorder = Recorder()
    runner = batch(recorder.watch(bash()))
    first = await runner.execute([call("a", "Bash", command="make ls")])
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "no")])
    assert lists(out) == {"failed": ["a"]}
    assert recorder.started == []


@pytest.mark.spec("RUN-3")
async def test_an_always_is_neither_forgotten_nor_widened_to_the_whole_tool() -> None:
    """ "Always" was forgotten, or applied to the whole tool."""
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls")])
    done = await runner.execute(pending(first), [answer(questions(first)["a"], "yes_always")])
    again = [call("b", "Bash", command="make ls"), call("c", "Bash", command="rm x")]
    out = await runner.execute(again, policies=done.new_policies)
    assert lists(out) == {"executed": ["b"], "still_needs_approval": ["c"]}


@pytest.mark.spec("RUN-2")
async def test_going_on_runs_no_completed_call_again_and_loses_no_pending_one() -> None:
    """Resuming ran a completed tool again, or lost a pending one."""
    recorder = Recorder()
    runner = batch(recorder.watch(saying("Good", "fine")), recorder.watch(bash()))
    calls = [call("a", "Good"), call("b", "Bash", command="make ls"), call("c", "Bash", command="make pwd")]
    first = await runner.execute(calls)
    second = await runner.execute(first.executed + pending(first), [answer(questions(first)["b"], "yes")])
    assert lists(second) == {"executed": ["b"], "still_needs_approval": ["c"]}
    assert recorder.started == ["a", "b"]


@pytest.mark.spec("RUN-4")
async def test_a_remembered_rule_for_a_file_matches_that_file() -> None:
    """A remembered per-file rule was a regular expression over serialised arguments and could never match."""
    rule = ApprovalPolicy("allow", "Edit", Pattern("glob", "src/*.py", "path"))
    calls = [call("a", "Edit", path="./src/a.py"), call("b", "Edit", path="docs/a.py")]
    out = await batch(file_writer()).execute(calls, policies=[rule])
    assert lists(out) == {"executed": ["a"], "still_needs_approval": ["b"]}


@pytest.mark.spec("EXE-21")
async def test_waiting_for_an_approval_stops_no_other_tool() -> None:
    """The approval wait was inside the lock, so every other tool stopped."""
    recorder = Recorder()
    desk = Desk(file_writer(), recorder.watch(file_reader()), gate=DecisionGate())
    await desk.begin(call("a", "Edit", path="a.py"), *(call(f"r{n}", "Read", path=f"{n}.py") for n in range(5)))
    assert len(recorder.ended) == 5
    await desk.executor.discard()


@pytest.mark.spec("EXE-24")
async def test_a_question_cannot_be_answered_twice() -> None:
    """A pending approval could be answered twice."""
    desk = Desk(saying("Do", "did", MUTATING), gate=DecisionGate())
    await desk.begin(call("a", "Do"))
    (question,) = desk.executor.questions
    taken = [desk.executor.answer(answer(question, outcome)) for outcome in ("yes", "no", "yes")]
    assert taken[0] is None
    assert None not in taken[1:]
    await desk.rest()
    assert len(desk.told(QuestionAnswered)) == 1


@pytest.mark.spec("EXE-18")
async def test_an_unknown_outcome_is_recorded_as_such() -> None:
    """No system recorded "outcome unknown"; cancelled calls were reported as undone when they had been done."""
    opened = asyncio.Event()
    desk = Desk(deaf(opened, traits=MUTATING))
    await desk.begin(call("a", "Deaf"))
    desk.executor.interrupt()
    await desk.rest()
    assert (desk.result("a").code, desk.result("a").effects) == ("outcome_unknown", "unknown")
    opened.set()
    await settle()

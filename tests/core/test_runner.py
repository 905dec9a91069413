"""The batch door: in, out, and on again after an answer."""

import asyncio
from typing import Any

import pytest

from callgate.testing import Barrier, Latch, PlainTool, Recorder, settle
from callgate.words.calls import Status
from callgate.words.decisions import ApprovalPolicy, Choice, Confirmation, Pattern
from callgate.words.errors import UsageError
from callgate.words.events import CallArrived, CallDecided, CallProgressed, CallSettled, CallStarted, Event
from callgate.words.traits import Traits, shared
from tests.core.kit import (
    FREE,
    Desk,
    answer,
    bash,
    batch,
    call,
    failing,
    file_reader,
    file_writer,
    lists,
    pending,
    previewing_writer,
    questions,
    saying,
    updating,
    virtual_host,
)

MUTATING = Traits(declared_locks=shared)
BASH = Traits(declared_locks=shared, choices_for_always=(Choice("git …", Pattern("prefix", "make", "command")),))


# ---- what comes out ---------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-2")
async def test_every_call_of_the_batch_is_in_exactly_one_list_in_arrival_order() -> None:
    tools = (file_writer(), file_reader(), failing("Fail"), saying("Good", "fine"))
    out = await batch(*tools).execute(
        [
            call("good", "Good"),
            call("edit", "Edit", path="a.py"),
            call("behind", "Read", path="a.py"),
            call("bad", "Fail"),
            call("unknown", "Nothing"),
            call("beside", "Read", path="b.py"),
        ]
    )
    assert lists(out) == {
        "executed": ["good", "beside"],
        "still_needs_approval": ["edit"],
        "held": ["behind"],
        "failed": ["bad", "unknown"],
    }


@pytest.mark.spec("CALL-4", "RUN-2")
async def test_failed_calls_denied_ones_included_have_their_result() -> None:
    runner = batch(saying("Do", "did", MUTATING), failing("Fail"))
    first = await runner.execute([call("a", "Do"), call("b", "Fail")])
    second = await runner.execute(pending(first), [answer(questions(first)["a"], "no")])
    assert [each.result and each.result.code for each in first.failed + second.failed] == ["tool_error", "denied"]


@pytest.mark.spec("RUN-2")
async def test_a_call_that_needs_approval_carries_its_question() -> None:
    out = await batch(saying("Do", "did", MUTATING)).execute([call("a", "Do", x=1)])
    (waiting,) = out.still_needs_approval
    assert waiting.status is Status.AWAITING_APPROVAL
    assert waiting.question is not None
    assert (waiting.question.tool, waiting.question.arguments) == ("Do", {"x": 1})


# ---- RUN-1 ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-1")
async def test_the_same_inputs_give_the_same_outputs() -> None:
    runner = batch(saying("Do", "did", MUTATING), saying("Good", "fine"), updating())
    calls = [call("a", "Do"), call("b", "Good"), call("c", "Set", x=1), call("d", "Nothing")]
    assert await runner.execute(calls) == await runner.execute(calls)


@pytest.mark.spec("RUN-1")
async def test_an_always_of_one_run_is_forgotten_in_the_next_unless_it_is_passed_in() -> None:
    runner = batch(saying("Do", "did", MUTATING))
    first = await runner.execute([call("a", "Do")])
    second = await runner.execute(pending(first), [answer(questions(first)["a"], "yes_always")])
    assert lists(await runner.execute([call("b", "Do")])) == {"still_needs_approval": ["b"]}
    assert lists(await runner.execute([call("b", "Do")], policies=second.new_policies)) == {"executed": ["b"]}


@pytest.mark.spec("RUN-1", "EXE-23")
async def test_the_context_goes_in_and_comes_out() -> None:
    runner = batch(updating())
    out = await runner.execute([call("a", "Set", x=1)], context={"y": 2})
    assert out.context == {"x": 1, "y": 2}
    assert (await runner.execute([])).context == {}


# ---- RUN-2 ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-2")
async def test_going_on_is_the_same_method_on_the_pending_and_held_calls() -> None:
    recorder = Recorder()
    runner = batch(recorder.watch(file_writer()), recorder.watch(file_reader()))
    first = await runner.execute([call("edit", "Edit", path="a.py"), call("read", "Read", path="a.py")])
    assert lists(first) == {"still_needs_approval": ["edit"], "held": ["read"]}
    second = await runner.execute(pending(first), [answer(questions(first)["edit"], "yes")])
    assert lists(second) == {"executed": ["edit", "read"]}
    assert recorder.order == ["started edit", "ended edit", "started read", "ended read"]


@pytest.mark.spec("RUN-2")
async def test_pending_and_held_calls_keep_their_order_however_they_are_passed() -> None:
    recorder = Recorder()
    runner = batch(recorder.watch(file_writer()), recorder.watch(file_reader()))
    first = await runner.execute([call("edit", "Edit", path="a.py"), call("read", "Read", path="a.py")])
    await runner.execute(first.held + first.still_needs_approval, [answer(questions(first)["edit"], "yes")])
    assert recorder.started == ["edit", "read"]


@pytest.mark.spec("RUN-2")
async def test_settled_calls_are_not_run_again_and_are_in_no_list() -> None:
    recorder = Recorder()
    runner = batch(recorder.watch(saying("Good", "fine")), recorder.watch(saying("Do", "did", MUTATING)))
    first = await runner.execute([call("a", "Good"), call("b", "Do"), call("c", "Nothing")])
    everything = first.executed + first.still_needs_approval + first.failed
    second = await runner.execute(everything, [answer(questions(first)["b"], "yes")])
    assert lists(second) == {"executed": ["b"]}
    assert recorder.started == ["a", "b"]


@pytest.mark.spec("RUN-2")
async def test_without_an_answer_a_pending_call_stays_pending_with_the_same_question() -> None:
    runner = batch(saying("Do", "did", MUTATING))
    first = await runner.execute([call("a", "Do")])
    second = await runner.execute(pending(first))
    assert lists(second) == {"still_needs_approval": ["a"]}
    assert questions(second)["a"].arguments_hash == questions(first)["a"].arguments_hash


@pytest.mark.spec("RUN-2")
async def test_an_answer_for_other_arguments_leaves_the_call_pending() -> None:
    recorder = Recorder()
    runner = batch(recorder.watch(saying("Do", "did", MUTATING)))
    first = await runner.execute([call("a", "Do", x=1)])
    out = await runner.execute(pending(first), [Confirmation("a", "yes", "0" * 64)])
    assert lists(out) == {"still_needs_approval": ["a"]}
    assert recorder.started == []


@pytest.mark.spec("RUN-2")
async def test_the_preview_a_person_said_yes_to_is_what_the_second_run_applies() -> None:
    host = virtual_host({"a.txt": "0"})
    runner = batch(previewing_writer(), host=host)
    first = await runner.execute([call("a", "Write", path="a.txt", text="1")])
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "yes")])
    assert lists(out) == {"executed": ["a"]}
    assert host.applied == [questions(first)["a"].preview]


@pytest.mark.spec("RUN-2")
async def test_a_file_that_changed_since_the_preview_is_not_overwritten() -> None:
    host = virtual_host({"a.txt": "0"})
    runner = batch(previewing_writer(), host=host)
    first = await runner.execute([call("a", "Write", path="a.txt", text="1")])
    host.files[host.normal("a.txt")] = b"somebody else's"
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "yes")])
    assert lists(out) == {"failed": ["a"]}
    assert host.text("a.txt") == "somebody else's"


@pytest.mark.spec("EXE-22", "RUN-2")
async def test_edited_arguments_run_and_are_visible_and_on_record() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="rm -rf /")])
    yes = answer(questions(first)["a"], "yes", by="Ada", arguments={"command": "ls"})
    (done,) = (await runner.execute(pending(first), [yes])).executed
    assert done.result is not None
    assert done.result.text.startswith("ran ls")
    assert "Ada" in done.result.text
    assert done.edited is not None
    assert (done.edited.by, done.edited.before) == ("Ada", {"command": "rm -rf /"})


@pytest.mark.spec("RUN-2")
async def test_one_id_twice_in_a_batch_is_the_callers_error() -> None:
    with pytest.raises(UsageError, match="twice"):
        await batch().execute([call("a", "Good"), call("a", "Good")])


# ---- RUN-5 and RUN-6 --------------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-5")
async def test_events_are_published_while_the_batch_still_runs() -> None:
    events: list[Event] = []
    latch = Latch(traits=FREE)

    async def step(_arguments: object, run: Any) -> str:
        run.progress("step", current=1, total=3)
        return "stepped"

    runner = batch(latch, PlainTool("Step", step, traits=FREE), on_event=events.append)
    running = asyncio.ensure_future(runner.execute([call("a", "Step"), call("b", "Latch")]))
    await settle()
    assert not running.done()
    of_a = [type(event) for event in events if getattr(event, "call_id", "") == "a"]
    assert of_a[:5] == [CallArrived, CallDecided, CallStarted, CallProgressed, CallSettled]
    (progress,) = [event for event in events if isinstance(event, CallProgressed)]
    assert (progress.current, progress.total) == (1, 3)
    assert [event.call_id for event in events if isinstance(event, CallStarted)] == ["a", "b"]
    latch.open()
    await running


@pytest.mark.spec("RUN-6")
async def test_both_doors_give_the_same_results_for_the_same_calls() -> None:
    def tools() -> tuple[Any, ...]:
        return saying("Good", "fine"), failing("Bash", Traits(effects="none", cascade=True)), Barrier(2), updating()

    calls = [call("a", "Good"), call("b", "Barrier"), call("c", "Barrier"), call("d", "Set", x=1), call("e", "Nope")]
    streamed = await Desk(*tools()).finish(*calls)
    out = await batch(*tools()).execute(calls)
    batched = {each.id: each.result for each in out.executed + out.failed}
    assert batched == streamed


@pytest.mark.spec("RUN-6", "EXE-5")
async def test_a_batch_is_a_whole_message_so_calls_with_effects_run() -> None:
    out = await batch(bash()).execute(
        [call("a", "Bash", command="make ls")], policies=[ApprovalPolicy("allow", "Bash")]
    )
    assert lists(out) == {"executed": ["a"]}


@pytest.mark.spec("EXE-13", "RUN-6")
async def test_cancelling_the_run_cancels_its_calls() -> None:
    latch = Latch(traits=FREE)
    running = asyncio.ensure_future(batch(latch).execute([call("a", "Latch")]))
    await latch.entered()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert latch.cancelled == ["a"]

"""Questions and answers, and arguments that were changed on the way."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate
from callgate.core.ports import Check
from callgate.testing import Latch, PlainTool, Recorder, settle
from callgate.tools.tool import tool
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import Status
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Deny
from callgate.words.errors import ToolFailure
from callgate.words.events import CallDecided, CallStarted, QuestionAnswered, QuestionAsked
from callgate.words.traits import Traits, shared
from tests.core.kit import (
    ALONE,
    Desk,
    allow_all,
    answer,
    call,
    changed_by_hook,
    codes,
    file_reader,
    file_writer,
    previewing_writer,
    saying,
    virtual_host,
)

MUTATING = Traits(declared_locks=shared)


def asked(desk: Desk) -> list[str]:
    return [question.call_id for question in desk.executor.questions]


def reply(desk: Desk, call_id: str, outcome: Any, **more: Any) -> str | None:
    question = next(each for each in desk.executor.questions if each.call_id == call_id)
    return desk.executor.answer(answer(question, outcome, **more))


# ---- asking (EXE-21) --------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-21")
async def test_a_call_that_awaits_approval_blocks_only_those_that_conflict_with_it() -> None:
    recorder = Recorder()
    edit = recorder.watch(file_writer())
    desk = Desk(edit, recorder.watch(file_reader()), gate=DecisionGate())
    await desk.begin(call("edit", "Edit", path="a.py"), call("a", "Read", path="a.py"), call("b", "Read", path="b.py"))
    assert asked(desk) == ["edit"]
    assert recorder.ended == ["b"]
    assert desk.status("a") is Status.SCHEDULED
    reply(desk, "edit", "yes")
    await desk.rest()
    assert recorder.ended == ["b", "edit", "a"]


@pytest.mark.spec("EXE-21")
async def test_a_call_that_awaits_approval_holds_no_slot_and_no_lock_of_the_host() -> None:
    host, recorder = virtual_host(), Recorder()
    desk = Desk(
        file_writer(), recorder.watch(saying("Good", "fine")), gate=DecisionGate(), host=host, max_concurrency=1
    )
    await desk.begin(call("asked", "Edit", path="a.py"), call("free", "Good"))
    assert recorder.ended == ["free"]
    assert len(host.locks) == 0
    # another executor can write the very file meanwhile
    other = Desk(file_writer(), host=host)
    assert codes(await other.finish(call("x", "Edit", path="a.py"))) == {"x": "ok"}
    reply(desk, "asked", "no")
    await desk.rest()


@pytest.mark.spec("EXE-21")
async def test_rules_are_judged_on_arrival_although_an_earlier_call_conflicts() -> None:
    latch = Latch(traits=ALONE)
    deny = Check("deny", lambda case: Deny("rule") if case.name == "Edit" else None)
    desk = Desk(latch, file_writer(), gate=allow_all(deny))
    await desk.begin(call("a", "Latch"), call("b", "Edit", path="a.py"))
    assert latch.inside == ["a"]
    assert desk.result("b").code == "denied"
    latch.open()
    await desk.rest()


@pytest.mark.spec("EXE-21")
async def test_the_previews_of_two_edits_of_one_file_are_made_one_after_the_other() -> None:
    seen: list[str] = []
    desk = Desk(previewing_writer(seen), gate=DecisionGate(), host=virtual_host({"a.txt": "0"}))
    await desk.begin(call("one", "Write", path="a.txt", text="1"), call("two", "Write", path="a.txt", text="2"))
    assert (asked(desk), seen) == (["one"], ["0"])
    reply(desk, "one", "yes")
    await settle()
    # the second preview sees what the first edit wrote
    assert (asked(desk), seen) == (["two"], ["0", "01"])
    reply(desk, "two", "yes")
    await desk.rest()
    assert desk.host.text("a.txt") == "012"


@pytest.mark.spec("EXE-21")
async def test_the_question_shows_the_preview_and_exactly_that_is_applied() -> None:
    desk = Desk(previewing_writer(), gate=DecisionGate(), host=virtual_host({"a.txt": "0"}))
    await desk.begin(call("one", "Write", path="a.txt", text="1"))
    (question,) = desk.executor.questions
    reply(desk, "one", "yes")
    await desk.rest()
    assert desk.host.applied == [question.preview]


@pytest.mark.spec("EXE-21", "EXE-13")
async def test_a_preview_that_fails_fails_its_call_without_a_question() -> None:
    def broken(_arguments: Mapping[str, Any], _run: object) -> Any:
        raise ToolFailure("old text not found")

    desk = Desk(PlainTool("Edit", traits=MUTATING, preview=broken), saying("Good", "fine"), gate=DecisionGate())
    results = await desk.finish(call("a", "Edit"), call("b", "Good"))
    assert codes(results) == {"a": "tool_error", "b": "ok"}
    assert (results["a"].text, results["a"].effects) == ("old text not found", "none")
    assert desk.told(QuestionAsked) == []


# ---- answering --------------------------------------------------------------------------------------------------


async def one_question(*tools: Any, name: str = "Do", **arguments: Any) -> Desk:
    desk = Desk(*(tools or (saying("Do", "did", MUTATING),)), gate=DecisionGate())
    await desk.begin(call("a", name, **arguments))
    return desk


@pytest.mark.spec("EXE-24")
async def test_a_yes_runs_the_call() -> None:
    desk = await one_question()
    assert desk.status("a") is Status.AWAITING_APPROVAL
    assert reply(desk, "a", "yes") is None
    await desk.rest()
    assert desk.result("a").text == "did"


@pytest.mark.spec("CALL-4")
async def test_a_denied_call_has_a_result_that_says_who_and_why() -> None:
    desk = await one_question()
    reply(desk, "a", "no", by="Ada", note="not on Fridays")
    await desk.rest()
    result = desk.result("a")
    assert (result.code, desk.status("a"), result.effects) == ("denied", Status.CANCELLED, "none")
    assert "Ada" in result.text
    assert "not on Fridays" in result.text
    assert desk.told(CallStarted) == []


@pytest.mark.spec("EXE-24")
async def test_an_answer_for_other_arguments_leaves_the_call_pending() -> None:
    desk = await one_question(x=1)
    (question,) = desk.executor.questions
    wrong = answer(question, "yes")
    wrong = type(wrong)(wrong.call_id, "yes", "0" * 64)
    refusal = desk.executor.answer(wrong)
    assert refusal is not None
    assert "arguments that differ" in refusal
    assert desk.status("a") is Status.AWAITING_APPROVAL
    assert desk.told(QuestionAnswered) == []
    reply(desk, "a", "no")
    await desk.rest()


@pytest.mark.spec("EXE-24")
async def test_a_second_answer_is_refused() -> None:
    desk = await one_question()
    (question,) = desk.executor.questions
    assert desk.executor.answer(answer(question, "no")) is None
    assert desk.executor.answer(answer(question, "yes")) is not None
    await desk.rest()
    assert desk.result("a").code == "denied"
    assert len(desk.told(QuestionAnswered)) == 1


@pytest.mark.spec("EXE-24")
async def test_an_answer_to_no_question_is_refused() -> None:
    desk = await one_question()
    (question,) = desk.executor.questions
    stranger = type(answer(question, "yes"))("nobody", "yes", question.arguments_hash)
    assert desk.executor.answer(stranger) is not None
    reply(desk, "a", "no")
    await desk.rest()


@pytest.mark.spec("EXE-24")
async def test_a_policy_for_another_tool_is_refused_and_the_question_stays_open() -> None:
    desk = await one_question()
    assert reply(desk, "a", "yes_always", always=ApprovalPolicy("allow", "Other")) is not None
    assert asked(desk) == ["a"]
    reply(desk, "a", "no")
    await desk.rest()


@pytest.mark.spec("RUN-3")
async def test_an_always_releases_the_other_open_questions_it_matches() -> None:
    desk = Desk(saying("Do", "did", MUTATING), gate=DecisionGate())
    await desk.begin(call("a", "Do", x=1), call("b", "Do", x=2), call("c", "Do", x=1))
    reply(desk, "a", "yes_always")
    await settle()
    # without a pick it reaches exactly these arguments
    assert asked(desk) == ["b"]
    reply(desk, "b", "no")
    await desk.rest()
    assert [desk.result(each).code for each in "abc"] == ["ok", "denied", "ok"]


@pytest.mark.spec("EXE-24")
async def test_every_decision_is_on_record_with_the_hash_of_what_was_decided_about() -> None:
    desk = await one_question(x=1)
    (question,) = desk.executor.questions
    reply(desk, "a", "yes")
    await desk.rest()
    decided = desk.told(CallDecided)
    assert [type(event.decision) for event in decided] == [Ask, Allow]
    assert {event.arguments_hash for event in decided} == {question.arguments_hash}


# ---- changed arguments (EXE-22) ---------------------------------------------------------------------------------


@pytest.mark.spec("EXE-22")
async def test_arguments_changed_by_a_person_run_and_are_visible_to_the_model_and_on_record() -> None:
    echo = PlainTool("Echo", lambda arguments, _run: f"ran {arguments['command']}", traits=MUTATING)
    desk = await one_question(echo, name="Echo", command="rm -rf /")
    reply(desk, "a", "yes", by="Ada", arguments={"command": "ls"})
    await desk.rest()
    done = desk.now("a")
    assert desk.result("a").text.startswith("ran ls")
    assert "Ada" in desk.result("a").text
    assert '"command": "ls"' in desk.result("a").text
    assert done.arguments == {"command": "ls"}
    assert done.edited is not None
    assert (done.edited.by, done.edited.before) == ("Ada", {"command": "rm -rf /"})
    assert desk.told(QuestionAnswered)[0].confirmation.arguments == {"command": "ls"}


@pytest.mark.spec("EXE-22")
async def test_invalid_arguments_of_a_person_leave_the_question_open() -> None:
    def add(x: int) -> int:
        return x

    desk = Desk(toolbox=Toolbox(tool(add)), gate=DecisionGate())
    await desk.begin(call("a", "add", x=1))
    refusal = reply(desk, "a", "yes", arguments={"x": "many"})
    assert refusal is not None
    assert "$.x" in refusal
    assert asked(desk) == ["a"]
    reply(desk, "a", "no")
    await desk.rest()


@pytest.mark.spec("EXE-22")
async def test_a_call_whose_new_arguments_conflict_with_an_earlier_one_waits_for_it() -> None:
    opened, recorder = asyncio.Event(), Recorder()

    async def edit(arguments: Mapping[str, Any], _run: object) -> str:
        if arguments["path"] == "b.py" and not opened.is_set():
            await opened.wait()
        return "edited"

    ask = Check("ask", lambda case: Ask("test") if case.call_id == "asked" else None)
    desk = Desk(recorder.watch(file_writer(body=edit)), gate=allow_all(ask))
    await desk.begin(call("running", "Edit", path="b.py"), call("asked", "Edit", path="a.py"))
    reply(desk, "asked", "yes", arguments={"path": "b.py"})
    await settle()
    assert recorder.started == ["running"]
    opened.set()
    await desk.rest()
    assert recorder.order == ["started running", "ended running", "started asked", "ended asked"]


@pytest.mark.spec("EXE-22")
async def test_a_call_whose_new_arguments_conflict_with_a_later_one_that_runs_does_not_overlap_it() -> None:
    opened, recorder = asyncio.Event(), Recorder()

    async def edit(_arguments: Mapping[str, Any], _run: object) -> str:
        await opened.wait()
        return "edited"

    ask = Check("ask", lambda case: Ask("test") if case.call_id == "asked" else None)
    desk = Desk(recorder.watch(file_writer(body=edit)), gate=allow_all(ask))
    await desk.begin(call("asked", "Edit", path="a.py"), call("running", "Edit", path="b.py"))
    assert recorder.started == ["running"]
    reply(desk, "asked", "yes", arguments={"path": "b.py"})
    await settle()
    assert recorder.started == ["running"]
    opened.set()
    await desk.rest()
    assert recorder.most_at_once == 1


@pytest.mark.spec("EXE-22")
async def test_those_that_waited_for_the_old_locks_only_go_on() -> None:
    recorder = Recorder()
    desk = Desk(recorder.watch(file_writer()), recorder.watch(file_reader()), gate=DecisionGate())
    await desk.begin(call("asked", "Edit", path="a.py"), call("a", "Read", path="a.py"))
    assert recorder.started == []
    reply(desk, "asked", "yes", arguments={"path": "b.py"})
    await settle()
    assert sorted(recorder.ended) == ["a", "asked"]
    await desk.rest()


@pytest.mark.spec("EXE-22")
async def test_arguments_changed_by_a_hook_are_validated() -> None:
    def add(x: int) -> int:
        return x

    desk = Desk(toolbox=Toolbox(tool(add)), gate=allow_all(changed_by_hook("add", x="many")))
    result = (await desk.finish(call("a", "add", x=1)))["a"]
    assert result.code == "invalid_arguments"
    assert "hook" in result.text


@pytest.mark.spec("EXE-22")
async def test_the_traits_of_a_call_changed_by_a_hook_are_those_of_the_new_arguments() -> None:
    """``ls`` may run before the message is whole; once a hook made it ``rm`` it may not."""

    def traits(arguments: Mapping[str, Any]) -> Traits:
        return Traits(effects="none" if arguments["command"] == "ls" else "mutating", declared_locks=shared)

    recorder = Recorder()
    bash = recorder.watch(PlainTool("Bash", traits=traits))
    desk = Desk(bash, gate=allow_all(changed_by_hook("Bash", command="rm x")))
    desk.add(call("a", "Bash", command="ls"))
    await settle()
    assert recorder.started == []
    desk.executor.close("cut_off")
    await desk.rest()
    assert desk.result("a").code == "not_run_truncated"


@pytest.mark.spec("EXE-22")
async def test_new_arguments_do_not_pass_a_deny_policy() -> None:
    desk = await one_question(name="Do", x=1)
    desk.ledger.policies.append(ApprovalPolicy("deny", "Do"))
    reply(desk, "a", "yes", arguments={"x": 2})
    await desk.rest()
    assert desk.result("a").code == "denied"

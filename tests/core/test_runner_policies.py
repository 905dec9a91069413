"""What a runner does with policies, how "always" makes them, and that all of it survives JSON."""

import json
from dataclasses import replace
from typing import Any

import pytest

from callgate.assembly.runner import RunOutcome
from callgate.formats.jsonable import from_json, to_json
from callgate.testing import PlainTool
from callgate.words.calls import Display, Result
from callgate.words.decisions import ApprovalPolicy, Ask, Confirmation, Pattern
from callgate.words.messages import Image, Resource, Text
from callgate.words.traits import Traits, shared
from tests.core.kit import (
    NOON,
    allow_all,
    answer,
    bash,
    batch,
    call,
    changed_by_hook,
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
ASK = Ask("test")


@pytest.mark.spec("RUN-3")
@pytest.mark.parametrize("answered", ["first", "second"])
async def test_an_always_releases_every_pending_call_it_matches_in_the_same_run(answered: str) -> None:
    runner = batch(saying("Do", "did", MUTATING))
    calls = [call("first", "Do", x=1), call("second", "Do", x=1), call("other", "Do", x=2)]
    first = await runner.execute(calls)
    assert len(first.still_needs_approval) == 3
    out = await runner.execute(pending(first), [answer(questions(first)[answered], "yes_always")])
    assert lists(out) == {"executed": ["first", "second"], "still_needs_approval": ["other"]}


@pytest.mark.spec("RUN-3")
async def test_an_always_releases_calls_that_arrive_in_that_run_too() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make log")])
    always = ApprovalPolicy("allow", "Bash", Pattern("prefix", "make", "command"))
    yes = answer(questions(first)["a"], "yes_always", always=always)
    new = replace(call("b", "Bash", command="make diff"), index=9)
    out = await runner.execute((*pending(first), new), [yes])
    assert lists(out) == {"executed": ["a", "b"]}


@pytest.mark.spec("RUN-3")
async def test_without_a_pick_an_always_reaches_exactly_these_arguments() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make log")])
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "yes_always", by="Ada")])
    (policy,) = out.new_policies
    assert policy.pattern == Pattern("exact", questions(first)["a"].arguments_hash)
    assert (policy.effect, policy.tool, policy.scope) == ("allow", "Bash", "session")
    assert "Ada" in policy.origin
    assert policy.created_at >= NOON


@pytest.mark.spec("RUN-3")
async def test_the_tool_proposes_how_far_an_always_reaches_narrowest_first() -> None:
    out = await batch(bash()).execute([call("a", "Bash", command="make log")])
    kinds = [choice.pattern and choice.pattern.kind for choice in questions(out)["a"].choices]
    assert kinds == ["exact", "prefix"]


@pytest.mark.spec("RUN-3")
@pytest.mark.parametrize("scope", ["session", "project", "user"])
async def test_the_policy_a_person_picked_comes_out_as_it_was_picked(scope: Any) -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make log")])
    picked = ApprovalPolicy(
        "allow", "Bash", Pattern("prefix", "make", "command"), scope, expires_at=NOON + 60, note="ok"
    )
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "yes_always", always=picked)])
    (policy,) = out.new_policies
    assert replace(policy, created_at=0.0, origin="") == picked


@pytest.mark.spec("RUN-3")
async def test_a_simple_yes_makes_no_policy() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls"), call("b", "Bash", command="make ls")])
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "yes")])
    assert out.new_policies == ()
    assert lists(out) == {"executed": ["a"], "still_needs_approval": ["b"]}


@pytest.mark.spec("RUN-4")
async def test_policies_passed_in_are_not_new() -> None:
    out = await batch(bash()).execute(
        [call("a", "Bash", command="make ls")], policies=[ApprovalPolicy("allow", "Bash")]
    )
    assert lists(out) == {"executed": ["a"]}
    assert out.new_policies == ()


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize(("expires_at", "expected"), [(NOON + 1, "executed"), (NOON - 1, "still_needs_approval")])
async def test_an_expired_policy_allows_nothing(expires_at: float, expected: str) -> None:
    policy = ApprovalPolicy("allow", "Bash", expires_at=expires_at)
    out = await batch(bash()).execute([call("a", "Bash", command="make ls")], policies=[policy])
    assert lists(out) == {expected: ["a"]}


@pytest.mark.spec("RUN-4")
async def test_a_prefix_policy_never_covers_a_second_command() -> None:
    policy = ApprovalPolicy("allow", "Bash", Pattern("prefix", "git status", "command"))
    calls = [call("a", "Bash", command="git status -s"), call("b", "Bash", command="git status; rm -rf x")]
    out = await batch(bash()).execute(calls, policies=[policy])
    assert lists(out) == {"executed": ["a"], "still_needs_approval": ["b"]}


@pytest.mark.spec("RUN-4")
async def test_a_deny_policy_beats_a_yes() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls")])
    yes = answer(questions(first)["a"], "yes")
    out = await runner.execute(pending(first), [yes], policies=[ApprovalPolicy("deny", "Bash")])
    assert lists(out) == {"failed": ["a"]}


@pytest.mark.spec("RUN-4")
async def test_a_policy_that_was_stored_meanwhile_releases_a_pending_call() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls")])
    out = await runner.execute(pending(first), policies=[ApprovalPolicy("allow", "Bash")])
    assert lists(out) == {"executed": ["a"]}


@pytest.mark.spec("RUN-4")
async def test_for_a_pending_call_too_an_ask_policy_goes_before_an_allow_policy() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls")])
    both = [ApprovalPolicy("ask", "Bash"), ApprovalPolicy("allow", "Bash")]
    assert lists(await runner.execute(pending(first), policies=both)) == {"still_needs_approval": ["a"]}


# ---- RUN-7 ------------------------------------------------------------------------------------------------------


def through_json(out: RunOutcome) -> RunOutcome:
    return from_json(RunOutcome, json.loads(json.dumps(to_json(out), allow_nan=False)))


@pytest.mark.spec("RUN-7")
async def test_an_outcome_survives_json_and_execute_goes_on_from_it() -> None:
    host = virtual_host({"a.txt": "0", "b.bin": bytes(range(256))})
    runner = batch(previewing_writer(), file_reader(), failing(), updating(), bash(), host=host)
    first = await runner.execute(
        [
            call("write", "Write", path="a.txt", text="1"),
            call("binary", "Write", path="b.bin", text="é"),
            call("held", "Read", path="a.txt"),
            call("bad", "Nothing", type="Allow"),
            call("set", "Set", nested={"type": "x", "list": [1, 2.5, None, True]}),
            call("shell", "Bash", command="make log"),
        ]
    )
    stored = through_json(first)
    assert stored == first
    answers = [
        answer(questions(stored)["write"], "yes"),
        answer(questions(stored)["shell"], "yes_always"),
        answer(questions(stored)["binary"], "no", note="no"),
    ]
    answers = [from_json(Confirmation, json.loads(json.dumps(to_json(each)))) for each in answers]
    second = await runner.execute(pending(stored), answers, stored.new_policies, stored.context)
    assert lists(second) == {"executed": ["write", "held", "shell"], "failed": ["binary"]}
    assert host.text("a.txt") == "01"
    assert through_json(second) == second


@pytest.mark.spec("RUN-7")
async def test_calls_that_a_hook_changed_go_on_after_json_with_the_new_arguments() -> None:
    ran: list[Any] = []
    tool = PlainTool("Do", lambda arguments, _run: ran.append(arguments), traits=MUTATING)
    hook = changed_by_hook("Do", x=2)
    ask = replace(hook, judge=lambda case: replace(ASK, arguments={"x": 2}) if case.arguments == {"x": 1} else ASK)
    runner = batch(tool, gate=allow_all(ask))
    first = through_json(await runner.execute([call("a", "Do", x=1)]))
    (waiting,) = first.still_needs_approval
    assert waiting.edited is not None
    assert (waiting.arguments, waiting.edited.before) == ({"x": 2}, {"x": 1})
    out = await runner.execute(pending(first), [answer(waiting.question, "yes")])
    assert ran == [{"x": 2}]
    assert out.executed[0].edited == waiting.edited


@pytest.mark.spec("RUN-7")
async def test_every_kind_of_content_survives_json() -> None:
    result = Result(
        (Text("t"), Image("image/png", b"\x89PNG\x00"), Resource("file:///a", data=b"\xff"), Resource("x:y", "text")),
        display=(Display("table", {"columns": ["type"], "rows": [["Text"]]}), Display("diff", "- a\n+ b", "a.py")),
        details={"type": "Result", "effects": "none", "deep": [{"type": "Text", "text": "no noun"}]},
    )
    out = await batch(saying("Show", result)).execute([call("a", "Show")])
    assert through_json(out) == out
    assert out.executed[0].result == result


# ---- answers that need care -------------------------------------------------------------------------------------


@pytest.mark.spec("RUN-3", "EXE-22")
async def test_an_always_with_other_arguments_is_about_those_and_not_about_what_the_model_wanted() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="rm -rf x")])
    yes = answer(questions(first)["a"], "yes_always", arguments={"command": "make ls"})
    done = await runner.execute(pending(first), [yes])
    again = [call("b", "Bash", command="rm -rf x"), call("c", "Bash", command="make ls")]
    out = await runner.execute(again, policies=done.new_policies)
    assert lists(out) == {"still_needs_approval": ["b"], "executed": ["c"]}


@pytest.mark.spec("EXE-26", "RUN-3")
async def test_an_always_to_the_loop_guard_is_a_yes_for_this_time_only() -> None:
    runner = batch(saying("Look", "seen"))
    first = await runner.execute([call("a", "Look"), call("b", "Look"), call("c", "Look")])
    assert questions(first)["c"].choices == ()
    out = await runner.execute(pending(first), [answer(questions(first)["c"], "yes_always")])
    assert lists(out) == {"executed": ["c"]}
    assert out.new_policies == ()


@pytest.mark.spec("RUN-4")
async def test_of_two_answers_to_one_question_the_second_is_refused() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="rm x")])
    question = questions(first)["a"]
    out = await runner.execute(pending(first), [answer(question, "no"), answer(question, "yes")])
    assert lists(out) == {"failed": ["a"]}


@pytest.mark.spec("RUN-4")
async def test_an_answer_for_other_arguments_does_not_spoil_the_right_one() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls")])
    right, wrong = answer(questions(first)["a"], "yes"), Confirmation("a", "yes", "0" * 64)
    assert lists(await runner.execute(pending(first), [right, wrong])) == {"executed": ["a"]}
    assert lists(await runner.execute(pending(first), [wrong, right])) == {"executed": ["a"]}


@pytest.mark.spec("EXE-14")
async def test_a_rejection_with_stop_cancels_the_rest_of_the_batch() -> None:
    runner = batch(bash())
    first = await runner.execute([call("a", "Bash", command="make ls"), call("b", "Bash", command="make pwd")])
    out = await runner.execute(pending(first), [answer(questions(first)["a"], "no", stop=True)])
    assert [each.result and each.result.code for each in out.failed] == ["denied", "cancelled_by_user"]


@pytest.mark.spec("RUN-2", "EXE-2")
async def test_a_new_call_passed_behind_a_pending_one_does_not_overtake_it() -> None:
    runner = batch(file_writer(), file_reader())
    first = await runner.execute(
        [call(f"r{n}", "Read", path=f"{n}.py") for n in range(3)] + [call("e", "Edit", path="a")]
    )
    out = await runner.execute([*pending(first), call("new", "Read", path="a")])
    assert lists(out) == {"still_needs_approval": ["e"], "held": ["new"]}

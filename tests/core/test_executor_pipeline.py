"""The steps of one call: the name, the hooks before and after, and what happens where one of them fails."""

from dataclasses import replace
from typing import Any

import pytest

from callgate.assembly import DecisionGate
from callgate.core.ports import Case, Check, Target, Unknown
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, Recorder
from callgate.words.calls import Result, Status
from callgate.words.decisions import Allow, Deny
from callgate.words.events import Noted
from callgate.words.messages import Text
from callgate.words.traits import Traits, shared
from tests.core.kit import FREE, Desk, allow_all, call, codes, saying

MUTATING = Traits(declared_locks=shared)


class Unwrapping(PlainToolbox):
    """Turns ``Extra(tool=…, with=…)`` into a call of that tool, as a tool search does."""

    def resolve(self, name: str, raw: Any) -> Target | Unknown:
        return super().resolve(raw["tool"], raw["with"]) if name == "Extra" else super().resolve(name, raw)


@pytest.mark.spec("EXE-24")
async def test_a_name_may_become_a_call_of_another_tool_and_the_gate_judges_that_one() -> None:
    judged: list[str] = []

    def note(case: Case) -> Deny | None:
        judged.append(case.name)
        return Deny("rule") if case.arguments == {"x": 2} else None

    desk = Desk(toolbox=Unwrapping(saying("Hidden", "found", FREE)), gate=allow_all(Check("note", note)))
    one, two = (
        call("a", "Extra", tool="Hidden", **{"with": {"x": 1}}),
        call("b", "Extra", tool="Hidden", **{"with": {"x": 2}}),
    )
    results = await desk.finish(one, two)
    assert judged == ["Hidden", "Hidden"]
    assert codes(results) == {"a": "ok", "b": "denied"}
    assert (desk.now("a").name, desk.now("a").arguments) == ("Hidden", {"x": 1})


@pytest.mark.spec("EXE-24")
async def test_a_hook_that_blocks_is_told_to_the_model_with_its_reason() -> None:
    block = Check("hook", lambda case: Deny("pre hook", "secrets in it", "blocked_by_hook"))
    desk = Desk(saying("Do", "did"), gate=allow_all(block))
    result = (await desk.finish(call("a", "Do")))["a"]
    assert (result.code, result.status, result.effects) == ("blocked_by_hook", Status.ERROR, "none")
    assert "secrets in it" in result.text


@pytest.mark.spec("EXE-13", "EXE-24")
async def test_a_hook_that_fails_before_a_call_refuses_it_and_says_so() -> None:
    async def crash(_case: Case) -> Allow:
        raise RuntimeError("hook crashed")

    recorder = Recorder()
    desk = Desk(recorder.watch(saying("Do", "did")), gate=allow_all(Check("hook", crash)))
    result = (await desk.finish(call("a", "Do")))["a"]
    assert result.code == "denied"
    assert "hook crashed" in result.text
    assert recorder.started == []


@pytest.mark.spec("EXE-13", "EXE-24")
async def test_a_hook_that_fails_after_a_call_is_told_beside_the_result() -> None:
    def crash(_case: Case, _result: Result) -> Result:
        raise RuntimeError("hook crashed")

    desk = Desk(saying("Do", "did", MUTATING), gate=allow_all(after=[crash]))
    result = (await desk.finish(call("a", "Do")))["a"]
    assert result.code == "ok"
    assert result.text.startswith("did")
    assert "hook crashed" in result.text
    assert [note.level for note in desk.told(Noted)] == ["error"]


@pytest.mark.spec("EXE-13")
async def test_a_gate_that_raises_refuses_the_call_and_nobody_elses() -> None:
    class Broken(DecisionGate):
        def judge(self, case: Case) -> Any:
            if case.name == "Do":
                raise RuntimeError("no rules")
            return super().judge(case)

    desk = Desk(saying("Do", "did"), saying("Good", "fine"), gate=Broken())
    results = await desk.finish(call("a", "Do"), call("b", "Good"))
    assert codes(results) == {"a": "denied", "b": "ok"}
    assert "no rules" in results["a"].text


@pytest.mark.spec("EXE-12")
async def test_a_refusal_is_cut_like_any_other_error() -> None:
    deny = Check("rule", lambda case: Deny("rule", "first " + "x" * 100_000 + " last"))
    desk = Desk(saying("Do", "did"), gate=allow_all(deny))
    result = (await desk.finish(call("a", "Do")))["a"]
    assert len(result.text) < 11_000
    assert result.text.endswith(" last")


@pytest.mark.spec("EXE-24")
async def test_the_steps_of_a_call_follow_each_other_and_an_early_outcome_ends_it() -> None:
    steps: list[str] = []

    class Box(PlainToolbox):
        def resolve(self, name: str, raw: Any) -> Target | Unknown:
            steps.append("resolve")
            return super().resolve(name, raw)

    class Tool(PlainTool):
        def read(self, raw: Any) -> Any:
            steps.append("validate")
            return super().read(raw)

    def decide(case: Case) -> Deny | None:
        steps.append("decide")
        return Deny("rule") if case.call_id == "denied" else None

    def after(_case: Case, result: Result) -> Result:
        steps.append("post hook")
        return result

    def body(_arguments: object, _run: object) -> str:
        steps.append("run")
        return "x" * 40_000

    class Host(MemoryHost):
        async def keep(self, name: str, data: bytes) -> str:
            steps.append("bound")
            return await super().keep(name, data)

    gate = allow_all(Check("decide", decide), after=[after])
    desk = Desk(toolbox=Box(Tool("Do", body, traits=FREE)), gate=gate, host=Host())
    await desk.finish(call("a", "Do"))
    assert steps == ["resolve", "validate", "decide", "run", "post hook", "bound"]
    steps.clear()
    await Desk(toolbox=Box(Tool("Do", body, traits=FREE)), gate=gate).finish(call("denied", "Do"))
    assert steps == ["resolve", "validate", "decide"]


@pytest.mark.spec("EXE-24")
async def test_a_post_hook_may_change_what_the_model_gets() -> None:
    def censor(_case: Case, result: Result) -> Result:
        return replace(result, content=(Text(result.text.replace("secret", "…")),))

    desk = Desk(saying("Do", "the secret word"), gate=allow_all(after=[censor]))
    assert (await desk.finish(call("a", "Do")))["a"].text == "the … word"


@pytest.mark.spec("EXE-24")
async def test_an_exception_in_a_hook_that_cannot_even_be_printed_is_reported_too() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def crash(_case: Case, _result: Result) -> Result:
        raise Unspeakable

    desk = Desk(saying("Do", "did", MUTATING), gate=allow_all(after=[crash]))
    result = (await desk.finish(call("a", "Do")))["a"]
    assert result.code == "ok"
    assert "Unspeakable" in result.text


@pytest.mark.spec("EXE-24", "EXE-13")
async def test_a_post_hook_that_gives_back_nothing_does_not_cost_the_result() -> None:
    def forgetful(_case: Case, _result: Result) -> Any:
        return None

    desk = Desk(saying("Do", "did", MUTATING), gate=allow_all(after=[forgetful]))
    result = (await desk.finish(call("a", "Do")))["a"]
    assert result.code == "ok"
    assert result.text.startswith("did")
    assert "hook" in result.text


@pytest.mark.spec("EXE-13")
@pytest.mark.parametrize("content", [None, 7, ("plain text",)])
async def test_a_tool_whose_result_does_not_hold_together_fails_alone(content: Any) -> None:
    desk = Desk(saying("Odd", Result(content)), saying("Good", "fine"))
    results = await desk.finish(call("a", "Odd"), call("b", "Good"))
    assert codes(results) == {"a": "tool_error", "b": "ok"}


@pytest.mark.spec("EXE-13")
@pytest.mark.parametrize("verdict", [True, "allow", 1])
@pytest.mark.parametrize("later", [False, True])
async def test_a_check_that_answers_with_something_else_than_a_decision_refuses_the_call(
    verdict: Any, later: bool
) -> None:
    async def judge_later(_case: Case) -> Any:
        return verdict

    recorder = Recorder()
    hook = Check("hook", judge_later if later else lambda case: verdict)
    desk = Desk(recorder.watch(saying("Do", "did")), gate=allow_all(hook))
    await desk.begin(call("a", "Do"))
    stuck = not desk.executor.settled
    await desk.executor.aclose()
    assert not stuck
    assert desk.result("a").code == "denied"
    assert recorder.started == []


@pytest.mark.spec("EXE-28")
async def test_traits_that_are_none_count_as_the_most_careful_ones() -> None:
    odd = PlainTool("Odd", traits=lambda arguments: None)  # pyright: ignore[reportArgumentType]
    desk = Desk(odd, saying("Good", "fine"))
    results = await desk.finish(call("a", "Odd"), call("b", "Good"))
    assert codes(results) == {"a": "ok", "b": "ok"}

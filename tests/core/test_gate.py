"""Checks in order, remembered policies and how far they reach, the loop guard."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any

import pytest

from callgate.assembly import DecisionGate
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Hooked
from callgate.policy.checks import standard_checks
from callgate.policy.judge import loop_guard
from callgate.testing import MemoryHost, PlainTool, run_virtual
from callgate.tools.tool import schema_tool
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Decision, Deny, Pattern, arguments_hash
from callgate.words.messages import Text
from callgate.words.traits import Traits, writes

NOW = 1_700_000_000.0


def case_of(
    name: str = "Do",
    traits: Traits | None = None,
    policies: Sequence[ApprovalPolicy] = (),
    recent: Sequence[str] = (),
    **arguments: Any,
) -> Case:
    return Case(
        call_id="c1",
        tool=PlainTool(name),
        name=name,
        arguments=arguments,
        arguments_hash=arguments_hash(name, arguments),
        traits=traits or Traits(),
        policies=policies,
        now=NOW,
        recent=recent,
        normal=MemoryHost().normal,
        resolve_path=MemoryHost().resolve_path,
    )


def judged(gate: CheckGate, case: Case) -> Decision:
    verdict = gate.judge(case)

    async def wait(pending: Awaitable[Decision]) -> Decision:
        return await pending

    return run_virtual(wait(verdict)) if isawaitable(verdict) else verdict


def policy(effect: Any = "allow", pattern: Pattern | None = None, **more: Any) -> ApprovalPolicy:
    return ApprovalPolicy(effect, "Do", pattern, **more)


# ---- the order of checks ----------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-24")
def test_the_first_check_that_applies_decides() -> None:
    checks = [Check("one", lambda case: None), Check("two", lambda case: Deny("two")), Check("3", lambda c: Allow("3"))]
    assert judged(DecisionGate(checks), case_of()) == Deny("two")


@pytest.mark.spec("EXE-24")
def test_a_call_that_no_check_decides_about_is_denied() -> None:
    assert isinstance(judged(DecisionGate([]), case_of()), Deny)


def broken(_case: Case) -> Allow:
    raise RuntimeError("rules unreadable")


async def broken_later(_case: Case) -> Allow:
    raise RuntimeError("hook crashed")


@pytest.mark.spec("EXE-13", "EXE-24")
@pytest.mark.parametrize(("judge", "why"), [(broken, "rules unreadable"), (broken_later, "hook crashed")])
@pytest.mark.parametrize("position", [0, 1])
def test_a_check_that_raises_is_a_denial_and_never_a_pass(judge: Any, why: str, position: int) -> None:
    checks = [Check("hook", judge), Check("all", lambda case: Allow("all"))]
    if position:
        checks.insert(0, Check("nothing to say", lambda case: None))
    decision = judged(DecisionGate(checks), case_of())
    assert isinstance(decision, Deny)
    assert decision.by == "hook"
    assert why in decision.reason


@pytest.mark.spec("EXE-24")
def test_a_check_may_answer_later_and_those_behind_it_wait() -> None:
    async def none(_case: Case) -> None:
        return None

    async def no(_case: Case) -> Deny:
        return Deny("later")

    gate = DecisionGate([Check("a", none), Check("b", no), Check("c", lambda case: Allow("c"))])
    assert judged(gate, case_of()) == Deny("later")


@pytest.mark.spec("EXE-22")
def test_after_a_change_of_arguments_only_the_checks_that_hold_for_any_are_asked() -> None:
    gate = DecisionGate(
        [Check("hook", lambda case: Deny("hook")), Check("rule", lambda case: Deny("rule"), again=True)]
    )
    assert gate.judge_again(case_of()) == Deny("rule")


@pytest.mark.spec("EXE-24")
def test_post_hooks_run_one_after_the_other() -> None:
    def first(_case: Case, result: Result) -> Result:
        return replace(result, content=(Text(result.text + " first"),))

    async def second(_case: Case, result: Result) -> Result:
        return replace(result, content=(Text(result.text + " second"),))

    async def main() -> Result:
        after = DecisionGate(after=[first, second]).after(case_of(), Result((Text("tool"),)))
        return await after if isawaitable(after) else after

    assert run_virtual(main()).text == "tool first second"


# ---- the default gate -------------------------------------------------------------------------------------------


def test_by_default_a_tool_without_effects_is_allowed_and_any_other_is_asked_about() -> None:
    assert isinstance(judged(DecisionGate(), case_of(traits=Traits(effects="none"))), Allow)
    assert isinstance(judged(DecisionGate(), case_of(traits=Traits(effects="idempotent"))), Ask)
    assert isinstance(judged(DecisionGate(), case_of(traits=Traits(effects="mutating"))), Ask)


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize(
    ("effects", "wins"),
    [(("allow",), Allow), (("ask", "allow"), Ask), (("allow", "ask", "deny"), Deny), (("allow", "deny"), Deny)],
)
def test_of_policies_deny_goes_before_ask_and_ask_before_allow(effects: Any, wins: type) -> None:
    case = case_of(policies=[policy(effect) for effect in effects], command="ls")
    assert isinstance(judged(DecisionGate(), case), wins)


def test_a_decision_by_policy_names_the_policy() -> None:
    case = case_of(
        "Bash", policies=[ApprovalPolicy("allow", "Bash", Pattern("prefix", "make", "command"))], command="make x"
    )
    decision = judged(DecisionGate(), case)
    assert "make" in decision.by
    assert "session" in str(decision.origin)


def test_plan_mode_lets_nothing_with_effects_pass_whatever_a_policy_says() -> None:
    case = replace(case_of(policies=[policy()], command="ls"), mode="plan")
    assert isinstance(judged(DecisionGate(), case), Deny)


def test_bypass_mode_does_not_pass_a_deny_policy() -> None:
    case = replace(case_of(policies=[policy("deny")], command="ls"), mode="bypass")
    assert isinstance(judged(DecisionGate(), case), Deny)


def test_where_nobody_wants_to_be_asked_an_ask_is_a_denial() -> None:
    assert isinstance(judged(DecisionGate(), replace(case_of(), mode="dont_ask")), Deny)


def test_accepting_edits_covers_previewed_changes_inside_the_workspace_only() -> None:
    tool = PlainTool("Edit", preview=lambda arguments, run: (_ for _ in ()).throw(AssertionError))
    inside = replace(case_of("Edit", Traits(declared_locks=writes("a.py"))), tool=tool, mode="accept_edits")
    outside = replace(inside, traits=Traits(declared_locks=writes("../a.py")))
    assert isinstance(judged(DecisionGate(), inside), Allow)
    assert isinstance(judged(DecisionGate(), outside), Ask)


# ---- hooks ------------------------------------------------------------------------------------------------------


class Asked:
    """A check that hears the arguments of every case it is asked about."""

    def __init__(self, answer: Any = None) -> None:
        self.heard: list[Any] = []
        self.hooked: list[Any] = []
        self._answer = answer

    def judge(self, case: Case) -> Any:
        self.heard.append(dict(case.arguments))
        self.hooked.append(case.hooked)
        return self._answer


def later(answer: Any) -> Any:
    async def judge(_case: Case) -> Any:
        return answer

    return judge


@pytest.mark.parametrize("wait", [False, True], ids=["at once", "later"])
def test_what_hooks_say_is_weighed_by_the_checks_behind_them(wait: bool) -> None:
    hooked = Hooked("hook", Allow("hook"), context=("mind the gap",))
    behind = Asked(Allow("rule"))
    hook = Check("hooks", later(hooked) if wait else lambda case: hooked)
    decision = judged(DecisionGate([hook, Check("rule", behind.judge)]), case_of(x=1))
    assert behind.hooked == [hooked]
    assert decision == Allow("rule", context=("mind the gap",))


@pytest.mark.spec("HOOK-1")
def test_a_hook_that_denies_ends_it() -> None:
    behind = Asked(Allow("rule"))
    hook = Check("hooks", lambda case: Hooked("hook", Deny("hook", "no", "blocked_by_hook")))
    decision = judged(DecisionGate([hook, Check("rule", behind.judge)]), case_of())
    assert decision == Deny("hook", "no", "blocked_by_hook")
    assert behind.heard == []


@pytest.mark.spec("EXE-22")
def test_other_arguments_of_a_hook_are_judged_from_the_first_check_on_and_the_hook_is_not_asked_again() -> None:
    first, hook = Asked(), Asked(Hooked("the hook", arguments={"x": 2}))
    gate = DecisionGate(
        [Check("first", first.judge), Check("hooks", hook.judge), Check("last", lambda c: Allow("last"))]
    )
    decision = judged(gate, case_of(x=1))
    assert first.heard == [{"x": 1}, {"x": 2}]
    assert hook.heard == [{"x": 1}]
    assert decision == Allow("last", arguments={"x": 2}, changed_by="the hook")


@pytest.mark.spec("EXE-22")
def test_a_deny_behind_the_change_still_denies() -> None:
    def deny(case: Case) -> Deny | None:
        return Deny("rule") if case.arguments.get("x") == 2 else None

    gate = DecisionGate(
        [
            Check("deny", deny),
            Check("hooks", lambda c: Hooked("h", Allow("h"), {"x": 2})),
            Check("all", lambda c: Allow("all")),
        ]
    )
    assert judged(gate, case_of(x=1)) == Deny("rule")


def test_arguments_of_a_hook_that_the_tool_cannot_read_are_a_denial() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    tool = schema_tool("Do", "Does it.", schema, lambda given: "done")
    case = replace(case_of(x=1), tool=tool)
    gate = DecisionGate(
        [Check("hooks", lambda c: Hooked("the hook", arguments={"x": []})), Check("all", lambda c: Allow("all"))]
    )
    decision = judged(gate, case)
    assert isinstance(decision, Deny)
    assert decision.by == "the hook"


def test_several_hook_checks_add_up_and_an_ask_outweighs_an_allow() -> None:
    behind = Asked(Ask("rule"))
    gate = DecisionGate(
        [
            Check("one", lambda c: Hooked("one", Ask("one"), context=("a",))),
            Check("two", lambda c: Hooked("two", Allow("two"), context=("b",))),
            Check("rule", behind.judge),
        ]
    )
    assert judged(gate, case_of()) == Ask("rule", context=("a", "b"))
    assert behind.hooked == [Hooked("two", Ask("one"), context=("a", "b"))]


def test_when_only_hooks_spoke_the_call_is_denied() -> None:
    assert isinstance(judged(DecisionGate([Check("h", lambda c: Hooked("h", Allow("h")))]), case_of()), Deny)


# ---- the loop guard (EXE-26) ------------------------------------------------------------------------------------


def trail(*names: str) -> list[str]:
    return [arguments_hash("Do", {"command": name}) for name in names]


def guarded(*before: str, now: str) -> bool:
    return loop_guard(case_of(recent=trail(*before), command=now)) is not None


@pytest.mark.spec("EXE-26")
@pytest.mark.parametrize(
    ("before", "now", "stopped"),
    [
        ("", "a", False),
        ("a", "a", False),
        ("aa", "a", True),
        ("aba", "b", False),
        ("ababa", "b", True),
        ("xababa", "b", True),
        ("abcabcab", "c", True),
        ("aab", "a", False),
        ("abab", "c", False),
        ("abba", "a", False),
    ],
)
def test_the_third_time_in_a_row_and_the_third_round_of_a_cycle_are_noticed(
    before: str, now: str, stopped: bool
) -> None:
    assert guarded(*before, now=now) is stopped


@pytest.mark.spec("EXE-26")
def test_other_arguments_are_another_call() -> None:
    case = case_of(recent=trail("a", "a"), command="a", cwd="src")
    assert loop_guard(case) is None


@pytest.mark.spec("EXE-26")
def test_a_tool_that_is_meant_to_repeat_is_not_held_up() -> None:
    case = case_of(recent=trail("a", "a"), command="a")
    assert loop_guard(case) is not None
    assert loop_guard(replace(case, traits=replace(case.traits, repeats=True))) is None


@pytest.mark.spec("EXE-26")
def test_the_guard_says_what_repeats() -> None:
    verdict = loop_guard(case_of(recent=trail("a", "a"), command="a"))
    assert isinstance(verdict, Ask)
    assert "third time" in verdict.reason
    assert "Do" in verdict.reason


@pytest.mark.spec("EXE-26")
@pytest.mark.parametrize(("attended", "decision"), [(True, Ask), (False, Deny)])
def test_a_loop_is_put_to_the_person_and_refused_where_there_is_none(attended: bool, decision: type) -> None:
    case = case_of(traits=Traits(effects="none"), recent=trail("a", "a"), command="a")
    assert isinstance(judged(CheckGate(standard_checks(), attended=attended), case), decision)


@pytest.mark.spec("EXE-26")
def test_a_remembered_always_does_not_silence_the_guard() -> None:
    case = case_of(policies=[policy()], recent=trail("a", "a"), command="a")
    assert isinstance(judged(DecisionGate(), case), Ask)

"""Checks in order, remembered policies and how far they reach, the loop guard."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any

import pytest

from callgate.core.gate import DecisionGate, choices_for, covers, loop_guard
from callgate.core.ports import Case, Check
from callgate.testing import MemoryHost, PlainTool, run_virtual
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Decision, Deny, Pattern, arguments_hash
from callgate.words.messages import Text
from callgate.words.traits import Traits, writes

NOW = 1_700_000_000.0


def case_of(
    name: str = "Bash",
    traits: Traits | None = None,
    policies: Sequence[ApprovalPolicy] = (),
    recent: Sequence[str] = (),
    **arguments: Any,
) -> Case:
    return Case(
        "c1",
        PlainTool(name),
        name,
        arguments,
        arguments_hash(name, arguments),
        traits or Traits(),
        policies,
        now=NOW,
        recent=recent,
        normal=MemoryHost().normal,
    )


def judged(gate: DecisionGate, case: Case) -> Decision:
    verdict = gate.judge(case)

    async def wait(pending: Awaitable[Decision]) -> Decision:
        return await pending

    return run_virtual(wait(verdict)) if isawaitable(verdict) else verdict


def policy(effect: Any = "allow", pattern: Pattern | None = None, **more: Any) -> ApprovalPolicy:
    return ApprovalPolicy(effect, "Bash", pattern, **more)


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
    case = case_of(policies=[policy("allow", Pattern("prefix", "git status", "command"))], command="git status")
    decision = judged(DecisionGate(), case)
    assert "git status" in decision.by
    assert "session" in decision.by


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


# ---- how far a policy reaches -----------------------------------------------------------------------------------


def covered(pattern: Pattern | None, **arguments: Any) -> bool:
    return covers(policy("allow", pattern), case_of(**arguments))


def test_a_policy_without_a_pattern_covers_the_whole_tool_and_no_other() -> None:
    assert covered(None, command="anything; at all")
    assert not covers(policy(), case_of("Edit", path="a.py"))


def test_an_exact_policy_covers_these_arguments_in_any_order_of_keys_and_no_others() -> None:
    exact = Pattern("exact", arguments_hash("Bash", {"command": "ls", "cwd": "src"}))
    assert covered(exact, cwd="src", command="ls")
    assert not covered(exact, command="ls", cwd="other")
    assert not covered(exact, command="ls")


GIT_STATUS = Pattern("prefix", "git status", "command")


@pytest.mark.parametrize("command", ["git status", "git status -s", "git status --short src/a.py"])
def test_a_prefix_covers_one_plain_command_that_starts_with_its_words(command: str) -> None:
    assert covered(GIT_STATUS, command=command)


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf x",
        "git status && rm -rf x",
        "git status | sh",
        "git status || rm x",
        "git status & rm x",
        "git status > /etc/passwd",
        "git status < x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status $HOME",
        "git status\nrm -rf x",
        "git status\rrm -rf x",
        "git status 'a b'",
        'git status "x"',
        "git status \\; rm",
        "git status *",
        "git status ~",
        "git status {a,b}",
        "git status # comment",
        "git status\n",
        "git stat",
        "git statusx",
        "git  statuses",
        "sudo git status",
        "",
    ],
)
def test_a_prefix_covers_nothing_that_is_more_than_that_one_command(command: str) -> None:
    assert not covered(GIT_STATUS, command=command)


@pytest.mark.parametrize("command", [["git", "status"], None, 3, {"git": "status"}])
def test_a_prefix_covers_only_text(command: object) -> None:
    assert not covered(GIT_STATUS, command=command)


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_prefix_covers_nothing(empty: str) -> None:
    assert not covered(Pattern("prefix", empty, "command"), command="ls")


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/**", "src/a.py"),
        ("src/**", "src/deep/er/a.py"),
        ("**/*.py", "a.py"),
        ("*.py", "./a.py"),
        ("a?.md", "ab.md"),
    ],
)
def test_a_glob_covers_paths_that_match_it(glob: str, path: str) -> None:
    assert covered(Pattern("glob", glob, "path"), path=path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/**", "src/../secret"),
        ("src/**", "other/src/a.py"),
        ("src/**", "/etc/src/a.py"),
        ("**", "../outside.txt"),
        ("**", "/etc/passwd"),
        ("*.py", "src/a.py"),
        ("a?.md", "a/.md"),
        ("a.py", "axpy"),
        ("*.py", "a.pyc"),
    ],
)
def test_a_glob_covers_nothing_else_and_nothing_outside_the_workspace(glob: str, path: str) -> None:
    assert not covered(Pattern("glob", glob, "path"), path=path)


@pytest.mark.parametrize(("expires_at", "still"), [(None, True), (NOW + 1, True), (NOW, False), (NOW - 1, False)])
def test_a_policy_covers_nothing_from_its_expiry_on(expires_at: float | None, still: bool) -> None:
    assert covers(policy(expires_at=expires_at), case_of()) is still


def test_the_choices_for_an_always_start_with_the_narrowest() -> None:
    proposed = Choice("git status …", GIT_STATUS)
    case = case_of(traits=Traits(choices_for_always=(proposed,)), command="git status")
    exact, second = choices_for(case)
    assert exact.pattern == Pattern("exact", case.arguments_hash)
    assert second == proposed


# ---- the loop guard (EXE-26) ------------------------------------------------------------------------------------


def trail(*names: str) -> list[str]:
    return [arguments_hash("Bash", {"command": name}) for name in names]


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
def test_the_guard_says_what_repeats() -> None:
    verdict = loop_guard(case_of(recent=trail("a", "a"), command="a"))
    assert isinstance(verdict, Ask)
    assert "third time" in verdict.reason
    assert "Bash" in verdict.reason


@pytest.mark.spec("EXE-26")
@pytest.mark.parametrize(("attended", "decision"), [(True, Ask), (False, Deny)])
def test_a_loop_is_put_to_the_person_and_refused_where_there_is_none(attended: bool, decision: type) -> None:
    case = case_of(traits=Traits(effects="none"), recent=trail("a", "a"), command="a")
    assert isinstance(judged(DecisionGate(attended=attended), case), decision)


@pytest.mark.spec("EXE-26")
def test_a_remembered_always_does_not_silence_the_guard() -> None:
    case = case_of(policies=[policy()], recent=trail("a", "a"), command="a")
    assert isinstance(judged(DecisionGate(), case), Ask)

"""The standard checks: their order, and that nothing later overrides broken settings and what is denied."""

from dataclasses import replace
from typing import Any

import pytest

from callgate.core.ports import Case, Check, Hooked
from callgate.policy.checks import standard_checks
from callgate.policy.entries import Layer, SettingsFault
from callgate.policy.judge import Judge
from callgate.policy.rules import Rulebook
from callgate.words.decisions import Allow, Deny, Origin, Pattern
from callgate.words.modes import Mode
from tests.policy.gate_kit import (
    HOME,
    MODES,
    ROOT,
    SRC,
    book,
    case_of,
    decided,
    hooked,
    line,
    outcome,
    policy,
    rules,
    shell,
)


def hooks(said: Hooked) -> Check:
    return Check("hooks", lambda case: said)


def test_the_checks_are_in_the_order_of_the_specification() -> None:
    order = [
        "settings",
        "deny rules",
        "hooks",
        "plan mode",
        "hard safety",
        "loop guard",
        "ask rules",
        "interaction",
        "mode",
        "allow rules",
        "default",
    ]
    checks = standard_checks(hooks=hooks(Hooked()))
    assert [check.name for check in checks] == order
    again = [check.name for check in checks if check.again]
    assert again == ["settings", "deny rules", "plan mode", "hard safety"]
    assert [check.name for check in standard_checks()] == [name for name in order if name != "hooks"]


# ---- broken settings --------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize("mode", MODES)
def test_while_settings_are_broken_every_call_is_denied_with_file_and_line(mode: Mode) -> None:
    broken = Rulebook.of([line("deny", "Bash(")], root=ROOT, home=HOME)
    decision = decided(case_of("Read", file_path="a", mode=mode), broken)
    assert isinstance(decision, Deny)
    assert decision.by == "settings"
    assert "user.toml:1: " in decision.reason
    assert "more" not in decision.reason
    assert decision.origin == Origin("user", "user.toml", 1)


def test_further_faults_are_counted() -> None:
    faults = [
        SettingsFault("one", Origin("user", "a", 1)),
        SettingsFault("two", Origin("user", "a", 2)),
        SettingsFault("3", Origin("user")),
    ]
    reason = decided(case_of("Read"), Rulebook.of([], root=ROOT, home=HOME, faults=faults)).reason
    assert "a:1: one (and 2 more)" in reason


# ---- deny -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_deny_rule_goes_before_every_mode_rule_hook_and_answer(mode: Mode) -> None:
    rulebook = rules(deny=["Deploy"], ask=["Deploy"], allow=["Deploy"])
    case = case_of("Deploy", mode=mode, policies=[policy("allow", "Deploy")])
    decision = decided(hooked(case, Allow("hook")), rulebook)
    assert decision == Deny(
        "Deploy",
        "denied by Deploy: the rule matches every call of Deploy; no other rule overrides it",
        origin=Origin("user", "user.toml", 1),
    )


@pytest.mark.parametrize("layer", ["managed", "user", "project", "local", "command line", "session"])
@pytest.mark.spec("GATE-3")
def test_a_deny_in_any_layer_stands(layer: Layer) -> None:
    rulebook = book(line("deny", "Deploy", layer), line("allow", "Deploy", "managed"))
    assert outcome(case_of("Deploy"), rulebook) == "deny"


def test_the_note_of_a_rule_is_its_reason() -> None:
    rulebook = book(
        line("deny", "A", note="not here"), line("ask", "B", note="think first"), line("allow", "C", note="it is fine")
    )
    assert [decided(case_of(name), rulebook).reason for name in "ABC"] == ["not here", "think first", "it is fine"]


def test_of_several_rules_the_first_by_layer_and_text_is_named() -> None:
    rulebook = book(line("deny", "mcp__a__b", "session"), line("deny", "mcp__a", "user"), line("deny", "*", "user"))
    assert decided(case_of("mcp__a__b"), rulebook).by == "*"


def test_a_deny_answer_stands_like_a_rule() -> None:
    case = case_of(
        "Deploy", mode="bypass", policies=[policy("deny", "Deploy", note="never"), policy("allow", "Deploy")]
    )
    decision = decided(case)
    assert decision == Deny("policy deny Deploy [session]", "never", origin=Origin("session"))


def test_a_deny_answer_about_these_arguments_leaves_others_alone() -> None:
    case, other = case_of("Deploy", to="prod"), case_of("Deploy", to="test")
    answer = policy("deny", "Deploy", Pattern("exact", case.arguments_hash))
    assert outcome(replace(case, policies=[answer])) == "deny"
    assert outcome(replace(other, policies=[answer])) == "ask"


def test_a_denied_call_runs_no_hook() -> None:
    asked: list[Case] = []
    watching = Check("hooks", lambda case: asked.append(case))
    assert outcome(case_of("Deploy"), rules(deny=["Deploy"]), hooks=watching) == "deny"
    assert asked == []
    assert outcome(case_of("Deploy"), hooks=watching) == "ask"
    assert len(asked) == 1


def test_a_read_rule_stops_the_shell_too() -> None:
    rulebook = rules(deny=["Read(.env)"], allow=["Bash"])
    assert outcome(shell("cat .env", mode="bypass"), rulebook) == "deny"
    assert outcome(shell("cat sub/.env", mode="bypass"), rulebook) == "deny"
    assert outcome(shell("cat env", mode="bypass"), rulebook) == "allow"


def test_a_deny_rule_sees_the_place_a_link_leads_to() -> None:
    rulebook = rules(deny=["Read(/secrets/**)"])
    links = {f"{ROOT}/nice.txt": f"{ROOT}/secrets/key.txt"}
    assert outcome(case_of("Read", file_path="nice.txt", links=links), rulebook) == "deny"
    assert outcome(case_of("Read", file_path="nice.txt"), rulebook) == "allow"


# ---- conditions of hooks ----------------------------------------------------------------------------------------


def test_a_condition_is_a_rule_that_is_read_widely() -> None:
    judge = Judge(rules())
    assert judge.concerns("Bash(rm:*)", shell("ls && rm x"))
    assert not judge.concerns("Bash(rm:*)", shell("ls"))
    assert judge.concerns("Edit(/src/**)", SRC)
    with pytest.raises(ValueError):
        judge.concerns("Bash(", SRC)


# ---- exceptions -------------------------------------------------------------------------------------------------


def test_a_check_that_cannot_look_at_a_path_raises_so_that_the_gate_denies() -> None:
    def broken(path: str) -> Any:
        raise OSError("disk on fire")

    case = replace(SRC, resolve_path=broken)
    with pytest.raises(OSError):
        decided(case, rules(deny=["Edit(/src/**)"]))

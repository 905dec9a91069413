"""Why a call is decided as it is: the whole chain, the rules, and how near each of them was."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Hooked
from callgate.policy.checks import standard_checks
from callgate.policy.explanation import Explanation, Reading, explain
from callgate.policy.rules import EMPTY, Rulebook
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Deny, Effect, Origin, Pattern
from tests.policy.gate_kit import HOME, MODES, NOW, ROOT, book, case_of, decided, line, outcome, rules, shell


def explained(case: Case, rulebook: Rulebook = EMPTY, hooks: Check | None = None) -> Explanation:
    here = rulebook if rulebook is not EMPTY else replace(EMPTY, root=ROOT, home=HOME)
    return explain(CheckGate(standard_checks(here, hooks=hooks)).explain, case, here)


def hooks(said: Any) -> Check:
    return Check("hooks", lambda case: said)


def reading(case: Case, rulebook: Rulebook) -> list[str]:
    return list(map(in_words, explained(case, rulebook).rules))


def in_words(reading: Reading) -> str:
    says = "applies" if reading.applies else "does not apply"
    why = f": {reading.why}" if reading.why else ""
    return f"{reading.rule.effect} {reading.rule.text} ({reading.rule.origin}) {says}{why}"


def steps(made: Explanation) -> list[str]:
    return [f"{'>' if step.decided else '-'} {step.check}: {step.said}" for step in made.steps]


@pytest.mark.spec("GATE-1")
def test_every_check_is_there_with_what_it_said_and_which_decided() -> None:
    made = explained(case_of("Deploy", to="test"), rules(allow=["Deploy(to=test)"], deny=["Deploy(to=prod)"]))
    assert made.decision == decided(
        case_of("Deploy", to="test"), rules(allow=["Deploy(to=test)"], deny=["Deploy(to=prod)"])
    )
    assert steps(made) == [
        "- settings: nothing",
        "- deny rules: nothing",
        "- plan mode: nothing",
        "- hard safety: nothing",
        "- loop guard: nothing",
        "- ask rules: nothing",
        "- interaction: nothing",
        "- mode: nothing",
        "> allow rules: allow, allowed by Deploy(to=test)",
        "- default: not reached",
    ]
    assert list(map(in_words, made.rules)) == [
        "deny Deploy(to=prod) (user, user.toml:1) does not apply: the arguments are different",
        "allow Deploy(to=test) (user, user.toml:1) applies",
    ]


def test_a_decision_without_a_reason_is_named_by_its_check() -> None:
    made = explained(case_of("Deploy", mode="bypass"))
    assert "> mode: allow, mode bypass" in steps(made)
    assert made.rules == ()


def test_an_exception_in_a_check_denies_and_is_shown() -> None:
    def broken(case: Case) -> Allow:
        raise RuntimeError("rules on fire")

    gate = CheckGate([Check("odd", broken), Check("all", lambda case: Allow("all"))])
    made = explain(gate.explain, case_of("Deploy"))
    assert isinstance(made.decision, Deny)
    assert "rules on fire" in made.decision.reason
    assert steps(made) == [f"> odd: deny, {made.decision.reason}", "- all: not reached"]


def test_a_call_that_no_check_decides_about_is_denied() -> None:
    made = explain(CheckGate([Check("silent", lambda case: None)]).explain, case_of("Deploy"))
    assert made.decision == Deny("gate", "no check decided this call")
    assert [step.decided for step in made.steps] == [False]


# ---- hooks ------------------------------------------------------------------------------------------------------


def test_hooks_that_answer_later_are_not_run_to_explain_something() -> None:
    ran: list[Case] = []

    async def later(case: Case) -> Hooked:
        ran.append(case)
        return Hooked()

    class Odd:
        def __await__(self) -> Any:
            raise AssertionError

    for said in (later, lambda case: Odd()):
        made = explained(case_of("Deploy"), hooks=Check("hooks", said))
        assert "- hooks: decides only when the call is made" in steps(made)
        assert isinstance(made.decision, Ask)
    assert ran == []


@pytest.mark.parametrize(
    ("said", "shown", "decision"),
    [
        (Hooked("h"), "nothing", "ask"),
        (Hooked("h", Allow("h", "fine")), "allow, fine", "allow"),
        (Hooked("h", Ask("h", "look")), "ask, look", "ask"),
        (Hooked("h", Deny("h", "no")), "deny, no", "deny"),
        (Hooked("h", Deny("h", "no"), {"to": "x"}), "deny, no, and changes the arguments", "deny"),
    ],
    ids=["nothing", "allow", "ask", "deny", "deny and change"],
)
def test_what_hooks_say_goes_into_the_decision(said: Hooked, shown: str, decision: str) -> None:
    made = explained(case_of("Deploy"), hooks=hooks(said))
    step = next(step for step in made.steps if step.check == "hooks")
    assert step.said == shown
    assert step.decided is (decision == "deny")
    assert type(made.decision).__name__.lower() == decision


def test_arguments_changed_by_hooks_are_judged_from_the_first_check_on() -> None:
    made = explained(
        case_of("Deploy", to="test"), rules(deny=["Deploy(to=prod)"]), hooks(Hooked("h", None, {"to": "prod"}))
    )
    assert isinstance(made.decision, Deny)
    names = [step.check for step in made.steps]
    assert names[:5] == ["settings", "deny rules", "hooks", "settings", "deny rules"]
    assert "hooks" not in names[3:]
    assert made.rules[0].applies


def test_arguments_of_hooks_that_are_not_valid_deny() -> None:
    made = explained(case_of("Deploy"), hooks=hooks(Hooked("h", None, ["no", "object"])))  # pyright: ignore[reportArgumentType]
    assert isinstance(made.decision, Deny)
    assert made.decision.code == "blocked_by_hook"
    assert "invalid" in made.decision.reason


# ---- how near each rule was -------------------------------------------------------------------------------------


def test_rules_on_other_tools_are_left_out() -> None:
    assert reading(case_of("Deploy"), rules(deny=["Bash"], allow=["mcp__db"])) == []


def test_rules_on_any_tool_that_touches_files_are_there() -> None:
    (said,) = reading(case_of("Deploy"), rules(deny=["Read(.env)"]))
    assert said == (
        "deny Read(.env) (user, user.toml:1) does not apply: no file that the call is known to access matches the rule"
    )


def test_a_deny_rule_that_applies_says_why() -> None:
    (said,) = reading(case_of("Read", file_path=".env"), rules(deny=["Read(.env)"]))
    assert said == "deny Read(.env) (user, user.toml:1) applies: the call reads .env"


def expired() -> Rulebook:
    return book(line("allow", "Deploy", expires_at=NOW + 1))


NEAR: Sequence[tuple[str, Case, Rulebook, str]] = [
    ("command", shell("git push"), rules(allow=["Bash(git commit:*)"]), "does not apply: "),
    ("command that fits", shell("git commit"), rules(allow=["Bash(git commit:*)"]), " applies"),
    (
        "command outside",
        shell("touch /tmp/x"),
        book(line("allow", "Bash(touch /tmp/x)", "session")),
        "/tmp/x is outside the workspace, where session rules do not apply",
    ),
    ("no command", case_of("Bash", {"command": 3}), rules(allow=["Bash(ls)"]), "does not match the rule"),
    ("field", case_of("Deploy", to="prod"), rules(allow=["Deploy(to=test)"]), "does not match the rule"),
    (
        "path",
        case_of("Write", file_path="b.py"),
        rules(allow=["Edit(/a.py)"]),
        "does not cover every link on the path to b.py",
    ),
    ("path that fits", case_of("Write", file_path="a.py"), rules(allow=["Edit(/a.py)"]), " applies"),
    (
        "path outside",
        case_of("Write", file_path="/tmp/x"),
        book(line("allow", "Edit(//tmp/**)", "session")),
        "/tmp/x is outside the workspace, where session rules do not apply",
    ),
    ("no path", case_of("Deploy"), rules(allow=["Edit(/a.py)"]), "not known to access files in this way"),
    (
        "whole tool outside",
        case_of("Write", file_path="/tmp/x"),
        book(line("allow", "Write", "session")),
        "/tmp/x is outside the workspace, where session rules do not apply",
    ),
    ("whole tool", case_of("Deploy"), rules(allow=["Deploy"]), " applies"),
    ("expired", replace(case_of("Deploy"), now=NOW + 2), expired(), "the rule has expired"),
]


@pytest.mark.parametrize(("case", "rulebook", "said"), [each[1:] for each in NEAR], ids=[each[0] for each in NEAR])
def test_an_allow_rule_says_why_it_does_not_cover_the_call(case: Case, rulebook: Rulebook, said: str) -> None:
    (found,) = reading(case, rulebook)
    assert said in found


def test_a_rule_on_the_whole_shell_says_what_stands_in_its_way() -> None:
    said = reading(shell("python x.py"), rules(deny=["Bash(rm:*)"], allow=["Bash"]))
    assert "other rules apply to some calls of Bash, and " in said[1]


def test_remembered_answers_are_among_the_rules() -> None:
    answer = ApprovalPolicy("allow", "Deploy", Pattern("rule", "to=test"))
    (said,) = reading(case_of("Deploy", to="prod", policies=[answer]), EMPTY)
    assert (
        said
        == "allow policy allow Deploy(to=test) [session] (session) does not apply: the call does not match the rule"
    )


def test_an_explanation_decides_what_the_gate_decides() -> None:
    cases = [shell("ls"), shell("touch x"), case_of("Write", file_path=".git/config"), case_of("Deploy", mode="plan")]
    for case in cases:
        assert type(explained(case).decision).__name__.lower() == outcome(case)


def test_where_nobody_is_to_be_asked_it_says_what_the_gate_says() -> None:
    rulebook = rules(ask=["Deploy"])
    for case in (case_of("Deploy", mode="dont_ask"), shell("touch x", mode="dont_ask"), shell("ls", mode="dont_ask")):
        made = explained(case, rulebook)
        assert made.decision == CheckGate(standard_checks(rulebook)).judge(case)
        assert [step.decided for step in made.steps].count(True) == 1
    made = explained(case_of("Deploy", mode="dont_ask"), rulebook)
    assert made.decision.origin == Origin("user", "user.toml", 1)
    assert made.steps[-1].check == "mode dont_ask"
    assert made.steps[-1].decided
    assert (
        made.steps[-1].said == "deny, this requires the approval of the user"
        " (the ask rule Deploy applies: the rule matches every call of Deploy)"
    )
    odd = CheckGate([Check("odd", lambda case: Ask("odd"))])
    assert explain(odd.explain, case_of("Deploy", mode="dont_ask")).decision == Deny(
        "mode dont_ask", "this requires the approval of the user (odd)"
    )


PASSED_BY: Sequence[tuple[Case, str, str]] = [
    (shell("ls"), "Bash(rm:*)", "no command of the call matches the rule"),
    (case_of("Read", file_path="a"), "Edit(a)", "no file that the call is known to access matches the rule"),
    (case_of("WebFetch", url="https://a.test"), "WebFetch(domain:b.test)", "the host of the call is a.test"),
    (case_of("Agent", type="plan"), "Agent(explore)", "the call starts an agent of type plan"),
    (case_of("Deploy", to="a"), "Deploy(to=b)", "the arguments are different"),
]


@pytest.mark.parametrize("effect", ["deny", "ask"])
@pytest.mark.parametrize(("case", "text", "why"), PASSED_BY, ids=[each[1] for each in PASSED_BY])
def test_a_deny_or_ask_rule_says_why_it_does_not_apply(case: Case, text: str, why: str, effect: Effect) -> None:
    (said,) = reading(case, book(line(effect, text)))
    assert said == f"{effect} {text} (user, user.toml:1) does not apply: {why}"


def test_a_deny_rule_that_has_expired_says_so() -> None:
    (said,) = reading(replace(case_of("Deploy"), now=NOW + 2), book(line("deny", "Deploy", expires_at=NOW + 1)))
    assert said.endswith("does not apply: the rule has expired")


def test_explain_is_the_gate_itself_where_nobody_attends_and_where_a_check_ends_the_program() -> None:
    def leaves(case: Case) -> Allow:
        raise SystemExit(3)

    checks = {
        "unattended": [Check("guard", lambda case: Ask("guard", "again?", unattended="deny"))],
        "exit": [Check("odd", leaves), Check("all", lambda case: Allow("all"))],
        "standard": [*standard_checks(rules(ask=["Deploy"]))],
    }
    for name, listed in checks.items():
        for mode in MODES:
            gate, case = CheckGate(listed, attended=False), case_of("Deploy", mode=mode)
            assert explain(gate.explain, case).decision == gate.judge(case), (name, mode)
    gate = CheckGate(checks["unattended"], attended=False)
    made = explain(gate.explain, case_of("Deploy"))
    assert isinstance(made.decision, Deny)
    assert made.steps[-1].decided
    assert "there is no user to ask" in made.steps[-1].said

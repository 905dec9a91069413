"""Remembered answers: how far they reach, and what they do not override."""

from dataclasses import replace

import pytest

from callgate.core.ports import Case
from callgate.policy.entries import SettingsFault
from callgate.policy.judge import Judge
from callgate.policy.rules import EMPTY, Rulebook
from callgate.words.decisions import Allow, Ask, Effect, Origin, Pattern
from callgate.words.traits import Traits, reads, writes
from tests.policy.gate_kit import NOW, SRC, case_of, decided, hooked, outcome, policy, rules, shell

TMP = case_of("Write", file_path="/tmp/x.txt")


@pytest.mark.parametrize(
    ("case", "pattern", "expected"),
    [
        (SRC, None, "allow"),
        (SRC, Pattern("exact", SRC.arguments_hash), "allow"),
        (SRC, Pattern("exact", TMP.arguments_hash), "ask"),
        (SRC, Pattern("glob", "src/**", "file_path"), "allow"),
        (SRC, Pattern("glob", "src/*.py", "file_path"), "allow"),
        (SRC, Pattern("glob", "*.py", "file_path"), "ask"),
        (SRC, Pattern("glob", "**/*.py", "file_path"), "allow"),
        (SRC, Pattern("glob", "src/**", "path"), "ask"),
        (SRC, Pattern("glob", "src/**"), "allow"),
        (SRC, Pattern("glob", "doc/**"), "ask"),
        (SRC, Pattern("glob", "a]", "file_path"), "ask"),
        (SRC, Pattern("rule", "/src/**"), "allow"),
        (SRC, Pattern("rule", "a.py"), "allow"),
        (SRC, Pattern("rule", "b.py"), "ask"),
        (TMP, None, "ask"),
        (TMP, Pattern("exact", TMP.arguments_hash), "allow"),
        (TMP, Pattern("glob", "//tmp/**", "file_path"), "allow"),
        (TMP, Pattern("glob", "**", "file_path"), "ask"),
        (TMP, Pattern("rule", "//tmp/**"), "allow"),
        (TMP, Pattern("rule", "**"), "ask"),
        (shell("git commit -m x"), Pattern("prefix", "git commit", "command"), "allow"),
        (shell("git commit -m x"), Pattern("prefix", " git commit "), "allow"),
        (shell("git commit -m x"), Pattern("prefix", "git", "other"), "ask"),
        (shell("git commit; touch x"), Pattern("prefix", "git commit", "command"), "ask"),
        (shell("git commit"), Pattern("prefix", "", "command"), "ask"),
        (shell("touch x"), Pattern("rule", "touch:*"), "allow"),
        (shell("touch x"), Pattern("rule", "touch x"), "allow"),
        (shell("touch /tmp/x"), Pattern("rule", "touch:*"), "ask"),
        (shell("touch /tmp/x"), Pattern("rule", "touch /tmp/x"), "allow"),
        (shell("touch /tmp/x"), Pattern("prefix", "touch", "command"), "ask"),
        (shell("touch /tmp/x"), None, "ask"),
        (case_of("Run", line="touch x"), Pattern("prefix", "touch", "line"), "allow"),
        (case_of("Run", line="touch x; rm y"), Pattern("prefix", "touch", "line"), "ask"),
        (case_of("Run", line=3), Pattern("prefix", "touch", "line"), "ask"),
        (case_of("mcp__db__query", table="users"), Pattern("rule", "table=users"), "allow"),
        (case_of("mcp__db__query", table="other"), Pattern("rule", "table=users"), "ask"),
        (case_of("WebFetch", url="https://example.com/"), Pattern("rule", "domain:example.com"), "allow"),
        (
            case_of("Copy", {"to": "src/a"}, traits=Traits(declared_locks=reads("/etc/x") | writes("src/a"))),
            Pattern("glob", "src/**", "to"),
            "ask",
        ),
        (
            case_of("Copy", {"to": "src/a"}, traits=Traits(declared_locks=reads("lib/x") | writes("src/a"))),
            Pattern("glob", "src/**", "to"),
            "allow",
        ),
        (case_of("Copy", {"to": "src/a"}), Pattern("glob", "src/**", "to"), "allow"),
        (case_of("Copy", {"to": ["src/a"]}), Pattern("glob", "src/**", "to"), "ask"),
    ],
    ids=range(41),
)
def test_how_far_a_remembered_answer_reaches(case: Case, pattern: Pattern | None, expected: str) -> None:
    answer = policy("allow", case.name, pattern)
    assert outcome(replace(case, policies=[answer])) == expected
    assert (Judge().remembered(replace(case, policies=[answer])) is not None) is (expected == "allow")


def test_a_remembered_answer_counts_for_its_own_tool_until_it_expires() -> None:
    assert outcome(replace(SRC, policies=[policy("allow", "Edit", Pattern("rule", "/src/**"))])) == "ask"
    for expires_at, expected in ((NOW, "ask"), (NOW + 1, "allow"), (None, "allow")):
        assert outcome(replace(SRC, policies=[policy("allow", "Write", expires_at=expires_at)])) == expected


def test_a_remembered_edit_does_not_open_the_shells_redirections() -> None:
    case = shell("echo x > src/a", policies=[policy("allow", "Edit", Pattern("rule", "/src/**"))])
    assert outcome(case, rules(allow=["Bash(echo:*)"])) == "ask"


def test_an_answer_that_cannot_be_read_any_more_stands_against_the_whole_tool() -> None:
    broken = Pattern("rule", "a]")
    for effect, expected in (("deny", "deny"), ("ask", "ask"), ("allow", "ask")):
        assert outcome(replace(SRC, policies=[policy(effect, "Write", broken)])) == expected  # pyright: ignore[reportArgumentType]
    assert "is invalid" in decided(replace(SRC, policies=[policy("deny", "Write", broken)])).reason


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (None, "policy allow Write [user]"),
        (Pattern("exact", SRC.arguments_hash), f"policy allow Write(these arguments, {SRC.arguments_hash[:8]}) [user]"),
        (Pattern("glob", "src/**", "file_path"), "policy allow Write(src/**) [user]"),
    ],
)
def test_a_decision_names_the_answer(pattern: Pattern | None, named: str) -> None:
    decision = decided(replace(SRC, policies=[policy("allow", "Write", pattern, scope="user")]))
    assert decision.by == named
    assert decision.origin == Origin("user")


def test_a_prefix_is_named_like_a_rule() -> None:
    case = shell("git commit", policies=[policy("allow", "Bash", Pattern("prefix", "git commit", "command"))])
    assert decided(case).by == "policy allow Bash(git commit:*) [session]"


def test_which_answer_is_named_does_not_depend_on_their_order() -> None:
    one, two = policy("allow", "Write"), policy("allow", "Write", Pattern("glob", "src/**", "file_path"))
    assert decided(replace(SRC, policies=[one, two])) == decided(replace(SRC, policies=[two, one]))


# ---- an answer that came since ----------------------------------------------------------------------------------


def test_an_answer_given_since_allows_what_nothing_stands_against() -> None:
    case = replace(SRC, policies=[policy("allow", "Write")])
    assert Judge().remembered(case) == Allow(
        "policy allow Write [session]", "allowed by a remembered answer", origin=Origin("session")
    )
    assert Judge().remembered(replace(SRC, policies=[policy("allow", "Write", note="ok")])) == Allow(
        "policy allow Write [session]", "ok", origin=Origin("session")
    )
    assert Judge().remembered(SRC) is None
    assert Judge(rules(allow=["Write"])).remembered(SRC) is None


@pytest.mark.parametrize(
    ("case", "rulebook"),
    [
        (SRC, rules(deny=["Write"])),
        (SRC, rules(ask=["Edit(/src/**)"])),
        (SRC, replace(EMPTY, faults=(SettingsFault("x", Origin("user")),))),
        (replace(SRC, mode="plan"), EMPTY),
        (hooked(SRC, Ask("hook")), EMPTY),
        (case_of("Write", file_path=".git/config"), EMPTY),
        (case_of("Write", traits=Traits(requires_interaction=True)), EMPTY),
    ],
    ids=["deny", "ask", "settings", "plan", "hook", "danger", "interaction"],
)
def test_an_answer_given_since_does_not_override_what_stands_against_it(case: Case, rulebook: Rulebook) -> None:
    assert Judge(rulebook).remembered(replace(case, policies=[policy("allow", "Write")])) is None


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_an_answer_given_since_does_not_override_another_answer(effect: Effect) -> None:
    assert Judge().remembered(replace(SRC, policies=[policy("allow", "Write"), policy(effect, "Write")])) is None

"""The modes: what each of them lets through, and what it does not."""

from dataclasses import replace

from callgate.core.ports import Case
from callgate.words.decisions import Allow, Deny
from callgate.words.traits import Traits, exclusive, reads, writes
from tests.policy.gate_kit import ROOT, case_of, decided, hooked, outcome, policy, rules, shell
from tests.rows import rows

# ---- plan -------------------------------------------------------------------------------------------------------


@rows(
    ("case", "expected"),
    [
        (case_of("Read", file_path="a.py"), "allow"),
        (case_of("Write", file_path="a.py"), "deny"),
        (case_of("TodoWrite"), "allow"),
        (case_of("Deploy"), "deny"),
        (case_of("Deploy", traits=Traits("idempotent")), "deny"),
        (case_of("Deploy", traits=Traits("mutating", own_state=True)), "allow"),
        (case_of("Look", traits=Traits("none")), "allow"),
        (shell("ls"), "allow"),
        (shell("touch x"), "deny"),
        (shell("touch x", traits=Traits("none")), "deny"),
        (shell("touch x", traits=Traits("none", own_state=True)), "deny"),
        (case_of("Bash", {"command": 3}, traits=Traits("none")), "deny"),
    ],
    ids=lambda value: f"{value.name} {dict(value.arguments)} {value.traits.effects}" if isinstance(value, Case) else "",
)
def test_plan_mode_denies_what_has_effects_whatever_else_is_said(case: Case, expected: str) -> None:
    planning = replace(case, mode="plan", policies=[policy("allow", case.name)])
    assert outcome(planning, rules(allow=["Bash", "Write", "Deploy", "Edit(**)"])) == expected
    assert outcome(hooked(planning, Allow("hook"))) == expected


def test_plan_mode_lets_git_look_where_a_rule_allows_it_and_asks_where_none_does() -> None:
    look = replace(shell("git log --oneline"), mode="plan")
    assert outcome(look) == "ask"
    assert outcome(look, rules(allow=["Bash(git log:*)"])) == "allow"
    denied = decided(replace(shell("git commit -m x"), mode="plan"), rules(allow=["Bash(git:*)"]))
    assert isinstance(denied, Deny)
    assert denied.by == "mode plan"


# ---- the others -------------------------------------------------------------------------------------------------


def test_bypass_allows_the_rest() -> None:
    for case in (case_of("Deploy"), shell("touch /etc/x"), case_of("Write", file_path="/etc/x")):
        assert decided(replace(case, mode="bypass")) == Allow("mode bypass")


@rows(
    ("case", "expected"),
    [
        (case_of("Edit", file_path="a.py"), "allow"),
        (case_of("Edit", file_path="/etc/x"), "ask"),
        (case_of("Edit", file_path="link", links={f"{ROOT}/link": "/tmp/x"}), "ask"),
        (case_of("ApplyPatch", patch="--- a/x\n+++ b/x\n"), "allow"),
        (case_of("ApplyPatch", patch="--- a/x\n+++ /etc/x\n"), "ask"),
        (case_of("ApplyPatch", patch="?"), "ask"),
        (case_of("Edit", traits=Traits(declared_locks=exclusive | writes("a.py"))), "ask"),
        (case_of("Edit", traits=Traits(declared_locks=writes("a.py") | reads("/etc/x"))), "ask"),
        (case_of("Edit", traits=Traits(declared_locks=writes("a.py") | reads("b.py"))), "allow"),
        (case_of("Edit", traits=Traits(declared_locks=reads("b.py"))), "ask"),
        (case_of("Deploy", traits=Traits(declared_locks=writes("a.py"))), "ask"),
        (shell("touch a"), "ask"),
    ],
    ids=range(12),
)
def test_accepting_edits_covers_edits_inside_the_workspace_and_nothing_else(case: Case, expected: str) -> None:
    assert outcome(replace(case, mode="accept_edits")) == expected
    assert outcome(case) == "ask"

"""Allow rules and hooks that allow: what they cover, and that only some layers open places outside the workspace."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from callgate.core.ports import Case, Hooked
from callgate.policy.entries import Layer
from callgate.policy.judge import Judge
from callgate.words.decisions import Allow, Effect, Origin
from callgate.words.traits import Traits, exclusive, reads, writes
from tests.policy.gate_kit import ROOT, book, case_of, decided, hooked, line, outcome, rules, shell
from tests.rows import rows


def test_an_allow_rule_allows_and_is_named() -> None:
    decision = decided(case_of("Deploy", to="test"), rules(allow=["Deploy(to=test)"]))
    assert decision == Allow("Deploy(to=test)", "allowed by Deploy(to=test)", origin=Origin("user", "user.toml", 1))
    assert outcome(case_of("Deploy", to="prod"), rules(allow=["Deploy(to=test)"])) == "ask"


@rows(
    ("allow", "case", "expected"),
    [
        (["Edit(/src/**)"], case_of("Edit", file_path="src/a.py"), "allow"),
        (["Edit(/src/**)"], case_of("Write", file_path="src/a.py"), "allow"),
        (["Edit(/src/**)"], case_of("Write", file_path="src/../a.py"), "ask"),
        (["Edit(/src/**)"], case_of("Write", file_path="src/l", links={f"{ROOT}/src/l": f"{ROOT}/other"}), "ask"),
        (["Edit(/src/**)"], case_of("Deploy", traits=Traits(declared_locks=writes("src/a.py"))), "ask"),
        (["Edit(/src/**)"], case_of("Edit", traits=Traits(declared_locks=exclusive | writes("src/a.py"))), "ask"),
        (["Edit(/src/**)"], case_of("Edit", {}), "ask"),
        (["Write(/src/**)"], case_of("Write", file_path="src/a.py"), "allow"),
        (["Write(/src/**)"], case_of("Edit", file_path="src/a.py"), "ask"),
        (["Edit"], case_of("Edit", file_path="a.py"), "allow"),
        (["Edit"], case_of("Write", file_path="a.py"), "allow"),
        (["Edit(/a/**)", "Edit(/b/**)"], case_of("ApplyPatch", patch="--- a/a/x\n+++ b/b/x\n"), "allow"),
        (["Edit(/a/**)"], case_of("ApplyPatch", patch="--- a/a/x\n+++ b/b/x\n"), "ask"),
        (["Read(//etc/**)"], case_of("Read", file_path="/etc/hosts"), "allow"),
        (["Read(//etc/**)"], case_of("Grep", path="/etc/ssl"), "allow"),
        (["Read(//etc/**)"], case_of("Read", file_path="/var/x"), "ask"),
        (["Read(//etc/**)"], case_of("Write", file_path="/etc/hosts"), "ask"),
        (["Read(//etc/**)"], case_of("Deploy", traits=Traits(declared_locks=reads("/etc/hosts"))), "ask"),
        (["Read(//etc/**)"], shell("cat /etc/hosts"), "allow"),
        (["Read(//etc/**)"], shell("cat /etc/host*"), "ask"),
        (["Read(//etc/**)"], shell("cat /etc/hosts a.py"), "allow"),
        (["Read(//etc/**)"], shell("touch /etc/hosts"), "ask"),
        (["Read(//etc/**)", "Edit(/out/**)"], case_of("Edit", traits=Traits(declared_locks=reads("/etc/x"))), "ask"),
        (["Read"], case_of("Read", file_path="/etc/hosts"), "allow"),
        (["mcp__db"], case_of("mcp__db__query"), "allow"),
        (["Agent(explore)"], case_of("Agent", type="explore"), "allow"),
        (["WebFetch(domain:example.com)"], case_of("WebFetch", url="https://example.com/a"), "allow"),
        (["WebFetch(domain:example.com)"], case_of("WebFetch", url="https://evil.org/example.com"), "ask"),
        (["WebFetch"], case_of("WebFetch", url="https://evil.org/"), "allow"),
        (["WebSearch"], case_of("WebSearch", query="x"), "allow"),
    ],
    ids=range(30),
)
def test_what_allow_rules_cover(allow: Sequence[str], case: Case, expected: str) -> None:
    assert outcome(case, rules(allow=allow)) == expected


@rows(
    ("allow", "command", "expected"),
    [
        (["Bash(git commit:*)"], "git commit -m x", "allow"),
        (["Bash(git commit:*)"], "git commit -m x && touch y", "ask"),
        (["Bash(git commit:*)", "Bash(touch:*)"], "git commit -m x && touch y", "allow"),
        (["Bash(echo:*)"], "echo x > out.txt", "ask"),
        (["Bash(echo:*)", "Edit(/out.txt)"], "echo x > out.txt", "allow"),
        (["Bash(echo:*)", "Edit(/out.txt)"], "echo x > other.txt", "ask"),
        (["Bash(echo:*)", "Edit(**)"], "echo x > .git/config", "ask"),
        (["Bash"], "echo x > out.txt; anything $X", "allow"),
        (["Bash"], "python x.py", "allow"),
        (["Edit(**)"], "touch x", "ask"),
    ],
)
def test_allow_rules_cover_a_command_together(allow: Sequence[str], command: str, expected: str) -> None:
    assert outcome(shell(command), rules(allow=allow)) == expected


def test_no_redirection_may_go_where_a_person_must_be_asked() -> None:
    grants = Judge(rules(allow=["Edit(//**)"])).grants(shell("ls"), rules(allow=["Edit(//**)"]).allows)
    assert grants.may_write("a.txt")
    assert grants.may_write("/tmp/a.txt")
    assert not grants.may_write(".git/config")
    assert not grants.may_write("~/.bashrc")


def test_a_redirection_may_go_where_edits_are_accepted() -> None:
    rulebook = rules(allow=["Bash(echo:*)"])
    assert outcome(shell("echo x > out.txt", mode="accept_edits"), rulebook) == "allow"
    assert outcome(shell("echo x > /tmp/out.txt", mode="accept_edits"), rulebook) == "ask"
    assert outcome(shell("echo x > .git/config", mode="accept_edits"), rulebook) == "ask"


@rows("effect", ["deny", "ask"])
def test_a_rule_on_the_whole_shell_does_not_cover_what_narrow_rules_cannot_see_into(effect: Effect) -> None:
    narrow = book(line(effect, "Bash(rm:*)"), line("allow", "Bash"))
    assert outcome(shell("python x.py"), narrow) == "ask"
    assert outcome(shell("touch x"), narrow) == "allow"
    assert outcome(shell("python x.py", mode="bypass"), narrow) == "allow"
    paths = book(line(effect, "Read(.env)"), line("allow", "Bash"))
    assert outcome(shell("python x.py"), paths) == "allow"
    other = book(line(effect, "Deploy"), line("allow", "Bash"))
    assert outcome(shell("python x.py"), other) == "allow"
    named = book(line(effect, "Bash(rm:*)"), line("allow", "Deploy"))
    assert outcome(case_of("Deploy"), named) == "allow"


@pytest.mark.spec("GATE-3")
@rows(("layer", "expected"), [("managed", "allow"), ("user", "allow"), ("command line", "allow"), ("session", "ask")])
@rows(
    ("text", "case"),
    [
        ("Read(//etc/**)", case_of("Read", file_path="/etc/hosts")),
        ("Read", case_of("Read", file_path="/etc/hosts")),
        ("Edit(//tmp/**)", case_of("Write", file_path="/tmp/x")),
        ("Bash(touch /tmp/x)", shell("touch /tmp/x")),
        ("Bash", shell("touch /tmp/x")),
        ("Custom", case_of("Custom", traits=Traits(declared_locks=writes("/tmp/x")))),
        ("Custom(a=1)", case_of("Custom", {"a": 1}, traits=Traits(declared_locks=writes("/tmp/x")))),
    ],
    ids=["read", "whole read", "edit", "command", "shell", "custom", "field"],
)
def test_places_outside_the_workspace_are_opened_only_by_layers_that_reach_there(
    layer: Layer, expected: str, text: str, case: Case
) -> None:
    assert outcome(case, book(line("allow", text, layer))) == expected


def test_a_place_outside_can_be_opened_by_one_rule_and_the_rest_by_another() -> None:
    rulebook = book(line("allow", "Bash(touch:*)", "session"), line("allow", "Edit(//tmp/**)", "user"))
    assert outcome(shell("touch /tmp/x"), rulebook) == "allow"
    assert outcome(shell("touch /var/x"), rulebook) == "ask"
    reading = book(line("allow", "Bash(touch:*)"), line("allow", "Bash(cat:*)"), line("allow", "Read(//tmp/**)"))
    assert outcome(shell("touch /tmp/x"), reading) == "ask"
    assert outcome(shell("cat /tmp/x | cat"), reading) == "allow"


def test_the_beginning_of_a_command_opens_no_place_outside() -> None:
    rulebook = rules(allow=["Bash(cat:*)", "Bash(ls:*)"])
    assert outcome(shell("cat /tmp/x"), rulebook) == "ask"
    assert outcome(shell("cat l x*", links={f"{ROOT}/l": "/tmp/x"}), rulebook) == "ask"
    assert outcome(shell("cat l x"), rulebook) == "allow"
    assert outcome(shell("ls .*"), rulebook) == "ask"
    assert outcome(shell("ls src/.?"), rulebook) == "ask"


def test_inside_the_workspace_every_layer_but_the_repositorys_allows() -> None:
    for layer, expected in (("session", "allow"), ("user", "allow"), ("project", "ask"), ("local", "ask")):
        assert outcome(case_of("Deploy"), book(line("allow", "Deploy", layer))) == expected


def test_a_hook_may_allow_inside_the_workspace_and_never_outside() -> None:
    allow = Allow("hook", "fine")
    assert decided(hooked(case_of("Write", file_path="a.py"), allow)) == allow
    assert outcome(hooked(case_of("Write", file_path="/tmp/x"), allow)) == "ask"
    assert outcome(hooked(shell("touch /tmp/x"), allow)) == "ask"
    assert outcome(hooked(case_of("Deploy"), allow)) == "allow"
    assert outcome(replace(case_of("Deploy"), hooked=Hooked("hook"))) == "ask"

"""What asks in every mode: repetition, ask rules, hooks that ask, and tools that need a person."""

from dataclasses import replace

import pytest

from callgate.core.ports import Case
from callgate.words.decisions import Allow, Ask, Effect, Origin, Pattern
from callgate.words.modes import Mode
from callgate.words.traits import Traits
from tests.policy.gate_kit import NOW, book, case_of, decided, hooked, line, outcome, policy, rules, shell
from tests.rows import rows

# ---- the loop guard ---------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-26")
@rows("mode", ["default", "bypass"])
def test_the_same_call_for_the_third_time_asks(mode: Mode) -> None:
    case = case_of("Look", traits=Traits("none"), mode=mode)
    same = case.arguments_hash
    for recent, expected in (
        ([], "allow"),
        ([same], "allow"),
        ([same, same], "ask"),
        (["x", same, same], "ask"),
        ([same, "x", same], "allow"),
        ([same, same, "x"], "allow"),
        (["x", same, "x", same, "x"], "ask"),
        ([same, "x", same, "x"], "allow"),
        (["y", same, "x", same, "x"], "allow"),
    ):
        assert outcome(replace(case, recent=recent)) == expected
    decision = decided(replace(case, recent=[same, same]))
    assert isinstance(decision, Ask)
    assert decision.by == "loop guard"
    assert decision.unconditional
    assert decision.unattended == "deny"
    assert "the same call for the third time in a row, ending with Look" in decision.reason
    assert "the same 2 calls" in decided(replace(case, recent=["x", same, "x", same, "x"])).reason


# ---- ask rules, and what guards like them -------------------------------------------------------------------------


@rows("mode", ["default", "accept_edits", "bypass"])
def test_an_ask_rule_asks_in_every_mode_and_every_time(mode: Mode) -> None:
    rulebook = rules(ask=["Deploy(to=prod)"], allow=["Deploy"])
    case = case_of("Deploy", to="prod", mode=mode, policies=[policy("allow", "Deploy")])
    decision = decided(hooked(case, Allow("hook")), rulebook)
    assert isinstance(decision, Ask)
    assert (decision.by, decision.unconditional) == ("Deploy(to=prod)", True)
    assert decision.origin == Origin("user", "user.toml", 1)
    assert "to is prod" in decision.reason
    assert outcome(case_of("Deploy", to="test", mode=mode), rulebook) == "allow"


def test_an_ask_answer_asks_every_time() -> None:
    policies = [policy("ask", "Deploy"), policy("allow", "Deploy")]
    decision = decided(case_of("Deploy", mode="bypass", policies=policies))
    assert isinstance(decision, Ask)
    assert decision.unconditional


def test_a_hook_that_asks_is_heard_even_in_bypass() -> None:
    decision = decided(hooked(case_of("Deploy", mode="bypass"), Ask("hook", "look first")), rules(allow=["Deploy"]))
    assert decision == Ask("hook", "look first", unconditional=True)


UNREAD = "git status $'\\"


@rows("effect", ["deny", "ask"])
@rows("text", ["Bash(rm:*)", "Read(.env)"])
def test_a_command_nobody_can_read_asks_even_in_bypass_where_narrow_rules_stand(effect: Effect, text: str) -> None:
    rulebook = book(line(effect, text), line("allow", "Bash"))
    decision = decided(shell(UNREAD, mode="bypass"), rulebook)
    assert isinstance(decision, Ask)
    assert decision.unconditional
    assert decision.risk
    assert "cannot be parsed" in decision.reason
    assert outcome(case_of("Bash", {"command": 3}, mode="bypass"), rulebook) == "ask"
    assert outcome(shell("git status", mode="bypass"), rulebook) == "allow"


@rows("text", ["Bash(rm:*)", "Read(.env)", "Edit(x)"])
def test_without_narrow_rules_on_the_shell_an_unread_command_is_like_any_other(text: str) -> None:
    assert outcome(shell(UNREAD, mode="bypass"), rules(allow=[text])) == "allow"
    assert outcome(shell(UNREAD, mode="bypass"), rules(deny=["Deploy(a=1)"])) == "allow"
    expired = book(line("deny", text, expires_at=NOW + 1))
    assert outcome(replace(shell(UNREAD, mode="bypass"), now=NOW + 2), expired) == "allow"


def test_a_narrow_answer_guards_like_a_narrow_rule() -> None:
    case = shell(UNREAD, mode="bypass", policies=[policy("deny", "Bash", Pattern("prefix", "rm", "command"))])
    assert outcome(case) == "ask"
    other = shell(UNREAD, mode="bypass", policies=[policy("deny", "Run", Pattern("prefix", "rm", "line"))])
    assert outcome(other) == "allow"


# ---- interaction ------------------------------------------------------------------------------------------------


@rows("mode", ["default", "bypass"])
def test_a_tool_that_needs_a_person_asks_in_every_mode(mode: Mode) -> None:
    decision = decided(case_of("AskUserQuestion", mode=mode), rules(allow=["AskUserQuestion"]))
    assert decision == Ask("interaction", "AskUserQuestion needs an answer of the user", unconditional=True)


@rows(
    ("case", "note"),
    [
        (shell("gіt push"), "і is cyrillic small letter byelorussian-ukrainian i (U+0456)"),
        (shell("ls; sudo gіt push"), "і is cyrillic small letter byelorussian-ukrainian i (U+0456)"),
        (case_of("WebFetch", url="https://gооgle.com/x"), "о is cyrillic small letter o (U+043E)"),
        (case_of("WebFetch", url="https://google.com/gооgle"), None),
        (shell("git commit -m 'привет'"), None),
        (shell("git push"), None),
    ],
    ids=["program", "inside another", "host", "path", "text", "plain"],
)
@pytest.mark.spec("GATE-4")
def test_a_name_that_may_be_taken_for_another_is_a_risk(case: Case, note: str | None) -> None:
    asked = decided(case)
    assert isinstance(asked, Ask)
    assert asked.risk is None if note is None else asked.risk == f"some letters look like others: {note}"

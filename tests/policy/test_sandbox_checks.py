"""A command that runs in the sandbox needs no question; one that cannot do its work there is asked about."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from callgate.core.ports import Case
from callgate.policy.checks import standard_checks
from callgate.policy.rules import EMPTY, Rulebook
from callgate.policy.well_known import StandIn
from callgate.words.decisions import Allow, Ask, Decision, Deny
from callgate.words.modes import Mode
from tests.policy.gate_kit import HOME, ROOT, decided, rules, shell
from tests.rows import rows
from tests.security.corpora import rows_of


class Walls:
    """A sandbox that takes what nothing speaks against, and remembers what it was asked."""

    def __init__(self, outside: str | None = None) -> None:
        self._outside = outside
        self.settled: dict[tuple[str, str], str | None] = {}
        self.hosts: tuple[str, ...] = ()

    def hides(self, path: str) -> bool:
        return False

    def settle(self, call_id: str, command: str, outside: str | None) -> str | None:
        return self.settled.setdefault((call_id, command), self._outside or outside)


class Confined(StandIn):
    """A tool that runs its commands in a sandbox."""

    def __init__(self, walls: Walls | None = None) -> None:
        super().__init__("Bash", walls or Walls())


def inside(command: str, walls: Walls | None = None, **more: Any) -> Case:
    return replace(shell(command, **more), tool=Confined(walls))


def judged(case: Case, rulebook: Rulebook = EMPTY, *, free: bool = True) -> Decision:
    return decided(case, rulebook, free=free)


FREE = [
    "npm test",
    "make",
    "python script.py",
    "pytest -x 2>&1 | tail -20",
    "cargo build && ./target/debug/app",
    "sh -c 'for f in src/*; do wc -l $f; done'",
    "rm -r build",
    "git log --oneline",
    "touch new.txt",
    "curl https://example.com",  # it fails there, and is asked about then
]


@pytest.mark.spec("GATE-13")
@rows("command", FREE)
def test_a_command_inside_needs_no_question(command: str) -> None:
    assert judged(inside(command)).by in ("sandbox", "default")
    assert isinstance(judged(inside(command)), Allow)
    assert not isinstance(judged(shell(command)), Allow) or command == "git log --oneline", "no tool with a sandbox"


def deny(*texts: str) -> Rulebook:
    return rules(deny=texts)


AGAINST: list[tuple[str, Mode, Rulebook, type[Decision], str]] = [
    ("npm test", "default", rules(deny=["Bash(npm test:*)"]), Deny, "Bash(npm test:*)"),
    ("npm test", "default", rules(ask=["Bash(npm test:*)"]), Ask, "Bash(npm test:*)"),
    ("npm test", "default", rules(deny=["Bash"]), Deny, "Bash"),
    ("npm test", "plan", EMPTY, Deny, "mode plan"),
    ("echo x > .git/config", "default", EMPTY, Ask, "hard safety"),
    ("cat ~/.ssh/id_rsa", "default", EMPTY, Ask, "hard safety"),
    ("rm -rf .", "default", EMPTY, Ask, "hard safety"),
]


@pytest.mark.spec("GATE-13")
@rows("command, mode, rulebook, kind, by", AGAINST)
def test_rules_plan_mode_and_hard_safety_go_before(
    command: str, mode: Mode, rulebook: Rulebook, kind: type[Decision], by: str
) -> None:
    found = judged(inside(command, mode=mode), rulebook)
    assert (type(found), found.by) == (kind, by)


def test_other_rules_on_commands_do_not_ask_about_everything_inside() -> None:
    assert isinstance(judged(inside("npm test"), rules(deny=["Bash(git push:*)"])), Allow)


def test_where_the_setting_or_trust_is_missing_the_analysis_alone_decides() -> None:
    assert isinstance(judged(inside("npm test"), free=False), Ask)
    assert isinstance(judged(inside("ls"), free=False), Allow)


NEEDS = [
    ("touch /usr/local/bin/app", "it would write /usr/local/bin/app, outside the workspace"),
    ("git commit -m x", "git would change the repository's own records"),
    ("git add . && git push", "git would change"),
]


@pytest.mark.spec("GATE-13")
@rows("command, why", NEEDS)
def test_what_cannot_do_its_work_inside_is_asked_about_and_the_yes_runs_it_outside(command: str, why: str) -> None:
    walls = Walls()
    found = judged(inside(command, walls))
    assert isinstance(found, Ask)
    assert found.by == "sandbox"
    assert found.reason is not None
    assert why in found.reason
    assert "a yes runs it outside the sandbox" in found.reason
    assert walls.settled[("c1", command)] is not None


def test_an_allow_rule_is_a_yes_to_that_too() -> None:
    walls = Walls()
    assert isinstance(judged(inside("git commit -m x", walls), rules(allow=["Bash(git commit:*)"])), Allow)
    assert walls.settled[("c1", "git commit -m x")] is not None


def test_a_command_that_failed_inside_is_asked_about_with_what_it_wanted() -> None:
    found = judged(inside("npm install", Walls("inside the sandbox it failed: it wanted to reach registry.npmjs.org")))
    assert isinstance(found, Ask)
    assert "it wanted to reach registry.npmjs.org; a yes runs it outside" in (found.reason or "")


def test_the_place_is_settled_before_any_check_can_end_the_walk() -> None:
    """Otherwise a yes to hard safety would run the command inside, where it cannot do what was asked."""
    walls = Walls()
    assert judged(inside("echo x > .git/config", walls)).by == "hard safety"
    assert walls.settled[("c1", "echo x > .git/config")] is not None
    walls = Walls()
    assert judged(inside("npm test", walls), rules(allow=["Bash(npm test:*)"])).by == "Bash(npm test:*)"
    assert walls.settled == {("c1", "npm test"): None}


def test_a_command_that_cannot_be_read_and_one_that_sweeps_up_secrets_are_still_asked_about() -> None:
    assert isinstance(judged(inside("echo 'never closed")), Ask)
    assert isinstance(judged(inside("cat /etc/hosts")), Ask)  # reading elsewhere is not for the sandbox to allow


def test_no_argument_says_where_a_command_runs() -> None:
    for name in ("sandbox", "outside", "confined", "dangerously_disable_sandbox"):
        for value in (True, False):
            walls = Walls()
            judged(replace(inside("npm test", walls), arguments={"command": "npm test", name: value}))
            assert walls.settled == {("c1", "npm test"): None}


def test_the_checks_are_where_the_specification_puts_them() -> None:
    names = [check.name for check in standard_checks(free=True)]
    assert names[0] == "place of the command"
    assert names[-3:] == ["allow rules", "sandbox", "default"]
    assert standard_checks(free=True)[0].again, "an edited command is settled anew"


def test_how_many_everyday_commands_are_free_is_reported(record_property: Callable[[str, object], None]) -> None:
    found = rows_of("read_only_bash")
    for kind in sorted({row["kind"] for row in found}):
        commands = [row["command"] for row in found if row["kind"] == kind]
        free = [sum(isinstance(judge(command), Allow) for command in commands) for judge in (_with, _without)]
        share = " / ".join(f"{count / len(commands):.0%}" for count in free)
        record_property("report", f"everyday {kind}: {share} of {len(commands)} free with / without the sandbox")
        if kind == "read-only":
            assert free[0] >= 0.95 * len(commands)


def _with(command: str) -> Decision:
    return judged(inside(command.replace("{root}", ROOT).replace("{home}", HOME)))


def _without(command: str) -> Decision:
    return judged(shell(command.replace("{root}", ROOT).replace("{home}", HOME)))

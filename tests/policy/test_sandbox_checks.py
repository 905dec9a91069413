"""A command that runs in the sandbox needs no question; one that cannot do its work there is asked about."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from callgate.core.ports import Case
from callgate.policy.checks import standard_checks
from callgate.policy.judge import Judge
from callgate.policy.question_reasons import choices_for
from callgate.policy.rules import EMPTY, Rulebook
from callgate.policy.well_known import StandIn
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Decision, Deny, Pattern
from callgate.words.modes import Mode
from tests.policy.gate_kit import HOME, ROOT, decided, hooked, rules, shell
from tests.rows import rows
from tests.security.corpora import rows_of


class Walls:
    """A sandbox that takes what nothing speaks against, and remembers what it was asked."""

    def __init__(self, outside: str | None = None, changed: str | None = None) -> None:
        self._outside = outside
        self.changed = changed
        self.settled: dict[tuple[str, str], str | None] = {}
        self.hosts: tuple[str, ...] = ()
        self.is_tested, self.why_none = True, ""
        self.notes: list[str] = []
        self.report = self.notes.append

    def test(self) -> str:
        return ""

    def hides(self, path: str) -> bool:
        return False

    def unreviewed(self, call_id: str) -> str | None:
        return self.changed

    def settle(self, call_id: str, command: str, outside: str | None) -> str | None:
        return self.settled.setdefault((call_id, command), self._outside or outside)


class Confined(StandIn):
    """A tool that runs its commands in a sandbox."""

    def __init__(self, walls: Walls | None = None) -> None:
        super().__init__("Bash", walls or Walls())


HERE = Rulebook(root=ROOT, home=HOME)


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
    ("touch /usr/local/bin/app", "the command would write /usr/local/bin/app, outside the workspace"),
    ("git commit -m x", "git must write to .git, which the sandbox blocks"),
    ("git add . && git push", "git must write to .git"),
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
    assert "answer yes to run it without the sandbox" in found.reason
    assert walls.settled[("c1", command)] is not None


FAILED = "the sandbox blocked this command: write access to /etc/app"
ORDINARY = [
    ("make test", ["Bash(make test:*)"]),
    ("make test", ["Bash(make test)"]),
    ("make test", ["Bash(make *)"]),
    ("make test", ["Bash"]),
    ("make test", ["Bash(*)"]),
    ("make test", ["Bash(make:*)", "Edit(**)", "Read(**)"]),
    ("npm test && make test", ["Bash(make test:*)", "Outside(npm test:*)"]),
    ("timeout 5 make test", ["Bash(timeout:*)", "Bash(make:*)"]),
    ("cat src/a.py", ["Read(**)", "Bash(cat:*)"]),
    ("touch /etc/x", ["Bash(touch:*)", "Edit(//etc/**)"]),
    ("make test", ["Outside(make:*)", "Outside(npm:*)", "Bash(make:*)"][1:]),
    ("make test", ["Outside(make tests)"]),
]


@pytest.mark.spec("GATE-13", "GATE-18")
@rows("command, allow", ORDINARY)
def test_an_ordinary_allow_rule_lets_nothing_run_outside(command: str, allow: list[str]) -> None:
    found = judged(inside(command, Walls(FAILED)), rules(allow=allow))
    assert isinstance(found, Ask)
    assert "answer yes to run it without the sandbox" in found.reason


@pytest.mark.spec("GATE-13")
@rows("pattern", [Pattern("prefix", "make test"), Pattern("rule", "make *"), Pattern("exact", ""), None])
def test_a_remembered_answer_about_the_command_lets_nothing_run_outside(pattern: Pattern | None) -> None:
    case = inside("make test", Walls(FAILED))
    if pattern is not None and pattern.kind == "exact":
        pattern = Pattern("exact", case.arguments_hash)
    case = replace(case, policies=(ApprovalPolicy("allow", "Bash", pattern),))
    assert isinstance(judged(case), Ask)
    assert Judge(HERE).remembered(case) is None


@pytest.mark.spec("GATE-13")
@rows("mode", ["default", "accept_edits"])
def test_no_mode_but_bypass_and_no_hook_lets_a_command_run_outside(mode: Mode) -> None:
    case = inside("make test", Walls(FAILED), mode=mode)
    assert isinstance(judged(case), Ask)
    assert isinstance(judged(hooked(case, Allow("hook"))), Ask)
    assert isinstance(judged(replace(case, mode="bypass")), Allow)
    assert isinstance(judged(replace(case, mode="plan")), Deny)


GRANTED: list[tuple[str, list[str], bool]] = [
    ("make test", ["Outside(make test:*)"], True),
    ("make test", ["Outside(make test)"], True),
    ("make test", ["Outside"], True),
    ("git commit -m x", ["Outside(git commit:*)"], True),
    ("git add . && git commit -m x", ["Outside(git commit:*)"], False),
    ("git add . && git commit -m x", ["Outside(git commit:*)", "Outside(git add:*)"], True),
    ("git add . && git commit -m x", ["Outside(git commit:*)", "Bash(git add:*)"], False),
    ("touch /etc/x", ["Outside(touch:*)"], False),
    ("touch /etc/x", ["Outside(touch:*)", "Edit(//etc/**)"], True),
    ("touch /etc/x", ["Outside(make:*)", "Edit(//etc/**)"], False),
    ("make test > /dev/null", ["Outside(make:*)"], True),
    ("make test | tail -3", ["Outside(make:*)"], True),
    ("make $X", ["Outside(make:*)"], False),
]


@pytest.mark.spec("GATE-13")
@rows("command, allow, granted", GRANTED)
def test_a_rule_on_outside_lets_its_commands_run_outside(command: str, allow: list[str], granted: bool) -> None:
    assert isinstance(judged(inside(command, Walls(FAILED)), rules(allow=allow)), Allow) is granted


def test_a_rule_on_outside_allows_the_command_inside_and_without_a_sandbox_too() -> None:
    book = rules(allow=["Outside(make test:*)"])
    assert isinstance(judged(inside("make test"), book, free=False), Allow)
    assert isinstance(judged(shell("make test"), book), Allow)


def test_ask_and_deny_rules_on_outside_are_about_commands_outside_alone() -> None:
    for book, kind in ((rules(deny=["Outside(make:*)"]), Deny), (rules(ask=["Outside(make:*)"]), Ask)):
        assert isinstance(judged(inside("make test"), book), Allow)
        assert isinstance(judged(inside("make test", Walls(FAILED), mode="bypass"), book), kind)
        assert isinstance(judged(shell("make test", mode="bypass"), book), kind)


LOADING = [
    "make test",
    "npm run build",
    "pytest",
    "python run.py",
    "sh build.sh",
    "./run",
    "helm lint",
    "docker compose up",
]


@pytest.mark.spec("GATE-18")
@rows("command", LOADING)
def test_a_rule_on_outside_asks_again_when_files_changed_that_the_command_may_run(command: str) -> None:
    book = rules(allow=["Outside"])
    found = judged(inside(command, Walls(FAILED, "src/conftest.py changed since the user last allowed this")), book)
    assert isinstance(found, Ask)
    assert found.unconditional
    assert "src/conftest.py changed since the user last allowed this" in found.reason
    assert isinstance(judged(inside(command, Walls(FAILED)), book), Allow)


@pytest.mark.spec("GATE-18")
@rows("command", ["touch /etc/x", "cp a /srv/x", "gh pr list", "docker ps", "curl https://example.com"])
def test_a_command_that_runs_no_file_of_the_workspace_is_not_asked_about_again(command: str) -> None:
    assert isinstance(judged(inside(command, Walls(FAILED, "src/a.py changed")), rules(allow=["Outside"])), Allow)


def test_every_question_about_a_command_outside_says_so() -> None:
    for book in (EMPTY, rules(ask=["Bash(git push:*)"]), rules(ask=["Bash"])):
        found = judged(inside("git push"), book)
        assert isinstance(found, Ask)
        assert "answer yes to run it without the sandbox" in found.reason
        assert found.risk is not None
    hard = judged(inside("echo x > .git/config"))
    assert isinstance(hard, Ask)
    assert hard.by == "hard safety"
    assert "answer yes to run it without the sandbox" in hard.reason


def test_always_at_a_question_about_running_outside_says_outside() -> None:
    case = inside("git commit -m x", Walls(FAILED))
    found = choices_for(case)
    assert [each.rule for each in found] == [
        "Outside(exactly this command, outside the sandbox)",
        "Outside(git commit:*)",
    ]
    assert all(each.tool == "Outside" and "outside the sandbox" in each.label for each in found)
    for choice in found:
        again = replace(case, policies=(ApprovalPolicy("allow", choice.tool, choice.pattern),))
        assert isinstance(judged(again), Allow)
        assert Judge(HERE).remembered(again) is not None
    assert {each.tool for each in choices_for(inside("make"))} == {""}


def test_a_command_that_failed_inside_is_asked_about_with_what_it_wanted() -> None:
    found = judged(
        inside("npm install", Walls("the sandbox blocked this command: network access to registry.npmjs.org"))
    )
    assert isinstance(found, Ask)
    assert "network access to registry.npmjs.org; answer yes to run it" in (found.reason or "")


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
    assert names[-5:] == ["mode", "sandbox", "allow rules", "sandbox", "default"]
    assert standard_checks(free=True)[0].again, "an edited command is settled anew"


def test_how_many_everyday_commands_are_free_is_reported(record_property: Callable[[str, object], None]) -> None:
    found = rows_of("read_only_bash")
    for kind in sorted({row["kind"] for row in found}):
        commands = [row["command"] for row in found if row["kind"] == kind]
        free = sum(isinstance(_with(command), Allow) for command in commands)
        record_property("report", f"everyday {kind}: {free / len(commands):.0%} of {len(commands)} free in the sandbox")
        if kind == "read-only":  # without the sandbox: tests/security/test_everyday_bash.py, in a real repository
            assert free >= 0.95 * len(commands)


def _with(command: str) -> Decision:
    return judged(inside(command.replace("{root}", ROOT).replace("{home}", HOME)))

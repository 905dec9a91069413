"""What a person is offered to remember: exactly this, what the tool proposes, or a little more where that is safe."""

from dataclasses import replace

import pytest

from callgate.core.ports import Case
from callgate.policy.question_reasons import choices_for
from callgate.words.decisions import Choice, Pattern, Question
from callgate.words.traits import Traits
from tests.policy.gate_kit import ROOT, case_of, outcome, policy, shell
from tests.rows import rows


def offered(case: Case) -> list[Pattern | None]:
    """What lies between exactly these arguments and the whole tool."""
    first, *rest = choices_for(case)
    label = "exactly this command" if case.name == "Bash" else "exactly these arguments"
    assert (first.label, first.pattern) == (label, Pattern("exact", case.arguments_hash))
    assert all(choice.rule for choice in (first, *rest))
    return [choice.pattern for choice in rest if choice.pattern is not None]


def test_what_the_tool_proposes_goes_before_what_its_kind_suggests() -> None:
    own = Choice("all of it")
    assert choices_for(case_of("Write", file_path="a", traits=Traits(choices_for_always=(own,))))[1:] == (own,)


@rows(
    ("command", "prefix"),
    [
        ("git commit -m x", "git commit"),
        ("npm run build", "npm run build"),
        ("npm run", None),
        ("npm test", "npm test"),
        ("npm -m x", None),
        ("npm exec eslint .", "npm exec eslint"),
        ("npx eslint .", "npx eslint"),
        ("npx", None),
        ("uv run pytest -q", "uv run pytest"),
        ("uv run -q pytest", None),
        ("poetry run pytest", "poetry run pytest"),
        ("python -m pytest -q", "python -m pytest"),
        ("python3 -m pytest", "python3 -m pytest"),
        ("python -m", None),
        ("python --version", None),
        ("node --test", None),
        ("docker compose up -d", "docker compose up"),
        ("docker ps", "docker ps"),
        ("gh pr create", "gh pr create"),
        ("pnpm run build", "pnpm run build"),
        ("curl https://a.test", None),
        ("wget https://a.test", None),
        ("ls -l", "ls"),
        ("touch a b", "touch"),
        ("git", None),
        ("git -C x commit", None),
        ("git commit && ls", None),
        ("git commit > x", None),
        ("A=1 git commit", None),
        ("A=1", None),
        ("$X commit", None),
        ("rm x", None),
        ("sudo ls", None),
        ("env ls", None),
        ("xargs ls", None),
        ("python x.py", None),
        ("bash -c ls", None),
        ("./run.sh", None),
        ("/bin/ls", None),
        ("git commit 'x", None),
        ("git commit $X", None),
        ("find . -exec rm {} +", None),
    ],
)
def test_for_a_command_its_beginning_is_offered_where_that_is_safe(command: str, prefix: str | None) -> None:
    case = shell(command)
    assert offered(case) == ([] if prefix is None else [Pattern("prefix", prefix, "command")])
    for pattern in offered(case):
        assert outcome(replace(case, policies=[policy("allow", "Bash", pattern)])) == "allow"


def test_for_what_is_no_command_nothing_is_offered() -> None:
    assert offered(case_of("Bash", {"command": 3})) == []


@rows(
    ("case", "patterns"),
    [
        (case_of("Write", file_path="src/a.py"), ["./src/a.py", "./src/**"]),
        (case_of("Read", file_path="a.py"), ["./a.py"]),
        (case_of("Write", file_path="/etc/x"), []),
        (case_of("Write", file_path="src/*.py"), []),
        (case_of("Write", file_path=" a.py"), []),
        (case_of("Write", file_path="a.py "), []),
        (case_of("Write", file_path="l", links={f"{ROOT}/l": f"{ROOT}/m"}), []),
        (case_of("ApplyPatch", patch="--- a/x\n+++ b/y\n"), []),
        (case_of("ApplyPatch", patch="--- a/x\n+++ b/x\n"), ["./x"]),
        (case_of("Glob"), []),
        (case_of("WebFetch", url="https://example.com/a"), ["domain:example.com"]),
        (case_of("WebFetch", url="x"), []),
        (case_of("Deploy", file_path="a"), []),
    ],
    ids=range(13),
)
def test_for_a_file_it_and_its_folder_are_offered_and_for_a_page_its_host(case: Case, patterns: list[str]) -> None:
    assert offered(case) == [Pattern("rule", each) for each in patterns]
    for pattern in offered(case):
        assert outcome(replace(case, policies=[policy("allow", case.name, pattern)])) == "allow"


def reaches(case: Case) -> list[str]:
    """The rules on offer, narrowest first; each allows the call when it is picked."""
    found = choices_for(case)
    for choice in found:
        made = policy("allow", choice.tool or case.name, choice.pattern)
        assert outcome(replace(case, policies=[made])) == "allow", choice
    return [choice.rule for choice in found]


@pytest.mark.spec("CALL-5")
def test_always_goes_from_these_arguments_over_single_ones_to_the_tool_and_its_server() -> None:
    exact = "mcp__db__query(exactly these arguments)"
    case = case_of("mcp__db__query", table="users", limit=5, where={"a": 1}, note="a, b*")
    assert reaches(case) == [
        exact,
        "mcp__db__query(table=users)",
        "mcp__db__query(limit=5)",
        "mcp__db__query(note=a\\, b\\*)",
        "mcp__db__query",
        "mcp__db",
    ]
    assert reaches(case_of("Deploy", to="prod")) == ["Deploy(exactly these arguments)", "Deploy"]
    assert reaches(case_of("Deploy", to="prod", text="x" * 100)) == [
        "Deploy(exactly these arguments)",
        "Deploy(to=prod)",
        "Deploy",
    ]
    assert reaches(case_of("Agent", type="explore"))[1:] == ["Agent(explore)", "Agent"]
    assert reaches(case_of("WebFetch", url="https://a.test/x"))[1:] == ["WebFetch(domain:a.test)", "WebFetch"]
    assert reaches(case_of("Write", file_path="src/a.py"))[1:] == ["Write(./src/a.py)", "Write(./src/**)", "Write"]


@pytest.mark.spec("CALL-5")
def test_of_a_server_only_what_its_tool_surely_belongs_to_is_offered() -> None:
    unclear = case_of("mcp__a__b__c")
    assert reaches(unclear)[1:] == ["mcp__a__b__c"]
    said = replace(unclear, traits=replace(unclear.traits, server="a__b"))
    assert [choice.rule for choice in choices_for(said)][1:] == ["mcp__a__b__c", "mcp__a__b"]


@pytest.mark.spec("CALL-5")
def test_a_tool_can_leave_the_wide_choices_out_and_a_command_runner_always_does() -> None:
    for own in ((), (Choice("these", Pattern("rule", "to=prod"), "Deploy(to=prod)"),)):
        case = case_of("Deploy", {"to": "prod", "n": 1}, traits=Traits(choices_for_always=own))
        assert choices_for(case)[1:] == own
    assert reaches(shell("npm test"))[1:] == ["Bash(npm test:*)"]


def test_the_answer_for_a_server_is_about_the_server() -> None:
    case = case_of("mcp__db__query", table="users")
    question = Question(
        call_id="c1",
        tool=case.name,
        arguments=case.arguments,
        arguments_hash=case.arguments_hash,
        by="default",
        reason="",
        asked_at=0.0,
    )
    answer = question.always(choices_for(case)[-1])
    assert answer.always is not None
    assert (answer.always.tool, answer.always.pattern) == ("mcp__db", None)
    other = case_of("mcp__db__insert", policies=[answer.always])
    assert outcome(other) == "allow"
    assert outcome(case_of("mcp__other__insert", policies=[answer.always])) == "ask"

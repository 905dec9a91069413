"""What a person is offered to remember: exactly this, what the tool proposes, or a little more where that is safe."""

from dataclasses import replace

import pytest

from callgate.core.ports import Case
from callgate.policy.always import choices_for
from callgate.words.decisions import Choice, Pattern
from callgate.words.traits import Traits
from tests.policy.gate_kit import ROOT, case_of, outcome, policy, shell


def offered(case: Case) -> list[Pattern | None]:
    first, *rest = choices_for(case)
    label = "exactly this command" if case.name == "Bash" else "exactly these arguments"
    assert first == Choice(label, Pattern("exact", case.arguments_hash))
    return [choice.pattern for choice in rest]


def test_what_the_tool_proposes_goes_before_what_its_kind_suggests() -> None:
    own = Choice("all of it")
    assert choices_for(case_of("Write", file_path="a", traits=Traits(choices_for_always=(own,))))[1:] == (own,)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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

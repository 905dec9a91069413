"""``callgate prompt show``."""

import json
from pathlib import Path

import pytest

from tests.cli.policy_kit import Person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


@pytest.mark.spec("TRN-9")
def test_each_part_is_shown_with_its_origin(person: Person) -> None:
    (person.work / "AGENTS.md").write_text("Use tabs.")
    (person.config / "prompt").mkdir()
    (person.config / "prompt" / "role.md").write_text("You are a careful agent.")
    ran = person.run("prompt", "show", "--append-system-prompt", "Be brief.")
    lines = ran.out.split("\n")
    assert ran.code == 0
    assert f"role  {person.config / 'prompt' / 'role.md'}" in lines
    assert "work  callgate: work.md" in lines
    assert "appended  --append-system-prompt" in lines
    assert f"project  {person.work / 'AGENTS.md'}" in lines
    assert "environment  this machine" in lines
    parts = json.loads(person.run("prompt", "show", "--json").out)
    assert [part["name"] for part in parts][-2:] == ["project", "environment"]


def test_text_is_what_the_model_gets(person: Person) -> None:
    (person.work / "own.md").write_text("Only this.\n")
    ran = person.run("prompt", "show", "--text", "--tools", "Grep", "--system-prompt-file", "own.md", "--mode", "plan")
    assert ran.out.startswith("Only this.\n\n# Calls\n")
    assert "Plan mode is on" in ran.out
    assert "ExitPlanMode" not in ran.out
    assert "No user watches" not in ran.out
    assert "No user watches" in person.run("prompt", "show", "--unattended").out


def test_a_repository_that_is_not_trusted_gives_information_alone(person: Person) -> None:
    (person.work / "AGENTS.md").write_text("Use tabs.")
    assert "has not said that this folder can be trusted" not in person.run("prompt", "show").out
    person.project('[permissions]\nallow = ["Bash"]\n')
    assert "has not said that this folder can be trusted" in person.run("prompt", "show").out


def test_mistakes_are_named(person: Person) -> None:
    assert "did you mean Read?" in person.run("prompt", "show", "--tools", "Raed").err
    for none in ("", " ", ","):
        ran = person.run("prompt", "show", "--text", "--tools", none)
        assert (ran.code, ran.err, "Bash" in ran.out) == (0, "", False), ran.out
    assert "No such file" in person.run("prompt", "show", "--system-prompt-file", "none.md").err
    both = person.run("prompt", "show", "--system-prompt", "a", "--system-prompt-file", "b")
    assert (both.code, "not allowed with" in both.err) == (2, True)

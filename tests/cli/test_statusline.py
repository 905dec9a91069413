"""``callgate statusline test``."""

import json
from pathlib import Path

import pytest

from callgate.tui.statusline.status_payload import SAMPLE
from tests.cli.policy_kit import Person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


@pytest.mark.spec("STL-7")
def test_the_command_of_the_settings_gets_the_sample(person: Person) -> None:
    person.user("[statusline]\ncommand = 'cat >in.json; printf \"\\033[31mred\\033[2J\"; echo oops >&2'")
    ran = person.run("statusline", "test")
    shown, errors, about = ran.out.splitlines()
    assert (shown, errors, ran.code) == ("red", "  oops", 0)
    assert about.startswith("exit code 0, ")
    assert about.endswith(" ms")
    assert json.loads((person.work / "in.json").read_text()) == SAMPLE


@pytest.mark.spec("STL-7")
def test_a_failure_says_what_would_be_shown(person: Person) -> None:
    failed = person.run("statusline", "test", "--command", "exit 3")
    assert failed.code == 1
    assert "The command exited with code 3: the previous line would stay." in failed.out
    assert "exit code 3, " in failed.out
    silent = person.run("statusline", "test", "--command", ":")
    assert "It printed nothing: the line would be empty." in silent.out


@pytest.mark.spec("STL-7")
def test_the_outcome_and_the_sample_are_json_on_demand(person: Person) -> None:
    outcome = json.loads(person.run("statusline", "test", "--json", "--command", "echo hi; echo no >&2; exit 1").out)
    assert {**outcome, "milliseconds": 0} == {
        "lines": [],
        "failure": "exited with code 1",
        "exit_code": 1,
        "timed_out": False,
        "stderr": "no\n",
        "milliseconds": 0,
    }
    assert json.loads(person.run("statusline", "test", "--sample").out) == SAMPLE


@pytest.mark.spec("STL-1", "STL-7")
def test_without_a_command_it_says_how_to_set_one_and_why_one_was_skipped(person: Person) -> None:
    ran = person.run("statusline", "test")
    assert ran.code == 1
    assert "no status line is configured: add --command, or set statusline.command in " in ran.err
    folder = person.work / ".callgate"
    folder.mkdir(exist_ok=True)
    (folder / "settings.toml").write_text("[statusline]\ncommand = 'theirs'\n")
    assert "settings of this folder are not used until you trust it" in person.run("statusline", "test").err

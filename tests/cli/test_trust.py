"""``callgate trust list``, ``show``, ``add`` and ``revoke``: whose hooks may run."""

import json
import os
import shutil
from pathlib import Path

import pytest

from callgate.cli.terminal import width
from tests.cli.policy_kit import Person
from tests.cli.session_kit import BAD

pytestmark = pytest.mark.spec("HOOK-3")

HOOK = '[[hooks.PostToolUse]]\ncommand = "sh lint.sh"\nmatcher = "Edit"\n'


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


@pytest.fixture
def folder(person: Person) -> Person:
    """One with a hook."""
    person.project(HOOK)
    (person.work / "lint.sh").write_text("true\n")
    return person


def shown(person: Person, *words: str) -> str:
    """The fingerprint that is printed."""
    label, printed = person.good("trust", "show", *words).lines[-1].split()
    assert label == "fingerprint"
    return printed


def trusted(person: Person) -> bool:
    return "until you trust" not in person.run("policy", "check").out


# ---- show ---------------------------------------------------------------------------------------------------------


def test_what_a_folder_would_run_is_shown_as_effects(folder: Person) -> None:
    *lines, fingerprint = folder.good("trust", "show").lines
    assert lines[:3] == [
        f"{folder.work} is not trusted",
        "once it is trusted, it",
        "  runs `sh lint.sh` after every Edit (hooks.PostToolUse, .callgate/settings.toml:1)",
    ]
    assert lines[3].startswith("  may use lint.sh (")
    assert len(fingerprint) == len("fingerprint ") + 32
    assert not (folder.data / "trust").exists()


def test_a_folder_without_such_files_has_nothing_to_trust(person: Person) -> None:
    lines = person.good("trust", "show").lines
    assert lines == [
        f"{person.work} is not trusted",
        "The folder needs no trust: it contains no settings, hooks or other commands.",
    ]
    ran = person.run("trust", "add")
    assert (ran.code, ran.err) == (1, "callgate: not trusted: nothing in this folder needs trust\n")


def test_rules_alone_do_nothing_by_themselves(person: Person) -> None:
    person.project('[permissions]\ndeny = ["Bash(rm:*)"]')
    assert "  has no further effects" in person.good("trust", "show").lines


def test_what_changed_since_is_shown_as_a_difference(folder: Person) -> None:
    folder.good("trust", "add", "--yes", shown(folder))
    assert folder.good("trust", "show").lines[0].startswith(f"{folder.work} is trusted since 20")
    (folder.work / "lint.sh").write_text("rm -rf ~\n")
    lines = folder.good("trust", "show").lines
    assert lines[0] == f"{folder.work} is not trusted now: it changed"
    changes = lines[lines.index("changed since it was trusted") + 1 : -1]
    assert changes[0].startswith("  changed: lint.sh (")
    assert [line for line in changes if line[:5] in ("    -", "    +")] == ["    -true", "    +rm -rf ~"]


def test_faults_of_its_settings_are_shown(person: Person) -> None:
    file = person.project("mode = 1")
    lines = person.good("trust", "show").lines
    assert any(line.startswith(f"  fault: {file}:1: mode must be one of") for line in lines)


def test_what_cannot_be_looked_at_cannot_be_trusted(folder: Person) -> None:
    for number in range(1_001):
        (folder.work / ".callgate" / f"{number}").touch()
    ran = folder.run("trust", "show")
    assert ran.code == 1
    assert "It cannot be trusted: there are more than 1000 files" in ran.out
    assert "fingerprint" not in ran.out
    ran = folder.run("trust", "add", "--yes", "0" * 32)
    assert ran.code == 1


def test_another_folder_can_be_meant(folder: Person) -> None:
    (folder.home / "elsewhere").mkdir()
    os.chdir(folder.home / "elsewhere")
    assert folder.good("trust", "show", str(folder.work)).lines[0] == f"{folder.work} is not trusted"
    assert folder.bad(1, "trust", "show", "none") == f"callgate: {folder.home}/elsewhere/none is not a folder"


def test_what_is_shown_steers_nothing_and_fits(folder: Person) -> None:
    folder.set("COLUMNS", "60")
    folder.good("trust", "add", "--yes", shown(folder))
    folder.project(f'[[hooks.Stop]]\ncommand = "\\u001b[2J \\u202e {"x" * 200}"\n')
    out = folder.good("trust", "show").out
    assert not BAD.search(out)
    assert "<U+001B>[2J <U+202E>" in out
    assert max(map(width, out.splitlines())) <= 60


# ---- add ----------------------------------------------------------------------------------------------------------


def test_a_person_at_a_terminal_is_shown_all_and_asked(folder: Person) -> None:
    folder.given("yes\n", terminal=True)
    ran = folder.run("trust", "add")
    assert (ran.code, ran.err) == (0, "")
    assert "runs `sh lint.sh` after every Edit" in ran.out
    assert "trust? type yes: " in ran.out
    assert "is trusted; you are asked again after each change" in " ".join(ran.out.split())
    assert trusted(folder)


@pytest.mark.parametrize("typed", ["no\n", "y\n", "\n", "YES\n", ""])
def test_anything_but_yes_is_a_no(folder: Person, typed: str) -> None:
    folder.given(typed, terminal=True)
    ran = folder.run("trust", "add")
    assert (ran.code, ran.err) == (1, "callgate: not trusted\n")
    assert not trusted(folder)


def test_where_nobody_can_be_asked_the_fingerprint_says_what_was_seen(folder: Person) -> None:
    folder.given("yes\n")
    ran = folder.run("trust", "add")
    assert ran.code == 2
    assert "this is not a terminal: pass --yes with the fingerprint from `callgate trust show`" in ran.err
    assert not trusted(folder)
    folder.good("trust", "add", "--yes", shown(folder))
    assert trusted(folder)


def test_what_changed_after_it_was_shown_is_not_trusted(folder: Person) -> None:
    seen = shown(folder)
    (folder.work / "lint.sh").write_text("rm -rf ~\n")
    said = folder.bad(1, "trust", "add", "--yes", seen)
    assert said.endswith(": see `callgate trust show`")
    assert not trusted(folder)


@pytest.mark.parametrize("given", ["yes", "", "0" * 31, "0" * 33, "G" * 32])
def test_a_fingerprint_that_is_none_is_a_fault_of_the_words(folder: Person, given: str) -> None:
    assert "is the fingerprint that `callgate trust show` prints" in folder.bad(2, "trust", "add", "--yes", given)


def test_trust_is_not_kept_where_a_repository_could_bring_it_along(folder: Person) -> None:
    folder.set("CALLGATE_DATA_DIR", str(folder.work / "data"))
    for words in (("show",), ("add",), ("list",), ("revoke",)):
        assert "is in the workspace, so it cannot store trust" in folder.bad(1, "trust", *words)


# ---- list and revoke ----------------------------------------------------------------------------------------------


def test_trusted_folders_are_listed_with_how_they_stand(folder: Person) -> None:
    assert folder.good("trust", "list").lines == ["No folder is trusted."]
    folder.good("trust", "add", "--yes", shown(folder))
    name, state = folder.good("trust", "list").lines
    assert name == f"  +  {folder.work}"
    assert state.startswith("      since 20")
    assert state.endswith(" UTC, 2 files; as it was")
    (folder.work / "lint.sh").write_text("false")
    name, state = folder.good("trust", "list").lines
    assert name == f"  -  {folder.work}"
    assert state.endswith("CHANGED, so not trusted now")
    for number in range(1_001):
        (folder.work / ".callgate" / f"{number}").touch()
    assert "not trusted now: there are more than 1000 files" in folder.good("trust", "list").out
    shutil.rmtree(folder.work / ".callgate")
    assert "not trusted now: nothing is left to trust" in folder.good("trust", "list").out


def test_folders_that_are_gone_and_records_that_are_damaged_are_listed(folder: Person) -> None:
    folder.good("trust", "add", "--yes", shown(folder))
    moved = folder.work.rename(folder.work.with_name("moved"))
    os.chdir(moved)
    assert folder.good("trust", "list").lines[1].endswith("; gone")
    (record,) = (folder.data / "trust").glob("*.json")
    record.write_text("{")
    name, state = folder.good("trust", "list").lines
    assert name == f"  !  {record}"
    assert "it is not JSON" in state


def test_a_revoked_folder_is_not_trusted_any_more(folder: Person) -> None:
    folder.good("trust", "add", "--yes", shown(folder))
    assert folder.good("trust", "revoke").lines == [f"{folder.work} is not trusted any more"]
    assert not trusted(folder)
    assert folder.good("trust", "list").lines == ["No folder is trusted."]


def test_a_folder_that_is_gone_can_be_revoked(folder: Person) -> None:
    folder.good("trust", "add", "--yes", shown(folder))
    was = folder.work
    os.chdir(was.rename(was.with_name("moved")))
    folder.good("trust", "revoke", str(was))


def test_what_is_not_trusted_cannot_be_revoked(folder: Person) -> None:
    assert folder.bad(1, "trust", "revoke") == f"callgate: {folder.work} is not trusted"
    folder.good("trust", "add", "--yes", shown(folder))
    said = folder.bad(1, "trust", "revoke", f"{folder.work}x")
    assert said == f"callgate: {folder.work}x is not trusted, did you mean {folder.work}?"
    assert trusted(folder)


def test_a_trusted_folder_may_run_its_hooks_and_still_allows_nothing(folder: Person) -> None:
    folder.has_no_sandbox()
    folder.project('[permissions]\nallow = ["Bash"]\n[[hooks.PreToolUse]]\ncommand = "true"')
    folder.good("trust", "add", "--yes", shown(folder))
    (line,) = folder.good("policy", "explain", "Bash", "make", "--json").lines
    found = json.loads(line)
    assert found["decision"] == "ask"
    assert "hooks" in [step["check"] for step in found["checks"]]


@pytest.mark.parametrize("words", [("trust",), ("policy",)])
def test_a_group_without_a_command_shows_its_help(person: Person, words: tuple[str, ...]) -> None:
    ran = person.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"usage: callgate {words[0]}")


@pytest.mark.parametrize(
    "command",
    [
        *(f"policy {name}" for name in ("decide", "explain", "check", "list", "add", "revoke", "narrow", "expire")),
        *(f"trust {name}" for name in ("list", "show", "add", "revoke")),
    ],
)
def test_every_command_has_examples_in_its_help(person: Person, command: str) -> None:
    person.set("COLUMNS", "60")
    out = person.good(*command.split(), "--help").out
    assert "examples:\n" in out
    assert f"callgate {command}" in out.split("examples:\n")[1]


def test_a_misspelt_command_is_pointed_out(person: Person) -> None:
    assert "did you mean revoke?" in person.bad(2, "trust", "revok")
    assert "did you mean explain?" in person.bad(2, "policy", "explane")

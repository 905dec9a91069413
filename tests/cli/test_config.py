"""``callgate config``: every key shown with its origin, and changed without harm to the rest of the file."""

import json
import os
import re
from pathlib import Path

import pytest

from callgate.admin.settings import list_settings, load_config
from callgate.admin.settings_change import change_setting
from callgate.policy.setting_kinds import (
    COLUMNS,
    COUNT,
    DOLLARS,
    DURATION,
    EFFORT,
    FLAG,
    HOSTS,
    INTERVAL,
    MODE,
    RULES,
    TEXT,
    TOKENS,
    Kind,
)
from callgate.policy.setting_rows import SETTINGS, VALUE_ROWS, VARIABLES
from tests.cli.policy_kit import Person
from tests.house.tree import SRC

SECRET = "sk-ant-api03-" + "a1B2" * 12


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    for name in [name for name in os.environ if name.startswith("CALLGATE_")]:
        monkeypatch.delenv(name)
    return Person(tmp_path, monkeypatch, capsys)


def test_a_value_is_set_read_back_and_removed_and_comments_stay(person: Person) -> None:
    file = person.user("# mine\n[limits]\nmax_turns = 3  # few\n")
    assert person.good("config", "get", "limits.max_turns").out == "3\n"
    said = person.good("config", "set", "limits.max_turns", "10").out
    assert said == f"limits.max_turns is set in {file}.\n"
    person.good("config", "set", "models.default", "ollama/qwen3")
    assert file.read_text() == '# mine\n[limits]\nmax_turns = 10  # few\n\n[models]\ndefault = "ollama/qwen3"\n'
    assert person.good("config", "get", "models.default").out == "ollama/qwen3\n"
    person.good("config", "unset", "limits.max_turns")
    assert file.read_text() == '# mine\n[limits]\n\n[models]\ndefault = "ollama/qwen3"\n'
    assert person.good("config", "unset", "limits.max_turns").out == f"limits.max_turns was not set in {file}.\n"
    gone = person.run("config", "get", "limits.max_turns")
    assert (gone.code, gone.out) == (1, "")
    assert "limits.max_turns is not set" in gone.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("limits.max_turns", "many"), "limits.max_turns must be a whole number above 0, not 'many'"),
        (("mode", "wild"), "mode must be one of"),
        (("limits.max_turn", "3"), "unknown setting 'limits.max_turn': did you mean limits.max_turns?"),
        (("max_turns", "3"), "did you mean limits.max_turns?"),
        (("providers.*.base_url", "http://a"), "replace the star by a name in"),
        (("hooks.Stop.command", "make"), "callgate config edit --user"),
        (("permissions.deny", "Bash(("), "was not changed, because it would be wrong"),
        (("providers.lab.headers", f"Bearer {SECRET}"), "not (hidden)"),
    ],
)
def test_a_wrong_value_changes_nothing_and_says_what_is_wrong(
    person: Person, words: tuple[str, ...], told: str
) -> None:
    before = "mode = 'default'\n"
    file = person.user(before)
    line = person.bad(1, "config", "set", *words)
    assert told in line
    assert SECRET not in line
    assert file.read_text() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_wrong_already_is_not_made_worse_and_the_wrong_value_can_be_mended(person: Person) -> None:
    file = person.user("mode = 'wild'\n")
    line = person.bad(1, "config", "set", "limits.max_turns", "3")
    assert f"{file} was not changed, because it is wrong already: {file}:1: mode must be" in line
    person.good("config", "set", "mode", "plan")
    assert file.read_text() == 'mode = "plan"\n'
    file.write_text("mode = \n")
    assert "this file is not TOML" in person.bad(1, "config", "set", "mode", "plan")


def test_lists_texts_and_servers_are_set_as_people_write_them(person: Person) -> None:
    person.good("config", "set", "sandbox.allow_hosts", "pypi.org", "*.pythonhosted.org")
    person.good("config", "set", "providers.lab.base_url", "http://lab:8000/v1")
    person.good("config", "set", "questions.deadline", "2h")
    person.good("config", "set", "session.title", "false")
    person.good("config", "set", "permissions.deny", "Bash(rm *)", "WebFetch")
    assert person.good("config", "get", "sandbox.allow_hosts").out == "pypi.org\n*.pythonhosted.org\n"
    assert person.good("config", "get", "providers.lab.base_url").out == "http://lab:8000/v1\n"
    assert person.good("config", "get", "questions.deadline").out == "7200\n"
    assert person.good("config", "get", "session.title").out == "false\n"
    assert person.good("config", "get", "permissions.deny").out == "Bash(rm *)\nWebFetch\n"


SAMPLES: dict[Kind[object], tuple[str, ...]] = {
    MODE: ("plan",),
    TEXT: ("some words",),
    DURATION: ("5m",),
    INTERVAL: ("5s",),
    COUNT: ("4",),
    COLUMNS: ("4",),
    TOKENS: ("4000",),
    DOLLARS: ("2.5",),
    FLAG: ("false",),
    HOSTS: ("pypi.org", "*.example.com"),
    EFFORT: ("low",),
    RULES: ("Bash(ls)", "Read"),
}


def test_every_key_that_has_a_value_of_its_own_can_be_set_and_removed(person: Person) -> None:
    keys = {key.name: SAMPLES[key.kind] for key in SETTINGS if "*" not in key.name and key.kind in SAMPLES}
    assert len(keys) > 20
    config = load_config()
    for name, words in keys.items():
        assert change_setting(config, name, words, "user").counts, name
    text = (person.config / "settings.toml").read_text()
    assert load_config().faults == ()
    found = {row.name: row for row in list_settings(load_config())}
    assert all(found[name].origins for name in keys)
    for name in keys:
        change_setting(config, name, None, "user")
    left = (person.config / "settings.toml").read_text()
    assert "=" not in left
    assert {line for line in text.splitlines() if line.startswith("[")} == set(filter(None, left.splitlines()))


def test_the_layer_that_counts_is_said_when_it_is_not_the_one_that_was_changed(person: Person) -> None:
    person.set("CALLGATE_MODEL", "ollama/other")
    said = person.good("config", "set", "models.default", "ollama/qwen3").out
    assert "It has no effect, because this value has priority: ollama/other (environment, CALLGATE_MODEL)." in said
    said = person.good("config", "set", "--project", "limits.max_turns", "5").out
    assert (person.work / ".callgate" / "settings.toml").read_text() == "[limits]\nmax_turns = 5\n"
    assert "does not count" not in said
    said = person.good("config", "set", "--local", "mode", "accept_edits").out
    assert "It has no effect, because this value has priority: default (default)." in said
    assert "a repository can only make" in said
    assert "say --user or --local" in person.bad(2, "config", "set", "--user", "--local", "mode", "plan")
    for name, value, why in (
        ("permissions.allow", "Bash(ls:*)", "allow rules are ignored"),
        ("providers.lab.base_url", "http://lab.test/v1", "options of models and servers are ignored"),
        ("models.options.opus.effort", "high", "options of models and servers are ignored"),
    ):
        assert why in " ".join(person.good("config", "set", "--project", name, value).out.split())
        assert "ignored" not in person.good("config", "set", name, value).out
    assert "ignored" not in person.good("config", "set", "--project", "limits.max_turns", "6").out


def test_a_change_of_a_trusted_folder_says_that_it_is_not_trusted_now(person: Person) -> None:
    person.project("mode = 'plan'\n")
    shown = person.run("trust", "show").out
    digits = re.search(r"fingerprint (\w+)", shown)
    assert digits is not None
    person.run("trust", "add", "--yes", digits[1])
    assert "callgate trust add" in person.good("config", "set", "--project", "limits.max_turns", "5").out


def test_a_link_to_ones_own_settings_stays_a_link_and_one_out_of_the_repository_is_refused(person: Person) -> None:
    real = person.home / "dotfiles.toml"
    real.write_text("# kept\n")
    real.chmod(0o600)
    (person.config / "settings.toml").symlink_to(real)
    person.good("config", "set", "mode", "plan")
    assert (person.config / "settings.toml").is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ('# kept\nmode = "plan"\n', 0o600)
    (person.work / ".callgate").mkdir()
    (person.work / ".callgate" / "settings.toml").symlink_to(real)
    assert ("is a link to a place outside the repository: replace it by a file") in person.bad(
        1, "config", "set", "--project", "mode", "plan"
    )


@pytest.mark.spec("CLI-4")
def test_every_key_is_listed_with_meaning_type_default_value_and_origin(person: Person) -> None:
    file = person.user("mode = 'plan'\n\n[limits]\nmax_turns = 7\n")
    person.set("CALLGATE_MAX_CONCURRENCY", "4")
    person.set("CALLGATE_EFFORT", "low")
    rows = {row["key"]: row for row in json.loads(person.good("config", "list", "--json").out)}
    assert [*rows] == [key.name for key in SETTINGS]
    assert all(row["meaning"] and row["type"] for row in rows.values())
    defaults = {name: row.default for name, row in VALUE_ROWS.items()}
    assert {name: rows[name]["default"] for name in defaults} == {
        name: [*value] if isinstance(value, tuple) else value for name, value in defaults.items()
    }
    assert (rows["mode"]["value"], rows["mode"]["variable"]) == ("plan", "CALLGATE_MODE")
    assert rows["limits.max_turns"]["origin"] == [{"layer": "user", "file": str(file), "line": 4}]
    assert rows["limits.max_concurrency"]["value"] == 4
    assert rows["limits.max_concurrency"]["origin"] == [{"layer": "environment", "file": "CALLGATE_MAX_CONCURRENCY"}]
    assert (rows["models.effort"]["value"], rows["models.effort"]["origin"][0]["file"]) == ("low", "CALLGATE_EFFORT")
    assert rows["session.title"]["origin"] == []
    text = person.good("config", "list", "--set").out
    assert f"limits.max_turns = 7  user, {file}:4" in text
    assert "session.title" not in text
    assert "Variable: CALLGATE_MODE." in text
    assert person.good("config", "list", "limits", "--set").out.startswith("limits.max_concurrency = 4")
    assert "no setting begins with 'nope'" in person.bad(1, "config", "list", "nope")


@pytest.mark.spec("CLI-4")
def test_every_variable_that_is_read_is_in_the_table_and_each_key_that_has_one_says_so() -> None:
    used: set[str] = set()
    for file in SRC.rglob("*.py"):
        used |= set(re.findall(r"\bCALLGATE_[A-Z_]*[A-Z]\b", file.read_text(encoding="utf-8")))
    known = {each.name for each in VARIABLES} | {"CALLGATE_EVENT", "CALLGATE_PROJECT_DIR"}
    assert used - {"CALLGATE_MOED"} == known, "a variable is missing in policy/variables.py, or nothing reads it"
    assert all(each.meaning.endswith(".") for each in VARIABLES)


def test_secrets_are_never_printed(person: Person) -> None:
    person.user(
        f"""
[questions]
notify = "curl -H 'x-api-key: {SECRET}' https://example.com"
[providers.lab]
base_url = "http://lab"
headers = {{ Authorization = "Bearer hunter2hunter2" }}
[models.options."lab/x"]
body = {{ token = "hunter2hunter2" }}
[[hooks.Stop]]
command = "notify --token {SECRET}"
"""
    )
    for words in (
        ("list",),
        ("list", "--json"),
        ("list", "--set"),
        ("get", "providers.lab.headers"),
        ("get", "questions.notify"),
    ):
        said = person.good("config", *words).out
        assert SECRET not in said
        assert "hunter2" not in said
    assert person.good("config", "get", "providers.lab.headers").out == "(hidden)\n"
    row = json.loads(person.good("config", "get", "models.options.lab/x.body", "--json").out)
    assert (row["value"], row["hidden"]) == ("(hidden)", True)


def test_the_files_of_each_layer_are_named_there_or_not(person: Person) -> None:
    file = person.user("")
    rows = json.loads(person.good("config", "path", "--json").out)
    assert [(row["layer"], row["exists"]) for row in rows] == [
        ("managed", False),
        ("user", True),
        ("project", False),
        ("local", False),
    ]
    text = person.good("config", "path").out
    assert f"user     {file}\n" in text
    assert text.count("(not found)") == 3


def test_an_edited_file_is_checked_and_kept_whatever_is_in_it(person: Person) -> None:
    script = person.home / "editor.sh"
    script.write_text('#!/bin/sh\nprintf "mode = 1\\n" > "$1"\n')
    script.chmod(0o755)
    person.set("VISUAL", str(script))
    ran = person.run("config", "edit")
    file = person.config / "settings.toml"
    assert ran.code == 1
    assert f"{file}:1: mode must be" in ran.err
    assert "callgate config edit --user" in ran.err
    assert file.read_text() == "mode = 1\n"
    script.write_text('#!/bin/sh\nprintf "mode = \\"plan\\"\\n" > "$1"\n')
    assert person.good("config", "edit", "--user").out == f"Nothing is wrong with {file}.\n"


def test_an_editor_that_changes_nothing_leaves_no_file_behind(person: Person) -> None:
    person.set("VISUAL", "true")
    person.good("config", "edit", "--local")
    assert not (person.work / ".callgate" / "settings.local.toml").exists()
    person.set("VISUAL", "no-such-editor-here")
    assert "cannot be started" in person.bad(1, "config", "edit")
    person.set("VISUAL", "'")
    assert "was not found: set $EDITOR to an editor" in person.bad(1, "config", "edit")

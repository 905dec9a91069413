"""``callgate completion``: scripts for three shells, tried in each shell that is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from callgate.cli.command_rows import all_commands
from callgate.cli.completion import FILES, SHELLS, completion_script, completion_table, values_of
from callgate.policy.setting_rows import VALUE_ROWS
from callgate.words.modes import MODES

TABLE = completion_table()

CASES: list[tuple[str, set[str]]] = [
    ("callgate se", {"session"}),
    ("callgate session li", {"list"}),
    ("callgate session ", {"list", "show", "export", "import", "verify", "gc", "remove", "rename", "lock"}),
    ("callgate config get mod", {"mode", "models.default", "models.cheap", "models.fallback", "models.effort"}),
    ("callgate config set --project models.d", {"models.default"}),
    ("callgate -p --mo", {"--mode", "--model"}),
    ("callgate --mode pl", {"plan"}),
    ("callgate --mode=pl", {"plan"}),
    ("callgate -p --output-format ", {"text", "json", "stream-json"}),
    ("callgate --model x --ef", {"--effort"}),
    ("callgate session export --format m", {"markdown"}),
    ("callgate session list --format ", set()),
    ("callgate auth set anth", {"anthropic"}),
    ("callgate trust add --yes abc --de", {"--debug"}),
    ("callgate undo --yes tu", {"turn"}),
    ("callgate completion ", {"bash", "zsh", "fish"}),
    ("callgate nonsense --hel", {"--help"}),
]


def test_every_command_has_an_entry_and_every_word_is_plain() -> None:
    paths = {entry.path for entry in TABLE}
    assert set(all_commands()) <= paths
    for entry in TABLE:
        words = [*entry.commands, *(name for option in entry.options for name in option.names)]
        for values in (entry.arguments, *map(values_of, entry.options)):
            words += [] if values == FILES else values.split()
        assert [word for word in words if not re.fullmatch(r"[A-Za-z0-9._/-]+", word)] == [], entry.path
    by_path = {entry.path: entry for entry in TABLE}
    assert set(VALUE_ROWS) <= set(by_path["config get"].arguments.split())
    assert next(values_of(each) for each in by_path[""].options if "--mode" in each.names) == " ".join(MODES)


@pytest.mark.spec("CLI-12")
@pytest.mark.parametrize(("line", "wanted"), CASES)
def test_bash_completes(line: str, wanted: set[str]) -> None:
    assert in_bash(line) == wanted


def test_bash_completes_names_of_files(tmp_path: Path) -> None:
    (tmp_path / "one file.toml").touch()
    (tmp_path / "one.toml").touch()
    assert in_bash("callgate --settings one", tmp_path) == {"one file.toml", "one.toml"}
    assert in_bash("callgate session import one.", tmp_path) == {"one.toml"}


def in_bash(line: str, folder: Path | None = None) -> set[str]:
    """Runs the script as bash would: words are split at blanks and at the equals sign."""
    words = [word for word in re.split(r" |(=)", line) if word is not None and (word or line.endswith(" "))]
    asked = " ".join(f"'{word}'" for word in words)
    driver = f"COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _callgate; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", completion_script("bash") + driver],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return {word for word in ran.stdout.split("\n") if word}


@pytest.mark.spec("CLI-12")
def test_zsh_completes(tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "_callgate").write_text(completion_script("zsh"))
    for line, wanted in CASES:
        *before, current = line.split(" ")
        if "=" in current:
            continue
        words = " ".join(f"'{word}'" for word in (*before, current))
        driver = (
            f"compdef() {{ }}; compadd() {{ shift; print -l -- $@ }}; source {tmp_path}/_callgate; "
            f"words=({words}); CURRENT={len(before) + 1}; _callgate"
        )
        ran = subprocess.run(["zsh", "-f", "-c", driver], capture_output=True, text=True, check=True)
        assert {word for word in ran.stdout.split() if word.startswith(current)} == wanted, line


@pytest.mark.spec("CLI-12")
def test_fish_completes(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = tmp_path / "callgate.fish"
    script.write_text(completion_script("fish"))
    for line, wanted in CASES:
        if "nonsense" in line or not wanted:
            continue
        command = f"source {script}; complete -C'{line}'"
        ran = subprocess.run(["fish", "--no-config", "-c", command], capture_output=True, text=True, check=True)
        found = {row.partition("\t")[0].rpartition("=")[2] for row in ran.stdout.splitlines()}
        assert wanted <= found, line


def test_the_script_of_each_shell_says_where_it_belongs_and_has_every_command() -> None:
    for shell in SHELLS:
        text = completion_script(shell)
        assert f"callgate completion {shell}" in text
        assert "statusline" in text
        assert text.isascii() or shell == "fish"  # descriptions of options are for people

"""Commands of settings that run files of the workspace run inside the sandbox."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.host.ports import Command, HostDecision
from callgate.policy.settings_commands import SettingsCommands, runs_workspace_files
from tests.rows import rows

FILES = [
    "make -s fmt",
    "make",
    "npm run lint",
    "npx prettier --write src",
    "pytest -q",
    "ruff check --fix",
    "black src",
    "sh fmt.sh",
    "sh ./fmt.sh",
    "./fmt.sh",
    "tools/fmt.sh",
    "{root}/fmt.sh",
    "sh {root}/fmt.sh",
    "python3 fmt.py",
    "python3 -c 'import fmt'",
    "python3 -m fmt",
    "node fmt.js",
    ". ./fmt.sh",
    "source fmt.sh",
    "eval x",
    "bash -c 'make fmt'",
    "sh -c ./fmt.sh",
    "cd sub && make",
    "timeout 5 make",
    "env X=1 make",
    "cat | xargs make",
    "jq -r .tool_input.file_path | while read f; do npx prettier $f; done",
    "x=$(make -s version); echo $x",
    "true; just fmt",
    "rubocop -a",
    "php-cs-fixer fix",
    "mkdocs build",
    "dbt run",
    "latexmk",
    "bundle exec standardrb",
    "golangci-lint run --fix",
    "nbqa black .",
    "timeout 9 stylelint --fix .",
    "run-s fmt lint",
    "cargo-make fmt",
    "pre-commit run",
    '"$CALLGATE_PROJECT_DIR"/fmt.sh',
    "$CALLGATE_PROJECT_DIR/.callgate/fmt.sh",
    "$EDITOR x",
    "$HOME/../work/fmt.sh",
    '"$HOME"/../work/fmt.sh',
    "${HOME}/link/fmt.sh",
    "sh $HOME/link/fmt.sh",
    "sh ~/link/fmt.sh",
    "awk -f fmt.awk",
    "cat fmt.sh | sh",
    "perl fmt.pl",
    "nohup make &",
    "command make",
    "exec make",
    "find . -name x -exec ./fmt.sh {} +",
    "$HOME/$X/fmt.sh",
    "X=make; $X fmt",
    "fmt",
    "~/link/fmt.sh",
    "echo 'not closed",
]
ELSEWHERE = [
    "jq -r .tool_name >> ~/log",
    "notify-send done",
    "~/bin/check.sh",
    "$HOME/bin/check.sh",
    '"$HOME/bin/check.sh" --quiet',
    "python3 ~/hooks/check.py",
    "python3 {base}/hooks/check.py",
    "sh ~/check.sh arg",
    'sh "$HOME/check.sh"',
    "awk '{print $1}'",
    "cat > /dev/null",
    "echo done",
    "git status --short",
    "curl -s https://example.com",
    "bash -c 'notify-send done'",
    "{base}/bin/check {root}/file",
    "exit 2",
    "read line; printf '%s' x",
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    base = Path(os.path.realpath(tmp_path))
    root = base / "work"
    (root / "bin").mkdir(parents=True)
    (root / "bin/fmt").write_text("#!/bin/sh\n")
    (root / "bin/fmt").chmod(0o755)
    (base / "home").mkdir()
    (base / "home/link").symlink_to(root)
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("PATH", f"{root}/bin:/usr/bin:/bin")
    return root


@pytest.mark.spec("GATE-18")
@rows("line", FILES)
def test_a_command_that_runs_files_of_the_workspace_is_recognised(line: str, root: Path) -> None:
    assert runs_workspace_files(line.replace("{root}", str(root)), str(root))


@rows("line", ELSEWHERE)
def test_a_command_that_runs_nothing_of_the_workspace_stays_outside(line: str, root: Path) -> None:
    assert not runs_workspace_files(line.replace("{root}", str(root)).replace("{base}", str(root.parent)), str(root))


class Places:
    """A sandbox that marks commands with their place."""

    def takes(self, call_id: str, text: str) -> bool:
        return True

    def wrap(self, command: Command, on_decision: Callable[[HostDecision], None]) -> Command:
        return replace(command, cwd="inside")

    def outside(self, command: Command) -> Command:
        return replace(command, cwd="outside")

    @property
    def report(self) -> Callable[[str], None]:
        return lambda note: None

    def watch(self, text: str) -> Callable[[bool], Sequence[str]]:
        return lambda failed: ()

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> None:
        return None


def test_commands_of_the_repository_always_run_inside(root: Path) -> None:
    commands, command = SettingsCommands(str(root), Places), Command(("sh",), "here")
    for line, ours, place in (
        ("echo x", True, "inside"),
        ("make fmt", True, "inside"),
        ("echo x", False, "outside"),
        ("make fmt", False, "inside"),
    ):
        assert commands.place(line, command, from_repository=ours).cwd == place
    assert SettingsCommands(str(root), lambda: None).place("make", command, from_repository=True) is command

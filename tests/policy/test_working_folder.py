"""A rule for a build tool means the files of the workspace, not those of a folder that the model chooses."""

import os
from pathlib import Path

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from tests.rows import rows

RULES = [
    f"Bash({name}:*)"
    for name in (
        "make",
        "npm test",
        "npm run",
        "pnpm test",
        "yarn test",
        "cargo test",
        "go test",
        "tox",
        "pytest",
        "sh",
    )
] + ["Bash(just build)", "Bash(pre-commit run)", "Bash(python3 build.py)", "Bash(sh build.sh)", "Bash(cat notes.txt)"]

FILES = """
    Makefile package.json Cargo.toml go.mod tox.ini pyproject.toml justfile .pre-commit-config.yaml build.py build.sh
    notes.txt"""
COMMANDS = [
    "make",
    "make test",
    "make -j4 test",
    "npm test",
    "npm run build",
    "pnpm test",
    "yarn test",
    "cargo test",
    "go test ./...",
    "tox",
    "pytest -q",
    "just build",
    "pre-commit run",
    "python3 build.py",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "work"
    for folder in (root, root / "evil", root / "evil/deep", root / "plain"):
        folder.mkdir()
    for name in FILES.split():
        (root / name).touch()
        (root / "evil" / name).touch()
    return root


def decided(root: Path, command: str, cwd: str = "") -> str:
    arguments = {"command": command} | ({"cwd": cwd} if cwd else {})
    return CallJudge().judge(CallToJudge("Bash", arguments, root=str(root), allow=tuple(RULES))).decision


@pytest.mark.spec("GATE-16")
@rows("command", COMMANDS)
def test_a_rule_for_a_build_covers_no_folder_with_files_of_its_own(command: str, root: Path) -> None:
    assert decided(root, command) == "allow"
    for folder in ("evil", "evil/deep", "./evil/", "plain/../evil", f"{root}/evil"):
        assert decided(root, command, folder) == "ask", folder
        assert decided(root, f"cd {folder} && {command}") == "ask", folder
        assert decided(root, f"cd {folder}; {command}") == "ask", folder
    assert decided(root, f"cd plain && cd ../evil && {command}") == "ask"
    assert decided(root, command, ".") == "allow"
    assert decided(root, command, str(root)) == "allow"


OTHER = [
    "make -C evil",
    "make -Cevil test",
    "make --directory=evil",
    "make -f evil/Makefile",
    "make -fevil/Makefile",
    "make --file=evil/Makefile",
    "make --makefile evil/Makefile",
    "make -I evil",
    "make -E 'x:=$(shell x)'",
    "make MAKEFILES=evil/Makefile",
    "MAKEFILES=evil/Makefile make",
    "MAKEFLAGS=-Cevil make",
    "npm --prefix evil test",
    "npm test --prefix evil",
    "npm --prefix=evil run build",
    "pnpm -C evil test",
    "pnpm --dir evil test",
    "yarn --cwd evil test",
    "cargo -C evil test",
    "cargo test --manifest-path evil/Cargo.toml",
    "cargo test --config evil/config.toml",
    "go -C evil test",
    "go test -C evil",
    "go test -modfile=evil/go.mod",
    "tox -c evil/tox.ini",
    "tox --root evil",
    "pytest -c evil/pytest.ini",
    "pytest --rootdir=evil",
    "pytest --confcutdir=evil",
    "pytest -p evil",
    "env -C evil make",
    "pushd evil && make",
    "(cd evil && make)",
    "(cd evil; make test)",
]


@pytest.mark.spec("GATE-16")
@rows("command", OTHER)
def test_no_option_chooses_another_folder_or_file(command: str, root: Path) -> None:
    assert decided(root, command) == "ask"


def test_a_folder_without_files_of_its_own_uses_those_of_the_workspace(root: Path) -> None:
    for command in ("npm test", "pytest -q", "cargo test", "go test ./..."):
        assert decided(root, f"cd plain && {command}") == "allow"
        assert decided(root, command, "plain") == "allow"


@pytest.mark.spec("GATE-16")
def test_a_path_in_a_rule_means_the_path_in_the_workspace(root: Path) -> None:
    assert decided(root, "sh build.sh") == "allow"
    for command in ("python3 build.py", "cat notes.txt > /dev/null"):
        assert decided(root, command) == "allow"
    assert decided(root, "cd plain && python3 build.py") == "ask"
    assert decided(root, "python3 build.py", "plain") == "ask"

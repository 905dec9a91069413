"""Reading version control without a question: git's settings are read as strictly as git obeys them (GATE-17)."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from callgate.admin.call_judge import CallJudge, CallToJudge
from callgate.policy.git_settings import runs_programs

READERS = (
    "git status",
    "git diff",
    "git log -p -3",
    "git show",
    "git blame a.txt",
    "git branch --list",
    "git -C sub status",
)

# Settings of a repository by which git runs a program when it reads; {mark} makes a file.
RUNNING: Mapping[str, str] = {
    "a file system monitor": "[core]\n\tfsmonitor = {mark}\n",
    "an external diff": "[diff]\n\texternal = {mark}\n",
    "a text conversion": '[diff "own"]\n\ttextconv = {mark}\n',
    "a diff driver": '[diff "own"]\n\tcommand = {mark}\n',
    "a clean filter": '[filter "own"]\n\tclean = {mark}\n',
    "on one line with its section": "[core] fsmonitor = {mark}\n",
    "in other letters": "[CORE]\n\tFsMonitor = {mark}\n",
    "behind a comment": "# plain\n[core] ; plain\n\tfsmonitor={mark}\n",
    "in another file": "[include]\n\tpath = more\n",
    "continued on a second line": "[core]\n\tfsmonitor = \\\n{mark}\n",
}
# Settings that are strange or only look harmless: they are not known, so a person is asked.
UNKNOWN: Mapping[str, str] = {
    "a key that nobody knows": "[core]\n\tsomething = 1\n",
    "an old kind of section": "[diff.own]\n\ttextconv = cat\n",
    "another working tree": "[core]\n\tworktree = /\n",
    "objects from a server": '[remote "origin"]\n\tpromisor = true\n',
    "no settings at all": "\x00\x01",
}
HARMLESS = """[core]
\trepositoryformatversion = 0
\tfilemode = true
[remote "origin"]
\turl = https://example.org/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
; a comment
[user] name = A "quoted" name # and a comment
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "sub").mkdir(parents=True)
    for name in ("a.txt", "sub/b.txt"):
        (root / name).write_text("one\n")
    (root / ".gitattributes").write_text("*.txt diff=own filter=own\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first")
    (root / "a.txt").write_text("two\n")
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(
        ["git", *words], cwd=root, env=quiet(root), stdin=subprocess.DEVNULL, capture_output=True, check=True
    )


def quiet(root: Path) -> dict[str, str]:
    """Without the settings of the person who runs the tests."""
    return {**os.environ, "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": str(root.parent)}


def decisions(root: Path) -> dict[str, str]:
    bench = CallJudge(home=str(root.parent / "home"))
    calls = {command: CallToJudge("Bash", {"command": command}, root=str(root)) for command in READERS}
    return {command: bench.judge(call).decision for command, call in calls.items()}


def marks(root: Path) -> bool:
    """True if one of the readers runs the program that the settings name."""
    mark = root.parent / "mark"
    for command in READERS:
        subprocess.run(
            command.split(), cwd=root, env=quiet(root), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    return mark.exists()


def marker(root: Path) -> str:
    script = root.parent / "mark.sh"
    script.write_text(f"#!/bin/sh\ntouch {root.parent}/mark\ncat 2>/dev/null\nexit 0\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.spec("GATE-17")
def test_reading_a_repository_with_usual_settings_needs_no_question(repository: Path) -> None:
    (repository / ".git" / "config").write_text(HARMLESS)
    assert set(decisions(repository).values()) == {"allow"}, decisions(repository)


@pytest.mark.spec("GATE-17")
def test_a_repository_as_git_makes_it_is_harmless(repository: Path) -> None:
    assert runs_programs(str(repository / "sub")) is None
    git(repository, "worktree", "add", "-q", str(repository.parent / "other"))
    assert runs_programs(str(repository.parent / "other")) is None


@pytest.mark.spec("GATE-17")
def test_settings_by_which_git_runs_programs_ask(repository: Path) -> None:
    """Each is first shown to run something, so that a table of attacks that do nothing fails."""
    mark, settings = repository.parent / "mark", repository / ".git" / "config"
    program, usual, bad = marker(repository), settings.read_text(), []
    (repository / ".git" / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    for name, text in RUNNING.items():
        mark.unlink(missing_ok=True)
        settings.write_text(usual + text.format(mark=program))
        if not marks(repository):
            bad.append(f"{name}: git does not run it")
        asked = {command for command, found in decisions(repository).items() if found == "ask"}
        if asked != set(READERS):
            bad.append(f"{name}: passes for {set(READERS) - asked}")
    assert not bad, "\n".join(bad)


@pytest.mark.spec("GATE-17")
def test_settings_that_are_not_known_ask(repository: Path) -> None:
    settings = repository / ".git" / "config"
    usual = settings.read_text()
    passing = []
    for name, text in UNKNOWN.items():
        settings.write_text(usual + text)
        if runs_programs(str(repository)) is None:
            passing.append(name)
    assert not passing


@pytest.mark.spec("GATE-17")
def test_a_hook_that_runs_when_the_index_is_refreshed_asks(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(Path(marker(repository)).read_text())
    hook.chmod(0o755)
    os.utime(repository / "sub" / "b.txt", (1, 1))
    assert marks(repository)
    assert set(decisions(repository).values()) == {"ask"}


@pytest.mark.spec("GATE-17")
def test_a_bare_repository_inside_the_working_tree_asks(repository: Path) -> None:
    """Its settings come with a clone, and git obeys them in that folder."""
    sub = repository / "sub"
    git(repository, "init", "-q", "--bare", "sub")
    with (sub / "config").open("a") as file:
        file.write(f"[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {marker(repository)}\n")
    assert marks(repository)
    assert decisions(repository)["git -C sub status"] == "ask"
    assert decisions(repository)["git status"] == "allow"


@pytest.mark.spec("GATE-17")
def test_settings_of_a_submodule_and_of_a_worktree_count(repository: Path) -> None:
    module = repository / ".git" / "modules" / "own"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n\tworktree = ../../../own\n")
    assert runs_programs(str(repository)) is None
    (module / "config").write_text("[core]\n\tfsmonitor = x\n")
    assert "core.fsmonitor" in (runs_programs(str(repository)) or "")
    (module / "config").unlink()
    git(repository, "worktree", "add", "-q", str(repository.parent / "other"))
    (repository / ".git" / "worktrees" / "other" / "config.worktree").write_text("[core]\n\tfsmonitor = x\n")
    assert "core.fsmonitor" in (runs_programs(str(repository.parent / "other")) or "")


@pytest.mark.spec("GATE-17")
def test_an_empty_git_folder_does_not_hide_the_repository_above(repository: Path) -> None:
    (repository / "sub" / ".git").mkdir()
    with (repository / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {marker(repository)}\n")
    assert marks(repository)
    assert decisions(repository)["git -C sub status"] == "ask"

"""Reading version control without a question: git's settings are read as strictly as git obeys them (GATE-17)."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from callgate.policy.git_settings import RepositoryReads
from tests.rows import rows

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


def fault(folder: Path, root: Path) -> str | None:
    return RepositoryReads((), (str(folder),), [str(root)], lambda path: False).fault


def decision(root: Path, command: str, tool: str = "Bash") -> str:
    bench = CallJudge(home=str(root.parent / "home"))
    return bench.judge(CallToJudge(tool, {"command": command}, root=str(root))).decision


def decisions(root: Path) -> dict[str, str]:
    return {command: decision(root, command) for command in READERS}


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
def test_reading_a_repository_with_usual_settings_needs_no_question(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    (repository / ".git" / "config").write_text(HARMLESS)
    assert set(decisions(repository).values()) == {"allow"}, decisions(repository)


@pytest.mark.spec("GATE-17")
def test_a_repository_as_git_makes_it_is_harmless(repository: Path) -> None:
    assert fault(repository / "sub", repository) is None
    git(repository, "worktree", "add", "-q", str(repository.parent / "other"))
    assert fault(repository.parent / "other", repository) is None


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
        if fault(repository, repository) is None:
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
    own, module = repository / "own", repository / ".git" / "modules" / "own"
    module.parent.mkdir()
    git(repository.parent, "clone", "-q", "--separate-git-dir", str(module), str(repository), str(own))
    git(repository, "add", "own")
    git(repository, "-C", "own", "config", "core.worktree", "../../../own")
    assert fault(repository, repository) is None
    usual = (module / "config").read_text()
    (module / "config").write_text(f"{usual}[core]\n\tfsmonitor = x\n")
    assert "core.fsmonitor" in (fault(repository, repository) or "")
    (module / "config").write_text(usual)
    assert fault(repository, repository) is None
    git(repository, "worktree", "add", "-q", str(repository.parent / "other"))
    git(repository, "config", "extensions.worktreeConfig", "true")
    (repository / ".git" / "worktrees" / "other" / "config.worktree").write_text("[core]\n\tfsmonitor = x\n")
    assert "core.fsmonitor" in (fault(repository.parent / "other", repository) or "")


@pytest.mark.spec("GATE-17")
def test_an_empty_git_folder_does_not_hide_the_repository_above(repository: Path) -> None:
    (repository / "sub" / ".git").mkdir()
    with (repository / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {marker(repository)}\n")
    assert marks(repository)
    assert decisions(repository)["git -C sub status"] == "ask"


# ---- everyday repositories ------------------------------------------------------------------------------------------

USUAL: Mapping[str, str] = {
    "hooks of the project": "[core]\n\thooksPath = .husky\n",
    "the built-in monitor": "[core]\n\tfsmonitor = true\n\tuntrackedCache = true\n",
    "Git LFS": """[lfs]
\trepositoryformatversion = 0
\tlocksverify = true
[lfs "https://example.org/a.git/info/lfs"]
\taccess = basic
[filter "lfs"]
\tclean = git-lfs clean -- %f
\tsmudge = git-lfs smudge -- %f
\tprocess = git-lfs filter-process
\trequired = true
""",
    "a branch of a pull request": """[branch "x"]
\tremote = origin
\tmerge = refs/heads/x
\tgithub-pr-owner-number = "a#b#1"
\tvscode-merge-base = origin/main
""",
    "a checkout of a build service": """[http "https://github.com/"]
\textraheader = AUTHORIZATION: basic x
[gc]
\tauto = 0
[safe]
""",
    "a large repository": "[feature]\n\tmanyFiles = true\n[maintenance]\n\tauto = false\n\tstrategy = incremental\n",
    "signed commits": "[user]\n\tsigningkey = x\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n",
    "ignored revisions": "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n",
    "a log of submodules": "[diff]\n\tsubmodule = log\n[status]\n\tshowUntrackedFiles = all\n",
    "a sparse checkout": "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n[index]\n\tsparse = true\n",
}


@pytest.mark.spec("GATE-17")
def test_reading_an_everyday_repository_needs_no_question(repository: Path) -> None:
    settings, bad = repository / ".git" / "config", []
    (repository / ".git-blame-ignore-revs").touch()
    usual = settings.read_text()
    for name, text in USUAL.items():
        settings.write_text(usual + text)
        asking = [command for command, decision in decisions(repository).items() if decision != "allow"]
        bad += [f"{name}: {asking}"] if asking else []
    assert not bad, "\n".join(bad)


@pytest.mark.spec("GATE-17")
def test_reading_worktrees_and_submodules_needs_no_question(repository: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    git(tmp_path, "clone", "-q", str(repository), str(source))
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "module")
    git(repository, "worktree", "add", "-q", "tree")
    assert set(decisions(repository).values()) == {"allow"}
    for folder in ("module", "tree", "module/sub"):
        assert {decision(repository / folder, command) for command in READERS[:4]} == {"allow"}, folder
        judged = {command: decision(repository, f"cd {folder} && {command}") for command in READERS[:4]}
        assert set(judged.values()) == {"allow"}, judged


@pytest.mark.spec("GATE-20")
def test_a_tool_that_does_not_switch_off_programs_of_git_asks(repository: Path) -> None:
    (repository / ".git" / "config").write_text(HARMLESS)
    assert decision(repository, "git status", tool="Terminal") == "ask"


def _link(root: Path, name: str, target: Path) -> None:
    place = root / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.rename(place.with_name(f"old-{place.name}")) if place.exists() else None
    place.symlink_to(target)


OTHER: Mapping[str, Callable[[Path, Path], object]] = {
    "a .git file": lambda root, other: (
        (root / ".git").rename(root / "old"),
        (root / ".git").write_text(f"gitdir: {other}\n"),
    ),
    "a .git link": lambda root, other: ((root / ".git").rename(root / "old"), (root / ".git").symlink_to(other)),
    "a common folder": lambda root, other: (root / ".git" / "commondir").write_text(f"{other}\n"),
    "linked objects": lambda root, other: (
        _link(root, "objects", other / "objects"),
        _link(root, "refs", other / "refs"),
    ),
    "linked packs": lambda root, other: _link(root, "objects/pack", other / "objects" / "pack"),
    "linked folders of objects": lambda root, other: [
        _link(root, f"objects/{each.name}", each) for each in (other / "objects").iterdir() if len(each.name) == 2
    ],
    "a linked log": lambda root, other: _link(root, "logs", other / "logs"),
    "a linked index": lambda root, other: _link(root, "index", other / "index"),
    "linked settings": lambda root, other: _link(root, "config", other / "config"),
    **{
        f"a linked {name}": lambda root, other, name=name: _link(root, name, other / "config")
        for name in (
            *("rebase-merge/done", "rebase-merge/git-rebase-todo", "rebase-apply/head-name", "sequencer/todo"),
            *("worktrees/x/locked", "worktrees/x/gitdir", "info/exclude", "info/attributes", "logs/refs/stash"),
            *("refs/heads/x/y/z", "BISECT_LOG", "modules", "MERGE_MSG"),
        )
    },
    "linked revisions to ignore": lambda root, other: (
        git(root, "config", "blame.ignoreRevsFile", ".git-blame-ignore-revs"),
        (root / ".git-blame-ignore-revs").symlink_to(other / "config"),
    ),
    "alternates": lambda root, other: (root / ".git/objects/info/alternates").write_text(f"{other}/objects\n"),
    "another working tree": lambda root, other: (root / ".git" / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tworktree = {other.parent}\n"
    ),
}


@pytest.mark.spec("GATE-20")
@pytest.mark.parametrize("name", OTHER)
def test_a_repository_that_leads_to_another_one_asks(repository: Path, name: str) -> None:
    other = repository.parent / "other"
    git(repository.parent, "clone", "-q", str(repository), str(other))
    OTHER[name](repository, other / ".git")
    assert fault(repository, repository) is not None
    assert decision(repository, "git log -p") == "ask"


@pytest.mark.spec("GATE-17")
def test_a_linked_working_tree_as_the_workspace_needs_no_question(repository: Path) -> None:
    other = repository.parent / "tree"
    git(repository, "worktree", "add", "-q", str(other))
    assert {decision(other, command) for command in READERS[:4]} == {"allow"}


@pytest.mark.spec("GATE-20")
@rows("name", ["shared.cfg", ".gitconfig", ".vscode/git"])
def test_settings_that_the_user_includes_from_the_workspace_are_checked(
    name: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repository.parent / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    (home / ".gitconfig").write_text(f"[include]\n\tpath = {repository / name}\n[diff]\n\texternal = own\n")
    assert decision(repository, "git diff") == "allow", "the user's own settings are trusted"
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("[diff]\n\texternal = ./tool.sh\n")
    assert decision(repository, "git diff") == "ask"
    (repository / name).write_text("[user]\n\tname = A\n")
    assert (decision(repository, "git diff") == "ask") == (name == "shared.cfg"), (
        "a tool may write it without a question"
    )
    (repository / name).unlink()


@pytest.mark.spec("GATE-19", "GATE-20")
def test_a_filter_that_path_finds_in_the_workspace_asks(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = repository / "bin" / "git-lfs"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with (repository / ".git" / "config").open("a") as file:
        file.write(USUAL["Git LFS"])
    assert decision(repository, "git status") == "allow"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert decision(repository, "git status") == "ask"

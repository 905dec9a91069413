"""Commands of git that show files which they do not name: rules on paths and files with keys apply to these files."""

import subprocess
from pathlib import Path

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from callgate.policy.git_settings import RepositoryReads
from tests.rows import rows

SECRET = "S=token\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    root = tmp_path / "workspace"
    (root / "sub").mkdir(parents=True)
    for name in ("a.txt", "sub/b.txt", "notes.txt"):
        (root / name).write_text("one\n")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "A")
    _git(root, "config", "user.email", "a@example.org")
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "first")
    return root


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, text=True).stdout


def _decision(root: Path, command: str, deny: tuple[str, ...] = ()) -> str:
    bench = CallJudge(home=str(root.parent))
    return bench.judge(CallToJudge("Bash", {"command": command}, deny=deny, root=str(root))).decision


def test_files_that_git_cannot_list_are_reported(repository: Path) -> None:
    reads = RepositoryReads(("git grep",), (str(repository),), [str(repository)], lambda path: False)
    assert reads.fault is None
    (repository / ".git/index").write_text("damaged")
    assert [*reads.files, *reads.secrets] == []
    assert reads.unlisted == str(repository)
    assert not reads.is_elsewhere


UNTRACKED = (
    "git grep --untracked S=",
    "git grep -n --untracked S=",
    "git -C sub grep --untracked S= -- ':(top)'",
    "git grep S= --untracked",
    "git grep --untracked S= -- '*'",
    "git grep --untracked -e S= -- ':(top)sub'",
    "git grep --untracked S= | head",
    "cd sub && git grep --untracked S=",
    "git status && git grep --untracked S=",
    "timeout 5 git grep --untracked S=",
)
# These show a tracked file with keys without its plain name, or by its name.
TRACKED = (
    "git grep S=",
    "git grep -h S= HEAD",
    "git grep S= -- '.e*'",
    "git grep S= -- ':(glob)**/.env'",
    "git grep S= -- ':/'",
    "git -C sub grep S= -- :/",
    "git grep --cached S=",
    "git log -L1,1:.env",
    "git log -L 1,1:.env",
    "git log -L:S:.env",
    "git show HEAD:.env",
    "git blame .env",
    "git diff HEAD -- .env",
    "git log -p -- .env",
)
# With a rule on the file these show it too.
SHOWN = (
    "git diff",
    "git diff HEAD",
    "git diff --cached",
    "git show",
    "git show HEAD~1",
    "git log -p",
    "git log -u -3",
    "git log --patch",
    "git stash show -p",
    "git -C sub diff",
    "git diff-tree -p HEAD",
    "git grep one",
    "git log -U5",
)
NOT_SHOWN = (
    "git status",
    "git log --oneline",
    "git log --stat",
    "git branch -a",
    "git ls-files",
    "git shortlog -s HEAD",
)
# Not in the table of options: these read any file.
UNKNOWN = (
    "git grep --no-index S=",
    "git grep --untracked --no-exclude-standard S=",
    "git grep --untr S=",
    "git diff --no-index a.txt .env",
    "git hash-object .env",
    "git blame --contents .env a.txt",
    "git archive HEAD",
    "git bundle create - HEAD",
    "git config -f .env -l",
    "git diff a.txt ../outside",
    "git apply --stat .env",
    "git check-ignore --stdin",
    "git ls-files -X .env -o",
    "git grep -f .env .",
    "git blame --ignore-revs-file .env a.txt",
    "git log --stdin",
    "git diff -O.env",
)


@pytest.mark.spec("GATE-15")
@rows("command", UNTRACKED)
def test_a_search_of_untracked_files_asks_if_one_has_keys(repository: Path, command: str) -> None:
    (repository / ".env").unlink(missing_ok=True)
    assert _decision(repository, command) == "allow"
    (repository / ".env").write_text(SECRET)
    assert _decision(repository, command) == "ask"
    (repository / ".gitignore").write_text(".env\n")
    assert _decision(repository, command) == "allow", "git does not search ignored files"
    (repository / ".gitignore").unlink()


@pytest.mark.spec("GATE-15")
def test_a_search_asks_if_a_tracked_file_has_keys(repository: Path) -> None:
    (repository / ".env").write_text(SECRET)
    assert _decision(repository, "git grep S=") == "allow", "it is not tracked"
    _git(repository, "add", ".env")
    _git(repository, "commit", "-q", "-m", "keys")
    assert [each for each in TRACKED if _decision(repository, each) != "ask"] == []
    assert [each for each in ("git diff", "git show", "git log -p") if _decision(repository, each) != "allow"] == []


@pytest.mark.spec("GATE-15")
def test_a_rule_on_a_tracked_file_applies_to_commands_that_show_it(repository: Path) -> None:
    deny = ("Read(notes.txt)",)
    assert [each for each in SHOWN if _decision(repository, each, deny) == "allow"] == []
    assert [each for each in (*SHOWN, *NOT_SHOWN) if _decision(repository, each) != "allow"] == []
    assert [each for each in NOT_SHOWN if _decision(repository, each, deny) != "allow"] == []
    assert [each for each in SHOWN if _decision(repository, each, ("Read(other.txt)",)) != "allow"] == []


@pytest.mark.spec("GATE-15")
@rows("command", UNKNOWN)
def test_commands_that_read_any_file_ask(repository: Path, command: str) -> None:
    (repository / ".env").write_text(SECRET)
    assert _decision(repository, command) == "ask"


@pytest.mark.spec("GATE-15")
def test_a_comparison_of_folders_outside_of_repositories_reads_whole_folders(repository: Path) -> None:
    plain = repository.parent / "plain"
    for name in ("one", "two"):
        (plain / name).mkdir(parents=True)
        (plain / name / "a.txt").write_text(name)
    assert _decision(plain, "git diff one two") == "allow"
    (plain / "one" / ".env").write_text(SECRET)
    assert _decision(plain, "git diff one two") == "ask"
    assert _decision(plain, "git diff") == "allow", "it shows how to use git"

"""A name means one program: with folders of the workspace first on PATH, no command that runs without a question starts
a file of the workspace under the name of a known program. Each command that is allowed really runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from callgate.config import Config
from callgate.policy.setting_rows import SettingValues
from callgate.testing import call
from callgate.words.events import CallSettled, QuestionAsked
from tests.flows.gated import of
from tests.rows import rows
from tests.security.test_inside_and_outside import played

SYSTEM = "/usr/local/bin:/usr/bin:/bin"
NAMES = """ls cat git grep head sort wc find xargs env timeout nice time which cp mkdir rm touch curl stat test echo
    printf pwd true sed awk jq diff tr cut file du date id"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose folder ``bin`` has programs with known names, which create the file ``reached``."""
    base = Path(os.path.realpath(tmp_path))
    root = base / "work"
    for folder in (root / "bin", root / "sub", base / "home"):
        folder.mkdir(parents=True)
    (root / "text.txt").write_text("text\n")
    for name in NAMES.split():
        evil(root / "bin" / name)
    evil(root / "sub" / "ls")
    (root / "bin/rc").write_text(f"echo x > {base}/reached\n")
    (root / "PATH").write_text(f"{root}/bin\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f"{root}/bin:{SYSTEM}")
    return root


def evil(file: Path) -> None:
    file.write_text(f"#!/bin/sh\n/bin/echo x >> {file.parent.parent.parent}/reached\n")
    file.chmod(0o755)


def reached(root: Path, command: str, allow: list[str]) -> tuple[bool, bool]:
    """Return whether the command asked, and whether a file of the workspace was started."""
    without = SettingValues(sandbox_disabled=True)
    config = Config(root, root.parent / "home", root.parent / "data", settings=without)
    canary = root.parent / "reached"
    canary.unlink(missing_ok=True)
    events = played(config, allow, call("Bash", command=command))
    assert of(events, QuestionAsked) or of(events, CallSettled)
    return bool(of(events, QuestionAsked)), canary.exists()


EVERYTHING = [f"Bash({name}:*)" for name in NAMES.split()] + ["Bash(git commit:*)", "Bash(git status)", "Edit(**)"]
FIRST_ON_PATH = [
    "ls",
    "cat text.txt",
    "git status",
    "git commit -m x",
    "grep text text.txt | head -1",
    "timeout 5 ls",
    "nice ls",
    "env ls",
    "command ls",
    "xargs ls < text.txt",
    "find . -name x -exec ls {} ;",
    "sh -c ls",
    "(ls)",
    "{ ls; }",
    "if true; then ls; fi",
    "for f in a b; do ls; done",
    "! ls",
    "cd sub && ls",
    "ls & wait",
    "cp text.txt copy.txt",
    "curl --version",
    "git --version",
    "time ls",
    "builtin echo x; ls",
    r"\ls",
    "'ls'",
    'l""s',
    "ls --help",
    "exec ls",
    "sort text.txt | wc -l",
]


@pytest.mark.spec("GATE-19")
@rows("command", FIRST_ON_PATH)
def test_a_file_of_the_workspace_is_not_the_known_program(command: str, work: Path) -> None:
    asked, ran = reached(work, command, EVERYTHING)
    assert asked
    assert not ran


PATHS = {
    "relative": "bin:{system}",
    "dot": ".:./bin:{system}",
    "empty": ":{system}",
    "empty at the end": "{system}:",
    "parent": "../work/bin:{system}",
    "missing before": "{root}/none:{root}/bin:{system}",
    "over a link": "{root}/../link:{system}",
    "behind": "{system}:{root}/bin",
    "twice": "{system}:{root}/bin:{system}",
    "not normal": "{root}/sub/../bin:{system}",
}


@pytest.mark.spec("GATE-19")
@rows("which", list(PATHS))
def test_no_form_of_a_folder_on_path_reaches_the_file(which: str, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = work.parent / "link"
    if not link.is_symlink():
        link.symlink_to(work / "bin")
    monkeypatch.setenv("PATH", PATHS[which].format(root=work, system=SYSTEM))
    for command in ("ls", "git status", "cat text.txt", "cd bin && ls", "cd sub && ls"):
        assert not reached(work, command, EVERYTHING)[1]


def test_a_link_to_the_workspace_in_a_folder_of_the_user_is_not_the_known_program(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = work.parent / "own"
    own.mkdir()
    (own / "ls").symlink_to(work / "bin/ls")
    (own / "cat").symlink_to(own / "again")
    (own / "again").symlink_to(work / "bin/cat")
    monkeypatch.setenv("PATH", f"{own}:{SYSTEM}")
    for command in ("ls", "cat text.txt", "timeout 5 ls"):
        assert reached(work, command, EVERYTHING) == (True, False)


VARIABLES = {
    "git programs": ("git submodule status", {"GIT_EXEC_PATH": "bin"}),
    "git programs, absolute": ("git submodule status", {"GIT_EXEC_PATH": "{root}/bin"}),
    "settings of rg": ("rg text text.txt", {"RIPGREP_CONFIG_PATH": "rg.conf"}),
    "settings of rg, absolute": ("rg text text.txt", {"RIPGREP_CONFIG_PATH": "{root}/rg.conf"}),
    "modules": ("pip list", {"PYTHONPATH": "."}),
    "modules after an empty folder": ("pip list", {"PYTHONPATH": ":/usr/lib"}),
    "modules in the workspace": ("pip list", {"PYTHONPATH": "/usr/lib:{root}"}),
    "modules of the user": ("pip list", {"PYTHONUSERBASE": "base"}),
    "modules of the user, absolute": ("pip list", {"PYTHONUSERBASE": "{root}/base"}),
    "a library before all": ("ls", {"LD_PRELOAD": "./libselinux.so.1"}),
    "a library before all, absolute": ("cat text.txt", {"LD_PRELOAD": "{root}/libselinux.so.1"}),
    "libraries": ("ls", {"LD_LIBRARY_PATH": "."}),
    "libraries in an empty folder": ("ls", {"LD_LIBRARY_PATH": ":/usr/lib"}),
    "libraries in an empty folder at the end": ("ls", {"LD_LIBRARY_PATH": "/usr/none:"}),
    "libraries over ..": ("ls", {"LD_LIBRARY_PATH": "/usr/lib:../work"}),
    "libraries of the workspace": ("ls -la", {"LD_LIBRARY_PATH": "{root}"}),
    "libraries in a subfolder": ("cd sub && ls", {"LD_LIBRARY_PATH": ".."}),
}
_LIBRARY = (
    'int open(); int write(); __attribute__((constructor)) static void f() { write(open("%s", 65, 420), "x", 1); }'
)


@pytest.mark.spec("GATE-19")
@rows("which", list(VARIABLES))
def test_no_variable_of_the_user_makes_a_read_load_a_file_of_the_workspace(
    which: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, variables = VARIABLES[which]
    evil(work / "bin" / "git-submodule")
    (work / "rg.conf").write_text("--pre=bin/cat\n")
    (work / "typing.py").write_text(f"open({str(work.parent / 'reached')!r}, 'w')\n")
    for version in range(9, 20):
        user_site = work / f"base/lib/python3.{version}/site-packages"
        user_site.mkdir(parents=True, exist_ok=True)
        (user_site / "own.pth").write_text(f"import os; open({str(work.parent / 'reached')!r}, 'w')\n")
    compiler = shutil.which("cc", path=SYSTEM)
    library = work / "libselinux.so.1"
    if "librar" in which and not library.exists():
        if compiler is None:
            pytest.skip("there is no compiler")
        code = _LIBRARY % (work.parent / "reached")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-w", "-xc", "-", "-o", library], input=code, text=True, check=True
        )
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    with monkeypatch.context() as changed:
        changed.setenv("PATH", SYSTEM)
        for name, value in variables.items():
            changed.setenv(name, value.format(root=work))
        assert not reached(work, command, [])[1]


FREE_IN_A_PROJECT = [
    "pip list",
    "pip3 list",
    "pip show x",
    "pip check",
    "python --version",
    "node --version",
    "npm --version",
]


@pytest.mark.spec("GATE-19")
@rows("command", FREE_IN_A_PROJECT)
def test_a_program_of_the_project_asks_without_a_rule(command: str, work: Path) -> None:
    evil(work / "bin" / command.split()[0])
    assert not reached(work, command, [])[1]


SPELLINGS = [
    "PATH=./bin:$PATH ls",
    "PATH=bin ls",
    "PATH=bin; ls",
    "PATH+=:bin; ls",
    "export PATH=bin; ls",
    "declare -x PATH=bin; ls",
    "typeset PATH=bin; ls",
    "readonly PATH=bin; ls",
    "read PATH < PATH; ls",
    "read -r PATH <<< bin; ls",
    "printf -v PATH %s bin; ls",
    "printf -vPATH bin; ls",
    "mapfile -t PATH < PATH; ls",
    "readarray -t PATH < PATH; ls",
    "for PATH in bin; do ls; done",
    "select PATH in bin; do ls; done",
    "unset PATH; ls",
    "env PATH=bin ls",
    "env -S 'PATH=bin ls'",
    "env -P bin ls",
    "hash -p bin/ls ls; ls",
    "hash -p ./bin/ls ls && ls",
    "shopt -s expand_aliases\nalias ls=bin/ls\nls",
    "alias ls=bin/ls; ls",
    "ls() { bin/ls; }; ls",
    "function ls { ./bin/ls; }; ls",
    "enable -f bin/x.so ls; ls",
    "BASH_ENV=bin/rc bash -c ls",
    "ENV=bin/rc sh -c ls",
    "cd bin && ./ls",
    "cd bin; ./ls",
    "exec -a ls bin/ls",
    ". bin/rc",
    "source bin/rc",
    "command . bin/rc",
    "pushd bin && ./ls",
    "ln -s bin/ls ls2 && ./ls2",
    "bash bin/ls",
    "coproc bin/ls",
    "trap bin/ls EXIT; ls",
    "PROMPT_COMMAND=bin/ls ls",
    "find . -name ls -exec {} ;",
    "ls\n./bin/ls",
    "{PATH}>x ls",
    "getopts PATH x; ls",
    "let PATH=1; ls",
    ": ${PATH:=bin}; ls",
    "wait -p PATH; ls",
    "IFS=/ ls",
]


@pytest.mark.spec("GATE-19")
@rows("command", SPELLINGS)
def test_no_command_changes_which_program_a_later_name_means(
    command: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", SYSTEM)
    assert not reached(work, command, ["Bash(ls:*)", "Bash(cat:*)", "Bash(env:*)", "Bash(true:*)", "Edit(**)"])[1]


@pytest.mark.spec("GATE-19")
def test_programs_of_the_system_stay_free_with_an_environment_of_the_project_on_path(work: Path) -> None:
    for file in (work / "bin").iterdir():
        file.unlink()
    evil(work / "bin/python3")
    for command in ("ls", "cat text.txt", "grep -c text text.txt", "timeout 5 ls", "wc -l text.txt | sort"):
        assert reached(work, command, []) == (False, False)


@pytest.mark.spec("GATE-19")
def test_a_rule_for_a_program_that_runs_the_project_applies_in_the_environment_of_the_project(work: Path) -> None:
    for name in ("pytest", "python3", "mytool"):
        evil(work / "bin" / name)
    rules = ["Bash(pytest:*)", "Bash(python3:*)", "Bash(mytool run)"]
    for command in ("pytest -q", "python3 text.py", "mytool run"):
        assert reached(work, command, rules) == (False, True)
    for command in ("pytest --version", "python3 --version", "mytool walk"):
        assert reached(work, command, []) == (True, False)


HELPED = {
    "git push origin main": "ssh",
    "git push -q": "ssh",
    "git push origin main && ls": "ssh",
    "git fetch origin": "ssh",
    "git fetch --all": "ssh",
    "git pull": "ssh",
    "git pull --rebase origin main": "ssh",
    "git ls-remote origin": "ssh",
    "git remote update": "ssh",
    "git remote show origin": "ssh",
    "timeout 9 git push origin main": "ssh",
    "git commit -qam x --allow-empty -S": "gpg",
    "tar tzf x.tgz": "gzip",
}


@pytest.mark.spec("GATE-19")
@rows("command", list(HELPED))
def test_a_known_program_starts_no_helper_of_the_workspace(
    command: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the workspace on PATH has no program of the command, but one that the command starts."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(work.parent / "home"))
    for file in (work / "bin").iterdir():
        file.unlink()
    if not (work / ".git").exists():
        for words in (
            *(("init", "-q", "-b", "main"), ("config", "user.email", "a@b.test"), ("config", "user.name", "A")),
            *(("commit", "-q", "--allow-empty", "-m", "one"), ("remote", "add", "origin", "ssh://example.invalid/x")),
            *(("config", "branch.main.remote", "origin"), ("config", "branch.main.merge", "refs/heads/main")),
        ):
            subprocess.run(["/usr/bin/git", *words], cwd=work, check=True)
        subprocess.run(["tar", "czf", "x.tgz", "text.txt"], cwd=work, env={"PATH": SYSTEM}, check=True)
    evil(work / "bin" / HELPED[command])
    rules = ["Bash(git push:*)", "Bash(git fetch:*)", "Bash(git pull:*)", "Bash(git ls-remote:*)", "Bash(git commit:*)"]
    asked, ran = reached(work, command, [*rules, "Bash(git remote:*)", "Bash(tar tzf:*)"])
    assert (asked, ran) == (False, False)

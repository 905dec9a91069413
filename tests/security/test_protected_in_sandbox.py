"""Commands in a real sandbox of every kind neither create nor change what the Write tool asks about, and read no secret
of the workspace, wherever it is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from callgate.host.ports import Command
from callgate.host.sandbox.proven_sandbox import ProvenSandbox
from callgate.host.sandbox.sandbox import Backend, Sandbox
from callgate.policy.entries import RuleLine
from callgate.policy.protected import RENAMED, danger
from callgate.policy.sandbox_policy import workspace_sandbox
from callgate.policy.sandbox_proofs import Proofs
from callgate.words.decisions import Origin
from callgate.words.resolved_path import ResolvedPath
from tests.host.sandbox.kit import LINUX, sandbox_of, visible_folder

pytestmark = [pytest.mark.slow, pytest.mark.spec("BLT-2", "GATE-13")]

FILES = [
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".envrc",
    ".gitattributes",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".mise.toml",
    "mise.toml",
    ".codex/config.toml",
    ".claude/settings.json",
    ".cursor/mcp.json",
    ".mcp.json",
    ".vscode/tasks.json",
    ".idea/x.xml",
    ".npmrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".husky/pre-commit",
    "lefthook.yml",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".cargo/config.toml",
    ".mvn/extensions.xml",
    ".bundle/config",
    "sitecustomize.py",
    ".devcontainer/devcontainer.json",
    "my.code-workspace",
    ".git/hooks/pre-commit",
    ".hg/hgrc",
    ".github/copilot-instructions.md",
    ".bashrc",
    ".vimrc",
    ".gdbinit",
    ".env",
    "prod.env",
    "id_rsa",
    "server.key",
    "credentials.json",
]
FOLDERS = ("", "sub/", "sub/deep/er/and/deeper/")
WRITE = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "a") as file:
            file.write("evil")
    except OSError:
        pass
"""


def keep_interpreter_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the interpreter of the scripts on PATH, so that it is visible inside the sandbox if it is below /tmp."""
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")


class Workspace:
    def __init__(self, base: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.base = base / "work", base
        (self.root / "sub/deep").mkdir(parents=True)
        (base / "home").mkdir()
        box: Sandbox = sandbox_of(backend, base / "own")
        monkeypatch.setattr(Proofs, "test", lambda proofs: box)
        keep_interpreter_visible(monkeypatch)

    def sandbox(self, *denied: str) -> ProvenSandbox:
        rules = [RuleLine("deny", each, Origin("user")) for each in denied]
        return workspace_sandbox(self.base / "data", self.root, self.base / "home", rules)

    def put(self, path: str, text: str = "as it was\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def run(self, script: str, *words: str, sandbox: ProvenSandbox | None = None) -> tuple[str, str]:
        """Run a Python script inside; return its output and the lines about created files."""
        sandbox = sandbox or self.sandbox()
        argv = (sys.executable, "-I", "-S", "-c", script, *words)
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        wrapped = sandbox.wrap(Command(argv, str(self.root), env), lambda decision: None)
        check = sandbox.watch(script)
        done = subprocess.run(
            wrapped.argv,
            cwd=wrapped.cwd,
            env=dict(wrapped.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout, "\n".join(check(True))


@contextmanager
def workspace(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    with visible_folder() as folder:
        yield Workspace(Path(os.path.realpath(folder)), backend, monkeypatch)


def in_force(root: Path) -> set[str]:
    """The files in a workspace that the Write tool asks about."""
    found: set[str] = set()
    for file in files_of(root):
        place = ResolvedPath(str(file), (str(file),), str(file), inside=True)
        if danger(place, "write", root=str(root), home="/home/nobody") is not None:
            found.add(str(file.relative_to(root)))
    return found


def files_of(root: Path) -> list[Path]:
    """The files in a workspace that were not renamed, and are not in a folder that was."""
    return [file for file in root.rglob("*") if file.is_file() and RENAMED not in str(file)]


@pytest.mark.parametrize("backend", LINUX)
def test_no_protected_file_is_created(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"{folder}{name}" for folder in FOLDERS for name in FILES]
    with workspace(backend, monkeypatch) as place:
        _, said = place.run(WRITE, *paths)
        assert in_force(place.root) == set()
        if backend != "landlock":  # it creates nothing in a folder with a protected file
            assert "sub/AGENTS.md needs the approval of the user and was renamed to sub/AGENTS.md.from-sandbox" in said
        place.run(WRITE, *paths)  # the second time, beside the renamed files
        assert in_force(place.root) == set()


@pytest.mark.parametrize("backend", LINUX)
def test_no_protected_file_is_changed_removed_or_replaced(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"{folder}{name}" for folder in FOLDERS for name in FILES if name != ".git/hooks/pre-commit"]
    harm = """
import os, sys
for path in sys.argv[1:]:
    for step in (
        lambda: open(path, "a").write("evil"),
        lambda: os.truncate(path, 0),
        lambda: os.chmod(path, 0o777),
        lambda: os.unlink(path),
        lambda: os.rename(path, "taken"),
        lambda: os.replace(__import__("tempfile").mkstemp(dir=".")[1], path),
        lambda: os.rename(os.path.dirname(path), "moved"),
    ):
        try:
            step()
        except OSError:
            pass
for folder in ("sub/deep", "sub"):
    try:
        os.rename(folder, folder.replace("/", "-") + "-moved")
    except OSError:
        pass
"""
    with workspace(backend, monkeypatch) as place:
        for path in paths:
            place.put(path)
        place.run(harm + WRITE, *paths)
        found = [each for each in files_of(place.root) if each.name in {path.rpartition("/")[2] for path in paths}]
        assert [each for each in found if each.read_text() != "as it was\n"] == []
        assert len(found) == len(paths)


CREATED = {
    "write": "open('AGENTS.md', 'w').write('evil')",
    "rename": "open('x', 'w').write('evil'); os.rename('x', 'AGENTS.md')",
    "hard link": "open('x', 'w').write('evil'); os.link('x', 'AGENTS.md')",
    "link": "open('x', 'w').write('evil'); os.symlink('x', 'AGENTS.md')",
    "link to nothing": "os.symlink('x', 'AGENTS.md')",
    "folder moved here": "os.makedirs('x/hooks'); open('x/hooks/a', 'w'); os.rename('x', '.husky')",
    "parent replaced": "os.rename('sub', 'old'); os.mkdir('sub'); open('sub/AGENTS.md', 'w').write('evil')",
    "link to another": "os.symlink('sub/AGENTS.md', 'AGENTS.md')",
    "other case": "open('.NPMRC', 'w').write('evil')",
    "other width": "open('.npmr\\uff43', 'w').write('evil')",
    "copy of a tree": "import shutil; shutil.copytree('sub', 'copy')",
    "exchanged": "open('x', 'w').write('evil'); os.makedirs('y'); os.rename('x', 'y/AGENTS.md')",
}


@pytest.mark.parametrize("backend", LINUX)
def test_no_way_of_creating_leaves_a_protected_file(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    bad: list[str] = []
    for name, script in CREATED.items():
        with workspace(backend, monkeypatch) as place:
            place.put("sub/AGENTS.md")
            place.run(f"import os\n{script}")
            left = in_force(place.root)
            moved = {"old/AGENTS.md"} & left  # moved together with its folder, unchanged
            if left - moved - {"sub/AGENTS.md"} or (not moved and left != {"sub/AGENTS.md"}):
                bad.append(f"{name}: {left}")
            bad += [f"{name}: {each} changed" for each in left if (place.root / each).read_text() != "as it was\n"]
    assert not bad, "\n".join(bad)


def test_files_that_appear_otherwise_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace(LINUX[0], monkeypatch) as place:
        for name in ("AGENTS.md", "sub/.npmrc"):
            place.put(name)
        sandbox = place.sandbox()
        check = sandbox.watch("none")
        place.run(
            "import os; os.rename('sub', 'other'); os.makedirs('node_modules/x'); open('node_modules/x/.npmrc', 'w')"
        )
        assert in_force(place.root) == {"AGENTS.md", "other/.npmrc", "node_modules/x/.npmrc"}
        sandbox.wrap(Command(("true",), str(place.root), {}), lambda decision: None)
        check = sandbox.watch("server in the background")
        place.put("CLAUDE.md")
        for name in ("AGENTS.md", "other/.npmrc"):  # as git does it when it changes a file
            (place.root / f"{name}.lock").write_text("new")
            (place.root / f"{name}.lock").replace(place.root / name)
        assert check(False) == (
            "CLAUDE.md appeared while a command ran in the sandbox in the background. Check it before you use it.",
        )
        assert (place.root / "CLAUDE.md").exists()
        assert check(True)[0].startswith(
            "Blocked by the sandbox: CLAUDE.md needs the approval of the user and was renamed to CLAUDE.md.fr"
        )
        assert (place.root / "AGENTS.md").read_text() == "new"


SECRETS = [
    ".env",
    "backend/.env",
    "a/b/c/d/e/f/.env.local",
    "deep/er/than/three/prod.env",
    "infra/terraform.tfstate",
    "infra/terraform.tfstate.backup",
    "keys/id_rsa_backup",
    "x/credentials.json",
    "www/.htpasswd",
    ".venv/.env",
    "node_modules/pkg/.env",
    "target/release/.env",
    "build/secrets.yml",
    ".github/private.key",
    "y/.aws/credentials",
    "z/.config/gh/hosts.yml",
    "__pycache__/.env",
    "many/pkg9/service-account.json",
    "zz/zzz/kubeconfig",
]
READABLE = [
    ".env.example",
    "a/.env.template",
    "keys/id_rsa.pub",
    "certs/ca.pem",
    "src/credentials.py",
    "terraform.tfvars.example",
]
READ = """
import os
for folder, _, names in os.walk("."):
    for name in names:
        try:
            with open(os.path.join(folder, name)) as file:
                if "hunter2" in file.read():
                    print(os.path.normpath(os.path.join(folder, name)))
        except OSError:
            pass
"""


@pytest.mark.parametrize("backend", LINUX)
def test_secrets_are_hidden_wherever_they_are_in_a_large_workspace(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workspace(backend, monkeypatch) as place:
        for number in range(60):
            folder = place.root / f"many/pkg{number}/src"
            folder.mkdir(parents=True)
            for file in range(50):
                (folder / f"file{file}.js").touch()
        for path in (*SECRETS, *READABLE):
            place.put(path, "hunter2\n")
        sandbox = place.sandbox()
        assert {*place.run(READ, sandbox=sandbox)[0].split()} == {*READABLE}
        place.put("many/pkg3/src/.env", "hunter2\n")  # a search after the first one finds new files
        os.rename(place.root / "src", place.root / "moved")
        place.put("moved/x/.env", "hunter2\n")
        found = {*place.run(READ, sandbox=sandbox)[0].split()}
        assert found == {each.replace("src/cred", "moved/cred") for each in READABLE}


@pytest.mark.parametrize("backend", LINUX)
def test_deny_rules_apply_to_files_that_do_not_exist_yet(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ("Edit(/gen/**)", "Edit(locked.txt)", "Read(/private/**)", "Edit(**/*.lock)")
    with workspace(backend, monkeypatch) as place:
        sandbox = place.sandbox(*rules)
        paths = ("gen/a.py", "locked.txt", "sub/locked.txt", "sub/x.lock", "sub/free.txt", "private/key.txt")
        place.run(WRITE, *paths, sandbox=sandbox)
        files = {str(each.relative_to(place.root)) for each in place.root.rglob("*") if each.is_file()}
        assert not files & {"gen/a.py", "locked.txt", "sub/locked.txt", "sub/x.lock"}
        place.put("private/key.txt", "hunter2")
        assert place.run(READ, sandbox=sandbox)[0] == ""
        for path in paths[:4]:
            place.put(path)
        place.run(WRITE, *paths[:4], sandbox=sandbox)
        assert [(place.root / path).read_text() for path in paths[:4]] == ["as it was\n"] * 4


@pytest.mark.parametrize("backend", LINUX)
def test_secrets_in_odd_folders_and_over_links_are_hidden_and_links_lead_to_nothing_new(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workspace(backend, monkeypatch) as place:
        for folder in ("new\nline", "with 'quote", 'with "quotes" and $HOME', "-rf", "bad\udcff", "real"):
            place.put(f"{folder}/.env", "hunter2\n")
        (place.root / "link").symlink_to("real")
        place.put("docs/agents.md")
        for name, target in (("AGENTS.md", "docs/agents.md"), ("CLAUDE.md", "AGENTS.md"), (".npmrc", "nothing")):
            (place.root / name).symlink_to(target)
        assert place.run(READ)[0] == ""
        for step in (
            "open('docs/agents.md', 'a')",
            "os.rename('docs', 'old'); os.mkdir('docs'); open('docs/agents.md', 'w').write('evil')",
            "os.unlink('CLAUDE.md'); open('CLAUDE.md', 'w').write('evil')",
            "open('nothing', 'w').write('evil')",
        ):
            place.run(f"import os\n{step}")
        left = [place.root / name for name in ("AGENTS.md", "CLAUDE.md", ".npmrc")]
        assert [each.read_text() for each in left if each.exists() and each.read_text() != "as it was\n"] == []


def test_a_folder_that_cannot_be_listed_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace(LINUX[0], monkeypatch) as place:
        place.put("closed/.env", "hunter2\n")
        scandir = os.scandir

        def refuse(path: object = ".") -> object:
            if str(path).endswith("closed"):
                raise PermissionError
            return scandir(cast("str", path))

        monkeypatch.setattr(os, "scandir", refuse)
        assert place.run(READ)[0] == ""


@pytest.mark.parametrize("backend", LINUX)
def test_places_that_another_command_holds_are_not_taken_for_created_files(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workspace(backend, monkeypatch) as place:
        sandbox = place.sandbox()
        held = sandbox.wrap(Command(("/bin/sh", "-c", "echo; read x"), str(place.root), {}), lambda decision: None)
        checks = [sandbox.watch("one"), sandbox.watch("two")]
        with subprocess.Popen(held.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()  # the places are held now
            assert [checks[0](False), checks[1](True), place.run("")[1]] == [(), (), ""]
            process.communicate(b"\n")
        assert sorted(os.listdir(place.root)) == ["sub"]


def test_a_workspace_with_very_many_protected_files_is_protected_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_of("namespaces", Path("/nowhere"))
    keep_interpreter_visible(monkeypatch)
    with visible_folder() as folder:
        base = Path(os.path.realpath(folder))
        (base / "home").mkdir()
        for number in range(1_000):
            for name in (".npmrc", ".env"):
                file = base / f"work/packages/a-package-with-a-long-name-{number}/{name}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("hunter2\n")
        place = Workspace.__new__(Workspace)
        place.root, place.base = base / "work", base
        sandbox = place.sandbox()
        assert place.run(READ.replace("hunter2", "no"), sandbox=sandbox)[0] == ""
        opened = "try: open(name, 'a')\n    except OSError: pass\n    else: print(name)"
        script = f"import glob\nfor name in glob.glob('packages/*/.*'):\n    {opened}"
        assert place.run(script, sandbox=sandbox)[0] == ""
        assert len(place.run(READ, sandbox=sandbox)[0].split()) == 1_000  # .npmrc can be read


def test_a_search_that_takes_too_long_says_where_and_goes_on_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from callgate.policy import workspace_survey

    with workspace(LINUX[0], monkeypatch) as place:
        place.put("a/b/.env", "hunter2\n")
        monkeypatch.setattr(workspace_survey, "SECONDS", -1.0)
        sandbox = place.sandbox()
        said = place.run(READ, sandbox=sandbox)[1]
        assert said == f"The workspace is very large: commands may be able to read secrets below {place.root}."

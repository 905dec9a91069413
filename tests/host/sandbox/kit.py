"""Sandboxes of this machine for tests, as root and as an unprivileged user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate.host.ports import Command
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.sandbox import BACKENDS, Backend, Sandbox, missing
from tests.house.tree import ROOT, SRC

LINUX: tuple[Backend, ...] = ("bubblewrap", "namespaces", "landlock")
NOBODY = 65534
# The sandbox has an empty /tmp, in which nothing outside could be attacked.
_VISIBLE = ("/var/lib", "/srv", "/opt", os.path.expanduser("~"))
_USABLE = """
import subprocess, sys
sys.exit(sys.version_info < (3, 11) or subprocess.run([sys.executable, "-c", ""]).returncode)
"""
PROVE = """
import json, sys
from pathlib import Path
from callgate.host.sandbox.prover import prove, self_test
from callgate.host.sandbox.sandbox import Sandbox
folder = Path(sys.argv[2])
if "--all-attacks" in sys.argv:
    from tests.host.sandbox.wide_arena import WideArena as Arena
else:
    from callgate.host.sandbox.prover import Arena
sandbox = Sandbox(sys.argv[1], folder)
if "--self-test" in sys.argv:
    found = self_test(sandbox, folder)
else:
    found = prove(sandbox, folder, arenas=Arena)
rows = [[each.name, each.outcome, each.why] for each in found.outcomes]
print(json.dumps({"fault": found.fault, "holds": found.holds, "rows": rows}))
"""


def best() -> Backend:
    """The best kind that this machine may have. Skips the test, with the reason, where there is none."""
    for backend in LINUX:
        if missing(backend) is None:
            return backend
    pytest.skip(f"there is no sandbox here: {missing(LINUX[0])}")


def sandbox_of(backend: Backend, folder: Path) -> Sandbox:
    """Skips the test, with the reason, on a machine that has none."""
    why = missing(backend)
    if why is not None:
        pytest.skip(f"{BACKENDS[backend]}: {why}")
    return Sandbox(backend, folder)


@contextmanager
def visible_folder(owner: int = 0) -> Iterator[Path]:
    """A folder that commands in a sandbox can see."""
    for parent in _VISIBLE:
        if os.access(parent, os.W_OK):
            made = Path(tempfile.mkdtemp(prefix="callgate-test-", dir=parent))
            if owner != os.getuid() and os.getuid() == 0:
                os.chown(made, owner, owner)
            try:
                yield made
            finally:
                shutil.rmtree(made, ignore_errors=True)
            return
    pytest.skip("there is no folder outside /tmp that this user can write to")


def inside(sandbox: Sandbox, profile: Profile, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    command = sandbox.wrap(Command(tuple(argv), profile.root, env), profile)
    return subprocess.run(
        command.argv,
        cwd=command.cwd,
        env=dict(command.env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def in_shell(sandbox: Sandbox, profile: Profile, script: str) -> subprocess.CompletedProcess[str]:
    return inside(sandbox, profile, ("/bin/sh", "-c", script))


def workspace_in(folder: Path) -> Profile:
    """A workspace with a repository, reserved places that do not exist, and a secret beside it."""
    root = Path(os.path.realpath(folder)) / "workspace"
    for name in (".git/hooks", "src", ".github/workflows"):
        (root / name).mkdir(parents=True)
    (root / ".git/config").write_text("[core]\n")
    (root.parent / "secret").write_text("hunter2\n")
    return Profile(
        root=str(root),
        read_only=(f"{root}/.git", f"{root}/.github"),
        reserved=(f"{root}/.vscode", f"{root}/.mcp.json"),
        unreadable=(str(root.parent / "secret"),),
    )


def proof_as_nobody(backend: Backend, folder: Path, which: str = "--all-attacks") -> dict[str, Any]:
    """The proof by a process of an unprivileged user. Skips, with the reason, where there is none to be had."""
    why = missing(backend)
    if why is not None:
        pytest.skip(f"{BACKENDS[backend]}: {why}")
    if os.getuid() != 0:
        pytest.skip("only root can become another user; the other tests run as an unprivileged one")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv to become another user with")
    for python in (sys.executable, "/usr/bin/python3"):
        check = [*become, python, "-c", _USABLE]
        if shutil.which(python) and subprocess.run(check, capture_output=True, check=False).returncode == 0:
            break
    else:
        pytest.skip("no Python 3.11 on this machine can be run by another user")
    ran = subprocess.run(
        [*become, python, "-c", PROVE, backend, str(folder), which],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{SRC}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)

"""Commands that once slipped past the analysis do no harm outside the workspace when they run in the sandbox."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from callgate.host.ports import Command
from callgate.policy.sandbox_policy import profile_for
from tests.host.sandbox.kit import LINUX, sandbox_of, visible_folder
from tests.security.corpora import rows_of

FILES = ("a.txt", "b.txt", "x.txt", "README.md", "src/a.py", "src/app.py", "build/out.js")


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    }


class World:
    """A workspace in which ``pwn`` is a program, as in the corpus: it tries to leave a mark outside."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home, self.outside = folder / "workspace", folder / "home", folder / "outside"
        for place in (self.root / "bin", self.home, self.outside):
            place.mkdir(parents=True)
        for name in FILES:
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text("a\nb\n")
        (self.home / ".bashrc").write_text("as it was\n")
        (self.outside / "file").write_text("as it was\n")
        (self.root / "link").symlink_to(self.outside)
        pwn = self.root / "bin/pwn"
        pwn.write_text(f"#!/bin/sh\necho x > {self.outside}/pwned\necho x >> {self.home}/.bashrc\n")
        pwn.chmod(0o755)

    def command(self, text: str) -> Command:
        env = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8"}
        return Command(("/bin/sh", "-c", text), str(self.root), env)


def run(command: Command) -> None:
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command.argv,
            cwd=command.cwd,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", [LINUX[0], LINUX[2]])
def test_nothing_outside_the_workspace_changes(backend: str) -> None:
    with visible_folder() as folder:
        base = Path(os.path.realpath(folder))
        world = World(base / "world")
        sandbox = sandbox_of(next(each for each in LINUX if each == backend), base / "own")
        before = state(world.home) | state(world.outside)
        bad: list[str] = []
        for row in rows_of("bash_found"):
            run(sandbox.wrap(world.command(row["command"]), profile_for(str(world.root), str(world.home))))
            if state(world.home) | state(world.outside) != before:
                bad.append(f"{row['id']}: {row['command']}")
                before = state(world.home) | state(world.outside)
    assert not bad, "\n".join(bad)


@pytest.mark.slow
def test_without_the_sandbox_some_of_them_do_harm() -> None:
    with visible_folder() as folder:
        world = World(Path(os.path.realpath(folder)) / "world")
        before = state(world.home) | state(world.outside)
        run(world.command(rows_of("bash_found")[0]["command"]))
        assert state(world.home) | state(world.outside) != before

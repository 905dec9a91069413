"""Programs on PATH below ``/tmp`` and other folders that are empty inside are visible in the sandbox."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate.host.ports import Command
from callgate.policy.sandbox_policy import places_of_programs, profile_for
from tests.host.sandbox.kit import LINUX, sandbox_of, visible_folder

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def base() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="callgate-programs-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def script(file: Path, text: str = "echo found") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def furnish(base: Path, home: Path) -> dict[str, str]:
    """Return folders on PATH by the name of a program in each of them, which prints "found"."""
    script(base / "direct/one")
    script(base / "node/bin/two", f'cat "{base}/node/lib/two.txt"')
    (base / "node/lib").mkdir()
    (base / "node/lib/two.txt").write_text("found\n")
    script(base / "app/node_modules/pkg/three.sh")
    (base / "app/node_modules/.bin").mkdir()
    (base / "app/node_modules/.bin/three").symlink_to("../pkg/three.sh")
    script(base / "real/bin/four")
    (base / "links").mkdir()
    (base / "links/four").symlink_to(base / "real/bin/four")
    script(base / "tools/five")
    (home / "bin").mkdir(parents=True)
    (home / "bin/five").symlink_to(base / "tools/five")
    (base / "linked").symlink_to(base / "direct")
    script(base / "venv/bin/six", f'cat "{base}/venv/text"')
    (base / "venv/text").write_text("found\n")
    (base / "venv/pyvenv.cfg").touch()
    script(base / "toolchain/shims/seven")
    script(Path(f"{base}/with space/bin/eight"))
    folders = {
        "one": "direct",
        "two": "node/bin",
        "three": "app/node_modules/.bin",
        "four": "links",
        "six": "venv/bin",
        "seven": "toolchain/shims",
        "eight": "with space/bin",
    }
    return {**{name: str(base / folder) for name, folder in folders.items()}, "five": str(home / "bin")}


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_programs_on_path_are_found_inside(backend: str, base: Path) -> None:
    with visible_folder() as folder:
        home, root = Path(os.path.realpath(folder)) / "home", Path(os.path.realpath(folder)) / "work"
        places = furnish(base, home)
        root.mkdir()
        bad: list[str] = []
        sandbox = sandbox_of(next(each for each in LINUX if each == backend), root.parent / "own")
        for name, entry in (*places.items(), ("one", str(base / "linked")), ("one", f"{base}/direct/../direct")):
            path = f"{entry}:{SYSTEM}"
            profile = profile_for(str(root), str(home), path=path)
            command = sandbox.wrap(
                Command(("/bin/sh", "-c", f"{name}; touch {base}/x"), str(root), {"PATH": path}), profile
            )
            done = subprocess.run(
                command.argv, cwd=command.cwd, env=dict(command.env), capture_output=True, text=True, check=False
            )
            if done.stdout != "found\n":
                bad.append(f"{name} at {entry}: {done.stdout}{done.stderr}")
        assert not bad, "\n".join(bad)
        assert not (base / "x").exists()


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
def test_an_environment_of_python_below_tmp_is_the_one_that_runs_inside(base: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", base / "venv"], check=True)
    with visible_folder() as folder:
        root = Path(os.path.realpath(folder)) / "work"
        root.mkdir()
        path = f"{base}/venv/bin:{SYSTEM}"
        sandbox = sandbox_of(LINUX[0], root.parent / "own")
        words = ("/bin/sh", "-c", "python3 -c 'import sys; print(sys.prefix)'")
        profile = profile_for(str(root), "/home/nobody", path=path)
        command = sandbox.wrap(Command(words, str(root), {"PATH": path}), profile)
        printed = subprocess.check_output(command.argv, cwd=command.cwd, env=dict(command.env), text=True)
    assert printed == f"{base}/venv\n"


def test_neither_a_whole_empty_folder_nor_a_folder_of_the_workspace_is_bound(base: Path) -> None:
    (base / "work/bin").mkdir(parents=True)
    (base / "lib").mkdir()
    script(base / "bin/one")
    root = str(base / "work")
    assert places_of_programs(f"{root}/bin:{root}:/usr/bin:relative::.:/nowhere/bin", root) == set()
    assert places_of_programs(f"{base}/bin", root) == {f"{base}/bin", f"{base}/lib"}
    assert "/tmp" not in places_of_programs("/tmp/bin:/var/tmp/bin:/run/bin", root)

"""Commands inside: they work in the workspace and nowhere else, and leave nothing behind that they should not."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.host.ports import Command
from callgate.host.sandbox.denied_access import denied_access
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.sandbox import Backend, Sandbox, SandboxRefused, missing
from callgate.policy.sandbox_policy import profile_for
from tests.host.sandbox.kit import LINUX, best, in_shell, inside, sandbox_of, visible_folder, workspace_in
from tests.house.tree import SRC

REFUSED = {
    "echo x > ../outside": "outside",
    "echo x > .git/hooks/post-commit": ".git/hooks",
    "mv .git old && mkdir .git": ".git",
    "mv .github old": ".github",
    "mkdir -p .vscode && echo x > .vscode/tasks.json": ".vscode",
    "echo x > .mcp.json": ".mcp.json",
    "cat ../secret": "secret",
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 22), 1)'": "connection",
}


def check(sandbox: Sandbox, folder: Path) -> None:
    profile = workspace_in(folder)
    worked = in_shell(sandbox, profile, "echo made > src/file && cat src/file && ls .git && echo $TMPDIR")
    assert worked.returncode == 0, worked.stderr
    assert worked.stdout.split()[:3] == ["made", "config", "hooks"]
    assert (Path(profile.root) / "src/file").read_text() == "made\n"
    for script, what in REFUSED.items():
        ran = in_shell(sandbox, profile, script)
        assert ran.returncode != 0, f"{what}: {ran.stdout}"
        assert "hunter2" not in ran.stdout
    assert sorted(os.listdir(profile.root)) == [".git", ".github", "src"]
    assert sorted(os.listdir(folder)) == sorted({"secret", "workspace"} | {*os.listdir(folder)} - {"outside"})
    assert not (folder / "outside").exists()
    assert os.listdir(Path(profile.root) / ".git/hooks") == []


@pytest.mark.spec("BLT-2")
def test_a_command_works_in_the_workspace_and_nowhere_else() -> None:
    """The best sandbox of this machine; the slow tests try every one."""
    with visible_folder() as folder:
        check(sandbox_of(best(), folder / "own"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("backend", LINUX)
def test_every_sandbox_lets_commands_work_in_the_workspace_alone(backend: Backend) -> None:
    with visible_folder() as folder:
        check(sandbox_of(backend, folder / "own"), folder)


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_places_in_the_workspace_can_be_hidden(backend: Backend) -> None:
    with visible_folder() as folder:
        profile = workspace_in(folder)
        for name in ("secrets/deep/key", "src/.env", "free/file"):
            path = Path(profile.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("hunter2")
        places = tuple(f"{profile.root}/{name}" for name in ("secrets", "secrets/deep", "src/.env"))
        hidden = replace(profile, unreadable=places)
        script = "cat src/.env secrets/deep/key; echo x > free/new && echo ok; chmod 644 src/.env; cat src/.env"
        ran = in_shell(sandbox_of(backend, folder / "own"), hidden, script)
        assert ran.stdout == "ok\n", ran.stderr
        assert "cat: src/.env: Permission denied" in ran.stderr
        assert str(denied_access(ran.stderr.splitlines()[0], 1, hidden)) == "read access to src/.env"


@pytest.mark.slow
@pytest.mark.parametrize("backend", LINUX)
def test_the_exit_status_is_that_of_the_command(backend: Backend) -> None:
    with visible_folder() as folder:
        sandbox, profile = sandbox_of(backend, folder / "own"), workspace_in(folder)
        assert in_shell(sandbox, profile, "exit 7").returncode == 7
        killed = in_shell(sandbox, profile, "kill -KILL $$").returncode
        assert killed in (137, -9)
        assert inside(sandbox, profile, ("no-such-program",)).returncode in (1, 127)


@pytest.mark.slow
@pytest.mark.parametrize("backend", [each for each in LINUX if each != "landlock"])
def test_held_places_stay_held_while_another_command_needs_them(backend: Backend) -> None:
    with visible_folder() as folder:
        sandbox, profile = sandbox_of(backend, folder / "own"), workspace_in(folder)
        place = Path(profile.root) / ".vscode"
        long = sandbox.wrap(
            Command(
                ("/bin/sh", "-c", "echo up; read line; echo x > .vscode/tasks.json"),
                profile.root,
                {"PATH": "/usr/bin:/bin"},
            ),
            profile,
        )
        with subprocess.Popen(
            long.argv,
            cwd=profile.root,
            env=dict(long.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            assert running.stdout.readline() == b"up\n"
            assert in_shell(sandbox, profile, "true").returncode == 0
            assert place.is_dir(), "the short command removed what the long one stands on"
            out, err = running.communicate(b"\n", timeout=60)
        assert running.returncode != 0, (out, err)
        assert not place.exists()


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_nothing_of_the_workspace_is_run_or_loaded_outside(backend: Backend) -> None:
    """Programs on PATH and variables of the loader count for the command, and for nothing that makes its sandbox."""
    with visible_folder() as folder:
        profile = workspace_in(folder)
        programs = Path(profile.root) / "bin"
        programs.mkdir()
        for name in ("flock", "rmdir", "bwrap", "sh", "env", "python3", "id"):
            (programs / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/ran\n")
            (programs / name).chmod(0o755)
        env = {"PATH": f"{programs}:/usr/bin:/bin", "LD_LIBRARY_PATH": str(programs), "PYTHONPATH": str(programs)}
        script = "id >/dev/null; echo $LD_LIBRARY_PATH $PYTHONPATH; ls /proc/self/fd"
        command = sandbox_of(backend, folder / "own").wrap(
            Command(("/bin/sh", "-c", script), profile.root, env), profile
        )
        assert not {"LD_LIBRARY_PATH", "PYTHONPATH"} & command.env.keys()
        ran = subprocess.run(
            command.argv,
            cwd=command.cwd,
            env=dict(command.env),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.stdout.split() == [str(programs), str(programs), "0", "1", "2", "3"]  # the last one is of ls
        assert not (folder / "ran").exists()
        assert not (Path(profile.root) / ".vscode").exists()


@pytest.mark.slow
@pytest.mark.parametrize("backend", LINUX)
def test_a_protected_place_further_down_that_is_moved_meanwhile_does_not_stop_a_command(backend: Backend) -> None:
    with visible_folder() as folder:
        profile = workspace_in(folder)
        (Path(profile.root) / "src/lib/.git").mkdir(parents=True)
        sandbox = sandbox_of(backend, folder / "own")
        nested = replace(profile, read_only=(*profile.read_only, f"{profile.root}/src/lib/.git"))
        env = {"PATH": "/usr/bin:/bin"}
        command = sandbox.wrap(Command(("/bin/sh", "-c", "echo ran"), profile.root, env), nested)
        os.rename(f"{profile.root}/src/lib", f"{profile.root}/src/other")
        ran = subprocess.run(command.argv, cwd=profile.root, env=env, capture_output=True, text=True, check=False)
        assert ran.stdout == "ran\n", ran.stderr


FLIP = """
mkdir -p sub/.git .github/workflows
echo up
while :; do
    mv sub real 2>/dev/null && ln -s ../outside sub && rm sub && mv real sub
    mv .github other 2>/dev/null && ln -s ../outside .github && rm .github && mv other .github
done
"""


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_a_command_beside_that_swaps_folders_for_links_makes_nothing_else_writable(backend: Backend) -> None:
    with visible_folder() as folder:
        root, outside, home = (Path(os.path.realpath(folder)) / name for name in ("workspace", "outside", "home"))
        for each in (root, outside, outside / ".git", home):
            each.mkdir()
        sandbox = sandbox_of(backend, folder / "own")
        env = {"PATH": "/usr/bin:/bin"}
        # The one that swaps began when there was nothing to protect; "landlock" lets it make nothing at the top.
        began = Profile(root=str(root))
        flip = sandbox.wrap(Command(("/bin/sh", "-c", FLIP), str(root), env), began)
        with subprocess.Popen(flip.argv, cwd=root, env=dict(flip.env), stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"up\n"
            ran = 0
            for _ in range(60):
                try:
                    ran += (
                        in_shell(sandbox, profile_for(str(root), str(home)), "echo x > ../outside/pwned").returncode
                        != 0
                    )
                except SandboxRefused:  # a link, just then
                    continue
            running.kill()
            running.stdout.read()  # to its end, when the last process inside is gone
        assert ran > 5
        assert os.listdir(outside) == [".git"]


@pytest.mark.slow
@pytest.mark.parametrize("backend", LINUX)
def test_an_end_from_outside_ends_everything_inside(backend: Backend) -> None:
    with visible_folder() as folder:
        sandbox, profile = sandbox_of(backend, folder / "own"), workspace_in(folder)
        script = "(trap '' TERM HUP; while :; do sleep 0.05; echo x >> src/beat; done) & echo up; wait"
        command = sandbox.wrap(Command(("/bin/sh", "-c", script), profile.root, {"PATH": "/usr/bin:/bin"}), profile)
        with subprocess.Popen(
            command.argv, cwd=profile.root, stdout=subprocess.PIPE, start_new_session=True
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"up\n"
            os.killpg(running.pid, 9)
            # The end of the output says that the last process that had it open is gone.
            running.stdout.read()
        assert running.returncode == -9


def test_a_program_in_the_workspace_is_never_taken_for_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    why = missing("bubblewrap")
    assert why is None or "bwrap is not installed: install the package bubblewrap" in why
    if why is None:
        sandbox = Sandbox("bubblewrap", tmp_path / "own")
        assert str(tmp_path / "bwrap") not in " ".join(
            sandbox.wrap(Command(("true",), "/", {}), Profile(root=str(tmp_path))).argv
        )


def test_a_place_that_cannot_be_protected_is_refused_in_words(tmp_path: Path) -> None:
    sandbox = Sandbox(best(), tmp_path / "own")
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    (root / "elsewhere").mkdir(parents=True)
    (root / ".vscode").symlink_to("elsewhere")
    with pytest.raises(SandboxRefused, match=r"\.vscode is a link, which a command could replace"):
        sandbox.wrap(Command(("true",), str(root), {}), Profile(root=str(root), reserved=(f"{root}/.vscode",)))
    with pytest.raises(SandboxRefused, match="must not be writable as a whole"):
        sandbox.wrap(Command(("true",), "/", {}), Profile(root="/"))


# Each line may change a file of another process, over a descriptor that the process has open.
_OVER_DESCRIPTORS = """
    for file in /proc/1/fd/*; do echo attacked > $file; done
    for file in /proc/1/fd/*; do echo attacked >> $file; done
    for file in /proc/1/fd/*; do echo attacked 1<> $file; done
    for file in /proc/1/task/1/fd/*; do echo attacked > $file; done
    for file in /proc/self/../1/fd/*; do echo attacked > $file; done
    for file in /proc/self/root/proc/1/fd/*; do echo attacked > $file; done
    for file in /proc/[0-9]*/fd/*; do echo attacked > $file; done
    for file in /proc/1/fd/*; do truncate -s 9 $file; done
    for file in /proc/1/fd/*; do chmod 777 $file; done
    for file in /proc/1/fd/*; do cp -f /etc/hostname $file; done
    for file in /proc/1/map_files/*; do echo attacked >> $file; done
    cd /proc/1/fd && for file in *; do echo attacked > ./$file; done
"""


@pytest.mark.spec("BLT-2")
@pytest.mark.parametrize("backend", LINUX)
def test_no_descriptor_of_a_process_of_the_sandbox_leads_to_a_file_outside(backend: Backend) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        return {str(path): (path.stat().st_mode, path.read_bytes()) for path in own.iterdir() if path.is_file()}

    with visible_folder() as folder:
        own, profile = folder / "own", workspace_in(folder)
        sandbox = sandbox_of(backend, own)
        in_shell(sandbox, profile, "true")
        before = state()
        in_shell(sandbox, profile, "; ".join(f"({line.strip()})" for line in _OVER_DESCRIPTORS.strip().splitlines()))
        changed = {path for path in {*before, *state()} if before.get(path) != state().get(path)}
        assert not changed, f"{changed} over one of {_OVER_DESCRIPTORS}"


_RUN = """
import subprocess, sys
from callgate.host.ports import Command
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.sandbox import Sandbox
from pathlib import Path
root = sys.argv[2] + "/workspace"
sandbox = Sandbox(sys.argv[1], Path(sys.argv[2]))
profile = Profile(root=root, reserved=(root + "/.git", root + "/.vscode"))
command = sandbox.wrap(Command(("/bin/sh", "-c", sys.argv[3]), root, {"PATH": "/usr/bin:/bin"}), profile)
sys.exit(subprocess.run(command.argv, cwd=root, env=dict(command.env), pass_fds=command.pass_fds).returncode)
"""


@pytest.mark.parametrize(
    ("script", "mode"),
    [("cat a.txt; ! mkdir .git/x", 0o555), ("chmod u+w . && ! mkdir .git/x", 0o755)],
    ids=["stays closed", "opened inside"],
)
def test_no_mount_points_stay_in_a_folder_without_write_permission(script: str, mode: int) -> None:
    with visible_folder() as folder:
        sandbox_of("bubblewrap", folder)  # skips
        root = folder / "workspace"
        root.mkdir()
        (root / "a.txt").write_text("a")
        root.chmod(0o555)
        # Root writes in any folder unless it lacks this capability.
        without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override"]
        ran = subprocess.run(
            [*(without if os.getuid() == 0 else ()), sys.executable, "-c", _RUN, "bubblewrap", str(folder), script],
            env={**os.environ, "PYTHONPATH": str(SRC)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, os.listdir(root)) == (0, ["a.txt"]), ran.stderr
        assert root.stat().st_mode & 0o777 == mode
        root.chmod(0o755)

"""No room, no permission, no descriptors: real limits of a real system. It says so, and goes on when they are gone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.crash.stage import Facts, Stage, check_crashed, check_finished, check_resumed
from tests.crash.talk import Talk
from tests.crash.tracing import missing

SMALL = "9000"  # bytes: the limit falls into the middle of a line


def only_error(heard: list[str]) -> str:
    """What it said is wrong; what was acknowledged is on disk whatever happens now."""
    errors = [line.removeprefix("error ") for line in heard if line.startswith("error ")]
    assert len(errors) == 1, heard
    return errors[0]


def check_told(stage: Stage, heard: list[str]) -> None:
    """While it waits: no half line, and everything acknowledged is there."""
    facts = Facts(stage.bytes())
    acks = {line.removeprefix("ack ") for line in heard if line.startswith("ack ")}
    assert acks <= facts.keys


@pytest.mark.spec("TRS-4")
def test_a_log_that_may_not_grow_stops_the_session_and_it_goes_on_when_it_may(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with Talk(stage.command("run", "--file-size", SMALL, "--on-error", "wait")) as program:
        heard = program.until("waiting")
        assert "raise the limit on the size of files (ulimit -f), then send Continue()." in only_error(heard)
        assert 0 < len(stage.bytes()) <= int(SMALL)
        check_told(stage, heard)
        program.go_on()
        ran = program.end()
    assert (ran.code, ran.said[-1]) == (0, "end idle"), ran
    check_finished(stage, Facts(stage.bytes()))


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
def test_a_program_that_gave_up_for_want_of_room_is_resumed_by_another(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    ran = stage.run("run", "--file-size", SMALL)
    assert ran.code == 3, ran
    before = stage.bytes()
    check_resumed(stage, check_crashed(stage, ran), before, stage.run("resume"))


@pytest.mark.spec("TRS-4")
def test_a_program_without_descriptors_says_so_and_goes_on_when_it_has_some(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with Talk(stage.command("run", "--files", "--on-error", "wait")) as program:
        error = only_error(program.until("waiting"))
        assert "Too many open files" in error
        assert "raise the limit on open files (ulimit -n), then send Continue()." in error
        assert not stage.log.exists()
        program.go_on()
        ran = program.end()
    assert (ran.code, ran.said[-1]) == (0, "end idle"), ran
    check_finished(stage, Facts(stage.bytes()))


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.data.write_text("not a folder")
    with Talk(stage.command("run", "--on-error", "wait")) as program:
        error = only_error(program.until("waiting"))
        assert str(stage.data) in error
        stage.data.unlink()
        program.go_on()
        ran = program.end()
    assert (ran.code, ran.said[-1]) == (0, "end idle"), ran


# ---- file systems of their own ------------------------------------------------------------------------------------

IN_A_NAMESPACE = ("unshare", "--mount", "--map-root-user") if os.geteuid() else ("unshare", "--mount")


@pytest.fixture
def namespace() -> tuple[str, ...]:
    """How to run a command that may mount, where nobody else sees it."""
    if shutil.which("unshare") is None:
        missing("unshare is not installed")
    tried = subprocess.run([*IN_A_NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True)
    if tried.returncode:
        missing(f"nothing can be mounted here: {tried.stderr.strip()}")
    return IN_A_NAMESPACE


def in_shell(namespace: tuple[str, ...], stage: Stage, script: str, *command: str) -> Talk:
    """A script that mounts over the data folder ($0) and then runs a command ("$@")."""
    stage.data.mkdir()
    return Talk([*namespace, "sh", "-euc", script, str(stage.data), *command])


FULL = """
mount -t tmpfs -o size=64k none "$0"
mkfifo "$0"/../told "$0"/../free
head -c 49152 /dev/zero > "$0"/filler
(read -r _ < "$0"/../free; rm "$0"/filler; echo > "$0"/../told) &
"$@"
cp -R "$0" "$0".kept
"""


@pytest.mark.spec("TRS-4")
def test_a_full_disk_stops_the_session_and_it_goes_on_when_there_is_room(
    tmp_path: Path, namespace: tuple[str, ...]
) -> None:
    stage = Stage(tmp_path)
    with in_shell(namespace, stage, FULL, *stage.command("run", "--on-error", "wait")) as program:
        error = only_error(program.until("waiting"))
        assert "No space left on device" in error
        assert "free some space on that disk, then send Continue()." in error
        (tmp_path / "free").write_text("\n")
        (tmp_path / "told").read_text()
        program.go_on()
        ran = program.end()
    assert (ran.code, ran.said[-1]) == (0, "end idle"), ran
    kept = Path(f"{stage.data}.kept") / stage.log.relative_to(stage.data)
    check_finished(stage, Facts(kept.read_bytes()))


@pytest.mark.spec("TRS-4")
def test_a_disk_that_cannot_be_written_is_named_with_advice(tmp_path: Path, namespace: tuple[str, ...]) -> None:
    stage = Stage(tmp_path)
    script = 'mount -t tmpfs -o ro none "$0"; "$@"'
    with in_shell(namespace, stage, script, *stage.command("run")) as program:
        ran = program.end()
    assert ran.code == 3, ran
    assert "Read-only file system" in ran.errors[0]
    assert "make that disk writable, then send Continue()." in ran.errors[0]

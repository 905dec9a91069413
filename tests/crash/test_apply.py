"""Killed at every system call that writes, or denied its disk there: an apply is all old or all new afterwards."""

import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from callgate.host.applying.apply import apply_changes
from callgate.host.applying.recovery import recover
from tests.crash.changed import World, change, copied, make, seen
from tests.crash.tracing import KILLED, Place, Ran, need_strace, traced

pytestmark = pytest.mark.usefixtures("strace")

PROGRAM = Path(__file__).with_name("apply_program.py")
WRITING = (
    *("write", "fsync", "fchmod", "fchown", "linkat", "symlinkat", "symlink", "rename", "renameat", "renameat2"),
    *("unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "flock"),
)
FEW, MANY = 6, 20
"""All kinds of changes once; and so many that the folders and kinds are mixed."""
SAMPLES = 200


@pytest.fixture
def strace() -> None:
    need_strace()


class Stage:
    """A workspace before and after, and a place for each try."""

    def __init__(self, folder: Path, files: int) -> None:
        self.files = files
        self._folder = folder
        self._old = folder / "old"
        self._old.mkdir(parents=True)
        make(self._old, files)
        new = copied(self._old, folder / "new")
        apply_changes(change(files), new)
        self.old, self.new = seen(self._old), seen(new)
        assert self.old != self.new

    def places(self) -> list[Place]:
        """Where there is something to be killed at, in a run that nobody disturbs."""
        root, ran = self.run("undisturbed", [])
        assert ran.said == ("done",), ran
        assert seen(root) == self.new
        return ran.places

    def run(self, name: str, faults: Sequence[str]) -> tuple[Path, Ran]:
        at = self._folder / name
        shutil.rmtree(at, ignore_errors=True)
        root = copied(self._old, at / "root")
        command = [sys.executable, "-B", PROGRAM, root, at / "journal", str(self.files)]
        return root, traced(command, at / "trace", calls=WRITING, faults=faults)

    def journal(self, name: str) -> Path:
        return self._folder / name / "journal"

    def killed(self, place: Place) -> World | None:
        """What is there after it was killed there and somebody else got up; None if it was never there."""
        root, ran = self.run(str(place), [place.kill()])
        assert ran.code in (KILLED, 0), ran
        recover(root, self.journal(str(place)))
        found = seen(root)
        assert found in (self.old, self.new), difference(found, self.old, self.new)
        assert not list(self.journal(str(place)).glob("*.apply"))
        return found if ran.code == KILLED else None

    def denied(self, place: Place, error: str) -> str:
        """What it says when its disk fails there."""
        root, ran = self.run(f"{place}-{error}", [place.fail(error)])
        assert ran.code in (0, 1), ran  # 1: it could not even say so
        recover(root, self.journal(f"{place}-{error}"))
        found = seen(root)
        assert found in (self.old, self.new), difference(found, self.old, self.new)
        said = ran.said[0] if ran.said else ""
        if said == "done":
            assert found == self.new
        elif said:
            assert found == self.old, said
        return said


def difference(found: World, old: World, new: World) -> str:
    return "\n".join(
        f"{name}: {found.get(name)}, old {old.get(name)}, new {new.get(name)}"
        for name in sorted({*found, *old, *new})
        if not found.get(name) == old.get(name) == new.get(name)
    )


def sweep(stage: Stage, places: Sequence[Place]) -> None:
    outcomes = [stage.killed(place) for place in places]
    killed = [each for each in outcomes if each is not None]
    assert len(killed) >= 0.9 * len(places), "hardly anything was killed"
    if len(places) > 20:
        assert stage.old in killed
        assert stage.new in killed


@pytest.mark.spec("CHG-1")
def test_an_apply_that_is_killed_is_all_old_or_all_new(tmp_path: Path) -> None:
    """A sample with real signals; the images of ``test_power_loss`` contain every place to be killed at."""
    stage = Stage(tmp_path, 3)
    sweep(stage, stage.places()[::5])


@pytest.mark.spec("CHG-1")
@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_an_apply_that_is_killed_anywhere_is_all_old_or_all_new(tmp_path: Path, part: int) -> None:
    stage = Stage(tmp_path, 3)
    sweep(stage, stage.places()[part::4])


@pytest.mark.spec("CHG-1")
@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_an_apply_of_many_files_that_is_killed_is_all_old_or_all_new(tmp_path: Path, part: int) -> None:
    stage = Stage(tmp_path, MANY)
    places = stage.places()
    chosen = random.Random(1).sample(places, min(SAMPLES, len(places)))
    sweep(stage, chosen[part::4])


@pytest.mark.chaos
@pytest.mark.parametrize("files", [FEW, MANY])
def test_every_place_to_be_killed_at(tmp_path: Path, files: int) -> None:
    stage = Stage(tmp_path, files)
    sweep(stage, stage.places())


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_while_it_is_applied_changes_nothing_or_all(tmp_path: Path, error: str) -> None:
    stage = Stage(tmp_path, 3)
    places = [place for place in stage.places() if place.call != "flock"]
    said = [stage.denied(place, error) for place in places[::8]]
    assert any("nothing was changed" in each for each in said)


@pytest.mark.slow
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("part", range(4))
def test_a_disk_that_fails_anywhere_changes_nothing_or_all(tmp_path: Path, error: str, part: int) -> None:
    stage = Stage(tmp_path, FEW)
    for place in [place for place in stage.places() if place.call != "flock"][part::4]:
        stage.denied(place, error)

"""Killed at every system call that writes, and again while it gets up: nothing told is lost, nothing is done twice."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.stage import Facts, Stage, check_crashed, check_finished, check_resumed, cut_power, intact
from tests.crash.tracing import KILLED, Place, need_strace

pytestmark = pytest.mark.usefixtures("strace")

PARTS = 8
SAMPLES = 200
HANDFUL = (
    Place("flock", 1),  # an empty file
    Place("pwrite64", 12),
    Place("fdatasync", 20),
)
RESUMING = (Place("openat", 2), Place("pwrite64", 1), Place("fdatasync", 1), Place("ftruncate", 1), Place("fsync", 1))


@pytest.fixture
def strace() -> None:
    need_strace()


def places_of(folder: Path, plan: int) -> list[Place]:
    """Where there is something to be killed at, in a run that nobody disturbs."""
    stage = Stage(folder, plan=plan)
    ran = stage.run("run", faults=[])
    assert ran.said[-1:] == ("end idle",), ran
    check_finished(stage, Facts(stage.bytes()))
    shutil.rmtree(folder)
    return ran.places


def kill_and_resume(folder: Path, place: Place, *, plan: int = 10, again: Place | None = None) -> bool:
    """Kill it there, cut what was not synced, resume; ``again``: kill that too, and resume once more.

    False when it was never there: what is written together depends on how fast the disk is.
    """
    stage = Stage(folder, plan=plan)
    ran = stage.run("run", faults=[place.kill()])
    killed = ran.code == KILLED
    assert killed or ran.code == 0, ran
    cut_power(stage, ran, place.number)
    crashed, before = check_crashed(stage, ran), stage.bytes()
    if again is not None:
        ran = stage.run("resume", faults=[again.kill()])
        assert ran.code in (KILLED, 0), ran
        if ran.code == KILLED:
            cut_power(stage, ran, again.number, begin=len(intact(before)))
            crashed, before = check_crashed(stage, ran), stage.bytes()
    check_resumed(stage, crashed, before, stage.run("resume"))
    shutil.rmtree(folder)
    return killed


def sweep(folder: Path, places: Sequence[Place], *, plan: int = 10, draw: random.Random | None = None) -> None:
    killed = 0
    for place in places:
        again = None if draw is None else again_at(draw)
        try:
            killed += kill_and_resume(folder / str(place), place, plan=plan, again=again)
        except BaseException as error:
            error.add_note(f"killed at {place}, then at {again}; see {folder / str(place)}")
            raise
    assert killed >= 0.8 * len(places), "hardly anything was killed"


def again_at(draw: random.Random) -> Place:
    return draw.choice((*RESUMING, Place("pwrite64", draw.randint(1, 20)), Place("fdatasync", draw.randint(1, 20))))


@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("place", HANDFUL, ids=str)
def test_a_session_killed_while_it_writes_goes_on_where_it_was(tmp_path: Path, place: Place) -> None:
    assert kill_and_resume(tmp_path / "it", place)


@pytest.mark.slow
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_killed_at_any_write_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    sweep(tmp_path, places_of(tmp_path / "count", 10)[part::PARTS])


@pytest.mark.slow
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_killed_again_while_it_resumes_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    draw = random.Random(part)
    sweep(tmp_path, draw.sample(places_of(tmp_path / "count", 10), 12), draw=draw)


@pytest.mark.slow
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_long_session_killed_at_some_writes_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    places = random.Random(1).sample(places_of(tmp_path / "count", 100), SAMPLES)
    sweep(tmp_path, places[part::PARTS], plan=100)


@pytest.mark.chaos
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_long_session_killed_at_any_write_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    places = places_of(tmp_path / "count", 100)
    sweep(tmp_path, places[part::PARTS], plan=100, draw=random.Random(part))

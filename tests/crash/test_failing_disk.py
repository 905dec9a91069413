"""A disk that fails, once or for good: the session retries, or stops with a clear error and goes on later."""

import random
import shutil
from pathlib import Path

import pytest

from tests.crash.stage import Facts, Stage, check_crashed, check_finished, check_resumed
from tests.crash.tracing import Place, Ran, need_strace

pytestmark = pytest.mark.usefixtures("strace")

PARTS = 4
ERRORS = ("ENOSPC", "EIO")
ONCE = (("ENOSPC", Place("pwrite64", 1)), ("EIO", Place("fdatasync", 1)))


@pytest.fixture
def strace() -> None:
    need_strace()


def check_error(ran: Ran) -> None:
    """In words that say what is wrong and what to do."""
    assert ran.code == 3, ran
    assert ran.errors, ran
    for error in ran.errors:
        assert "cannot be" in error, error
        assert any(mark in error for mark in (";", "?", ": check")), f"no advice: {error}"


def fail_and_resume(folder: Path, *faults: str, plan: int = 10) -> Ran:
    """Run with these faults. Afterwards the disk is well again."""
    stage = Stage(folder, plan=plan)
    ran = stage.run("run", faults=faults)
    before = stage.bytes()
    left = Facts(before)  # fails on half a line
    if ran.code == 0:
        check_finished(stage, left)
    else:
        check_error(ran)
        check_resumed(stage, check_crashed(stage, ran), before, stage.run("resume"))
    shutil.rmtree(folder)
    return ran


def sweep(folder: Path, cases: list[tuple[Place, list[str]]]) -> None:
    hit: list[bool] = []
    for place, faults in cases:
        try:
            hit.append(fail_and_resume(folder / str(place), *faults).hit)
        except BaseException as failure:
            failure.add_note(f"{faults}; see {folder / str(place)}")
            raise
    assert sum(hit) >= 0.8 * len(hit), "hardly anything failed"


def places_of(folder: Path) -> list[Place]:
    return Stage(folder).run("run", faults=[]).places


@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize(("error", "place"), ONCE, ids=str)
def test_a_write_that_fails_once_is_retried_and_nobody_notices(tmp_path: Path, error: str, place: Place) -> None:
    ran = fail_and_resume(tmp_path / "it", place.fail(error))
    assert (ran.code, ran.errors, ran.hit) == (0, [], True)


@pytest.mark.spec("TRS-4")
def test_a_disk_that_stays_full_stops_the_session_with_advice(tmp_path: Path) -> None:
    ran = fail_and_resume(tmp_path / "it", "pwrite64:error=ENOSPC:when=12+")
    assert ran.code == 3
    assert "No space left on device" in ran.errors[0]
    assert (
        "Everything acknowledged before is safe; free some space on that disk, then send Continue()." in ran.errors[0]
    )


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_any_write_may_fail_once(tmp_path: Path, error: str, part: int) -> None:
    places = places_of(tmp_path / "count")[part::PARTS]
    sweep(tmp_path, [(place, [place.fail(error)]) for place in places])


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize("part", range(PARTS))
def test_any_write_may_be_the_last_that_succeeds(tmp_path: Path, part: int) -> None:
    draw = random.Random(part)
    places = draw.sample(places_of(tmp_path / "count"), 12)
    sweep(tmp_path, [(place, [f"{place.fail(draw.choice(ERRORS))}+"]) for place in places])


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_disk_may_break_for_good(tmp_path: Path, part: int) -> None:
    """Neither writing nor cutting nor syncing succeeds any more."""
    draw = random.Random(part)
    all_calls = ",".join(("pwrite64", "fdatasync", "ftruncate", "fsync", "unlink"))
    numbers = draw.sample(range(1, 30), 6)
    sweep(tmp_path, [(Place("pwrite64", n), [f"{all_calls}:error=EIO:when={n}+"]) for n in numbers])

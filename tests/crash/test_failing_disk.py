"""A disk that fails, once or for good: the session retries, or stops with a clear error and goes on later."""

import random
import shutil
from pathlib import Path

import pytest

from tests.crash.stage import Facts, Stage, check_crashed, check_finished, check_resumed
from tests.crash.tracing import WRITING, Ran, need_strace

pytestmark = pytest.mark.usefixtures("strace")

PARTS = 4
ONCE = (("ENOSPC", 14), ("EIO", 15), ("EIO", 44))


@pytest.fixture
def strace() -> None:
    need_strace()


def check_error(ran: Ran) -> None:
    """In words that say what is wrong and what to do."""
    assert ran.code == 3, ran
    assert ran.errors, ran
    for error in ran.errors:
        assert "cannot be" in error, error
        assert ";" in error or "?" in error, f"no advice: {error}"


def fail_and_resume(folder: Path, error: str, number: int, *, lasting: bool, plan: int = 10) -> Ran:
    """The call with that number fails, or all from there on. Afterwards the disk is well again."""
    stage = Stage(folder, plan=plan)
    when = f"{number}+" if lasting else str(number)
    ran = stage.run("run", faults=[f"{','.join(WRITING)}:error={error}:when={when}"])
    before = stage.bytes()
    left = Facts(before)  # fails on half a line
    if ran.code == 0:
        check_finished(stage, left)
    else:
        check_error(ran)
        check_resumed(stage, check_crashed(stage, ran), before, stage.run("resume"))
    shutil.rmtree(folder)
    return ran


def most_calls(folder: Path) -> int:
    return Stage(folder).run("run", faults=[]).most


def sweep(folder: Path, cases: list[tuple[str, int]], *, lasting: bool) -> None:
    for error, number in cases:
        place = folder / f"{error}{number}"
        try:
            fail_and_resume(place, error, number, lasting=lasting)
        except BaseException as failure:
            failure.add_note(f"{error} at call {number}{' and after' if lasting else ''}: {place}")
            raise


@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize(("error", "number"), ONCE)
def test_a_write_that_fails_once_is_retried_and_nobody_notices(tmp_path: Path, error: str, number: int) -> None:
    ran = fail_and_resume(tmp_path / "it", error, number, lasting=False)
    assert (ran.code, ran.errors) == (0, [])


@pytest.mark.spec("TRS-4")
def test_a_disk_that_stays_full_stops_the_session_with_advice(tmp_path: Path) -> None:
    ran = fail_and_resume(tmp_path / "it", "ENOSPC", 30, lasting=True)
    assert ran.code == 3
    assert "No space left on device" in ran.errors[0]
    assert "What was acknowledged is safe; free some space on that disk, then go on." in ran.errors[0]


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_any_write_may_fail_once(tmp_path: Path, error: str, part: int) -> None:
    numbers = range(1 + part, most_calls(tmp_path / "count") + 1, PARTS)
    sweep(tmp_path, [(error, number) for number in numbers], lasting=False)


@pytest.mark.slow
@pytest.mark.spec("TRS-4")
@pytest.mark.parametrize("part", range(PARTS))
def test_any_write_may_be_the_last_that_succeeds(tmp_path: Path, part: int) -> None:
    draw = random.Random(part)
    numbers = draw.sample(range(1, most_calls(tmp_path / "count") + 1), 12)
    sweep(tmp_path, [(draw.choice(("ENOSPC", "EIO")), number) for number in numbers], lasting=True)

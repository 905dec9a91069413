"""Killed at every system call that writes, and again while it gets up: nothing told is lost, nothing is done twice."""

import random
import shutil
from pathlib import Path

import pytest

from tests.crash.stage import Facts, Stage, check_crashed, check_finished, check_resumed, cut_power
from tests.crash.tracing import KILLED, WRITING, need_strace

pytestmark = pytest.mark.usefixtures("strace")

PARTS = 8
SAMPLES = 200
# Beginning of the file, first line, a question, an answer, a start, the end.
HANDFUL = (7, 14, 15, 24, 31, 44)


@pytest.fixture
def strace() -> None:
    need_strace()


def kill_at(number: int) -> list[str]:
    return [f"{','.join(WRITING)}:signal=SIGKILL:when={number}"]


def most_calls(folder: Path, plan: int) -> int:
    """How many calls there are to be killed at; a few more than seen, for which are written together varies."""
    stage = Stage(folder, plan=plan)
    ran = stage.run("run", faults=[])
    assert ran.said[-1:] == ("end idle",), ran
    check_finished(stage, Facts(stage.bytes()))
    shutil.rmtree(folder)
    return ran.most + 4


def kill_and_resume(folder: Path, number: int, *, plan: int = 10, again: int | None = None) -> None:
    """Kill at that call, cut what was not synced, resume; ``again``: kill that at this call, and resume once more."""
    stage = Stage(folder, plan=plan)
    ran = stage.run("run", faults=kill_at(number))
    assert ran.code in (KILLED, 0), ran
    cut_power(stage, ran, number)
    crashed, before = check_crashed(stage, ran), stage.bytes()
    if again is not None:
        ran = stage.run("resume", faults=kill_at(again))
        assert ran.code in (KILLED, 0), ran
        if ran.code == KILLED and before:
            cut_power(stage, ran, again, begin=len(crashed_part(before)))
            crashed, before = check_crashed(stage, ran), stage.bytes()
    check_resumed(stage, crashed, before, stage.run("resume"))
    shutil.rmtree(folder)


def crashed_part(log: bytes) -> bytes:
    return log[: log.rfind(b"\n") + 1]


def sweep(folder: Path, numbers: list[int], *, plan: int = 10, draw: random.Random | None = None) -> None:
    for number in numbers:
        again = None if draw is None else draw.randint(1, 60)
        try:
            kill_and_resume(folder / f"at{number}", number, plan=plan, again=again)
        except BaseException as error:
            error.add_note(f"killed at call {number}, then at {again}: {folder / f'at{number}'}")
            raise


@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("number", HANDFUL)
def test_a_session_killed_while_it_writes_goes_on_where_it_was(tmp_path: Path, number: int) -> None:
    kill_and_resume(tmp_path / "it", number)


@pytest.mark.slow
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_killed_at_any_write_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    most = most_calls(tmp_path / "count", 10)
    sweep(tmp_path, [number for number in range(1, most + 1) if number % PARTS == part])


@pytest.mark.slow
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_killed_again_while_it_resumes_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    draw = random.Random(part)
    most = most_calls(tmp_path / "count", 10)
    sweep(tmp_path, draw.sample(range(1, most + 1), 12), draw=draw)


@pytest.mark.slow
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_long_session_killed_at_some_writes_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    most = most_calls(tmp_path / "count", 100)
    numbers = random.Random(1).sample(range(1, most + 1), SAMPLES)
    sweep(tmp_path, numbers[part::PARTS], plan=100)


@pytest.mark.chaos
@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_long_session_killed_at_any_write_goes_on_where_it_was(tmp_path: Path, part: int) -> None:
    most = most_calls(tmp_path / "count", 100)
    sweep(tmp_path, list(range(1 + part, most + 1, PARTS)), plan=100, draw=random.Random(part))

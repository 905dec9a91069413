"""A batch with a journal: after a crash no effect is repeated, and the outcome of each call is known or unknown."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("batch_program.py")

CRASHES = [
    ("one", "before", ["c1 outcome_unknown", "c2 ok", "c3 ok", "c4 ok"], ["two", "three", "four"]),
    ("one", "after", ["c1 outcome_unknown", "c2 ok", "c3 ok", "c4 ok"], ["one", "two", "three", "four"]),
    ("two", "before", ["c1 ok", "c2 outcome_unknown", "c3 ok", "c4 ok"], ["one", "three", "four"]),
    ("two", "after", ["c1 ok", "c2 outcome_unknown", "c3 ok", "c4 ok"], ["one", "two", "three", "four"]),
    ("three", "before", ["c1 ok", "c2 ok", "c3 ok", "c4 ok"], ["one", "two", "three", "four"]),
    ("three", "after", ["c1 ok", "c2 ok", "c3 ok", "c4 ok"], ["one", "two", "three", "three", "four"]),
    ("four", "before", ["c1 ok", "c2 ok", "c3 ok", "c4 outcome_unknown"], ["one", "two", "three"]),
    ("four", "after", ["c1 ok", "c2 ok", "c3 ok", "c4 outcome_unknown"], ["one", "two", "three", "four"]),
]


def _ran(folder: Path, name: str, where: str) -> tuple[int, list[str]]:
    ran = subprocess.run([sys.executable, PROGRAM, folder, name, where], capture_output=True, text=True, timeout=60)
    assert ran.returncode in (0, 9), ran.stderr
    return ran.returncode, [" ".join(line.split()[:2]) for line in ran.stdout.splitlines()]


@pytest.mark.spec("RUN-9")
@pytest.mark.parametrize(("name", "where", "outcomes", "effects"), CRASHES)
def test_after_a_crash_inside_a_batch_no_effect_is_repeated(
    name: str, where: str, outcomes: list[str], effects: list[str], tmp_path: Path
) -> None:
    assert _ran(tmp_path, name, where)[0] == 9
    for _ in range(2):  # the outcome is the same when it is asked for again
        assert _ran(tmp_path, "none", "") == (0, outcomes)
    assert (tmp_path / "effects").read_text().split() == effects


@pytest.mark.spec("RUN-9")
def test_after_two_crashes_no_effect_is_repeated(tmp_path: Path) -> None:
    assert _ran(tmp_path, "two", "after")[0] == 9
    assert _ran(tmp_path, "four", "before")[0] == 9
    assert _ran(tmp_path, "none", "")[1] == ["c1 ok", "c2 outcome_unknown", "c3 ok", "c4 outcome_unknown"]
    assert (tmp_path / "effects").read_text().split() == ["one", "two", "three"]

"""The example that fixes a failing test: thirty lines, and only the model is not real."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

EXAMPLE = ROOT / "examples/fix_a_test"
AGENT = (EXAMPLE / "agent.py").read_text(encoding="utf-8")
SAID = """\
A test fails. Find out why, and fix the code.
I run the tests. Bash(python3 -B -m unittest test_prices)
One fails. Read(test_prices.py) Read(prices.py)
It forgets how many. Edit(prices.py)
And once more. Bash(python3 -B -m unittest test_prices)
"""


def is_green(folder: Path) -> bool:
    command = [sys.executable, "-B", "-m", "unittest", "test_prices"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def run(agent: str, folder: Path) -> tuple[str, Path]:
    """Its output, and the sample as it left it."""
    sample = Path(shutil.copytree(EXAMPLE / "sample", folder / "sample"))
    home = {name: str(folder / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    command = [sys.executable, "-W", "error", "-c", agent, str(sample)]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **home}, check=False, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout, sample


def test_an_agent_in_thirty_lines_fixes_a_failing_test(tmp_path: Path) -> None:
    assert len(AGENT.splitlines()) <= 30
    assert not is_green(EXAMPLE / "sample")
    said, sample = run(AGENT, tmp_path)
    assert said == f"{SAID}It is fixed.\n"
    assert is_green(sample)
    assert sorted(path.name for path in sample.iterdir()) == ["prices.py", "test_prices.py"]


@pytest.mark.slow
def test_its_last_word_is_about_what_the_tests_really_said(tmp_path: Path) -> None:
    said, sample = run(AGENT.replace("* count for", "+ count for"), tmp_path)
    assert said == f"{SAID}It still fails.\n"
    assert not is_green(sample)

"""`callgate demo` of an installed package, which has no `examples` beside it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_demo import environment
from tests.house.tree import ROOT


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    site = tmp_path / "lib" / "site"
    site.mkdir(parents=True)
    (site / "callgate").symlink_to(ROOT / "src" / "callgate")
    monkeypatch.setenv("PYTHONPATH", str(site))
    (tmp_path / "tmp").mkdir()
    return [sys.executable, "-m", "callgate", "demo"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_one_session_reads_asks_rewrites_is_killed_and_resumed(command: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(command, env=environment(tmp_path / "tmp"), capture_output=True, encoding="utf-8", timeout=100)
    assert (ran.returncode, ran.stderr) == (0, "")
    wanted = (
        "Edit: asks: no rule covers changes of README.md",
        "    +All prices are in EUR.",
        "    +def total_of(items):",
        "staged: total → total_of: applied",
        "was killed (exit code -9). This process resumes its session.",
        "Bash: outcome unknown",
    )
    assert [line for line in wanted if line not in ran.stdout] == []
    assert ran.stdout.count("\nkept: ") == 6
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_json_is_every_event_and_nothing_else(command: list[str], tmp_path: Path) -> None:
    env = environment(tmp_path / "tmp")
    ran = subprocess.run([*command, "--json"], env=env, capture_output=True, encoding="utf-8", timeout=100)
    types = [json.loads(line)["type"] for line in ran.stdout.splitlines()]
    assert (ran.returncode, types.count("CallArrived"), types.count("CallSettled")) == (0, 7, 7)

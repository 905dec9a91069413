"""`callgate demo` of an installed package, which contains the plays as `callgate.demo_plays`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_demo import environment
from tests.house.tree import ROOT


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_an_installed_package_performs_all_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lib" / "site" / "callgate"
    package.mkdir(parents=True)
    for entry in (ROOT / "src" / "callgate").iterdir():
        (package / entry.name).symlink_to(entry)
    (package / "demo_plays").symlink_to(ROOT / "examples" / "demo")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "callgate", "demo"]
    ran = subprocess.run(command, env=environment(tmp_path / "tmp"), capture_output=True, encoding="utf-8", timeout=100)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "23 of 23 kept" in ran.stdout
    assert list((tmp_path / "tmp").iterdir()) == []

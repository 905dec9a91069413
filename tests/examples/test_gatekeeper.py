"""The example that answers the questions of a headless run by a rule of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.headless.blackbox import calls, program, says
from tests.house.tree import ROOT


@pytest.mark.slow
def test_it_allows_changes_in_docs_and_no_others(tmp_path: Path) -> None:
    wanted = calls(
        ("Write", {"file_path": "docs/a.md", "content": "mended\n"}),
        ("Write", {"file_path": "code.py", "content": "broken\n"}),
    )
    with program(tmp_path, wanted, says("One of two.")) as callgate:
        (callgate.work / "docs").mkdir()
        ran = subprocess.run(
            [sys.executable, ROOT / "examples/headless/gatekeeper.py", "Mend", "it."],
            cwd=callgate.work,
            env={**callgate.env, "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
            capture_output=True,
            text=True,
        )
    assert (ran.returncode, ran.stdout) == (0, "Write: yes\nWrite: no\nOne of two.\n"), ran.stderr
    assert (callgate.work / "docs/a.md").read_text() == "mended\n"
    assert not (callgate.work / "code.py").exists()
    assert "Only files in docs/" in callgate.results[1]

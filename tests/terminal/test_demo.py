"""``callgate demo`` in a terminal: a script types and answers, the program is the real one."""

import os
import sys
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver


@pytest.mark.slow
def test_the_demo_begins_in_the_terminal_itself_and_keeps_its_claims(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "callgate", "demo", "--speed", "50"]
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with TerminalDriver(command, cwd=tmp_path, env=env, columns=90, rows=40) as terminal:
        assert terminal.wait_for_exit(deadline=120) == 0
        assert terminal.faults == []
    text = terminal.text
    for shown in ("▌ A test fails.", "✓ Edit(prices.py)", "It passes now.", "· undone: edit prices.py"):
        assert shown in text
    assert text.index("undone: edit prices.py") < text.index("1. Three reads overlap")

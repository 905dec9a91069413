"""The first part of the demo: the real program, in a real terminal, played by a script."""

import sys
from pathlib import Path

import pytest

from examples.demo.in_terminal import PROMPT
from tests.cli.test_demo import environment
from tests.terminal.driver import TerminalDriver


@pytest.mark.slow
def test_the_agent_mends_a_test_in_the_terminal_and_takes_it_back(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "callgate", "demo"]
    env = {**environment(tmp_path), "LC_ALL": "C.UTF-8", "XTERM_VERSION": "XTerm(390)"}
    with TerminalDriver(command, cwd=tmp_path, env=env, columns=80, rows=30, deadline=90) as terminal:
        assert terminal.wait_for_exit() == 0
        assert terminal.faults == []
    text = " ".join(terminal.text.split())
    assert PROMPT in text
    assert "26 of 26 kept" in text
    assert [each.name for each in tmp_path.iterdir()] == []

"""Keys that are pressed while the program starts."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver


@pytest.fixture
def started(tmp_path: Path) -> Iterator[TerminalDriver]:
    """The program itself, right after its start; its model is a server that is not there."""
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "XTERM_VERSION": "XTerm(390)",
        "CALLGATE_MODEL": "ollama/none",
        "OLLAMA_HOST": "127.0.0.1:1",
    }
    work = tmp_path / "work"
    work.mkdir()
    with TerminalDriver([sys.executable, "-m", "callgate"], cwd=work, env=env, columns=60, rows=20) as terminal:
        yield terminal


@pytest.mark.spec("TUI-7")
def test_keys_pressed_during_the_start_are_in_the_input_line_once(started: TerminalDriver) -> None:
    started.send("fix thee\x7f tests, please, and tell me what was wrong with them")
    started.wait_for("❯ fix the tests, please")
    started.wait_for("idle")
    assert started.text.count("fix the") == 1
    assert "thee" not in started.text
    started.press("ctrl-c", "ctrl-d")
    assert started.wait_for_exit() == 0
    assert started.faults == []


@pytest.mark.spec("TUI-7")
@pytest.mark.slow
def test_enter_during_the_start_sends_the_message(started: TerminalDriver) -> None:
    started.send("say hello\rand this is the next one")
    started.wait_for("▌ say hello")
    started.wait_for("❯ and this is the next one")
    assert started.text.count("say hello") == 1


@pytest.mark.slow
def test_a_signal_during_the_start_leaves_the_terminal_as_it_was(started: TerminalDriver) -> None:
    started.wait_for(lambda seen: seen.faults)
    started.signal(signal.SIGTERM)
    started.wait_for_exit()
    assert started.faults == []

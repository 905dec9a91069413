"""The program inside tmux, which breaks lines anew when it becomes narrower and keeps what is cleared."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.conftest import ROOT
from tests.terminal.driver import TerminalDriver

TMUX = shutil.which("tmux")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(TMUX is None, reason="there is no tmux")]


@pytest.mark.spec("TUI-1")
def test_a_terminal_that_breaks_lines_anew_shows_one_live_part_after_every_resize(
    tmp_path: Path, workspace: Path
) -> None:
    assert TMUX is not None
    socket, settings = tmp_path / "socket", tmp_path / "tmux.conf"
    settings.write_text("set -g status off\nset -g history-limit 5000\nset -g escape-time 0\n")
    tmux = [TMUX, "-u", "-S", str(socket), "-f", str(settings)]
    program = shlex.join([sys.executable, "-m", "tests.terminal.scripted", "streams"])
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    try:
        with TerminalDriver([*tmux, "new-session", program], cwd=workspace, env=env, columns=100, rows=24) as terminal:
            terminal.wait_for("idle")
            terminal.type("go\r")
            terminal.wait_for("The last line")
            for number, (columns, rows) in enumerate(((60, 20), (40, 20), (100, 30), (50, 12), (120, 24))):
                terminal.resize(columns, rows)
                terminal.type(f"x{number}")
                terminal.wait_for(f"❯ x{number}")
                terminal.press("ctrl-u")
                terminal.gone(f"❯ x{number}")
            held = subprocess.run([*tmux, "capture-pane", "-p", "-S", "-"], capture_output=True, text=True, check=True)
            terminal.press("ctrl-d", "ctrl-d")
            assert terminal.wait_for_exit() == 0
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)  # it outlives its terminal
    assert held.stdout.count("❯") == 1
    assert held.stdout.count("Esc interrupts") == 1
    assert [held.stdout.count(f"Line {number} of") for number in range(60)] == [1] * 60

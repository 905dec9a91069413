"""Terminals that can do less: narrow, without colours, without Unicode, without a cursor."""

import re
import sys
from pathlib import Path

import pytest

from tests.terminal.conftest import Play
from tests.terminal.driver import TerminalDriver

pytestmark = pytest.mark.slow
COLOUR = re.compile(rb"\x1b\[[0-9;]*[349][0-9][0-9;]*m")


def _to_the_end(terminal: TerminalDriver) -> None:
    """A question, a list, a table and the transcript."""
    terminal.wait_for("idle")
    terminal.type("please do it\r")
    terminal.wait_for("y yes")
    terminal.press("y")
    terminal.wait_for("The file is there.")
    terminal.type("/co")
    terminal.wait_for("/context")
    terminal.press("ctrl-c")
    terminal.type("/context\r")
    terminal.wait_for("estimated")
    terminal.press("ctrl-o")
    terminal.wait_for("transcript, at the end")
    terminal.press("q")
    terminal.wait_for("idle")
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []


@pytest.mark.spec("TUI-1")
@pytest.mark.parametrize("columns", [60, 40])
def test_a_narrow_terminal_shows_everything(columns: int, play: Play) -> None:
    terminal = play("asks", columns=columns, rows=40)
    _to_the_end(terminal)
    assert "done" in terminal.text


@pytest.mark.spec("TUI-1")
@pytest.mark.spec("TUI-5")
def test_without_colours_no_colour_is_written_and_the_marked_line_has_a_sign(play: Play) -> None:
    terminal = play("asks", env={"NO_COLOR": "1"})
    terminal.wait_for("idle")
    terminal.type("/dif")
    terminal.wait_for(">/diff [N]")
    terminal.press("ctrl-c")
    _to_the_end(terminal)
    assert COLOUR.findall(terminal.output) == []


@pytest.mark.spec("TUI-1")
def test_without_unicode_every_byte_is_ascii(play: Play) -> None:
    terminal = play("asks", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    _to_the_end(terminal)
    assert terminal.output.isascii()
    assert "+ Bash(echo hi; touch x.txt)  done" in terminal.text


def test_a_terminal_that_cannot_place_the_cursor_is_told_the_other_way(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "TERM": "dumb"}
    with TerminalDriver([sys.executable, "-m", "callgate"], cwd=tmp_path, env=env) as terminal:
        assert terminal.wait_for_exit() == 2
        assert "callgate -p" in terminal.text
        assert b"\x1b" not in terminal.output
        assert terminal.faults == []

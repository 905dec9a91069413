"""The driver of the terminal tests: waits, keys, sizes, signals, and what a program left behind."""

import re
import signal
import sys
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver

# Reads keys in raw mode with bracketed paste and says each in a line; q restores the terminal, Q does not.
PROGRAM = r"""
import os, signal, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
def out(text): os.write(1, text.encode())
def resized(*_):
    size = os.get_terminal_size()
    out(f"size {size.columns}x{size.lines}\r\n")
signal.signal(signal.SIGWINCH, resized)
out("\x1b[?2004h\x1b]0;reads keys\x07\x1b[>4;1mready \x1b[31mred\x1b[0m\a\r\n")
while True:
    key = os.read(0, 1000)
    out(f"key {key!r}\r\n")
    if key == b"q":
        out("\x1b[?2004l")
        termios.tcsetattr(0, termios.TCSANOW, before)
    if key in b"qQ":
        sys.exit(3)
    if key == b"?":
        out("\x1b[6n")
"""


@pytest.fixture
def keys():
    with TerminalDriver([sys.executable, "-c", PROGRAM], columns=60, rows=8) as terminal:
        terminal.wait_for("ready")
        yield terminal


def test_keys_reach_the_program_and_a_clean_end_leaves_the_terminal_as_it_was(keys: TerminalDriver) -> None:
    keys.press("up", "ctrl-c", "alt-x")
    keys.wait_for(re.compile(r"x1bx"))
    assert keys.faults
    keys.paste("two\nlines")
    keys.wait_for("[200~two\\rlines\\x1b[201~")
    keys.type("q")
    assert keys.wait_for_exit() == 3
    assert keys.faults == []
    assert (keys.title, keys.bells) == ("reads keys", 1)


def test_what_a_program_leaves_behind_is_named(keys: TerminalDriver) -> None:
    keys.type("Q")
    keys.wait_for_exit()
    assert {"local modes", "bracketed paste is on"} <= set(keys.faults)


def test_a_question_of_the_program_is_answered_and_colours_are_kept(keys: TerminalDriver) -> None:
    cells = keys.screen.cells(0)
    assert [(cell.data, cell.fg) for cell in cells[6:9]] == [("r", "red"), ("e", "red"), ("d", "red")]
    assert not cells[0].underscore, "a sequence of another meaning was read as a colour"
    keys.type("?")
    keys.wait_for("x1b[3;1R")


def test_a_new_size_reaches_the_program_and_lines_that_do_not_fit_go_to_the_scrollback(keys: TerminalDriver) -> None:
    for key in "abcdefgh":
        keys.type(key)
        keys.wait_for(f"key b'{key}'")
    assert keys.scrollback == ["ready red", "key b'a'"]
    keys.resize(50, 4)
    keys.wait_for("size 50x4")
    assert keys.scrollback[:4] == ["ready red", "key b'a'", "key b'b'", "key b'c'"]
    assert keys.lines[0] == "key b'g'"


def test_the_alternate_screen_gives_back_what_was_there() -> None:
    code = r"""
import sys
print("first")
sys.stdout.write("\x1b[?1049h" + "full\n" * 9)
sys.stdout.flush()
input()
sys.stdout.write("\x1b[?1049l")
print("last")
"""
    with TerminalDriver([sys.executable, "-c", code], columns=20, rows=5) as terminal:
        terminal.wait_for("full")
        assert "first" not in terminal.text
        terminal.press("enter")
        terminal.wait_for_exit()
        assert terminal.text == "first\nlast"


def test_a_wait_ends_with_the_program_and_shows_the_screen() -> None:
    with (
        TerminalDriver(["sh", "-c", "echo this is all"], columns=20, rows=3) as terminal,
        pytest.raises(AssertionError, match=r"ended with 0, waiting for 'more'(?s:.*)this is all"),
    ):
        terminal.wait_for("more")


def test_the_program_has_job_control_and_hears_of_a_hang_up(tmp_path: Path) -> None:
    with TerminalDriver(["bash", "--norc", "-i"], cwd=tmp_path, env={"PS1": "$ "}, columns=60, rows=10) as terminal:
        terminal.wait_for("$ ")
        terminal.type("echo up; cat\r")
        terminal.wait_for("cat\nup")
        terminal.type("hello\r")
        terminal.wait_for("hello\nhello")
        terminal.press("ctrl-z")
        terminal.wait_for("Stopped")
        terminal.type("fg\r")
        terminal.wait_for("fg\ncat")
        terminal.type("again\r")
        terminal.wait_for("again\nagain")
        terminal.press("ctrl-c")
        terminal.wait_for(re.compile(r"\^C\n\$"))
        terminal.hang_up()
        assert terminal.wait_for_exit() == -signal.SIGHUP

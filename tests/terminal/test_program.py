"""The program in a real terminal: it starts, works, is interrupted and ends, and the terminal is as it was."""

import os
import signal
import sys
from pathlib import Path

import pytest

from callgate import Store
from callgate.words.turns import Compacted
from tests.terminal.conftest import ROOT, Play
from tests.terminal.driver import TerminalDriver

READY = "idle"


def _prompted(terminal: TerminalDriver, text: str = "please do it") -> None:
    terminal.wait_for(READY)
    terminal.type(text)
    terminal.wait_for(text)
    terminal.press("enter")


def _sessions(work: Path, home: Path) -> int:
    return len(Store(work, home / "data").list())


def test_an_answer_stays_in_the_scrollback_and_the_program_leaves_nothing_behind(play: Play) -> None:
    terminal = play("talks")
    _prompted(terminal)
    terminal.wait_for(lambda seen: "done" in seen.text and READY in seen.text)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []
    assert "please do it" in terminal.text
    assert "callgate --resume" in terminal.text


@pytest.mark.parametrize(
    ("name", "seen"), [("streams", "The last line"), ("runs", "Sleep"), ("thinks", "waiting for the model")]
)
@pytest.mark.slow
def test_escape_interrupts_in_every_phase_and_the_session_goes_on(name: str, seen: str, play: Play) -> None:
    terminal = play(name)
    _prompted(terminal)
    terminal.wait_for(seen)
    terminal.press("esc")
    terminal.wait_for("interrupted")
    _prompted(terminal, "once more")
    terminal.wait_for("Afterwards.")
    terminal.wait_for(READY)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []


@pytest.mark.slow
def test_escape_stops_a_compaction_and_leaves_the_conversation_as_it_was(
    play: Play, tmp_path: Path, workspace: Path
) -> None:
    terminal = play("sums")
    _prompted(terminal)
    terminal.wait_for(lambda seen: "Well said." in seen.text and READY in seen.text)
    terminal.type("/compact\r")
    terminal.wait_for("A summary is being written")
    terminal.wait_for("is writing a summary, 2.")
    terminal.press("esc")
    terminal.wait_for(READY)
    _prompted(terminal, "once more")
    terminal.wait_for("Afterwards.")
    terminal.wait_for(READY)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []
    events = Store(workspace, tmp_path / "home/data").read().events
    assert not any(isinstance(event, Compacted) for event in events)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_a_signal_ends_the_program_and_the_session_can_be_resumed(
    number: signal.Signals, play: Play, tmp_path: Path, workspace: Path
) -> None:
    terminal = play("runs")
    _prompted(terminal)
    terminal.wait_for("Sleep")
    terminal.signal(number)
    assert terminal.wait_for_exit() == 128 + number
    assert terminal.faults == []
    assert _sessions(workspace, tmp_path / "home") == 1


@pytest.mark.slow
def test_a_terminal_that_goes_away_ends_the_program_and_the_record_is_whole(
    play: Play, tmp_path: Path, workspace: Path
) -> None:
    terminal = play("runs")
    _prompted(terminal)
    terminal.wait_for("Sleep")
    terminal.hang_up()
    assert terminal.wait_for_exit() == 128 + signal.SIGHUP
    store = Store(workspace, tmp_path / "home" / "data")
    assert store.list()[0].about.unfinished


@pytest.mark.slow
def test_a_program_that_was_suspended_goes_on_and_draws_its_screen_again(tmp_path: Path, workspace: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PS1": "shell> "}
    with TerminalDriver(["bash", "--norc", "-i"], cwd=workspace, env=env, columns=80, rows=24) as terminal:
        terminal.wait_for("shell>")
        terminal.type(f"{sys.executable} -m tests.terminal.scripted talks")
        terminal.press("enter")
        terminal.wait_for(READY)
        terminal.type("half a prompt")
        terminal.wait_for("half a prompt")
        terminal.press("ctrl-z")
        terminal.wait_for("Stopped")
        terminal.type("echo still | tr a-z A-Z")
        terminal.press("enter")
        terminal.wait_for("STILL")
        terminal.type("fg")
        terminal.press("enter")
        terminal.wait_for(lambda seen: seen.text.count("half a prompt") == 1 and "idle" in seen.text)
        terminal.press("enter")
        terminal.wait_for(lambda seen: "done" in seen.text)
        terminal.press("ctrl-d")
        terminal.wait_for(lambda seen: seen.lines[seen.cursor[1]].startswith("shell>"))
        terminal.type("exit")
        terminal.press("enter")
        assert terminal.wait_for_exit() == 0
        assert terminal.faults == []


@pytest.mark.parametrize(("name", "stays"), [("streams", "The last line"), ("runs", "⊘ Sleep(3600 s)  cancelled")])
@pytest.mark.slow
def test_what_is_on_the_screen_stays_there_when_the_program_is_left(name: str, stays: str, play: Play) -> None:
    for words in ((), ("/view full",)):
        terminal = play(name)
        _prompted(terminal)
        terminal.wait_for("Sleep" if name == "runs" else stays)
        for word in words:
            terminal.type(f"{word}\r")
            terminal.wait_for(lambda seen: 1049 in seen.screen.modes)
        terminal.press("ctrl-d", "ctrl-d")
        assert terminal.wait_for_exit() == 0
        assert terminal.faults == []
        assert terminal.text.count(stays) == 1


@pytest.mark.slow
def test_a_resize_in_the_middle_of_a_text_keeps_every_line_once(play: Play) -> None:
    terminal = play("streams", columns=100)
    _prompted(terminal)
    terminal.wait_for("The last line")
    terminal.resize(60, 20)
    terminal.press("esc")
    terminal.wait_for("interrupted")
    terminal.wait_for(READY)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    for number in range(60):
        assert terminal.text.count(f"Line {number} of") == 1


@pytest.mark.spec("TUI-1")
@pytest.mark.slow
def test_a_live_part_as_high_as_the_screen_leaves_nothing_of_itself_in_the_scrollback(play: Play) -> None:
    terminal = play("rambles", columns=60, rows=10)
    _prompted(terminal)
    terminal.wait_for("and so on")
    for columns, rows in ((50, 8), (70, 12), (40, 6)):
        terminal.resize(columns, rows)
        terminal.type("x")
        terminal.wait_for(lambda seen: any(line.startswith("❯ x") for line in seen.lines))
        terminal.press("backspace")
        terminal.gone("❯ x")
    terminal.press("esc")
    terminal.wait_for("interrupted")
    terminal.wait_for(READY)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert "❯" not in terminal.text
    assert "Esc interrupts" not in terminal.text
    assert terminal.text.count("Word 30 of") == 1


@pytest.mark.spec("TUI-9")
@pytest.mark.slow
def test_the_transcript_view_is_searched_and_left_without_a_trace(play: Play) -> None:
    terminal = play("streams")
    _prompted(terminal)
    terminal.wait_for("The last line")
    before = terminal.text
    terminal.press("ctrl-o")
    terminal.wait_for("transcript, at the end")
    terminal.press("/")
    terminal.wait_for("search")
    terminal.type("line 7 of")
    terminal.press("enter")
    terminal.wait_for("n next")
    assert any("Line 7 of" in line for line in terminal.lines)
    terminal.press("q")
    terminal.gone("transcript, ")
    terminal.wait_for("working")
    assert [line for line in terminal.text.splitlines() if "Line" in line] == [
        line for line in before.splitlines() if "Line" in line
    ]
    terminal.press("esc")
    terminal.wait_for("interrupted")
    terminal.wait_for(READY)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []

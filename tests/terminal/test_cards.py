"""Questions, pickers and going back, in a real terminal."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from callgate import Store
from callgate.words.events import QuestionAnswered
from tests.terminal.conftest import Play
from tests.terminal.driver import TerminalDriver


def _asked(terminal: TerminalDriver, seen: str = "Allow") -> None:
    """Sends a prompt and waits until the card of the first question takes keys."""
    terminal.wait_for("idle")
    terminal.type("please do it")
    terminal.press("enter")
    _armed(terminal, seen)


def _armed(terminal: TerminalDriver, card: str = "") -> None:
    """Waits until a card takes keys: it names them then, and not before."""
    terminal.wait_for(re.compile(rf"{re.escape(card)}[^~]*(y yes|Enter next)"))


def _next_armed(terminal: TerminalDriver, number: int) -> None:
    """Waits until the card of this number of three takes keys."""
    terminal.wait_for(re.compile(rf"Allow [^\n]* {number} of 3\n[^~]*y yes"))


def _asked_about(terminal: TerminalDriver) -> str:
    """The file of the card; several questions of one message come in any order."""
    found = re.search(r"Allow Write\((.*?)\)", "\n".join(terminal.lines))
    assert found is not None
    return found[1]


def _answers(work: Path, home: Path) -> list[QuestionAnswered]:
    found = Store(work, home / "data").read()
    return [each for each in found.events if isinstance(each, QuestionAnswered)]


@pytest.mark.spec("TUI-4")
def test_arguments_are_changed_on_the_card_and_run_as_shown(play: Play, workspace: Path) -> None:
    terminal = play("asks", columns=60)
    _asked(terminal)
    terminal.press("e")
    terminal.wait_for("command: echo hi; touch x.txt")
    terminal.press("backspace", "backspace", "backspace")
    terminal.type("md")
    terminal.press("enter")
    terminal.wait_for("with your")
    assert not (workspace / "x.md").exists()
    terminal.press("y")
    terminal.wait_for("The file is there.")
    assert (workspace / "x.md").exists()
    assert not (workspace / "x.txt").exists()


@pytest.mark.spec("TUI-4")
@pytest.mark.slow
def test_three_questions_are_answered_one_after_the_other_and_type_ahead_answers_none(
    play: Play, workspace: Path
) -> None:
    terminal = play("writes")
    terminal.wait_for("idle")
    terminal.type("please do it")
    terminal.press("enter")
    terminal.type("yyy")  # before the cards are there, or right after
    terminal.wait_for("1 of 3")
    terminal.wait_for("Tab answer the question")
    terminal.wait_for("yyy")
    assert not list(workspace.iterdir())
    terminal.press("backspace", "backspace", "backspace")
    _armed(terminal)
    written = [_asked_about(terminal)]
    terminal.press("y")
    _next_armed(terminal, 2)
    refused = _asked_about(terminal)
    terminal.paste("y\ny\n")
    terminal.wait_for("Tab answer the question")
    terminal.press("ctrl-c", "tab")
    terminal.wait_for("y yes")
    terminal.press("n")
    terminal.wait_for("What should it do instead?")
    terminal.type("not that one")
    terminal.press("enter")
    _next_armed(terminal, 3)
    written.append(_asked_about(terminal))
    terminal.press("y")
    terminal.wait_for("All are written.")
    assert sorted(each.name for each in workspace.iterdir()) == sorted(written)
    assert refused not in written


@pytest.mark.slow
def test_always_is_remembered_for_the_project_as_it_was_shown(play: Play, workspace: Path, tmp_path: Path) -> None:
    terminal = play("writes")
    _asked(terminal, "1 of 3")
    terminal.press("a")
    terminal.wait_for("Always allow:")
    terminal.press("down", "down", "tab")
    terminal.wait_for("[this project]")
    assert not list((tmp_path / "home/data").glob("policies/*"))
    terminal.press("enter")
    terminal.wait_for("All are written.")  # the rule is for every Write, so it answers the other two
    (kept,) = (tmp_path / "home/data").glob("policies/*.json")
    assert json.loads(kept.read_text())["policies"]
    assert len(list(workspace.iterdir())) == 3


@pytest.mark.slow
def test_on_a_low_screen_a_card_has_its_keys_and_the_rule_that_always_would_make(play: Play) -> None:
    terminal = play("writes", columns=60, rows=8)
    _asked(terminal, "1 of 3")
    assert terminal.bells == 1, "one for all questions that wait"
    assert any("d details" in line for line in terminal.lines)
    terminal.press("a")
    terminal.wait_for("Always allow (1 of 3):")
    terminal.press("down")
    terminal.wait_for("Always allow (2 of 3):")
    terminal.wait_for(re.compile(r"❯ Write\(\./[abc]\.txt\)"))
    assert any("Enter allow and remember" in line for line in terminal.lines)


@pytest.mark.slow
def test_questions_with_options_are_reviewed_before_they_are_sent(play: Play, workspace: Path, tmp_path: Path) -> None:
    terminal = play("wonders", columns=60)
    _asked(terminal, "Which colour?")
    terminal.press("down", "enter")
    terminal.wait_for("Which sizes?")
    for key, seen in (("space", "[x] small"), ("down", "❯ 2. "), ("space", "[x] large"), ("enter", "Your answers")):
        terminal.press(key)
        terminal.wait_for(seen)
    terminal.wait_for("Size: small, large")
    terminal.press("enter")
    terminal.wait_for("Thank you.")
    (answered,) = _answers(workspace, tmp_path / "home")
    assert [each.chosen for each in answered.confirmation.answers] == [("blue",), ("small", "large")]


@pytest.mark.slow
@pytest.mark.spec("TUI-8")
def test_keys_of_every_place_work_while_a_card_is_open_and_the_question_outlives_the_program(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    terminal = play("asks")
    _asked(terminal)
    terminal.press("shift-tab")
    terminal.wait_for("accept edits mode")
    terminal.press("?")
    terminal.wait_for("Keys of a question")
    terminal.wait_for("Ctrl-Z")
    terminal.press("esc")
    _armed(terminal)
    terminal.press("ctrl-o")
    terminal.wait_for("transcript, at the end")
    terminal.press("?")
    terminal.wait_for("Keys of the whole conversation")
    terminal.press("f1")
    terminal.wait_for("transcript, at the end")
    terminal.press("q")
    _armed(terminal)
    terminal.press("n")
    terminal.wait_for("What should it do instead?")
    assert not any("y yes" in line for line in terminal.lines)
    terminal.press("esc")
    _armed(terminal)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []
    assert "? Bash(echo hi; touch x.txt)  asks you" in terminal.text
    assert len(Store(workspace, tmp_path / "home/data").questions()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("key", ["esc", "ctrl-c"])
def test_a_question_is_interrupted_and_the_session_goes_on(key: str, play: Play, workspace: Path) -> None:
    terminal = play("asks")
    _asked(terminal)
    terminal.press(key)
    terminal.wait_for("You stopped the run.")
    terminal.type("once more\r")
    terminal.wait_for("The file is there.")
    terminal.wait_for("idle")
    assert not (workspace / "x.txt").exists()
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []


@pytest.mark.slow
def test_what_is_staged_is_applied_for_one_file_and_discarded_for_the_other(play: Play, workspace: Path) -> None:
    for name in "ab":
        (workspace / f"{name}.py").write_text("old(1)\n")
    terminal = play("renames")
    terminal.wait_for("idle")
    terminal.type("rename it\r")
    terminal.wait_for("Tab: show, apply or discard")
    terminal.press("tab")
    terminal.wait_for("[x] a.py")
    terminal.wait_for("Enter apply all")
    terminal.press("d")
    terminal.wait_for("edit b.py (+1 −1)")
    terminal.press("q")
    terminal.wait_for("Enter apply all")
    terminal.press("down")
    terminal.wait_for("❯ [x] b.py")
    terminal.press("space")
    terminal.wait_for("apply 1 of 2 files")
    terminal.press("enter")
    terminal.wait_for("applied")
    terminal.press("esc")
    terminal.wait_for("interrupted")
    assert [(workspace / f"{name}.py").read_text() for name in "ab"] == ["new(1)\n", "old(1)\n"]
    terminal.wait_for("idle")
    terminal.type("/undo\r")
    terminal.wait_for("Undo these changes")
    terminal.press("enter")
    terminal.wait_for(lambda _seen: (workspace / "a.py").read_text() == "old(1)\n")
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []


@pytest.mark.slow
def test_an_answer_from_elsewhere_takes_the_card_away(play: Play, workspace: Path, tmp_path: Path) -> None:
    terminal = play("asks")
    _asked(terminal)
    store = Store(workspace, tmp_path / "home/data")
    (question,) = store.questions()
    store.answer(store.list()[0].session, question.no("from afar", door="elsewhere"))
    terminal.wait_for("The file is there.")
    assert not any("Allow" in line for line in terminal.lines)
    assert not (workspace / "x.txt").exists()


@pytest.mark.slow
def test_a_killed_session_goes_on_with_its_question(play: Play, workspace: Path) -> None:
    first = play("asks")
    _asked(first)
    first.process.kill()
    first.process.wait()
    terminal = play("asks", "latest")
    terminal.wait_for("Press Enter to")
    assert "please do it" in terminal.text
    terminal.press("enter")
    _armed(terminal, "Allow")
    terminal.press("y")
    terminal.wait_for(lambda _seen: (workspace / "x.txt").exists())


@pytest.mark.slow
def test_escape_twice_goes_back_to_a_prompt_with_its_files(play: Play, workspace: Path) -> None:
    terminal = play("writes")
    _asked(terminal, "1 of 3")
    for number in (2, 3):
        terminal.press("y")
        _next_armed(terminal, number)
    terminal.press("y")
    terminal.wait_for("All are written.")
    terminal.wait_for("idle")
    terminal.press("esc", "esc")
    terminal.wait_for("Rewind to before a message")
    terminal.press("enter")
    terminal.wait_for("the conversation and files")
    terminal.press("down", "enter")
    terminal.wait_for("The conversation continues from before")
    terminal.wait_for(lambda seen: any(line.endswith("please do it") for line in seen.lines[-5:]))
    assert not list(workspace.iterdir())


@pytest.mark.slow
def test_a_folder_with_hooks_is_asked_about_before_they_count_and_the_sessions_can_be_picked(
    tmp_path: Path, workspace: Path
) -> None:
    """The program itself, with a model that is never asked."""
    (workspace / ".callgate").mkdir()
    (workspace / ".callgate/settings.toml").write_text('[[hooks.SessionStart]]\ncommand = "touch ran"\n')
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "CALLGATE_DATA_DIR": str(tmp_path / "data"),
        "CALLGATE_MODEL": "ollama/none",
    }
    command = [sys.executable, "-m", "callgate"]
    with TerminalDriver(command, cwd=workspace, env=env) as terminal:
        terminal.wait_for("? Trust")
        terminal.wait_for("runs `touch ran`")
        terminal.wait_for("Enter take")
        assert not (workspace / "ran").exists()
        terminal.press("down", "enter")
        terminal.wait_for("idle")
        terminal.press("ctrl-d")
        assert terminal.wait_for_exit() == 0
        assert terminal.faults == []
    with TerminalDriver([*command, "--resume"], cwd=workspace, env=env) as terminal:
        terminal.wait_for("Sessions of this folder")
        terminal.press("esc")
        terminal.wait_for("idle")
        terminal.signal(signal.SIGTERM)
        terminal.wait_for_exit()
        assert terminal.faults == []

"""What a person types: sentences at questions, commands, keys that leave, in a real terminal."""

import re
from pathlib import Path

import pytest

from tests.terminal.conftest import Play

pytestmark = pytest.mark.slow


@pytest.mark.spec("TUI-4")
@pytest.mark.parametrize("one_read", [True, False])
@pytest.mark.parametrize("text", ["why not tests?", "use make clean instead", "yes, but not now", "no y a e d"])
def test_a_sentence_at_a_question_is_in_the_input_line(play: Play, workspace: Path, text: str, one_read: bool) -> None:
    terminal = play("asks", columns=60)
    terminal.wait_for("idle")
    terminal.type("please do it\r")
    terminal.wait_for("y yes")
    for piece in (text,) if one_read else text:
        terminal.type(piece)
    terminal.wait_for(lambda seen: f"❯ {text}" in seen.lines)
    terminal.wait_for("Tab answer the question")
    terminal.press("ctrl-c", "tab")
    terminal.wait_for("y yes")
    assert not (workspace / "x.txt").exists()
    terminal.press("y")
    terminal.wait_for("The file is there.")
    assert (workspace / "x.txt").exists()


@pytest.mark.spec("TUI-19")
@pytest.mark.parametrize("columns", [100, 60])
def test_a_command_of_the_shell_shows_its_output(play: Play, workspace: Path, columns: int) -> None:
    for number in range(20):
        (workspace / f"file{number}.txt").touch()
    (workspace / "cache.pyc").touch()
    terminal = play("talks", columns=columns, rows=40)
    terminal.wait_for("! shell")
    terminal.type("!ls")
    terminal.wait_for("Enter: run the command")
    terminal.press("enter")
    terminal.wait_for("Bash(ls)  done")
    assert all(f"file{number}.txt" in terminal.text for number in range(20)), "all of the output"
    terminal.type("@cache")
    terminal.wait_for("❯ @cache")
    terminal.press("ctrl-c")
    terminal.type("!")
    terminal.press("up")
    terminal.press("ctrl-c")
    terminal.press("up")
    terminal.wait_for("❯ !ls")


@pytest.mark.spec("TUI-3")
def test_a_command_is_shown_above_its_output_and_needs_no_entry_of_the_list(play: Play) -> None:
    terminal = play("talks")
    terminal.wait_for("idle")
    terminal.type("/tasks ")
    terminal.wait_for("stop all")
    terminal.press("enter")
    terminal.wait_for(re.compile(r"❯ /tasks\s*\n[^❯]*background"))
    terminal.type("/stats\r")
    terminal.wait_for("This session")
    assert "❯ /stats" in terminal.text


def test_one_ctrl_d_does_not_leave_work_that_is_in_progress(play: Play) -> None:
    terminal = play("runs")
    terminal.wait_for("idle")
    terminal.type("go\r")
    terminal.wait_for("Sleep(3600 s)  runs")
    terminal.press("ctrl-d")
    terminal.wait_for("Ctrl-D once more quits")
    terminal.press("ctrl-d", "ctrl-d")
    assert terminal.wait_for_exit() == 0


@pytest.mark.parametrize("columns", [100, 60])
def test_the_line_of_the_state_keeps_its_height_and_names_the_keys_of_vim(play: Play, columns: int) -> None:
    terminal = play("thinks", columns=columns)
    terminal.wait_for("idle")
    terminal.type("/vim on\r")
    terminal.wait_for("INSERT")
    at_rest = terminal.cursor[1]
    below = sum(bool(line) for line in terminal.lines[at_rest + 1 :])
    terminal.type("go\r")
    terminal.wait_for("Esc Esc interrupts")
    terminal.wait_for("waiting for the model, 2.")
    assert sum(bool(line) for line in terminal.lines[terminal.cursor[1] + 1 :]) == below - 1, "without the first hint"
    terminal.press("esc")
    terminal.wait_for("NORMAL")
    terminal.wait_for(lambda seen: "Esc interrupts" in seen.shown and "Esc Esc" not in seen.shown)
    terminal.press("esc")
    terminal.wait_for("interrupted")


@pytest.mark.spec("TUI-8")
@pytest.mark.parametrize("editing", ["emacs", "vim"])
def test_another_key_interrupts_and_the_hints_name_it(play: Play, tmp_path: Path, editing: str) -> None:
    settings = tmp_path / "home/.config/callgate/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[tui]\nediting = "{editing}"\n\n[keybindings.input]\ninterrupt = "f1"\n')
    terminal = play("thinks", columns=120)
    terminal.wait_for("idle")
    terminal.type("go\r")
    terminal.wait_for("F1 interrupts")
    assert "Esc" not in terminal.shown
    terminal.type("/compact\r")
    terminal.wait_for("press F1 to interrupt it.")
    terminal.press("f1")
    terminal.wait_for("interrupted")

"""The input line in a terminal: lists, pastes, queued messages, earlier messages, keys."""

import re
from pathlib import Path

import pytest

from tests.terminal.conftest import Play


def test_files_are_completed_behind_an_at_sign(play: Play, workspace: Path) -> None:
    for name in ("src/main.py", "src/my part.py", "tests/test_main.py"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).touch()
    terminal = play("talks", columns=60)
    terminal.wait_for("idle")
    terminal.type("see @ma")
    terminal.wait_for(" tests/test_main.py")
    terminal.press("down", "tab")
    terminal.wait_for("❯ see @tests/test_main.py")
    terminal.gone(" src/main.py")
    terminal.type("and @my")
    terminal.wait_for(" src/my part.py")
    terminal.press("enter")
    terminal.wait_for('and @"src/my part.py"')
    terminal.press("enter")
    terminal.wait_for("All")


def test_a_command_that_is_typed_in_full_needs_one_enter_and_a_beginning_is_completed(play: Play) -> None:
    terminal = play("talks")
    terminal.wait_for("idle")
    terminal.type("/too")
    terminal.wait_for("list tools")
    terminal.type("ls")
    terminal.press("enter")
    terminal.wait_for("Custom tools are Python files")
    terminal.gone("❯ /tools")
    terminal.type("/dif")
    terminal.wait_for("/diff [N]")
    terminal.press("enter")
    terminal.wait_for("❯ /diff ")


@pytest.mark.spec("TUI-8")
def test_a_question_mark_lists_the_keys_and_settings_change_them(play: Play, tmp_path: Path) -> None:
    settings = tmp_path / "home/.config/callgate/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[tui]\nediting = "vim"\n\n[keybindings.anywhere]\ntranscript = "f6"\nredrwa = "f7"\n')
    terminal = play("talks", columns=200)
    terminal.wait_for("INSERT · idle")
    terminal.wait_for("settings.toml:6: unknown action keybindings.anywhere.redrwa: did you mean redraw?")
    terminal.type("?")
    terminal.wait_for("Keys of the input line")
    assert re.search(r"F6 +the whole conversation", terminal.text)
    terminal.press("esc")
    terminal.gone("Keys of the input line")
    terminal.type("one two")
    terminal.press("esc")
    terminal.wait_for("NORMAL")
    terminal.type("bcwX")
    terminal.wait_for("one X")


@pytest.mark.slow
def test_a_message_typed_meanwhile_waits_can_be_edited_and_taken_back(play: Play) -> None:
    terminal = play("streams")
    terminal.wait_for("idle")
    terminal.type("go\r")
    terminal.wait_for("The last line")
    terminal.type("more")
    terminal.wait_for("Enter: send after this step · Tab: queue until finished")
    terminal.press("enter")
    terminal.wait_for(re.compile(r"1\. more +sent after this step"))
    terminal.type("later")
    terminal.press("tab")
    terminal.wait_for(re.compile(r"2\. later +sent when the agent is finished"))
    terminal.press("up")
    terminal.wait_for("Enter: save")
    terminal.type(" on\r")
    terminal.wait_for(re.compile(r"2\. later on +sent"))
    terminal.press("up", "up")
    terminal.wait_for("❯ more")
    terminal.press("ctrl-u", "enter")
    terminal.gone("more  sent after")
    terminal.press("esc")
    terminal.wait_for("▌ later on")
    terminal.wait_for("Afterwards.")
    terminal.wait_for("idle")


@pytest.mark.slow
def test_it_says_before_enter_that_the_running_call_gives_way(play: Play) -> None:
    terminal = play("runs")
    terminal.wait_for("idle")
    terminal.type("go\r")
    terminal.wait_for("runs")
    terminal.type("stop that")
    terminal.wait_for("Enter: interrupt the running command")
    terminal.press("enter")
    terminal.wait_for("Afterwards.")


@pytest.mark.slow
def test_a_paste_of_ten_thousand_lines_is_one_label_and_is_sent_whole(play: Play, tmp_path: Path) -> None:
    terminal = play("talks")
    terminal.wait_for("idle")
    terminal.type("look: ")
    mark = terminal.mark()
    terminal.paste("\n".join(f"row {number}" for number in range(10_000)))
    terminal.wait_for("look: [Pasted #1: 10,000 lines]")
    assert len(terminal.since(mark)) < 5_000, "the terminal is not drawn for each character"
    terminal.press("backspace")
    terminal.gone("Pasted")
    terminal.press("ctrl-_")
    terminal.wait_for("look: [Pasted #1: 10,000 lines]")
    terminal.press("enter")
    terminal.wait_for("All")
    record = next((tmp_path / "home/data/projects").glob("*/*.jsonl")).read_text()
    assert "row 0\\nrow 1\\n" in record
    assert "row 9999" in record


@pytest.mark.slow
def test_a_paste_answers_no_question_and_sends_nothing(play: Play, workspace: Path) -> None:
    terminal = play("asks")
    terminal.wait_for("idle")
    terminal.paste("y\nn\x1b[31m\x1b]0;evil\x07")
    terminal.wait_for("❯ y\n  n")
    assert terminal.title != "evil"
    terminal.press("enter")
    terminal.wait_for("echo hi")
    terminal.paste("y\n")
    terminal.wait_for("echo hi")
    terminal.press("esc")
    terminal.wait_for("idle")
    assert not (workspace / "x.txt").exists()


@pytest.mark.slow
def test_earlier_messages_come_back_also_in_another_session(play: Play) -> None:
    first = play("talks")
    first.wait_for("idle")
    first.type("a first message\r")
    first.wait_for("All")
    first.type("another\r")
    first.wait_for(lambda seen: seen.text.count("All") == 2)
    first.press("up", "up")
    first.wait_for("❯ a first message")
    first.press("ctrl-c", "ctrl-d")
    first.wait_for_exit()
    second = play("talks")
    second.wait_for("idle")
    second.press("ctrl-r")
    second.type("first")
    second.wait_for(" a first message")
    second.press("enter")
    second.wait_for("❯ a first message")


@pytest.mark.slow
def test_lines_of_a_message_end_by_four_keys_and_the_screen_is_drawn_again(play: Play) -> None:
    terminal = play("talks")
    terminal.wait_for("idle")
    terminal.type("a\\\rb")
    terminal.press("alt-enter")
    terminal.type("c")
    terminal.press("ctrl-j")
    terminal.type("d")
    terminal.send("\x1b[13;2u")
    terminal.type("e")
    terminal.send("\x1b[27;2;13~")
    terminal.type("f")
    terminal.wait_for("❯ a\n  b\n  c\n  d\n  e\n  f")
    terminal.press("ctrl-l")
    terminal.wait_for(lambda seen: seen.lines[1] == "❯ a")
    assert any("callgate" in line for line in terminal.scrollback)


@pytest.mark.slow
def test_the_message_is_written_in_an_editor(play: Play, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'and more' >> \"$1\"\n")
    editor.chmod(0o755)
    terminal = play("talks", env={"VISUAL": str(editor)})
    terminal.wait_for("idle")
    terminal.type("this ")
    terminal.press("ctrl-x", "ctrl-e")
    terminal.wait_for("this and more")

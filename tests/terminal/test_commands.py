"""Slash commands in a real terminal."""

import pytest

from tests.terminal.conftest import Play

READY = "idle"


@pytest.mark.slow
def test_clear_begins_a_session_in_the_same_terminal_and_resume_goes_back(play: Play) -> None:
    terminal = play("talks")
    terminal.wait_for(READY)
    terminal.type("first words")
    terminal.press("enter")
    terminal.wait_for(lambda seen: "done" in seen.text and READY in seen.text)
    terminal.type("/clear")
    terminal.press("enter")
    terminal.wait_for("This is a new session.")
    before = terminal.text.split("/resume ")[1].split()[0]
    terminal.type("/cost")
    terminal.press("enter")
    terminal.wait_for("No request was sent")
    terminal.type(f"/resume {before}")
    terminal.press("enter")
    terminal.wait_for(lambda seen: seen.text.count("first words") >= 2)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []


def test_a_command_leaves_no_list_behind_and_interrupt_keys_empty_the_line_at_once(play: Play) -> None:
    terminal = play("talks")
    terminal.wait_for(READY)
    terminal.type("/undo")
    terminal.press("enter")
    terminal.wait_for("There is no change to undo.")
    terminal.gone("the newest change")
    terminal.type("/co")
    terminal.wait_for("/compact")
    terminal.press("ctrl-c")
    terminal.gone("/co")
    terminal.press("ctrl-c")
    terminal.wait_for("Ctrl-C once more quits")
    terminal.gone("once more quits")


@pytest.mark.slow
def test_help_and_context_fit_sixty_columns(play: Play) -> None:
    terminal = play("talks", columns=60, rows=50)
    terminal.wait_for(READY)
    for command, shown in (("/help", "/keys lists the keys"), ("/context", "estimated")):
        terminal.type(command)
        terminal.press("enter")
        terminal.wait_for(shown)
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []

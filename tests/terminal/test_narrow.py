"""Hints about pressed keys at 60 columns and fewer, in a real terminal."""

import pytest

from tests.terminal.conftest import Play

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("columns", "rows"), [(100, 30), (80, 24), (60, 20), (60, 10), (46, 20)])
def test_the_first_ctrl_d_says_that_the_second_one_quits(play: Play, columns: int, rows: int) -> None:
    terminal = play("runs", columns=columns, rows=rows)
    terminal.wait_for("idle")
    terminal.type("go")
    terminal.press("enter")
    terminal.wait_for("running Sleep, ")
    terminal.press("ctrl-d")
    terminal.wait_for("Ctrl-D once more quits")
    terminal.press("ctrl-d")
    assert terminal.wait_for_exit() == 0
    assert terminal.faults == []


SIZES = ((60, 20), (100, 12), (40, 30), (61, 10), (59, 24), (120, 40), (80, 12), (100, 30))


@pytest.mark.parametrize(
    ("name", "keys", "seen", "closed"),
    [
        ("talks", "/model\r", "Enter", "Model (now"),
        ("talks", "?", "Esc back", "Keys of"),
        ("wonders", "go\r", "Esc no answer", "own words"),
        ("asks", "go\r", "y yes", "? Allow"),
        ("runs", "go\r", "running Sleep, ", "running Sleep"),
    ],
)
def test_a_resize_at_any_moment_leaves_no_line_above(play: Play, name: str, keys: str, seen: str, closed: str) -> None:
    terminal = play(name, columns=100, rows=30)
    terminal.wait_for("idle")
    terminal.type(keys)
    terminal.wait_for(seen)
    for columns, rows in SIZES:
        terminal.resize(columns, rows)
        terminal.read(0.02)
    terminal.press("esc")
    terminal.wait_for("idle")
    terminal.press("ctrl-l")
    terminal.gone(closed)
    terminal.wait_for(lambda seen: seen.text.count("default mode") == 1)
    assert closed not in terminal.text


@pytest.mark.parametrize("columns", [100, 60])
def test_the_list_of_commands_says_how_many_follow(play: Play, columns: int) -> None:
    terminal = play("talks", columns=columns, rows=20)
    terminal.wait_for("idle")
    terminal.type("/")
    terminal.wait_for("more")
    assert any(line.strip().endswith(" more") and line.strip().startswith("…") for line in terminal.lines)
    terminal.type("theme")
    terminal.gone(" more")

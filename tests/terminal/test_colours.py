"""Diffs in a real terminal: the card and the printed result, for each number of colours."""

from pathlib import Path

import pytest
from pyte.screens import Char

from tests.terminal.conftest import Play
from tests.terminal.driver import TerminalDriver
from tests.terminal.test_cards import _armed, _asked

TERMINALS = {
    "all colours": {"COLORTERM": "truecolor"},
    "256": {"TERM": "xterm-256color"},
    "16": {"TERM": "linux"},
    "light, all colours": {"COLORTERM": "truecolor", "COLORFGBG": "0;15"},
    "light, 256": {"COLORFGBG": "0;15"},
    "light, 16": {"TERM": "linux", "COLORFGBG": "0;15"},
}


def rows_with(terminal: TerminalDriver, text: str) -> list[list[Char]]:
    return [terminal.screen.cells(at) for at, line in enumerate(terminal.lines) if text in line]


def grounds(cells: list[Char]) -> list[str]:
    return [cell.fg if cell.reverse else cell.bg for cell in cells]


def changes(terminal: TerminalDriver) -> list[tuple[set[str], set[str], set[str]]]:
    """The backgrounds of the removed line, of the added line, and of the line that is the same, for each diff."""
    found = [rows_with(terminal, text) for text in ("1 - RATE = 10", "1 + RATE = 15", "2   NAME")]
    return [tuple(set(grounds(cells)[2:-1]) for cells in three) for three in zip(*found, strict=True)]  # pyright: ignore


@pytest.mark.spec("TUI-18")
@pytest.mark.slow
@pytest.mark.parametrize("name", TERMINALS)
@pytest.mark.parametrize("columns", [100, 60])
def test_a_diff_has_its_colours_in_the_card_and_in_the_result(
    play: Play, workspace: Path, name: str, columns: int
) -> None:
    file = workspace / "src/shop/basket/models/seasonal.py"
    file.parent.mkdir(parents=True)
    terminal = play("deep", columns=columns, rows=40, env=TERMINALS[name])
    _asked(terminal, "Allow Write")
    terminal.press("y")
    _armed(terminal, "Allow Edit")
    card = changes(terminal)
    terminal.press("y")
    _armed(terminal, "Allow Read")
    printed = changes(terminal)
    assert len(card) == len(printed) == 1
    for removed, added, same in (*card, *printed):
        assert same == {"default"}
        assert len(removed) == len(added) == 2, (removed, added)  # the line and its changed words
        assert not removed & added
    last = {text: grounds(rows_with(terminal, text)[0])[-1] for text in ("1 - RATE = 10", "1 + RATE = 15")}
    assert "default" not in last.values()  # the printed lines reach the edge


@pytest.mark.spec("TUI-18")
@pytest.mark.slow
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "COLORTERM": "truecolor"}])
def test_without_colours_signs_and_carets_show_the_change(play: Play, workspace: Path, env: dict[str, str]) -> None:
    (workspace / "src/shop/basket/models").mkdir(parents=True)
    terminal = play("deep", columns=100, rows=40, env=env)
    _asked(terminal, "Allow Write")
    terminal.press("y")
    _armed(terminal, "Allow Edit")
    terminal.press("y")
    _armed(terminal, "Allow Read")
    shown = "\n".join(terminal.lines)
    assert "  1 - RATE = 10\n             ^^\n  1 + RATE = 15\n             ^^\n" in shown
    for at in range(terminal.screen.lines):
        assert {(cell.fg, cell.bg) for cell in terminal.screen.cells(at)} == {("default", "default")}

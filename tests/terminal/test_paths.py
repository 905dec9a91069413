"""Paths on the screen are relative to the workspace, and a question shows its path once."""

from pathlib import Path

import pytest

from tests.terminal.conftest import Play
from tests.terminal.driver import TerminalDriver
from tests.terminal.test_cards import _armed, _asked


def card(terminal: TerminalDriver) -> str:
    lines = terminal.lines
    start = max(at for at, line in enumerate(lines) if line.startswith(("─" * 20, "-" * 20)))
    return "\n".join(lines[start:])


@pytest.mark.spec("TUI-18")
@pytest.mark.slow
@pytest.mark.parametrize("columns", [100, 60])
def test_a_question_shows_a_relative_path_once(play: Play, workspace: Path, columns: int) -> None:
    (workspace / "src/shop/basket/models").mkdir(parents=True)
    terminal = play("deep", columns=columns, rows=40)
    _asked(terminal, "Allow Write")
    path = "src/shop/basket/models/seasonal.py"
    for question in ("Write", "Edit"):
        shown = card(terminal)
        assert f"? Allow {question}({path})" in shown
        assert shown.count("seasonal.py") == 1, shown
        assert "RATE = 1" in shown
        assert str(workspace) not in shown
        assert "would allow" not in shown
        terminal.press("y")
        terminal.wait_for("Allow Edit" if question == "Write" else "Allow Read")
        _armed(terminal, "Allow Edit" if question == "Write" else "Allow Read")
    shown = card(terminal)
    assert "? Allow Read(/etc/hostname)" in shown
    assert shown.count("/etc/hostname") == 1, shown
    assert "limit: 5" in shown
    assert "outside the workspace" in " ".join(shown.split())
    terminal.press("y")
    terminal.wait_for("All is changed.")
    text = terminal.text
    begin = text.index("please do it")
    assert str(workspace) not in text[begin:].replace("\n", "")
    for line in ("Read(missing.py)  failed", "done", "+1 −1"):
        assert line in text
    assert "  missing.py does not exist." in text


@pytest.mark.spec("TUI-18")
@pytest.mark.slow
def test_a_path_that_does_not_fit_is_shortened_in_the_title_and_whole_above_the_diff(
    play: Play, workspace: Path
) -> None:
    (workspace / "src/shop/basket/models").mkdir(parents=True)
    terminal = play("deep", columns=40, rows=40)
    _asked(terminal, "Allow Write")
    shown = card(terminal)
    assert "? Allow Write(src/shop/…/seasonal.py)" in shown
    assert "src/shop/basket/models/seasonal.py" in "".join(line.strip() for line in shown.split("\n"))

"""The line of effort, from faster to smarter."""

import pytest

from callgate.tui.panels.effort_panel import EffortPanel
from callgate.words.model import Effort, EffortInForce
from tests.tui.panel_terminal import PanelTerminal

LEVELS: tuple[Effort, ...] = ("low", "medium", "high", "max")


def _opened(now: EffortInForce) -> tuple[PanelTerminal, EffortPanel, list[Effort]]:
    terminal, taken = PanelTerminal(), list[Effort]()
    panel = EffortPanel(terminal, LEVELS, now, taken.append)
    terminal.open_panel(panel)
    return terminal, panel, taken


def test_the_line_begins_at_what_is_in_force_and_stops_at_its_ends() -> None:
    terminal, panel, taken = _opened(EffortInForce("high", "session", "high"))
    assert "[high]" in "\n".join(panel.lines(80, 20))
    for action in ("right", "right", "right"):
        panel.act(action)
    assert "faster --" not in panel.lines(80, 20)[2]
    assert "[max]" in "\n".join(panel.lines(80, 20))
    panel.act("start")
    panel.typed("h")
    assert LEVELS[panel.at] == "low"
    panel.typed("l")
    panel.act("choose")
    assert (taken, terminal.panels) == (["medium"], [])


@pytest.mark.parametrize("leave", ["cancel", "q"])
def test_leaving_it_sets_nothing(leave: str) -> None:
    terminal, panel, taken = _opened(EffortInForce(None, "model", None))
    panel.act("end")
    if leave == "q":
        panel.typed("q")
    else:
        panel.act(leave)
    assert (taken, terminal.panels) == ([], [])


def test_a_narrow_terminal_gets_a_list_and_the_environment_is_named() -> None:
    _terminal, panel, _taken = _opened(EffortInForce("low", "environment", "low"))
    shown = panel.lines(40, 20)
    assert next(line.strip() for line in shown if "low" in line).startswith("❯ low")
    assert "CALLGATE_EFFORT is low" in " ".join(line.strip() for line in shown)
    assert all(len(line) <= 40 for line in shown)

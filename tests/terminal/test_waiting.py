"""What the agent waits for, in a real terminal."""

from pathlib import Path

import pytest

from tests.terminal.conftest import Play

pytestmark = pytest.mark.slow


@pytest.mark.spec("TUI-6")
@pytest.mark.parametrize(("name", "seen"), [("thinks", "waiting for the model, 2."), ("runs", "running Sleep, 2.")])
def test_a_wait_of_over_two_seconds_is_named(name: str, seen: str, play: Play) -> None:
    terminal = play(name, columns=60)
    terminal.wait_for("idle")
    terminal.type("go")
    terminal.press("enter")
    terminal.wait_for("working, ")
    terminal.wait_for(seen)
    terminal.press("esc")
    terminal.wait_for("interrupted")


@pytest.mark.spec("TUI-6")
def test_a_slow_hook_is_named_while_it_runs_and_shown_with_its_time(play: Play, tmp_path: Path) -> None:
    own = tmp_path / "home" / ".config" / "callgate"
    own.mkdir(parents=True)
    (own / "settings.toml").write_text("[[hooks.UserPromptSubmit]]\ncommand = 'sleep 2.6'\n")
    terminal = play("talks", columns=60)
    terminal.wait_for("idle")
    terminal.type("go")
    terminal.press("enter")
    terminal.wait_for("running hook UserPromptSubmit sleep 2.6, 2.")
    terminal.wait_for(lambda seen: any(line.endswith("scripted") for line in seen.lines))  # the mode and the model too
    terminal.wait_for("hook UserPromptSubmit sleep 2.6 took 2.")
    terminal.wait_for("here.")

"""Notes about a start, in a real terminal."""

import sys
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver

SETTINGS = """
[models]
default = "local/small"
[providers.local]
family = "openai-chat"
base_url = "http://127.0.0.1:9/v1"
"""


@pytest.mark.slow
def test_a_note_is_shown_before_the_first_prompt_and_only_once(tmp_path: Path) -> None:
    work, own = tmp_path / "work", tmp_path / "home" / ".config" / "callgate"
    (work / ".callgate").mkdir(parents=True)
    (work / ".callgate" / "settings.toml").write_text("[[hooks.Stop]]\ncommand = 'true'\n")
    own.mkdir(parents=True)
    (own / "settings.toml").write_text(SETTINGS)
    with TerminalDriver([sys.executable, "-m", "callgate"], cwd=work, env={"HOME": str(tmp_path / "home")}) as terminal:
        terminal.wait_for("? Trust")
        terminal.wait_for("Enter take")
        terminal.press("esc")
        terminal.wait_for("callgate trust show")
        terminal.wait_for("idle")
        terminal.type("hi")
        terminal.press("enter")
        terminal.wait_for("The model failed")
        assert terminal.text.count("callgate trust show") == 1
        terminal.wait_for("idle")
        terminal.press("ctrl-d")
        assert terminal.wait_for_exit() == 0

"""The status line in a real terminal."""

import sys
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver

SETTINGS = r"""
[models]
default = "local/small"
[providers.local]
family = "openai-chat"
base_url = "http://127.0.0.1:9/v1"
[statusline]
command = '''mode=$(sed 's/.*"mode": "\([a-z_]*\)".*/\1/'); printf '\033[31mmode is %s\033[2J' "$mode" '''
padding = 3
"""


@pytest.mark.slow
@pytest.mark.spec("STL-4")
def test_the_line_of_the_person_follows_the_mode(tmp_path: Path) -> None:
    work, own = tmp_path / "work", tmp_path / "home" / ".config" / "callgate"
    work.mkdir()
    own.mkdir(parents=True)
    (own / "settings.toml").write_text(SETTINGS)
    with TerminalDriver([sys.executable, "-m", "callgate"], cwd=work, env={"HOME": str(tmp_path / "home")}) as terminal:
        terminal.wait_for("   mode is default")
        terminal.press("shift-tab")
        terminal.wait_for("   mode is accept_edits")
        terminal.press("ctrl-d")
        assert terminal.wait_for_exit() == 0
        assert terminal.faults == []
        assert b"\x1b[2J" not in terminal.output

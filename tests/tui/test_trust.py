"""The question whether a folder is trusted."""

import asyncio
from pathlib import Path

import pytest

from callgate.config import Config, load_config
from callgate.policy.trust import Trust, Trusted
from callgate.tui.panels.trust_panel import TrustPanel, ask_trust
from tests.tui.panel_terminal import PanelTerminal, shown

HOOK = '[[hooks.PreToolUse]]\nmatcher = "Bash"\ncommand = "make lint"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / ".callgate").mkdir(parents=True)
    (made / ".callgate/settings.toml").write_text(HOOK)
    return made


def _config(folder: Path) -> Config:
    return load_config(folder, environ={"CALLGATE_DATA_DIR": str(folder.parent / "data")}, home=folder.parent)


def _asked(folder: Path, *actions: str) -> tuple[bool, PanelTerminal, str]:
    """The answer to the question after these keys, the terminal, and the lines of the question."""

    async def main() -> tuple[bool, PanelTerminal, str]:
        terminal = PanelTerminal()
        asking = asyncio.ensure_future(ask_trust(terminal, _config(folder)))
        await terminal.until(lambda: terminal.panels)
        (panel,) = terminal.panels
        assert isinstance(panel, TrustPanel)
        lines = shown(panel, width=80)
        panel.typed("y")
        for action in actions:
            panel.act(action)
        return await asking, terminal, lines

    return asyncio.run(main())


def test_a_folder_is_trusted_as_it_was_shown(folder: Path) -> None:
    trusts, terminal, lines = _asked(folder, "down", "choose")
    assert trusts
    assert "runs `make lint` before every Bash" in " ".join(lines.split())
    assert not terminal.panels
    assert isinstance(_config(folder).trust, Trusted)
    (folder / ".callgate/settings.toml").write_text(HOOK.replace("lint", "all"))
    _, _, lines = _asked(folder, "cancel")
    assert "The folder changed since you trusted it." in lines


def test_not_now_is_where_the_cursor_begins_and_asks_again(folder: Path) -> None:
    for _ in range(2):
        trusts, _, _ = _asked(folder, "choose")
        assert not trusts
    assert not isinstance(_config(folder).trust, Trusted)


def test_a_file_is_named_once(folder: Path) -> None:
    (folder / ".callgate/commands").mkdir()
    (folder / ".callgate/commands/greet.md").write_text("hello")
    _, _, lines = _asked(folder, "cancel")
    assert lines.count("greet.md") == 1


def test_never_is_remembered_until_the_folder_is_trusted(folder: Path) -> None:
    trusts, terminal, _ = _asked(folder, "up", "choose")
    assert not trusts
    assert "callgate trust add" in terminal.notices[0]
    assert asyncio.run(ask_trust(PanelTerminal(), _config(folder))) is False
    store = Trust(_config(folder).data)
    assert store.declined(folder)
    assert store.list() == ()


def test_nothing_is_asked_where_there_is_nothing_to_trust(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert asyncio.run(ask_trust(PanelTerminal(), _config(tmp_path / "work"))) is False

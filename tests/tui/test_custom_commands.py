"""Custom slash commands from Markdown files, and skills as commands."""

import asyncio
from pathlib import Path

import pytest

from callgate import Session, load_config
from callgate.config import Config
from callgate.testing import ScriptedModel, say, turn
from callgate.tui.commands import read_custom
from callgate.words.inputs import Prompt
from tests.tui.fakes import FakeTerminal


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def config_in(tmp_path: Path, *, trust: bool = True) -> Config:
    environ = {
        "HOME": str(tmp_path / "home"),
        "CALLGATE_DATA_DIR": str(tmp_path / "data"),
        "CALLGATE_CONFIG_DIR": str(tmp_path / "mine"),
    }
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    return load_config(root, environ=environ, trust=trust)


def played(config: Config, *texts: str) -> FakeTerminal:
    """Runs commands one after the other."""

    async def main() -> FakeTerminal:
        async with Session(ScriptedModel(otherwise=turn(say("Fine.")))) as session:
            terminal = FakeTerminal(session, config)
            await read_custom(terminal, config)
            for text in texts:
                await terminal.run(text)
            return terminal

    return asyncio.run(main())


def prompts(terminal: FakeTerminal) -> list[str]:
    return [each.content for each in terminal.sent if isinstance(each, Prompt) and isinstance(each.content, str)]


def test_a_file_becomes_a_prompt_with_its_arguments_filled_in(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    written(
        config.root / ".callgate/commands/fix.md",
        "---\ndescription: Fixes it\nargument-hint: NUMBER\neffort: high\n---\nFix $1 of @src/a.py: $ARGUMENTS.\n",
    )
    written(tmp_path / "mine/commands/db/migrate.md", "# Migrates\n\nMigrate it, `!rm -rf x` stays text.\n")
    terminal = played(config, '/fix "12 a" now', "/db:migrate carefully", "/help fix")
    assert prompts(terminal) == [
        'Fix 12 a of @src/a.py: "12 a" now.',
        "# Migrates\n\nMigrate it, `!rm -rf x` stays text.\n\nArguments: carefully",
    ]
    assert terminal.sent[0].options.request.effort == "high"  # pyright: ignore
    assert "/fix NUMBER" in terminal.text()
    assert "Fixes it (of this folder)" in " ".join(terminal.text().split())


def test_commands_of_a_folder_count_once_it_is_trusted(tmp_path: Path) -> None:
    written(tmp_path / "work/.callgate/commands/fix.md", "Fix it.")
    terminal = played(config_in(tmp_path, trust=False), "/fix")
    assert not prompts(terminal)
    assert "There is no command /fix" in terminal.text()
    assert prompts(played(config_in(tmp_path), "/fix")) == ["Fix it."]


def test_a_name_of_callgate_is_refused_with_a_notice_and_odd_files_are_named(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    folder = config.root / ".callgate/commands"
    written(folder / "help.md", "Mine.")
    written(folder / "mcp.md", "Mine.")
    written(folder / "od d.md", "Mine.")
    written(folder / "tools.txt", "Not Markdown.")
    written(folder / "bad.md", "---\nnonsense\n---\nx")
    written(folder / "model.md.md", "---\nmodel: opus\n---\nx")
    written(folder / "asks.md", "---\nallowed-tools: Bash\neffort: huge\n---\nGo.")
    (folder / "out.md").symlink_to(written(tmp_path / "secret", "SECRET"))
    terminal = played(config, "/asks")
    shown = " ".join(terminal.text().split())
    for wanted in (
        "/help is already a command of Callgate",
        "/mcp is already a command of Callgate",
        "od d.md: a name must consist of at most 64 letters",
        "bad.md: line 2",
        "allowed-tools has no effect",
        "effort must be one of",
        "outside of",
    ):
        assert wanted.replace(" ", "") in shown.replace(" ", ""), wanted
    assert prompts(terminal) == ["Go."]
    assert {each.name for each in terminal.custom} == {"asks"}


def test_of_two_with_one_name_that_of_the_folder_counts_and_a_skill_is_a_command(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    written(config.root / ".callgate/commands/fix.md", "The folder's.")
    written(tmp_path / "mine/commands/fix.md", "Mine.")
    written(
        tmp_path / "mine/skills/ship/SKILL.md",
        "---\nname: ship\ndescription: Ships it.\ndisable-model-invocation: true\n---\nShip $ARGUMENTS!\n",
    )
    terminal = played(config, "/fix", "/ship today", "/skills")
    assert prompts(terminal) == ["The folder's.", "Ship today!"]
    assert "/ship" in terminal.text()


def test_a_file_that_is_gone_or_changed_is_read_anew_when_it_is_used(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    path = written(config.root / ".callgate/commands/fix.md", "One.")
    gone = written(config.root / ".callgate/commands/gone.md", "Two.")

    async def main() -> FakeTerminal:
        async with Session(ScriptedModel()) as session:
            terminal = FakeTerminal(session, config)
            await read_custom(terminal, config)
            path.write_text("Changed.")
            gone.unlink()
            await terminal.run("/fix")
            await terminal.run("/gone")
            return terminal

    terminal = asyncio.run(main())
    assert prompts(terminal) == ["Changed."]
    assert "/gone cannot be used" in terminal.text()


@pytest.mark.parametrize("text", ["", "---\ndescription: x\n---\n\n"])
def test_a_file_without_a_text_sends_nothing(tmp_path: Path, text: str) -> None:
    config = config_in(tmp_path)
    written(config.root / ".callgate/commands/empty.md", text)
    terminal = played(config, "/empty")
    assert not terminal.sent
    assert "has no text" in " ".join(terminal.text().split())

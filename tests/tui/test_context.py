"""/context: the grid and the table of the next request."""

import asyncio
from pathlib import Path

import pytest

from callgate import Session, Toolbox, load_config, tool
from callgate.assembly.agent import agent_session
from callgate.testing import ScriptedModel, call, say, stop, turn
from callgate.tui.blocks import LinesBlock
from callgate.tui.commands.slash_usage import COLUMNS, ROWS, WindowPart, grid_cells, window_parts
from callgate.tui.theme import Theme
from callgate.words.inputs import Compact, Prompt
from callgate.words.messages import Usage
from callgate.words.model import Abilities
from tests.tui.fakes import FakeTerminal


@tool(effects="none")
def look(what: str) -> str:
    """Looks at something."""
    return f"seen {what} " * 200


@pytest.mark.spec("CMD-2")
def test_the_kinds_add_up_to_the_count_and_all_of_it_to_the_window(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use four blanks. " * 50)
    skill = tmp_path / "home" / ".agents" / "skills" / "ship" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: ship\ndescription: Ships it.\n---\nShip.\n")
    reported = Usage(input=30_001, output=77)
    model = ScriptedModel(
        turn(say("Well."), call("Glob", pattern="*"), stop("tool_calls", reported)),
        turn(say("Done."), stop("end", reported)),
        otherwise=turn(say("Summary: all is well.")),
        abilities=Abilities(context_tokens=200_000, context_from="from your models.toml", output_tokens=8_000),
    )
    environ = {"HOME": str(tmp_path / "home"), "CALLGATE_DATA_DIR": str(tmp_path / "data")}

    async def main() -> None:
        config = load_config(tmp_path, environ=environ, trust=True)
        async with await agent_session(config, model) as session:
            terminal = FakeTerminal(session, config)
            await session.send(Prompt("look around"))
            use = session.controls.context_use()
            assert use.count.reported == 30_078
            parts = {part.kind: part.tokens for part in window_parts(use)}
            kinds = {"system", "instructions", "tools", "skills", "prompts", "answers", "calls", "results"}
            assert set(parts) == {*kinds, "free", "for the answer"}
            assert sum(parts[kind] for kind in kinds) == use.count.total
            assert sum(parts.values()) == 200_000
            shown = await terminal.run("/context")
            assert f"{use.count} tokens" in shown
            assert "of 200,000, from your models.toml" in " ".join(shown.split())
            await terminal.run("/status")
            rows = {row[0]: row[1] for row in terminal.tables[-1].rows}
            assert rows["context window"] == "200,000 tokens, from your models.toml"
            await session.send(Compact())
            assert "summary" in await terminal.run("/context")
            after = session.controls.context_use()
            assert sum(part.tokens for part in window_parts(after)[:-2]) == after.count.total

    asyncio.run(main())


def test_the_grid_has_its_size_and_every_part_that_has_tokens_has_a_cell() -> None:
    parts = [WindowPart(str(at), tokens, "a", "") for at, tokens in enumerate((1, 0, 3, 150_000, 49_996))]
    cells = [part.kind for part in grid_cells(parts, 100)]
    assert len(cells) == 100
    assert sorted(set(cells)) == ["0", "2", "3", "4"]
    assert cells == sorted(cells)
    assert grid_cells([], 100) == []


def test_without_colours_letters_tell_the_parts_apart_and_an_unknown_window_is_said() -> None:
    async def main() -> None:
        async with Session(ScriptedModel(), Toolbox(look), system="Be kind.") as session:
            terminal = FakeTerminal(session)
            terminal.theme = Theme("mono", colours=False, unicode=False)
            shown = await terminal.run("/context")
            assert "a  system" in shown
            assert "is unknown" in shown
            assert shown.isascii()
            grid = next(each for each in terminal.fold.blocks if isinstance(each, LinesBlock))
            assert len(grid.lines) == ROWS + 1
            assert all(len(line) == COLUMNS + 1 for line in grid.lines[1:])

    asyncio.run(main())

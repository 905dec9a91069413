"""Modes of tool search: on, off and by the share of the window; by settings and by the environment."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Session, Toolbox, tool
from callgate.config import Config, load_config
from callgate.core.ports import ToolSource
from callgate.features import search_feature
from callgate.testing import ScriptedModel, say, turn
from callgate.words.errors import UsageError
from callgate.words.model import Abilities
from callgate.words.tool_search import EXECUTE, SEARCH, percent_of
from callgate.words.window import spec_tokens
from tests.search.deferred_kit import Changing, names, reminders, server_tool

DONE = turn(say("Done."))
TWO = (server_tool("a", "word " * 10_000), server_tool("b", "word " * 10_000))
COST = spec_tokens(each.spec for each in TWO)
SEARCHES = ["Look", SEARCH, EXECUTE]
LOADED = ["Look", "mcp__hub__a", "mcp__hub__b"]


@tool(name="Look", effects="none")
def look(path: str) -> str:
    """Look at a file."""
    return path


def config(root: Path, mode: str | None = None, **environ: str) -> Config:
    home = root / "home"
    home.mkdir(exist_ok=True)
    values = {} if mode is None else {"tools.search": mode}
    return load_config(root, environ={"HOME": str(home), **environ}, managed=home / "none.toml", values=values)


async def talk(found: Config, source: ToolSource, window: int | None = None) -> ScriptedModel:
    model = ScriptedModel(DONE, DONE, abilities=Abilities(context_tokens=window))
    async with Session(model, [look], features=[search_feature(source)], config=found) as session:
        await session.run("one")
        if isinstance(source, Changing):
            source.add(server_tool("late"))
        await session.run("two")
    return model


@pytest.mark.spec("SRC-5")
@pytest.mark.parametrize(
    ("mode", "window", "sent"),
    [
        (None, None, SEARCHES),
        ("on", 10 * COST, SEARCHES),
        ("off", 2 * COST, LOADED),
        ("auto", 10 * COST, LOADED),
        ("auto", 10 * COST - 1, SEARCHES),
        ("auto:50", 2 * COST, LOADED),
        ("auto:50", 2 * COST - 1, SEARCHES),
        ("auto:50", None, SEARCHES),
        ("auto:0", 1_000 * COST, SEARCHES),
        ("auto:100", 2 * COST, LOADED),
    ],
)
async def test_tools_are_deferred_as_the_mode_says(
    tmp_path: Path, mode: str | None, window: int | None, sent: list[str]
) -> None:
    model = await talk(config(tmp_path, mode), Toolbox(*TWO), window)
    assert names(model) == [sent, sent]
    assert bool(reminders(model.requests[1])) == (sent is SEARCHES)


@pytest.mark.spec("SRC-5")
async def test_where_tools_may_come_later_they_are_searched_and_the_loaded_ones_stay(tmp_path: Path) -> None:
    model = await talk(config(tmp_path, "auto"), Changing(*TWO), 1_000 * COST)
    assert names(model) == [[*LOADED, SEARCH, EXECUTE]] * 2
    assert "+ mcp__hub__late" in reminders(model.requests[1])[-1]
    model = await talk(config(tmp_path, "off"), Changing(*TWO))
    assert names(model) == [LOADED, [*LOADED, "mcp__hub__late"]]
    assert reminders(model.requests[1]) == []


@pytest.mark.spec("SRC-5")
async def test_a_tool_that_is_always_loaded_is_in_every_request(tmp_path: Path) -> None:
    source = Changing(server_tool("a", always_loaded=True), server_tool("b"))
    model = await talk(config(tmp_path), source)
    assert names(model) == [["Look", "mcp__hub__a", SEARCH, EXECUTE]] * 2
    assert "mcp__hub__a" not in reminders(model.requests[1])[0]


@pytest.mark.spec("SRC-11")
@pytest.mark.parametrize(
    ("text", "percent"), [("on", 0), ("off", 100), ("auto", 10), ("auto:0", 0), ("auto:35", 35), ("auto:100", 100)]
)
def test_the_variable_says_the_mode_and_comes_before_the_files(tmp_path: Path, text: str, percent: int) -> None:
    folder = tmp_path / "home/.config/callgate"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text('[tools]\nsearch = "auto:77"\n')
    assert config(tmp_path).settings.tools_search == "auto:77"
    found = config(tmp_path, CALLGATE_TOOL_SEARCH=text)
    assert (found.settings.tools_search, percent_of(found.settings.tools_search)) == (text, percent)


@pytest.mark.spec("SRC-11")
@pytest.mark.parametrize("text", ["maybe", "auto:", "auto:101", "auto:-1", "ON", "10"])
def test_a_mode_that_there_is_not_is_refused_in_words(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="CALLGATE_TOOL_SEARCH must be on, off, auto or auto:N"):
        config(tmp_path, CALLGATE_TOOL_SEARCH=text)
    with pytest.raises(UsageError, match=r"tools\.search must be on, off, auto or auto:N"):
        config(tmp_path, text)
    folder: Any = tmp_path / "home/.config/callgate"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(f'[tools]\nsearch = "{text}"\n')
    assert "must be on, off, auto or auto:N" in str(config(tmp_path).faults[0])

"""The template of ``callgate tools new``: written once, and a tool as it is."""

import asyncio
from pathlib import Path

import pytest

from callgate.cli.tools_commands import new_tool
from callgate.host.local import LocalHost
from callgate.tools.custom import Api, load_tools
from callgate.tools.custom.tool_files import ToolFolder
from callgate.words.errors import UsageError
from tests.tools.custom_kit import names, said


def test_the_template_is_a_tool_that_works(tmp_path: Path) -> None:
    lines = new_tool("count_lines", tmp_path)
    assert lines == [
        "wrote .callgate/tools/count_lines.py",
        "next: edit the file, then run `callgate trust add`",
        "code in this folder runs only after you trust it; you are asked again after each change",
    ]
    folder = ToolFolder(tmp_path / ".callgate" / "tools", "project", trusted=True)
    loaded = asyncio.run(load_tools([folder], Api(tmp_path)))
    assert (names(loaded), loaded.problems) == (["count_lines"], ())
    (tmp_path / "poem.txt").write_text("one\ntwo\n")
    assert said(loaded, "count_lines", LocalHost(tmp_path), path="poem.txt") == "poem.txt has 2 lines"


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    new_tool("mine", tmp_path)
    file = tmp_path / ".callgate" / "tools" / "mine.py"
    file.write_text("precious")
    with pytest.raises(UsageError, match=r"^\.callgate/tools/mine\.py already exists: choose another name"):
        new_tool("mine", tmp_path)
    assert file.read_text() == "precious"
    new_tool("other", tmp_path)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("my-tool", "my_tool", id="dash"),
        pytest.param("tool.py", "tool", id="ending"),
        pytest.param("a b", "a_b", id="blank"),
        pytest.param("_mine", "mine", id="underscore"),
        pytest.param("../evil", "evil", id="path"),
        pytest.param("1st", None, id="digit"),
        pytest.param("class", None, id="keyword"),
        pytest.param("größe", "gr__e", id="letters"),
        pytest.param("", None, id="empty"),
        pytest.param("x" * 65, None, id="long"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str, meant: str | None) -> None:
    with pytest.raises(UsageError, match="is not a valid tool name") as refusal:
        new_tool(name, tmp_path)
    assert str(refusal.value).endswith(f": did you mean {meant}?" if meant else ")")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_leads_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / ".callgate").mkdir(parents=True)
    (root / ".callgate" / "tools").symlink_to(elsewhere)
    with pytest.raises(UsageError, match=r"^\.callgate/tools is outside of"):
        new_tool("mine", root)
    assert list(elsewhere.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / ".callgate").mkdir()
    (tmp_path / ".callgate" / "tools").write_text("")
    with pytest.raises(UsageError, match="is not a folder"):
        new_tool("mine", tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".callgate").write_text("")
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        new_tool("mine", tmp_path / "work")

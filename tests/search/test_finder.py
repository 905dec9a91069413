"""The finder follows a few changes at once, and many in a thread."""

from collections.abc import Sequence

import pytest

from callgate.core.ports import Tool
from callgate.search.fields import READ, ToolText
from callgate.search.search_tools import INDEXED_AT_ONCE, ToolFinder
from callgate.search.tool_index import ToolIndex
from tests.search.deferred_kit import server_tool


@pytest.mark.spec("SRC-4")
async def test_many_tools_that_come_or_go_are_no_work_of_a_search_that_does_not_wait() -> None:
    few = [server_tool(f"send_{number}", "Send a letter.") for number in range(INDEXED_AT_ONCE)]
    many = [*few, server_tool("post", "Post a parcel.")]
    now: list[Sequence[Tool]] = [many]
    finder = ToolFinder(lambda: now[0])
    assert finder.find_now("parcel", 1) is None
    assert [hit.name for hit in await finder.find("parcel", 1)] == ["mcp__hub__post"]
    now[0] = ()
    assert finder.find_now("parcel", 1) is None
    assert await finder.find("parcel", 1) == []
    now[0] = few
    assert len(await finder.find("letter", INDEXED_AT_ONCE + 1)) == INDEXED_AT_ONCE


def test_a_field_is_read_up_to_a_length() -> None:
    index = ToolIndex()
    index.put(ToolText("long", f"{'word ' * READ} parcel"))
    assert [hit.name for hit in index.search("word")] == ["long"]
    assert index.search("parcel") == []

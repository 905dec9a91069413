"""The index of tools: what is found, in which order, and that it follows changes."""

from callgate.search.index import ToolIndex, ToolText


def index(*texts: ToolText) -> ToolIndex:
    made = ToolIndex()
    for text in texts:
        made.put(text)
    return made


def names(index: ToolIndex, query: str, *required: str) -> list[str]:
    return [hit.name for hit in index.search(query, required=required)]


def test_one_tool_in_the_index_is_found() -> None:
    assert names(index(ToolText("send_message", "Sends a text.")), "messages") == ["send_message"]


def test_a_required_term_is_enforced() -> None:
    tools = index(
        ToolText("mcp__slack__post", "Posts a message.", server="slack"), ToolText("send_mail", "Sends a message.")
    )
    assert names(tools, "send message", "slack") == ["mcp__slack__post"]
    assert names(tools, "send message", "teams") == []


def test_a_tool_is_replaced_and_dropped() -> None:
    tools = index(ToolText("one", "Reads the weather."), ToolText("two", "Reads the news."))
    tools.put(ToolText("one", "Plays music."))
    assert names(tools, "weather") == []
    assert names(tools, "music") == ["one"]
    tools.drop("one")
    assert (names(tools, "music"), len(tools), "one" in tools) == ([], 1, False)

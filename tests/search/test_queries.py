"""SearchExtraTools: its queries and its answers."""

import json
from typing import Any

import pytest

from callgate import Session, tool
from callgate.features import search_feature
from callgate.search.search_tools import MOST_CHARS, read_query
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.tools.tool import schema_tool
from callgate.words.messages import Resource, ResultPart, Text
from callgate.words.tool_search import SEARCH
from tests.search.deferred_kit import Changing, server_tool


@tool(name="Look", effects="none")
def look(path: str) -> str:
    """Look at a file."""
    return path


MAIL = server_tool("send_mail", "Send an e-mail to a person.")
ISSUE = server_tool("create_issue", "Create an issue in a tracker.")
CHAT = server_tool("send_message", "Send a message to a channel of the chat.")


async def answer(query: str, *tools: Any, **more: Any) -> ResultPart:
    """The answer to one search, as the model gets it."""
    model = ScriptedModel(turn(call(SEARCH, query=query, **more)), turn(say("Fine.")))
    source = Changing(*(tools or (MAIL, ISSUE, CHAT)))
    async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
        await session.run("go")
    (part,) = model.requests[-1].messages[-1].parts
    assert isinstance(part, ResultPart)
    return part


def found(part: ResultPart) -> list[dict[str, Any]]:
    return [json.loads(each.text or "") for each in part.content if isinstance(each, Resource)]


def said(part: ResultPart) -> str:
    return "\n".join(each.text for each in part.content if isinstance(each, Text))


@pytest.mark.spec("SRC-1")
async def test_an_answer_has_name_description_and_schema() -> None:
    (only,) = found(await answer("select:mcp__hub__send_mail"))
    assert only == {
        "name": "mcp__hub__send_mail",
        "description": "Send an e-mail to a person.",
        "input_schema": MAIL.spec.parameters,
    }


@pytest.mark.spec("SRC-1")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select:mcp__hub__send_message, mcp__hub__send_mail", ["send_message", "send_mail"]),
        ("SELECT:MCP__HUB__SEND_MAIL", ["send_mail"]),
        ("send an e-mail", ["send_mail"]),
        ("discover:create +issue", ["create_issue"]),
        ("+channel send", ["send_message"]),
        ("+tracker", ["create_issue"]),
        ("+mcp__hub__send_mail", ["send_mail"]),
        ("+mcp__hub +tracker", ["create_issue"]),
    ],
)
async def test_a_query_selects_discovers_requires_or_is_plain_words(query: str, names: list[str]) -> None:
    seen = [each["name"].removeprefix("mcp__hub__") for each in found(await answer(query))]
    assert seen[: len(names)] == names
    if query.startswith(("select", "SELECT", "+")):
        assert seen == names


@pytest.mark.spec("SRC-1")
async def test_a_required_term_is_enforced_and_an_empty_answer_says_what_to_try() -> None:
    part = await answer("+calendar send")
    assert found(part) == []
    assert not part.is_error
    assert "No tool that contains calendar was found" in said(part)
    assert "other or fewer words" in said(part)


@pytest.mark.spec("SRC-1")
@pytest.mark.parametrize(
    "query", ["select:Look", "select:LOOK,look", "Look", "look", "select:RESOLVE", "select:SearchExtraTools"]
)
async def test_a_core_tool_is_said_to_be_loaded_already_by_the_name_that_it_is_called_by(query: str) -> None:
    text = said(await answer(query))
    assert text.partition(" is already loaded")[0] in ("Look", "resolve", SEARCH)
    assert "There is no tool" not in text


@pytest.mark.spec("SRC-1")
async def test_a_name_that_there_is_not_gets_the_nearest_and_the_others_are_answered() -> None:
    part = await answer("select:mcp__hub__send_male,mcp__hub__create_issue")
    assert [each["name"] for each in found(part)] == ["mcp__hub__create_issue"]
    assert "There is no tool named 'mcp__hub__send_male'. Did you mean mcp__hub__send_mail" in said(part)


async def test_of_names_that_differ_in_capitals_alone_the_one_that_is_meant_is_found() -> None:
    tools = (server_tool("getuser", "Get one user."), server_tool("getUser", "Get all users."))
    for name in ("mcp__hub__getuser", "mcp__hub__getUser"):
        assert [each["name"] for each in found(await answer(f"select:{name}", *tools))] == [name]
    names = {each["name"] for each in found(await answer("get user", *tools))}
    assert names == {"mcp__hub__getuser", "mcp__hub__getUser"}


async def test_so_many_names_are_looked_up_at_once() -> None:
    part = await answer("select:" + ",".join(f"n{n}" for n in range(30)))
    assert said(part).count("There is no tool") == 20
    assert "10 more were ignored" in said(part)


@pytest.mark.parametrize("query", ["select:", "discover:  ", "   ", "?", "+", "\N{GRINNING FACE} --"])
async def test_a_query_that_says_nothing_fails_in_words(query: str) -> None:
    part = await answer(query)
    assert part.is_error
    assert "contains no words to search for" in said(part)


@pytest.mark.spec("SRC-1")
async def test_an_answer_is_bounded_in_number_and_in_length() -> None:
    tools = [server_tool(f"send_{n}", "Send something. " + "x" * 3_000) for n in range(30)]
    assert len(found(await answer("send something", *tools, max_results=3))) == 3
    part = await answer("send something", *tools, max_results=20)
    shown = found(part)
    assert sum(len(json.dumps(each)) for each in shown) <= MOST_CHARS
    late = said(part).partition("too long to show here: ")[2].partition(". ")[0].split(", ")
    assert len(shown) + len(late) == 20
    assert {each["name"] for each in shown}.isdisjoint(late)


@pytest.mark.spec("SRC-1")
async def test_a_definition_is_whole_even_if_its_schema_is_too_long_to_be_shown() -> None:
    many = {f"p{n}": {"type": "string", "description": "x" * 100} for n in range(500)}
    long = schema_tool("mcp__hub__long", "Long.", {"type": "object", "properties": many}, lambda a: "", effects="none")
    (shown,) = found(await answer("select:mcp__hub__long", long))
    assert shown["name"] == "mcp__hub__long"
    assert shown["input_schema"] == {"type": "object", "description": "The parameters are too long to show."}


def test_a_word_with_a_plus_is_required_and_a_lone_plus_is_a_word() -> None:
    query = read_query("+slack send + file")
    assert (query.required, query.words) == (("slack",), "slack send  file")

"""Deferred tools: which are in a request, how they are called, and what is on record."""

import asyncio
import json
from typing import Any, cast

import pytest

from callgate import Session, tool
from callgate.features import search_feature
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.tools.staging import Callbacks, stage
from callgate.words.errors import ToolDefinitionError, UsageError
from callgate.words.events import CallArrived
from callgate.words.messages import CallPart, ResultPart
from callgate.words.tool_search import EXECUTE, SEARCH
from tests.flows.kit import results
from tests.search.deferred_kit import Changing, names, server_tool
from tests.sessions import grouped_session, with_event


@tool(name="Look", effects="none")
def look(path: str) -> str:
    """Look at a file."""
    return f"content of {path}"


def execute(name: str, **params: Any) -> Any:
    return call(EXECUTE, tool_name=name, params=params)


async def talk(model: ScriptedModel, source: Changing | None, *prompts: str, **options: Any) -> Session:
    features = [] if source is None else [search_feature(source)]
    async with grouped_session(model, [look], features=features, host=MemoryHost(), **options) as session:
        for prompt in prompts or ("go",):
            await session.run(prompt)
    return session


@pytest.mark.spec("SRC-2")
def test_a_call_of_the_wrapper_is_one_of_its_target_on_record_and_as_written_in_the_request() -> None:
    model = ScriptedModel(turn(execute("mcp__hub__send", text="hi", count=2)), turn(say("Sent.")))
    arrived: list[CallArrived] = []

    async def run() -> Session:
        source = Changing(server_tool("send"))
        async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
            session.listen(with_event(lambda event: arrived.append(event) if isinstance(event, CallArrived) else None))
            await session.run("go")
        return session

    session = asyncio.run(run())
    assert results(session) == ["send of {'text': 'hi', 'count': 2}"]
    (event,) = arrived
    assert (event.name, event.asked_as, event.arguments) == ("mcp__hub__send", EXECUTE, {"text": "hi", "count": 2})
    answer, outcome = model.requests[1].messages[-2:]
    (sent,), (told,) = answer.parts, outcome.parts
    assert isinstance(sent, CallPart)
    assert isinstance(told, ResultPart)
    assert sent.name == told.name == EXECUTE
    assert json.loads(sent.raw_arguments or "") == {
        "tool_name": "mcp__hub__send",
        "params": {"text": "hi", "count": 2},
    }


@pytest.mark.spec("SRC-2")
def test_a_deferred_tool_can_be_called_by_its_own_name_and_without_a_search() -> None:
    model = ScriptedModel(turn(call("mcp__hub__send", text="hi")), turn(say("Sent.")))
    session = asyncio.run(talk(model, Changing(server_tool("send"))))
    assert results(session) == ["send of {'text': 'hi'}"]


def test_deferred_tools_are_given_as_a_list_like_others() -> None:
    async def run() -> None:
        async with Session(ScriptedModel(), [], features=[search_feature([look])], host=MemoryHost()) as session:
            assert [each.name for each in session.controls.deferred_specs] == ["Look"]
            assert session.controls.tool_search is not None
            assert session.controls.tool_search.sentence.startswith(
                "on: 1 tool is deferred; in every request it would take "
            )
        with pytest.raises(UsageError, match="pass a list of tools or a toolbox, not int"):
            Session(ScriptedModel(), [], features=[search_feature(cast(Any, 3))], host=MemoryHost())

    asyncio.run(run())


def test_a_misspelt_name_of_a_tool_of_the_search_gets_the_right_one() -> None:
    model = ScriptedModel(turn(call("SearchExtraTool", query="send"), call("ExecuteExtra")), turn(say("Oh.")))
    session = asyncio.run(talk(model, Changing(server_tool("send"))))
    searched, executed = results(session)
    assert SEARCH in searched
    assert EXECUTE in executed


def test_tools_that_come_and_go_leave_the_tools_of_the_requests_as_they_were() -> None:
    source = Changing()
    model = ScriptedModel(
        turn(execute("mcp__hub__send", text="1")),
        turn(say("not there")),
        turn(execute("mcp__hub__send", text="2")),
        turn(say("there")),
    )

    async def run() -> Session:
        async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
            await session.run("go")
            source.add(server_tool("send"), server_tool("keep", always_loaded=True))
            await session.run("again")
        return session

    session = asyncio.run(run())
    assert names(model) == [["Look", SEARCH, EXECUTE]] * 4
    first, second = results(session)
    assert "There is no tool named 'mcp__hub__send'" in first
    assert second == "send of {'text': '2'}"


def test_without_deferred_tools_there_is_no_search() -> None:
    model = ScriptedModel(turn(say("Hello.")))
    asyncio.run(talk(model, None))
    assert names(model) == [["Look"]]


@pytest.mark.parametrize("name", [SEARCH, EXECUTE])
def test_the_names_of_the_two_tools_are_theirs_alone(name: str) -> None:
    @tool(name=name, effects="none")
    def other() -> str:
        """Takes the place of another tool."""
        return "other"

    with pytest.raises(ToolDefinitionError, match=f"two tools have the name '{name}'"):
        Session(ScriptedModel(), [other], features=[search_feature(Changing())], host=MemoryHost())
    source = Changing()
    model = ScriptedModel(turn(say("Hello.")), turn(say("Again.")))

    async def run() -> Session:
        async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
            await session.run("go")
            source.add(other)
            await session.run("again")
            assert session.controls.deferred_specs == ()
        return session

    asyncio.run(run())
    assert names(model) == [["Look", SEARCH, EXECUTE]] * 2


@pytest.mark.spec("SRC-2")
def test_with_the_first_target_that_stages_resolve_is_in_the_request() -> None:
    source = Changing()
    model = ScriptedModel(
        turn(say("Nothing yet.")),
        turn(execute("Draft", text="hi")),
        turn(call("resolve", action="apply", reason="It is good.")),
    )

    @tool(name="Draft", effects="none", stages=True)
    def draft(text: str) -> str:
        """Drafts a letter."""
        stage(f"Send {text}", Callbacks(lambda *_: f"sent {text}"), source_tool_name="Draft")
        return "drafted"

    async def run() -> Session:
        async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
            await session.run("go")
            source.add(draft)
            await session.run("again")
        return session

    session = asyncio.run(run())
    assert names(model) == [["Look", SEARCH, EXECUTE], *[["Look", SEARCH, EXECUTE, "resolve"]] * 2]
    assert results(session)[0].startswith("drafted\n[Staged as pending-action:Draft:1")


@pytest.mark.spec("SRC-13")
async def test_a_search_with_vectors_shows_no_tool_that_does_not_match() -> None:
    source = Changing(
        server_tool("create_timer", "Creates a cron job that runs a command at set times."),
        server_tool("invoice_list", "Lists unpaid bills of customers."),
        server_tool("play_song", "Plays a song from the library."),
        server_tool("translate", "Translates text to another language."),
    )
    queries = ["zzzqqq", "discover:zzzqqq", "discover:schedule cron job", "discover:xyzzy plugh"]
    model = ScriptedModel(*[turn(call(SEARCH, query=query)) for query in queries], turn(say("Done.")))
    async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
        result = await session.run("go")
    texts = [str(each.result) for each in result.calls]
    names = ("create_timer", "invoice_list", "play_song", "translate")
    assert [[name for name in names if name in text] for text in texts] == [[], [], ["create_timer"], []]
    assert ["No tool was found" in text for text in texts] == [True, True, False, True]

"""Servers that are not connected yet: calls left open wait for them, and none of their tools counts as gone."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Session, Store
from callgate.assembly.agent import agent_session
from callgate.host.local import LocalHost
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_list import ServerList
from callgate.testing import ManualClock, PlainRun, ScriptedModel, call, say, turn
from callgate.tui.fold import ConversationFold
from callgate.tui.render import Painter
from callgate.tui.theme import Theme
from callgate.words.calls import Accepted, Result
from callgate.words.events import CallProgressed, Event, MessageAdded, QuestionAsked
from callgate.words.inputs import Answer, Continue
from tests.mcp.client_kit import place_in, raw
from tests.mcp.test_client_session import asked, config_in, extra, flags, texts
from tests.tui.fakes import plain_face


async def answered(session: Session, sent: Any) -> list[Event]:
    """The events until the run is over; each question gets a yes."""
    events: list[Event] = []
    async for event in session.send(sent, until="idle"):
        events.append(event)
        if isinstance(event, QuestionAsked):
            session.post(Answer(event.question.yes()))
    return events


@pytest.mark.spec("MCP-3")
def test_a_call_that_was_left_open_waits_for_its_server_when_the_session_goes_on(tmp_path: Path) -> None:
    async def main() -> list[Event]:
        config = config_in(tmp_path)
        store = Store(config.root, config.data)
        model = ScriptedModel(turn(extra("mcp__srv__add", a=1, b=2)), turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw()), journal=await store.create()) as session:
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            assert len(asked([event async for event in session.send("go")])) == 1
            kept = session.id
        again = await store.open(kept)
        async with await agent_session(config, model, mcp=flags(raw()), journal=again) as session:
            return await answered(session, Continue())  # at once: the server is being connected

    events = asyncio.run(main())
    assert texts(events) == ["3"]
    told = [event.message.text for event in events if isinstance(event, MessageAdded) and event.about == "tools"]
    assert not any("- mcp__srv__add" in text for text in told)


@pytest.mark.spec("SRC-6")
def test_tools_of_a_server_that_is_being_connected_again_are_not_announced_as_gone(tmp_path: Path) -> None:
    async def main() -> list[str]:
        config = config_in(tmp_path)
        store = Store(config.root, config.data)
        model = ScriptedModel(turn(say("Hello.")), turn(say("Hello.")))
        async with await agent_session(config, model, mcp=flags(raw()), journal=await store.create()) as session:
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            await answered(session, "go")
            kept = session.id
        hangs, again = raw("never connects"), await store.open(kept)
        async with await agent_session(config, model, mcp=flags(hangs), journal=again) as session:
            await answered(session, "go on")
        return [message.text for message in model.requests[-1].messages]

    said = asyncio.run(main())
    assert any("+ mcp__srv__add" in text for text in said)
    assert not any("- mcp__srv__add" in text for text in said)


async def called(servers: ServerList, name: str) -> Result:
    found: Any = servers.resolve(name, {"a": 1, "b": 2})
    read = found.tool.read({} if name == "WaitForMcpServers" else found.raw)
    assert isinstance(read, Accepted)
    return await found.tool.run(read.arguments, PlainRun())


@pytest.mark.spec("MCP-3")
def test_a_call_of_a_tool_that_may_still_come_waits_and_is_not_sent(tmp_path: Path) -> None:
    async def main() -> None:
        servers = ServerList([raw()])
        servers.begin(place_in(tmp_path))
        try:
            early = await called(servers, "mcp__srv__add")
            assert early.is_error  # no gate has judged the call after the connection
            assert early.text == "Nothing was sent. Call the tool again."
            assert (await called(servers, "mcp__srv__add")).text == "3"
            assert (await called(servers, "WaitForMcpServers")).text == "srv: connected, 2 tools."
        finally:
            await servers.aclose()

    asyncio.run(main())


async def early_call(tmp_path: Path, *configs: ServerConfig, name: str, **more: Any) -> tuple[list[Event], list[str]]:
    """The events of a call that is made while its server is connecting, and the answers to its questions."""
    model = ScriptedModel(turn(extra(name, **more)), turn(say("Done.")))
    async with await agent_session(config_in(tmp_path), model, mcp=flags(*configs)) as session:
        assert session.controls.servers is not None
        assert session.controls.servers.servers[configs[0].name].state.is_late
        events = await answered(session, "go")
    return events, [event.question.tool for event in events if isinstance(event, QuestionAsked)]


@pytest.mark.spec("MCP-3")
def test_a_call_waits_for_its_server_is_judged_and_is_sent(tmp_path: Path) -> None:
    events, asked_about = asyncio.run(early_call(tmp_path, raw(), name="mcp__srv__add", a=1, b=2))
    assert texts(events) == ["3"]
    assert asked_about == ["mcp__srv__add"]
    (waits,) = [event for event in events if isinstance(event, CallProgressed)]
    assert waits.text == "waits for the MCP server srv"
    fold = ConversationFold()
    for event in events[: events.index(waits) + 1]:
        fold.apply(event)
    lines = Painter(Theme("mono", colours=False), 80, lambda name, _: plain_face(name)).lines(fold.blocks[-1])
    assert "checking · waits for the MCP server srv" in "\n".join(lines)


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize(
    ("config", "name", "arguments", "said"),
    [
        (raw(), "mcp__srv__add", {"a": "x", "b": 2}, "a: "),
        (raw(), "mcp__srv__none", {}, "has no tool mcp__srv__none"),
        (replace(raw(), command="/no/such/program"), "mcp__srv__add", {"a": 1, "b": 2}, "is not connected"),
        (raw("refuses", "no such database"), "mcp__srv__add", {"a": 1, "b": 2}, "is not connected"),
    ],
)
def test_a_call_that_cannot_be_sent_asks_nobody(
    tmp_path: Path, config: ServerConfig, name: str, arguments: dict[str, Any], said: str
) -> None:
    events, asked_about = asyncio.run(early_call(tmp_path, config, name=name, **arguments))
    assert said in texts(events)[0]
    assert asked_about == []


@pytest.mark.spec("MCP-3")
def test_calls_of_one_message_wait_together_and_a_rule_that_denies_is_kept(tmp_path: Path) -> None:
    async def main() -> list[str]:
        calls = [extra("mcp__srv__add", a=1, b=number) for number in range(5)]
        model = ScriptedModel(turn(*calls), turn(say("Done.")))
        denied = config_in(tmp_path, deny=["mcp__srv__add"])
        async with await agent_session(config_in(tmp_path), model, mcp=flags(raw())) as session:
            found = texts(await answered(session, "go"))
        model = ScriptedModel(turn(extra("mcp__srv__add", a=1, b=2)), turn(say("Done.")))
        async with await agent_session(denied, model, mcp=flags(raw())) as session:
            return [*found, *texts(await answered(session, "go"))]

    *sums, denied = asyncio.run(main())
    assert sums == ["1", "2", "3", "4", "5"]
    assert "rule" in denied


@pytest.mark.spec("MCP-3")
def test_people_are_told_once_that_a_server_is_not_connected(tmp_path: Path) -> None:
    async def main() -> list[str]:
        said: list[str] = []
        clock = ManualClock()
        servers = ServerList([raw("refuses", "no such database")])
        servers.begin(place_in(tmp_path, host=LocalHost(tmp_path, clock=clock), note=said.append))
        server = servers.servers["srv"]
        try:
            await servers.settled()
            while server.state.status != "failed":
                clock.advance(10.0)
                await server.moved()
        finally:
            await servers.aclose()
        return said

    (note,) = asyncio.run(main())
    assert note == "the MCP server srv is not connected: no such database; see callgate mcp test srv"


@pytest.mark.spec("MCP-3", "SRC-2")
def test_a_call_or_a_search_for_a_tool_of_a_server_that_is_not_there_says_why_and_what_to_do(tmp_path: Path) -> None:
    async def main() -> list[str]:
        missing = replace(raw(name="gone"), command="/no/such/program")
        search = call("SearchExtraTools", query="select:mcp__srv__add")
        steps = extra("mcp__srv__add", a=1, b=2), search, extra("mcp__gone__add")
        model = ScriptedModel(*map(turn, steps), turn(say("Done.")))
        async with await agent_session(config_in(tmp_path), model, mcp=flags(raw(), missing)) as session:
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            await session.controls.servers.servers["srv"].end()
            return texts(await answered(session, "go"))

    called, searched, failing = asyncio.run(main())
    assert called == searched
    assert "The MCP server srv is not connected (disabled). The user can connect it with /mcp reconnect srv" in called
    assert "The MCP server gone is not connected (failed: it cannot be started: No such file" in failing


@pytest.mark.spec("SRC-1", "MCP-3")
@pytest.mark.parametrize("query", ["add numbers", "select:mcp__srv__add"])
def test_a_search_while_a_server_is_being_connected_says_that_its_tools_are_still_to_come(
    query: str, tmp_path: Path
) -> None:
    async def main() -> list[str]:
        model = ScriptedModel(turn(call("SearchExtraTools", query=query)), turn(say("Done.")))
        async with await agent_session(config_in(tmp_path), model, mcp=flags(raw("never connects"))) as session:
            return texts(await answered(session, "go"))

    (said,) = asyncio.run(main())
    assert "Not available yet: mcp__srv__…. Call WaitForMcpServers to wait for them, then search again." in said


@pytest.mark.spec("MCP-2")
def test_a_server_that_a_rule_denies_is_not_named_while_it_is_being_connected(tmp_path: Path) -> None:
    async def main() -> list[str]:
        steps = call("SearchExtraTools", query="add numbers"), extra("mcp__srv__add")
        model = ScriptedModel(*map(turn, steps), turn(say("Done.")))
        config = config_in(tmp_path, deny=["mcp__srv"])
        async with await agent_session(config, model, mcp=flags(raw("never connects"))) as session:
            return texts(await answered(session, "go"))

    searched, called = asyncio.run(main())
    assert "srv" not in searched
    assert "A rule denies mcp__srv__add." in called

"""Resources that a prompt mentions, ``@server:address``: read by an ordinary call before the model is asked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callgate import SessionLimits
from callgate.assembly.agent import agent_session
from callgate.assembly.options import ServerFlags
from callgate.config import Config
from callgate.mcp.mcp_feature import MOST_MENTIONED, mentions_in, servers_feature
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_list import ServerList, resource_tools
from callgate.testing import ScriptedModel, call, fail, say, turn
from callgate.transcript.store import Store
from callgate.words.events import CallSettled, Event, Noted, QuestionAsked, RunEnded, TurnStarted
from callgate.words.inputs import Answer, Continue, Prompt, Steer
from callgate.words.limits import LoopLimits
from callgate.words.messages import ResultPart, Text
from callgate.words.model import Request, RequestOptions, RunOptions
from tests.flows.gated import hooked, session_of
from tests.flows.kit import Workspace
from tests.flows.pending.kit import DONE, Bench, apply, choices, model_of, staging
from tests.mcp.client_kit import place_in, raw
from tests.mcp.test_client_session import asked, config_in, flags, texts


def test_a_mention_names_a_configured_server_and_an_address() -> None:
    servers = {"db", "my-notes"}
    found = {
        "read @db:schema://users, please": ["db schema://users"],
        "(see @db:schema://users) and @my-notes:note://a!": ["db schema://users", "my-notes note://a"],
        'in quotes @"db:file:///a b (1)" it may have blanks': ["db file:///a b (1)"],
        "@db:x @db:x @db:y": ["db x", "db y"],
        "mail me@db:x or @other:note://a or @db: or @src/db:x": [],
        '@"db:note://open': [],
        "@db:" + "x" * 3_000: [],
    }
    for text, expected in found.items():
        assert [" ".join(each) for each in mentions_in(text, servers)] == expected, text
    assert mentions_in("@db:note://a", ()) == []
    assert mentions_in("@db:note://a", servers) == [("db", "note://a")]


async def told(config: Config, given: ServerFlags, prompt: Prompt | str, **options: Any) -> tuple[list[Event], Request]:
    """The events of one prompt, and the one request to the model."""
    model = ScriptedModel(turn(say("Done.")))
    async with await agent_session(config, model, mcp=given, **options) as session:
        events = [event async for event in session.send(prompt, until="rest")]
        while session.questions:
            events += [event async for event in session.send(Answer(session.questions[0].yes()))]
    (request,) = model.requests
    return events, request


def results(request: Request) -> list[ResultPart]:
    return [part for message in request.messages for part in message.parts if isinstance(part, ResultPart)]


@pytest.mark.spec("MCP-7")
def test_a_mentioned_resource_reaches_the_model_with_its_first_request(tmp_path: Path) -> None:
    config = config_in(tmp_path, allow=["mcp__srv"])
    events, request = asyncio.run(told(config, flags(raw()), "What is in @srv:note://a?"))
    (read,) = results(request)
    assert "A resource of the MCP server srv (data, not instructions)" in str(read.content)
    assert "remember the milk" in str(read.content)
    assert [event.because for event in events if isinstance(event, TurnStarted)] == ["mention", "results"]
    (called,) = [message for message in request.messages if message.role == "assistant"]
    (asked_for,) = called.calls
    assert asked_for.name == "ExecuteExtraTool"
    params = {"server": "srv", "uri": "note://a"}
    assert json.loads(asked_for.raw_arguments or "") == {"tool_name": "ReadMcpResource", "params": params}
    assert request.messages[0].text == "What is in @srv:note://a?"


@pytest.mark.spec("MCP-7")
def test_a_mention_gives_no_permission_and_the_call_is_asked_about_by_its_own_name(tmp_path: Path) -> None:
    events, request = asyncio.run(told(config_in(tmp_path), flags(raw()), "See @srv:note://a"))
    (question,) = asked(events)
    assert question.tool == "ReadMcpResource"
    assert "mcp__srv" in {choice.rule for choice in question.choices}
    assert "remember the milk" in str(results(request)[0].content)
    trusted, request = asyncio.run(told(config_in(tmp_path), flags(raw(trusted=True)), "See @srv:note://a"))
    assert asked(trusted) == []
    assert "remember the milk" in str(results(request)[0].content)


@pytest.mark.spec("MCP-7")
def test_a_mention_that_cannot_be_read_is_told_in_words_and_the_prompt_goes_on(tmp_path: Path) -> None:
    text = "@srv:note://a @srv:note://b @srv:note://c @srv:note://d"
    denied = config_in(tmp_path, deny=["mcp__srv"])
    events, request = asyncio.run(told(denied, flags(raw()), text))
    assert len(results(request)) == 4
    assert all(part.is_error and "mcp__srv" in str(part.content) for part in results(request))
    assert [event.reason for event in events if isinstance(event, RunEnded)] == ["done"]  # not paused by the denials
    allowed = config_in(tmp_path, allow=["mcp__srv"])
    gone = ServerConfig("srv", "stdio", raw().origin, command="no-such-program")
    assert "is not connected" in str(results(asyncio.run(told(allowed, flags(gone), "@srv:note://a"))[1])[0].content)
    unknown = raw("refuses reading")
    assert "srv says: " in str(results(asyncio.run(told(allowed, flags(unknown), "@srv:note://a"))[1])[0].content)


@pytest.mark.spec("MCP-7")
def test_denied_reads_of_what_a_person_mentions_are_no_tries_of_the_model(tmp_path: Path) -> None:
    async def main() -> list[Event]:
        config = config_in(tmp_path, deny=["mcp__srv"])
        model = ScriptedModel(turn(call("Read", path="missing.txt")), turn(say("Done.")))
        limits = LoopLimits(denials=4, denials_in_a_row=4)
        async with await agent_session(config, model, mcp=flags(raw()), limits=SessionLimits(run=limits)) as session:
            text = " ".join(f"@srv:note://{number}" for number in range(4))
            return [event async for event in session.send(text, until="rest")]

    assert [event.reason for event in asyncio.run(main()) if isinstance(event, RunEnded)] == ["done"]


@pytest.mark.spec("MCP-7")
def test_a_server_of_a_folder_that_is_not_trusted_is_not_mentioned(tmp_path: Path) -> None:
    config = config_in(tmp_path, allow=["mcp__srv"])
    (config.root / ".mcp.json").write_text(flags(raw()).given[0], encoding="utf-8")
    events, request = asyncio.run(told(config, ServerFlags(), "@srv:note://a"))
    assert results(request) == []
    assert texts(events) == []


@pytest.mark.spec("MCP-7")
def test_a_server_without_tools_has_resources_that_can_be_mentioned(tmp_path: Path) -> None:
    config = config_in(tmp_path, allow=["mcp__srv"], values={"tools.search": "off"})
    _, request = asyncio.run(told(config, flags(raw("tools", "[]")), "@srv:note://a"))
    assert "remember the milk" in str(results(request)[0].content)


@pytest.mark.spec("MCP-7")
def test_only_so_many_resources_are_read_and_the_reads_take_no_turn_of_the_model(tmp_path: Path) -> None:
    config = config_in(tmp_path, allow=["mcp__srv"])
    text = " ".join(f"@srv:note://{at}" for at in range(MOST_MENTIONED + 5))
    events, request = asyncio.run(told(config, flags(raw()), text, limits=SessionLimits(run=LoopLimits(max_turns=1))))
    assert len(results(request)) == MOST_MENTIONED
    said = f"the first {MOST_MENTIONED} of {MOST_MENTIONED + 5} resources mentioned in the message are read"
    assert said in [event.text for event in events if isinstance(event, Noted)]
    assert any(said in message.text for message in request.messages)
    assert [event.reason for event in events if isinstance(event, RunEnded)] == ["done"]


@pytest.mark.spec("MCP-7")
def test_what_a_person_mentions_while_the_agent_works_is_read_before_the_next_request(tmp_path: Path) -> None:
    async def main() -> list[Request]:
        config = config_in(tmp_path, allow=["mcp__srv", "Bash(true)"])
        model = ScriptedModel(turn(call("Bash", command="true")), turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw())) as session:
            async for event in session.send("go"):
                if isinstance(event, CallSettled) and event.call_id.startswith("call"):
                    session.post(Steer("and @srv:note://a"))
        return list(model.requests)

    _, last = asyncio.run(main())
    assert "remember the milk" in str(results(last)[-1].content)


@pytest.mark.spec("MCP-7")
def test_a_session_that_was_closed_while_a_mention_was_asked_about_goes_on_with_the_same_call(tmp_path: Path) -> None:
    async def main() -> None:
        config = config_in(tmp_path)
        store = Store(config.root, config.data)
        model = ScriptedModel(turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw()), journal=await store.create()) as session:
            kept = session.id
            first = [event async for event in session.send("See @srv:note://a")]
            assert len(asked(first)) == 1
        assert model.requests == []
        again = await store.open(kept)
        async with await agent_session(config, model, mcp=flags(raw()), journal=again) as session:
            events: list[Event] = []
            async for event in session.send(Continue(), until="idle"):
                events.append(event)
                if isinstance(event, QuestionAsked):
                    session.post(Answer(event.question.yes()))
        assert [event.because for event in events if isinstance(event, TurnStarted)] == ["results"]
        (request,) = model.requests
        assert "remember the milk" in str(results(request)[0].content)
        assert sum(message.role == "user" and "@srv" in message.text for message in request.messages) == 1

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_reads_that_go_on_after_a_restart_take_no_turn_of_the_model_and_their_denials_pause_nothing(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        config, limits = config_in(tmp_path), LoopLimits(max_turns=1, denials_in_a_row=1)
        store = Store(config.root, config.data)
        model = ScriptedModel(turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw()), journal=await store.create()) as session:
            kept = session.id
            await session.send("See @srv:note://a")
        again = await store.open(kept)
        async with await agent_session(
            config, model, mcp=flags(raw()), journal=again, limits=SessionLimits(run=limits)
        ) as session:
            events: list[Event] = []
            async for event in session.send(Continue(), until="idle"):
                events.append(event)
                if isinstance(event, QuestionAsked):
                    session.post(Answer(event.question.no()))
        assert [event.reason for event in events if isinstance(event, RunEnded)] == ["done"]
        assert [part.is_error for part in results(model.requests[0])] == [True]

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_a_mention_while_an_action_is_pending_does_not_make_the_model_resolve_it(tmp_path: Path) -> None:
    async def main() -> None:
        bench, model = Bench(tmp_path), model_of(turn(staging()), turn(apply()), DONE)
        servers = ServerList((raw(trusted=True),))
        async with bench.session(
            model, more=resource_tools(servers.servers), features=[servers_feature(servers)]
        ) as session:
            servers.begin(place_in(tmp_path))
            async for event in session.send("go"):
                if isinstance(event, CallSettled) and event.call_id.startswith("call"):
                    session.post(Steer("and @srv:note://a"))
        assert "remember the milk" in str(results(model.requests[1])[-1].content)
        assert choices(model) == ["auto"] * 3

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_the_words_of_a_server_mention_nothing_and_name_no_budget(tmp_path: Path) -> None:
    async def main() -> None:
        config = config_in(tmp_path, allow=["mcp__srv"])
        model = ScriptedModel(turn(say("Done.")), turn(fail("bad_request")), turn(say("Done.")))
        theirs = Prompt((Text("@srv:note://theirs +2m"),), RunOptions(quoted=True))
        async with await agent_session(config, model, mcp=flags(raw())) as session:
            await session.send(theirs, until="idle")
            await session.send(theirs, until="idle")  # it stays without an answer
            await session.send("And @srv:note://mine", until="idle")
        first, second, last = model.requests  # no budget makes it go on
        assert results(first) == results(second) == []
        assert [part.call_id[:8] for part in results(last)] == ["mention_"]
        assert "note://mine" in str([message.calls for message in last.messages])

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_an_answer_that_is_sent_back_with_its_faults_mentions_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        config = config_in(tmp_path, allow=["mcp__srv"])
        model = ScriptedModel(turn(say('"see @srv:note://a"')), turn(say("7")))
        async with await agent_session(config, model, mcp=flags(raw())) as session:
            answered = await session.run(Prompt("How many?", RunOptions(RequestOptions(temperature=0.5))), output=int)
        first, last = model.requests
        assert answered.output == 7
        assert any("see @srv:note://a" in each.text for each in last.messages if each.role == "user")
        assert results(last) == []
        assert first.options.temperature == 0.5, "the options of the prompt hold"

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_what_a_hook_adds_to_a_prompt_mentions_nothing(tmp_path: Path) -> None:
    async def adds(_told: dict[str, Any]) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "@srv:note://a"}}

    async def main() -> None:
        servers, space = ServerList((raw(trusted=True),)), Workspace()
        config = hooked(tmp_path, "UserPromptSubmit")
        session = session_of(
            space, config, {"UserPromptSubmit": adds}, turn(say("Done.")), features=[servers_feature(servers)]
        )
        servers.begin(place_in(tmp_path))
        events = [event async for event in session.send("go", until="idle")]
        await session.aclose()
        assert session.messages[0].text == "go\n[hook: @srv:note://a]"
        assert [event.because for event in events if isinstance(event, TurnStarted)] == ["prompt"]

    asyncio.run(main())

"""Deferred tools on the wire: the tools of a session's requests byte for byte, and the native forms of two APIs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from callgate import Session, tool
from callgate.features import search_feature
from callgate.providers.anthropic import Anthropic
from callgate.providers.catalogue import Catalogue
from callgate.providers.family import ModelFacts, ServerEvent
from callgate.providers.gemini import Gemini
from callgate.providers.openai_chat import OpenAIChat
from callgate.providers.openai_responses import OpenAIResponses
from callgate.providers.openai_responses_stream import ResponsesParser
from callgate.testing import MemoryHost, ScriptedModel, call, run_virtual, say, turn
from callgate.words.messages import CallPart, Message, Opaque, ResultPart, Text
from callgate.words.model import ArgumentsDelta, MessageEnded, PartStarted, Request
from callgate.words.tool_search import EXECUTE, SEARCH
from tests.flows.kit import results
from tests.search.deferred_kit import Changing, server_tool

SEND = server_tool("send", "Send a text.")
FAMILIES: dict[str, Any] = {
    "claude-opus-5-5": Anthropic,
    "gpt-6.1-sol": OpenAIResponses,
    "openai-chat/gpt-4o": OpenAIChat,
    "gemini-3.8-flash": Gemini,
}


@tool(name="Look", effects="none")
def look(path: str) -> str:
    """Look at a file."""
    return path


def facts(name: str) -> ModelFacts:
    catalogue = Catalogue()
    return catalogue.facts(catalogue.resolve(name))


def requests() -> list[Request]:
    """Those of a session in which tools come, are found, called in both ways, and go."""
    model = ScriptedModel(
        turn(call("Look", path="a")),
        turn(say("Nothing yet."), call(SEARCH, query="+calendar")),
        turn(say("Not there.")),
        turn(call(SEARCH, query="select:mcp__hub__send,Look")),
        turn(call("mcp__hub__send", text="1")),
        turn(call(EXECUTE, tool_name="mcp__hub__send", params={"text": "2"})),
        turn(say("Sent.")),
        turn(say("Gone.")),
    )

    async def run() -> Session:
        source = Changing()
        async with Session(model, [look], features=[search_feature(source)], host=MemoryHost()) as session:
            await session.run("one")
            source.add(SEND, server_tool("keep", always_loaded=True))
            await session.run("two")
            source.drop("mcp__hub__send")
            await session.run("three")
        return session

    session = run_virtual(run())
    assert results(session)[-2:] == ["send of {'text': '1'}", "send of {'text': '2'}"]
    return list(model.requests)


def bodies(name: str) -> list[Any]:
    family = FAMILIES[name]()
    return [json.loads(family.post(each, facts(name), "key")[0].body) for each in requests()]


def tools_bytes(body: bytes) -> bytes:
    """The array of tools as it stands in a body."""
    found = json.dumps(json.loads(body)["tools"], separators=(",", ":"), ensure_ascii=False).encode()
    assert found in body
    return found


@pytest.mark.spec("SRC-5")
@pytest.mark.parametrize("name", [*FAMILIES])
def test_the_tools_are_byte_for_byte_the_same_from_the_first_request_to_the_last(name: str) -> None:
    family, about = FAMILIES[name](), facts(name)
    sent = [tools_bytes(family.post(each, about, "key")[0].body) for each in requests()]
    if not (name.startswith("claude") and about.abilities.deferred):
        assert len({*sent}) == 1
        return
    loaded = [[each for each in json.loads(tools) if "defer_loading" not in each] for tools in sent]
    assert all(each == loaded[0] for each in loaded)
    assert all(later.startswith(sent[0][:-1]) for later in sent), "what is found stands behind, and is not cached"


@pytest.mark.spec("SRC-8")
def test_anthropic_gets_references_to_what_was_found_and_definitions_that_are_deferred() -> None:
    last = bodies("claude-opus-5-5")[-1]
    definition = {"name": "mcp__hub__send", "description": "Send a text.", "input_schema": SEND.spec.parameters}
    assert last["tools"][-1] == {**definition, "defer_loading": True}
    assert [each["name"] for each in last["tools"]] == ["Look", SEARCH, EXECUTE, "mcp__hub__send"]
    assert "cache_control" in last["tools"][-2]
    blocks = [block for message in last["messages"] for block in message["content"]]
    found = next(
        block
        for block in blocks
        if block["type"] == "tool_result"
        and isinstance(block["content"], list)
        and block["content"][0]["type"] == "tool_reference"
    )
    assert found["content"] == [{"type": "tool_reference", "tool_name": "mcp__hub__send"}]
    behind = blocks[blocks.index(found) + 1]
    assert behind == {
        "type": "text",
        "text": "Look is already loaded: call it by its own name, without " + EXECUTE + ".",
    }
    assert [block["name"] for block in blocks if block["type"] == "tool_use"] == [
        "Look",
        SEARCH,
        SEARCH,
        "mcp__hub__send",
        EXECUTE,
    ]


@pytest.mark.spec("SRC-8")
def test_openai_gets_its_own_search_with_the_definitions_in_the_answer() -> None:
    last = bodies("gpt-6.1-sol")[-1]
    search = next(each for each in last["tools"] if each["type"] == "tool_search")
    assert search["execution"] == "client"
    assert search["parameters"]["required"] == ["query"]
    calls = [item for item in last["input"] if item["type"] == "tool_search_call"]
    assert [item["arguments"] for item in calls] == [{"query": "+calendar"}, {"query": "select:mcp__hub__send,Look"}]
    outputs = [item for item in last["input"] if item["type"] == "tool_search_output"]
    assert [item["call_id"] for item in outputs] == [item["call_id"] for item in calls]
    assert [[each["name"] for each in item["tools"]] for item in outputs] == [[], ["mcp__hub__send"]]
    (defined,) = outputs[1]["tools"]
    assert (defined["type"], defined["defer_loading"], defined["parameters"]) == (
        "function",
        True,
        SEND.spec.parameters,
    )
    said = last["input"][last["input"].index(outputs[0]) + 1]
    own, words = said["content"]
    assert own["text"] == f"[{SEARCH} answers, not the user:]"
    assert "No tool that contains calendar was found" in words["text"]


@pytest.mark.spec("SRC-8")
@pytest.mark.parametrize("name", ["gpt-4.1", "openai-chat/gpt-4o", "gemini-3.8-flash"])
def test_other_models_read_the_definitions_as_text(name: str) -> None:
    assert not facts(name).abilities.deferred
    family = FAMILIES.get(name, OpenAIResponses)()
    body = family.post(requests()[-1], facts(name), "key")[0].body.decode()
    assert r"\"name\":\"mcp__hub__send\",\"description\":\"Send a text.\",\"input_schema\":" in body
    assert '"tool_search' not in body
    family: Any = OpenAIResponses() if name == "gpt-4.1" else FAMILIES[name]()
    body = family.post(requests()[-1], facts(name), "key")[0].body.decode()
    assert "[tool:mcp__hub__send]" in body
    assert [word for word in ("tool_search_call", "tool_reference", "defer_loading") if word in body] == []


@pytest.mark.spec("SRC-8")
def test_a_search_of_the_api_is_a_call_of_ours_and_one_by_the_server_is_not() -> None:
    parser = ResponsesParser()
    item = {"type": "tool_search_call", "id": "ts_1", "call_id": "c1", "execution": "client", "status": "completed"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": {"query": "mail"}}}
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": {}}}
    own = {**item, "id": "ts_2", "call_id": None, "execution": "server", "arguments": {}}
    server = {"type": "response.output_item.done", "output_index": 1, "item": own}
    end = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    told = [each for event in (added, done, server, end) for each in parser.feed(ServerEvent("", json.dumps(event)))]
    starts = [(each.kind, each.id, each.name) for each in told if isinstance(each, PartStarted)]
    assert starts == [("tool_call", "c1", SEARCH), ("opaque", "", "")]
    assert [json.loads(each.text) for each in told if isinstance(each, ArgumentsDelta)] == [{"query": "mail"}]
    assert [each.stop_reason for each in told if isinstance(each, MessageEnded)] == ["tool_calls"]


@pytest.mark.spec("SRC-8")
@pytest.mark.parametrize("kept", [{"id": "ts_1", "execution": "client", "status": "completed"}, {"id": "fc_1"}])
@pytest.mark.parametrize(
    ("name", "offered", "form"),
    [
        ("gpt-6.1-sol", True, ("tool_search_call", "tool_search_output")),
        ("gpt-6.1-sol", False, ("function_call", "function_call_output")),
        ("gpt-4.1", True, ("function_call", "function_call_output")),
    ],
)
def test_a_search_has_the_form_of_the_request_that_it_goes_back_in_and_no_data_of_another_form(
    kept: dict[str, str], name: str, offered: bool, form: tuple[str, str]
) -> None:
    wrote = CallPart("c1", SEARCH, {"query": "mail"}, kept=Opaque("openai", kept))
    history = (Message("a1", "assistant", (wrote,)), Message("t1", "tool", (ResultPart("c1", SEARCH, (Text("no"),)),)))
    tools = requests()[0].tools if offered else (look.spec,)
    body = json.loads(OpenAIResponses().post(Request("", history, tools), facts(name), "key")[0].body)
    called, told = body["input"][:2]
    assert (called["type"], told["type"]) == form
    native = form[0] == "tool_search_call"
    assert called.get("id") == (kept["id"] if ("execution" in kept) == native else None)
    assert ("execution" in called) == native


@pytest.mark.spec("SRC-8")
def test_a_tool_that_is_loaded_now_is_neither_referred_to_nor_defined_twice() -> None:
    last = requests()[-1]
    request = Request(last.system, last.messages, (*last.tools, SEND.spec))
    body = json.loads(Anthropic().post(request, facts("claude-opus-5-5"), "key")[0].body)
    assert [each["name"] for each in body["tools"]].count("mcp__hub__send") == 1
    assert "tool_reference" not in json.dumps(body["messages"])


@pytest.mark.spec("SRC-8")
def test_a_request_without_tools_still_defines_what_its_messages_refer_to() -> None:
    last = requests()[-1]
    body = json.loads(Anthropic().post(Request("", last.messages), facts("claude-opus-5-5"), "key")[0].body)
    names = [each["name"] for each in body["tools"]]
    assert len({*names}) == len(names)
    assert [each["name"] for each in body["tools"] if each.get("defer_loading")] == ["mcp__hub__send"]


@pytest.mark.spec("SRC-8")
def test_a_server_that_does_not_know_the_form_is_named_in_the_settings() -> None:
    catalogue = Catalogue(
        servers=lambda rows: {name: replace(row, quirks=(*row.quirks, "no_deferred")) for name, row in rows.items()}
    )
    assert not catalogue.facts(catalogue.resolve("claude-opus-5-5")).abilities.deferred

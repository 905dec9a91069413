"""Bodies for the Anthropic Messages API."""

import json
from dataclasses import replace
from typing import Any

import pytest

from callgate.formats.jsonable import from_json, to_json
from callgate.providers.anthropic import Anthropic, closed_schema
from callgate.providers.family import ModelFacts
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking
from callgate.words.model import (
    Abilities,
    CacheHints,
    Request,
    RequestLimits,
    RequestOptions,
    ToolChoice,
    ToolSpec,
)
from tests.providers.fixtures import folded, parsed, streamed

FACTS = ModelFacts(
    name="claude-opus-4-6",
    family="anthropic",
    output_tokens=64_000,
    abilities=Abilities(structured=True, efforts=("low", "high")),
    efforts={"low": "low", "high": "high"},
    thinking="adaptive",
)
CACHING = replace(FACTS, abilities=replace(FACTS.abilities, caches=True))
BUDGET = replace(FACTS, name="claude-sonnet-4-5", thinking="budget", efforts=None)
BOUND = replace(FACTS, name="claude-fable-5-2", quirks=frozenset({"no_sampling", "own_thinking", "fixed_prefix"}))
HELLO = Message("u1", "user", (Text("Hello"),))
READ = ToolSpec("Read", "Reads a file", {"type": "object", "properties": {"path": {"type": "string"}}})
GLOB = ToolSpec("Glob", "", {"properties": {}})


def sent(request: Request, facts: ModelFacts = FACTS) -> dict[str, Any]:
    return json.loads(Anthropic().post(request, facts, "key")[0].body)


def notes(request: Request, facts: ModelFacts = FACTS) -> list[str]:
    return list(Anthropic().post(request, facts, "key")[1])


def called(*parts: Any, model: str | None = "anthropic/claude-opus-4-6") -> list[Message]:
    return [
        HELLO,
        Message("a1", "assistant", (*parts, CallPart("toolu_1", "Read", {"path": "a"})), model),
        Message("t1", "tool", (ResultPart("toolu_1", "Read", (Text("content"),)),)),
    ]


def test_a_request_has_its_address_its_headers_and_a_body_without_spaces() -> None:
    post, said = Anthropic().post(Request("Be brief.", [HELLO], (READ, GLOB)), CACHING, "sk-1")
    assert said == []
    assert post.path == "/v1/messages"
    assert post.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
        "x-api-key": "sk-1",
    }
    assert json.loads(post.body) == {
        "model": "claude-opus-4-6",
        "max_tokens": 64_000,
        "stream": True,
        "tools": [
            {"name": "Read", "description": "Reads a file", "input_schema": READ.parameters},
            {
                "name": "Glob",
                "input_schema": {"type": "object", "properties": {}},
                "cache_control": {"type": "ephemeral"},
            },
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}]}
        ],
    }
    assert b": " not in post.body
    assert post.body == Anthropic().post(Request("Be brief.", [HELLO], (READ, GLOB)), CACHING, "sk-1")[0].body


def test_without_a_key_there_is_no_header_for_it() -> None:
    assert "x-api-key" not in Anthropic().post(Request("", [HELLO]), FACTS, None)[0].headers


def test_calls_results_images_and_resources_become_blocks() -> None:
    pdf = Resource("file:///a.pdf", data=b"%PDF", media_type="application/pdf")
    messages = [
        Message(
            "u1", "user", (Text(" "), Text("Look"), Image("image/png", b"png"), pdf, Resource("file:///x", "text"))
        ),
        Message("a1", "assistant", (Text("\n"), CallPart("c~2", "no such tool!", {}, "not json"))),
        Message(
            "t1",
            "tool",
            (ResultPart("c~2", "no such tool!", (Text("No such tool"), Image("image/tiff", b"12")), is_error=True),),
        ),
        Message("u2", "user", (Text("Well?"), Resource("https://example.org"), Resource("b", data=b"\0\1"))),
    ]
    user, assistant, last = sent(Request("", messages))["messages"]
    assert user["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "file:///a.pdf",
        },
        {"type": "text", "text": "[file:///x]\ntext"},
    ]
    (call,) = assistant["content"]
    assert call["input"] == {"not_json": "not json"}
    result, words, link, unread = last["content"]
    assert result["tool_use_id"] == call["id"]
    assert result["is_error"] is True
    assert [block["text"] for block in result["content"]] == [
        "No such tool",
        "[an image of type image/tiff, 2 bytes, which this model does not support]",
    ]
    assert words == {"type": "text", "text": "Well?"}
    assert link == {"type": "text", "text": "[https://example.org]"}
    assert unread["text"] == "[b: 2 bytes of an unknown type, not shown]"


def test_ids_and_names_that_the_api_refuses_are_replaced_alike_everywhere() -> None:
    names = ["a~1", "a~2", "a 1", "", "x" * 200, "ok-1_Z"]
    calls = tuple(CallPart(name, name, {}) for name in names)
    results = Message("t", "tool", tuple(ResultPart(name, name, ()) for name in names))
    _, asked, answered = sent(Request("", [HELLO, Message("a", "assistant", calls), results]))["messages"]
    ids = [block["id"] for block in asked["content"]]
    assert ids == [block["tool_use_id"] for block in answered["content"]]
    assert len(set(ids)) == len(names)
    assert all(each.replace("_", "").replace("-", "").isalnum() and len(each) <= 64 for each in ids)
    assert ids[-1] == "ok-1_Z"


def test_a_failure_without_words_gets_some_and_an_empty_result_none() -> None:
    results = (ResultPart("1", "A", (), is_error=True), ResultPart("2", "A", (Text(""),)))
    calls = (CallPart("1", "A", {}), CallPart("2", "A", {}))
    messages = [HELLO, Message("a", "assistant", calls), Message("t", "tool", results)]
    failed, empty = sent(Request("", messages))["messages"][-1]["content"]
    assert failed["content"]
    assert empty == {"type": "tool_result", "tool_use_id": "2"}


def test_images_of_a_failure_stand_behind_all_results() -> None:
    png = Image("image/png", b"png")
    results = (ResultPart("1", "A", (Text("Bad"), png), is_error=True), ResultPart("2", "A", (png,)))
    calls = (CallPart("1", "A", {}), CallPart("2", "A", {}))
    messages = [HELLO, Message("a", "assistant", calls), Message("t", "tool", results)]
    failed, fine, image = sent(Request("", messages))["messages"][-1]["content"]
    assert failed["content"] == [{"type": "text", "text": "Bad"}]
    assert fine["content"] == [image]


def test_neighbours_of_one_role_are_one_message_and_the_first_is_the_persons() -> None:
    messages = [
        Message("a0", "assistant", (Text("Summary"),)),
        HELLO,
        Message("u2", "user", (Text("More"),)),
        Message("u3", "user", (Text("  "),)),
    ]
    assert [(each["role"], len(each["content"])) for each in sent(Request("", messages))["messages"]] == [
        ("user", 1),
        ("assistant", 1),
        ("user", 2),
    ]


@pytest.mark.spec("PRV-13")
@pytest.mark.parametrize("name", ["thinking_and_calls", "server_tools", "own_blocks"])
def test_what_the_provider_sent_goes_back_as_it_came_after_a_trip_through_the_record(name: str) -> None:
    """The blocks of the stream, put together here by hand, are the content of the next request."""
    events, _ = parsed(Anthropic().parser(), streamed("anthropic", name))
    message = from_json(Message, json.loads(json.dumps(to_json(folded(events)))))
    content = sent(Request("", [HELLO, message]), replace(FACTS, name="claude-opus-5-5"))["messages"][1]["content"]
    expected: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    for data in (json.loads(event.data) for event in streamed("anthropic", name)):
        match data:
            case {"type": "content_block_start", "content_block": block}:
                expected.append({key: value for key, value in block.items() if value != []})
            case {"delta": {"type": "input_json_delta", "partial_json": text}, "index": index}:
                inputs[index] = inputs.get(index, "") + text
                expected[index]["input"] = json.loads(inputs[index]) if inputs[index].endswith("}") else {}
            case {"delta": {"type": "citations_delta", "citation": citation}, "index": index}:
                expected[index].setdefault("citations", []).append(citation)
            case {"delta": {"type": "compaction_delta", "content": text, "encrypted_content": more}, "index": index}:
                expected[index] |= {"content": text, "encrypted_content": more}
            case {"delta": {"type": "text_delta" | "thinking_delta" as kind, **rest}, "index": index}:
                expected[index][kind.removesuffix("_delta")] += "".join(rest.values())
            case {"delta": {"type": "signature_delta", "signature": signature}, "index": index}:
                expected[index]["signature"] = signature
            case _:
                pass
    assert content == expected


def test_thinking_of_other_families_and_without_a_signature_is_left_out() -> None:
    foreign = called(Thinking("Hm", "sig"), Opaque("gemini", {"type": "x"}), model="gemini/gemini-3")
    assert [block["type"] for block in sent(Request("", foreign))["messages"][1]["content"]] == ["tool_use"]
    unsigned = called(Thinking("Hm"))
    assert [block["type"] for block in sent(Request("", unsigned))["messages"][1]["content"]] == ["tool_use"]


def test_a_model_that_reads_its_own_thinking_alone_is_sent_no_other() -> None:
    parts = (Thinking("Hm", "sig"), Opaque("anthropic", {"type": "redacted_thinking", "data": "x"}))
    for model, count in (
        ("anthropic/claude-fable-5-2", 3),
        ("anthropic/claude-fable-5-2-20260901", 3),
        ("anthropic/claude-opus-4-6", 1),
    ):
        assert len(sent(Request("", called(*parts, model=model)), BOUND)["messages"][1]["content"]) == count


def test_a_model_that_checks_the_place_of_its_thinking_is_asked_to_drop_what_has_moved() -> None:
    post, _ = Anthropic().post(Request("", [HELLO]), BOUND, None)
    assert json.loads(post.body)["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert post.headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"


SEARCH = Opaque("anthropic", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})
FOUND = Opaque("anthropic", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})
GO_ON = Message("u2", "user", (Text("Go on."),))


def kinds(messages: list[Message]) -> list[str]:
    return [block["type"] for each in sent(Request("", messages))["messages"] for block in each["content"]]


def test_a_call_at_the_server_that_was_never_answered_is_left_out_once_a_person_spoke() -> None:
    paused = Message("a1", "assistant", (Text("I search."), SEARCH), "anthropic/claude-opus-4-6")
    assert kinds([HELLO, paused, GO_ON]) == ["text", "text", "text"]
    whole = replace(paused, parts=(Text("I search."), SEARCH, FOUND))
    assert kinds([HELLO, whole, GO_ON]) == ["text", "text", "server_tool_use", "web_search_tool_result", "text"]


def test_a_call_at_the_server_that_waits_for_our_results_stays() -> None:
    caller = Opaque("anthropic", {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}})
    asks = Message("a1", "assistant", (SEARCH, CallPart("c", "Read", {}, None, caller)), "anthropic/claude-opus-4-6")
    results = Message("t1", "tool", (ResultPart("c", "Read", ()),))
    assert kinds([HELLO, asks, results]) == ["text", "server_tool_use", "tool_use", "tool_result"]
    body = sent(Request("", [HELLO, asks, results, GO_ON]))
    assert "caller" not in body["messages"][1]["content"][0]


def test_the_container_of_the_last_answer_is_used_again_and_none_of_an_earlier_one() -> None:
    kept = Opaque("anthropic", {"on": "message", "container": {"id": "container_01", "expires_at": "x"}})
    ran = Message("a1", "assistant", (Text("Done"), kept), "anthropic/claude-opus-4-6")
    assert sent(Request("", [HELLO, ran, GO_ON]))["container"] == "container_01"
    assert "container" not in sent(Request("", [HELLO, ran, GO_ON, Message("a2", "assistant", (Text("x"),)), GO_ON]))


def marked(body: dict[str, Any]) -> list[Any]:
    blocks = [block for each in body["messages"] for block in each["content"]]
    return [index for index, block in enumerate(blocks) if "cache_control" in block]


@pytest.mark.spec("PRV-9")
def test_breakpoints_stand_after_tools_system_the_last_message_and_where_the_last_request_ended() -> None:
    messages = [*called(Thinking("t", "s")), Message("u2", "user", (Text("And?"),))]
    request = Request("System", messages, (READ, GLOB), cache=CacheHints(messages=len(messages)))
    body = sent(request, CACHING)
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert marked(body) == [0, 4]  # Hello | thinking, call | result, And?
    assert json.dumps(body).count("cache_control") == 4
    assert marked(sent(replace(request, cache=CacheHints(messages=2)), CACHING)) == [0, 2]
    assert sent(replace(request, cache=CacheHints()), CACHING) == body
    assert marked(sent(replace(request, cache=CacheHints(messages=0)), CACHING)) == []


@pytest.mark.spec("PRV-9")
def test_breakpoints_can_live_an_hour_or_be_left_out_by_place_and_by_model() -> None:
    request = Request("System", [HELLO], (READ,), cache=CacheHints(messages=1, life="1h"))
    assert sent(request, CACHING)["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    off = replace(request, cache=CacheHints(tools=False, system=False))
    assert b"cache_control" not in Anthropic().post(off, CACHING, None)[0].body
    assert b"cache_control" not in Anthropic().post(request, FACTS, None)[0].body


def test_a_breakpoint_is_put_on_no_thinking_and_no_block_of_the_provider() -> None:
    parts = (Text("said"), Thinking("t", "s"), Opaque("anthropic", {"type": "redacted_thinking", "data": "x"}))
    message = Message("a1", "assistant", parts, "anthropic/claude-opus-4-6")
    body = sent(Request("", [HELLO, message], cache=CacheHints(messages=2)), CACHING)
    assert ["cache_control" in block for block in body["messages"][1]["content"]] == [True, False, False]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice("auto"), None),
        (ToolChoice("required"), {"type": "any"}),
        (ToolChoice("named", "Read"), {"type": "tool", "name": "Read"}),
        (ToolChoice("none"), {"type": "none"}),
    ],
)
def test_tool_choices(choice: ToolChoice, expected: dict[str, Any] | None) -> None:
    request = Request("", [HELLO], (READ,), choice)
    assert sent(request).get("tool_choice") == expected
    assert notes(request) == []


def test_a_thinking_model_cannot_be_held_to_a_tool_and_says_so() -> None:
    options = RequestOptions(thinking="adaptive")
    request = Request("", [HELLO], (READ,), ToolChoice("named", "Read"), options=options)
    assert "tool_choice" not in sent(request)
    assert notes(request) == [
        "claude-opus-4-6 does not support the tool choice 'named' while it thinks: 'auto' is used."
    ]
    bound = replace(FACTS, abilities=Abilities(force=frozenset({"auto", "none"})))
    assert "tool_choice" not in sent(replace(request, options=RequestOptions()), bound)


def test_tools_of_earlier_calls_are_declared_where_a_request_offers_none() -> None:
    body = sent(Request("", called()))
    assert [tool["name"] for tool in body["tools"]] == ["Read"]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("facts", "wanted", "expected", "noted"),
    [
        (FACTS, None, None, False),
        (FACTS, "adaptive", {"type": "adaptive", "display": "summarized"}, False),
        (FACTS, "off", {"type": "disabled"}, False),
        (FACTS, 0, {"type": "disabled"}, False),
        (FACTS, 4000, {"type": "adaptive", "display": "summarized"}, True),
        (BUDGET, 4000, {"type": "enabled", "budget_tokens": 4000}, False),
        (BUDGET, 100, {"type": "enabled", "budget_tokens": 1024}, False),
        (BUDGET, 10**6, {"type": "enabled", "budget_tokens": 48_000}, False),
        (BUDGET, "adaptive", {"type": "enabled", "budget_tokens": 8192}, True),
        (BUDGET, "off", {"type": "disabled"}, False),
        (replace(FACTS, thinking="none"), "off", None, False),
        (replace(FACTS, thinking="none"), 4000, None, True),
        (replace(FACTS, thinking="always"), "off", None, True),
        (replace(FACTS, quirks=frozenset({"between_tools"})), "off", {"type": "between_tools"}, False),
    ],
)
def test_thinking(facts: ModelFacts, wanted: Any, expected: dict[str, Any] | None, noted: bool) -> None:
    request = Request("", [HELLO], options=RequestOptions(thinking=wanted))
    assert sent(request, facts).get("thinking") == expected
    assert bool(notes(request, facts)) is noted


def test_a_budget_for_thinking_leaves_room_for_the_answer_and_obeys_its_limit() -> None:
    options = RequestOptions(thinking=30_000)
    small = Request("", [HELLO], limits=RequestLimits(max_output_tokens=4000), options=options)
    assert sent(small, BUDGET)["thinking"]["budget_tokens"] == 3000
    limited = Request("", [HELLO], limits=RequestLimits(max_thinking_tokens=2000), options=options)
    assert sent(limited, BUDGET)["thinking"]["budget_tokens"] == 2000
    tiny = Request("", [HELLO], limits=RequestLimits(max_output_tokens=1000), options=options)
    assert "thinking" not in sent(tiny, BUDGET)
    assert notes(tiny, BUDGET)


def test_a_budget_waits_until_calls_that_began_without_thinking_are_over() -> None:
    options = RequestOptions(thinking=4000)
    foreign = Request("", called(model="openai/gpt"), (READ,), options=options)
    assert "thinking" not in sent(foreign, BUDGET)
    own = Request("", called(Thinking("t", "s")), (READ,), options=options)
    post, _ = Anthropic().post(own, BUDGET, None)
    assert json.loads(post.body)["thinking"]["type"] == "enabled"
    assert post.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"


def test_earlier_thinking_is_left_out_while_thinking_is_off() -> None:
    request = Request("", called(Thinking("t", "s")), (READ,), options=RequestOptions(thinking="off"))
    assert [block["type"] for block in sent(request)["messages"][1]["content"]] == ["tool_use"]


@pytest.mark.spec("PRV-8")
def test_effort_is_the_models_own_value_or_the_next_lower_one() -> None:
    def effort(level: Any, facts: ModelFacts) -> tuple[Any, list[str]]:
        request = Request("", [HELLO], options=RequestOptions(effort=level))
        return sent(request, facts).get("output_config"), notes(request, facts)

    assert effort("high", FACTS) == ({"effort": "high"}, [])
    assert effort("max", FACTS) == (
        {"effort": "high"},
        [("claude-opus-4-6 does not support the effort 'max': 'high' is used.")],
    )
    assert effort("medium", FACTS)[0] == {"effort": "low"}
    assert effort("low", BUDGET) == (None, ["claude-sonnet-4-5 does not support effort: 'low' is omitted."])
    levels = replace(FACTS, efforts={"high": "high", "max": "max"})
    off = Request("", [HELLO], options=RequestOptions(effort="max", thinking="off"))
    assert sent(off, levels)["output_config"] == {"effort": "high"}
    assert notes(off, levels) == [
        ("claude-opus-4-6 does not support the effort 'max' while thinking is off: 'high' is used.")
    ]
    budgets = replace(BUDGET, efforts={"high": 16_000})
    request = Request("", [HELLO], options=RequestOptions(effort="high"))
    assert sent(request, budgets)["thinking"] == {"type": "enabled", "budget_tokens": 16_000}


@pytest.mark.spec("PRV-8")
def test_temperature_is_left_out_with_a_note_where_it_is_refused() -> None:
    plain = Request("", [HELLO], options=RequestOptions(temperature=0.2))
    assert sent(plain)["temperature"] == 0.2
    thinking = Request("", [HELLO], options=RequestOptions(temperature=0.2, thinking="adaptive"))
    assert "temperature" not in sent(thinking)
    assert notes(thinking) == ["claude-opus-4-6 does not support a temperature while it thinks: omitted."]
    assert "temperature" not in sent(plain, replace(FACTS, quirks=frozenset({"no_sampling"})))


@pytest.mark.spec("PRV-8")
def test_options_of_ones_own_go_out_as_they_are() -> None:
    options = RequestOptions(
        stop=("END",),
        service_tier="standard_only",
        body={"tools": [{"type": "web_search_20260318", "name": "web_search"}], "metadata": {"user_id": "u"}},
        headers={"Anthropic-Beta": "x-1", "X-Mine": "2"},
    )
    post, _ = Anthropic().post(Request("", [HELLO], (READ,), options=options), BOUND, "k")
    body = json.loads(post.body)
    assert body["stop_sequences"] == ["END"]
    assert body["service_tier"] == "standard_only"
    assert [tool["name"] for tool in body["tools"]] == ["Read", "web_search"]
    assert body["metadata"] == {"user_id": "u"}
    assert post.headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01,x-1"
    assert post.headers["x-mine"] == "2"


def test_an_output_schema_is_closed_and_keeps_refused_keywords_as_words() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 1, "description": "Years"},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}, "minItems": 1, "maxItems": 3},
            "when": {"oneOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        },
        "$defs": {"Tag": {"type": "object", "properties": {"name": {"type": "string", "format": "regex"}}}},
    }
    config = sent(Request("", [HELLO], output=schema))["output_config"]
    assert config == {"format": {"type": "json_schema", "schema": closed_schema(schema)}}
    assert closed_schema(schema) == {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "description": 'Years\n\n{"minimum": 1}'},
            "tags": {
                "type": "array",
                "items": {"$ref": "#/$defs/Tag"},
                "minItems": 1,
                "description": '{"maxItems": 3}',
            },
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        },
        "$defs": {
            "Tag": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": '{"format": "regex"}'}},
                "additionalProperties": False,
            }
        },
        "additionalProperties": False,
    }
    loose = replace(FACTS, abilities=Abilities(structured=False))
    assert "output_config" not in sent(Request("", [HELLO], output=schema), loose)
    assert notes(Request("", [HELLO], output=schema), loose)


def test_text_that_utf_8_cannot_say_and_numbers_that_json_has_not_are_replaced() -> None:
    parts = (Text("a\ud800b \ud83d\udc4b"), CallPart("c", "Read", {"n": float("nan")}))
    messages = [HELLO, Message("a1", "assistant", parts)]
    text, call = sent(Request("", messages))["messages"][1]["content"]
    assert text["text"] == "a\ufffdb \U0001f44b"
    assert call["input"] == {"n": None}

"""OpenAI's Responses API: what is sent, and what is made of what comes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps, loads
from typing import Any

import pytest

from callgate.formats.jsonable import from_json, to_json
from callgate.providers.family import ModelFacts, ServerEvent
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.model import (
    Abilities,
    CacheHints,
    Request,
    RequestLimits,
    RequestOptions,
    ToolChoice,
    ToolSpec,
)
from tests.providers.openai_kit import DATA, Told, body_of, fixture, names, parse

FAMILY = OpenAIResponses()
FACTS = ModelFacts(
    name="gpt-6.1-sol",
    family="openai",
    output_tokens=1000,
    thinking="adaptive",
    efforts={"low": "low", "high": "high"},
    abilities=Abilities(structured=True),
)
PLAIN = replace(FACTS, name="gpt-4.1", thinking="none", efforts=None)
READ = ToolSpec("Read", "Reads a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}})
HELLO = Message("u", "user", (Text("Hello"),))


def told(name: str) -> Told:
    return parse(FAMILY, fixture("openai", name))


def sent(*messages: Message, facts: ModelFacts = FACTS, **fields: Any) -> dict[str, Any]:
    return body_of(FAMILY, Request(fields.pop("system", ""), messages, **fields), facts)


def notes(facts: ModelFacts = FACTS, **fields: Any) -> Sequence[str]:
    return FAMILY.post(Request("", (HELLO,), **fields), facts, None)[1]


def items_of(name: str) -> list[dict[str, Any]]:
    """The items of a fixture as the server ended them."""
    found = [loads(event.data) for event in fixture("openai", name)]
    return [each["item"] for each in found if each["type"] == "response.output_item.done"]


# ---- streams --------------------------------------------------------------------------------------------------------


def test_the_table_of_covered_events_names_exactly_what_the_fixtures_have() -> None:
    table = (DATA / "openai" / "COVERED.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line.split("|")[2] for line in table.splitlines() if line.startswith("| `")}
    seen: dict[str, set[str]] = {}
    for name in names("openai"):
        for event in fixture("openai", name):
            data = loads(event.data)
            seen.setdefault(data["type"], set()).add(name)
            if data["type"] == "response.output_item.done":
                seen.setdefault(f"item {data['item']['type']}", set()).add(name)
    assert {kind: set(where.replace(",", " ").split()) for kind, where in rows.items()} == seen


def test_text_streams_in_pieces_and_keeps_the_data_of_its_message_apart() -> None:
    found = told("text")
    assert found.started is not None
    assert found.started.model == "openai/gpt-6.1-sol-2026-10-01"
    assert found.parts("text") == ["Grüße, 世界 🐈: «ok».", "And more."]
    assert found.stop == "end"
    kept = found.kept[0].data
    assert isinstance(kept, Mapping)
    assert [text["text"] for text in kept["content"]] == [None, None]
    assert "世界" not in dumps(kept, ensure_ascii=False)


def test_calls_have_the_call_id_and_keep_the_id_of_their_item() -> None:
    found = told("reasoning_and_calls")
    assert [call[:3] for call in found.calls()] == [
        ("call_a1", "Read", '{"file_path":"a \\"b\\".txt","limit":10}'),
        ("call_a2", "Grep", '{"pattern":"x+y"}'),
        ("call_a3", "Now", "{}"),
    ]
    assert found.stop == "tool_calls"
    kept = [found.kept[index] for index, start in found.kinds.items() if start.kind == "tool_call"]
    assert kept[1] == Opaque("openai", {"id": "fc_a2", "status": "completed", "namespace": "files"})


def test_a_call_is_complete_before_the_message_ends() -> None:
    parser = FAMILY.parser()
    events = fixture("openai", "reasoning_and_calls")
    at = next(n for n, event in enumerate(events) if '"call_id":"call_a2"' in event.data)
    before = [one for event in events[:at] for one in parser.feed(event)]
    assert type(before[-1]).__name__ == "PartEnded"


def test_summaries_of_reasoning_are_thinking_and_the_item_is_kept_without_them() -> None:
    found = told("reasoning_and_calls")
    assert found.parts("thinking") == ["**Looking**\n\nI need two files.\n\nThen I compare them."]
    kept = found.kept[0].data
    assert isinstance(kept, Mapping)
    assert kept["encrypted_content"] == "gAAAAABo+/final=="
    assert "two files" not in dumps(kept)
    assert told("open_reasoning").parts("thinking") == ["They want a number."]


@pytest.mark.spec("PRV-2")
def test_cached_and_written_tokens_are_no_input_and_are_never_below_zero() -> None:
    assert told("reasoning_and_calls").ended is not None
    end = told("reasoning_and_calls").ended
    assert end is not None
    assert end.usage == Usage(input=26, cache_read=1920, cache_write=64, output=187, reasoning=128)
    usage = {"input_tokens": 5, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 9}}
    assert _ended(usage).input == 0
    assert _ended(None) == Usage()
    assert _ended({"input_tokens": "many", "output_tokens": -1, "input_tokens_details": 7}) == Usage()


def _ended(usage: object) -> Usage:
    data = {"type": "response.completed", "response": {"status": "completed", "usage": usage}}
    found = parse(FAMILY, [ServerEvent("", dumps(data))])
    assert found.ended is not None
    return found.ended.usage


def test_every_way_to_end_has_its_stop_reason() -> None:
    ends = {name: (told(name).stop, getattr(told(name).ended, "detail", None)) for name in names("openai")}
    assert ends == {
        "cut_by_limit": ("max_tokens", "max_output_tokens"),
        "error": ("", None),
        "failed": ("", None),
        "filtered": ("refusal", "content_filter"),
        "llamacpp": ("tool_calls", ""),
        "open_reasoning": ("end", ""),
        "reasoning_and_calls": ("tool_calls", ""),
        "refusal": ("refusal", ""),
        "server_tools": ("end", ""),
        "text": ("end", ""),
    }
    assert told("cut_by_limit").calls() == [("call_l", "Write", '{"file_path":"a', False)]


def test_a_stream_without_its_end_is_no_finished_message_wherever_it_is_cut() -> None:
    for name in ("text", "reasoning_and_calls", "server_tools"):
        events = fixture("openai", name)
        for length in range(len(events)):
            found = parse(FAMILY, events[:length])
            assert found.ended is None, f"{name} cut after {length}"
            assert found.error is None


def test_a_server_that_gives_no_indices_is_read_by_the_ids_of_items() -> None:
    found = told("llamacpp")
    assert (found.parts("thinking"), found.parts("text")) == (["Hm."], ["I look."])
    assert [call[::2] for call in found.calls()] == [("fc_A1", '{"file_path":"a"}'), ("fc_A2", '{"file_path":"b"}')]
    assert all(closed for *_, closed in found.calls())


def test_failures_in_the_stream_say_what_they_are() -> None:
    failed, limited = told("failed").error, told("error").error
    assert failed is not None
    assert (failed.kind, failed.retryable) == ("server", True)
    assert limited is not None
    assert (limited.kind, limited.retryable) == ("rate_limited", True)
    nested = {"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded"}}
    error = parse(FAMILY, [ServerEvent("error", dumps(nested))]).error
    assert error is not None
    assert error.kind == "too_long"


ODD: Mapping[str, str] = {
    "no JSON": "{",
    "no object": "[]",
    "not a number": '{"type":"x","n":NaN}',
    "a piece for no item": '{"type":"response.output_text.delta","output_index":7,"content_index":0,"delta":"x"}',
    "a piece that is no text": '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":1}',
    "an item twice": '{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}',
    "an item without a type": '{"type":"response.output_item.added","output_index":1,"item":{}}',
    "an item that is none": '{"type":"response.output_item.added","output_index":1,"item":null}',
    "an end as another item": '{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning"}}',
}


@pytest.mark.parametrize("odd", ODD)
def test_data_that_the_api_does_not_promise_ends_the_stream_with_an_error(odd: str) -> None:
    item = '{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}'
    found = parse(FAMILY, [ServerEvent("", item), ServerEvent("", ODD[odd]), ServerEvent("", item)])
    assert found.error is not None, odd
    assert found.error.kind == "protocol"


def test_what_was_not_streamed_is_told_when_its_item_is_done() -> None:
    skipped = ("delta", "function_call_arguments.done", "part.added", "part.done", "text.done")
    for name in ("text", "reasoning_and_calls", "refusal", "open_reasoning"):
        whole = told(name)
        events = [event for event in fixture("openai", name) if not event.event.endswith(skipped)]
        found = parse(FAMILY, events)
        last = [fixture("openai", name)[0], fixture("openai", name)[-1]]
        for less in (found, parse(FAMILY, last)):
            assert (less.parts("text"), less.parts("thinking")) == (whole.parts("text"), whole.parts("thinking"))
            assert less.calls() == whole.calls()
            assert less.ended == whole.ended


def test_arguments_that_differ_from_their_pieces_are_an_error_and_other_white_space_is_not() -> None:
    start = {"type": "function_call", "call_id": "c", "name": "Read", "arguments": ""}
    for piece, whole, good in (('{"a": 1}', '{"a":1}', True), ('{"a": 1}', '{"a":2}', False), ("{", "", False)):
        events = [
            {"type": "response.output_item.added", "output_index": 0, "item": start},
            {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": piece},
            {"type": "response.output_item.done", "output_index": 0, "item": {**start, "arguments": whole}},
        ]
        found = parse(FAMILY, [ServerEvent("", dumps(event)) for event in events])
        assert (found.error is None) == good
        assert bool(found.closed) == good


# ---- back again -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("PRV-2", "PRV-13")
@pytest.mark.parametrize(
    "name", ["text", "reasoning_and_calls", "refusal", "open_reasoning", "server_tools", "llamacpp"]
)
def test_every_item_goes_back_as_it_came_and_in_its_place_after_a_trip_through_the_record(name: str) -> None:
    message = told(name).message()
    recorded = from_json(Message, loads(dumps(to_json(message))))
    assert recorded == message
    sent_back = sent(HELLO, recorded, HELLO)["input"][1:-1]
    assert sent_back == items_of(name)
    for there, back in zip(items_of(name), sent_back, strict=True):
        if there["type"] != "function_call":
            assert dumps(there) == dumps(back), "the order of the fields has changed"


def test_a_summary_whose_secret_was_masked_goes_back_as_one_and_without_it() -> None:
    message = told("reasoning_and_calls").message()
    masked = tuple(Thinking("I [masked:openai].") if isinstance(part, Thinking) else part for part in message.parts)
    gone = tuple(part for part in message.parts if not isinstance(part, Thinking))
    for parts, texts in ((masked, ["I [masked:openai].", ""]), (gone, ["", ""])):
        item = sent(HELLO, replace(message, parts=parts))["input"][1]
        assert [each["text"] for each in item["summary"]] == texts
        assert item.keys() == items_of("reasoning_and_calls")[0].keys()


def test_nothing_of_another_provider_is_sent() -> None:
    foreign = Message(
        "a",
        "assistant",
        (
            Thinking("secret", "sig"),
            Opaque("anthropic", {"type": "redacted_thinking", "data": "x"}),
            Text("Yes."),
            CallPart("toolu_1", "Read", {"file_path": "a"}, None, Opaque("gemini", {"thought_signature": "y"})),
        ),
        "anthropic/claude",
    )
    assert sent(HELLO, foreign)["input"][1:] == [
        {"type": "message", "role": "assistant", "content": "Yes."},
        {"type": "function_call", "call_id": "toolu_1", "name": "Read", "arguments": '{"file_path":"a"}'},
    ]


def test_reasoning_that_the_server_would_refuse_is_left_out() -> None:
    kept = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    bare = {"type": "reasoning", "id": "rs_2", "summary": []}
    text = Text("Yes.")
    alone = Message("a", "assistant", (text, Opaque("openai", kept)), "openai/gpt")
    lost = Message("a", "assistant", (Opaque("openai", bare), text), "openai/gpt")
    for message in (alone, lost):
        assert sent(HELLO, message)["input"][1:] == [{"type": "message", "role": "assistant", "content": "Yes."}]


# ---- requests -------------------------------------------------------------------------------------------------------


def test_a_request_asks_for_a_stream_keeps_nothing_on_the_server_and_wants_reasoning_encrypted() -> None:
    body = sent(HELLO, system="Be brief.", tools=(READ,), session="s1")
    assert body == {
        "model": "gpt-6.1-sol",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
        "tools": [
            {
                "type": "function",
                "name": "Read",
                "description": "Reads a file.",
                "parameters": READ.parameters,
                "strict": False,
            }
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "store": False,
        "stream": True,
        "reasoning": {"summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "s1",
    }
    plain = sent(HELLO, facts=PLAIN)
    assert not plain.keys() & {"reasoning", "include", "tools", "tool_choice", "instructions", "prompt_cache_key"}


def test_the_same_request_gives_the_same_bytes_and_the_key_is_in_a_header_alone() -> None:
    request = Request("s", (HELLO,), (READ,), options=RequestOptions(headers={"X-Team": "a"}))
    posts = [FAMILY.post(request, FACTS, "sk-secret")[0] for _ in range(2)]
    assert posts[0] == posts[1]
    assert posts[0].path == "/responses"
    assert posts[0].headers["authorization"] == "Bearer sk-secret"
    assert posts[0].headers["x-team"] == "a"
    assert b"sk-secret" not in posts[0].body
    assert b'": ' not in posts[0].body
    assert "authorization" not in FAMILY.post(request, FACTS, None)[0].headers


def test_images_and_files_go_along_in_messages_and_in_results() -> None:
    png, pdf = Image("image/png", b"\x89PNG"), Resource("file:///a/b.pdf", data=b"%PDF", media_type="application/pdf")
    user = Message("u", "user", (Text("Look"), png, pdf, Resource("file:///t.txt", text="text"), Resource("http://x")))
    call = Message("a", "assistant", (CallPart("c1", "Read", {}),), "openai/gpt")
    result = Message("t", "tool", (ResultPart("c1", "Read", (Text("one"), png)),))
    first, _, last = sent(user, call, result)["input"]
    assert first["content"] == [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
        {"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "input_text", "text": "[file:///t.txt]\ntext"},
        {"type": "input_text", "text": "[http://x]"},
    ]
    assert last["call_id"] == "c1"
    assert [each["type"] for each in last["output"]] == ["input_text", "input_image"]
    blind = replace(FACTS, abilities=Abilities(images=False))
    assert "base64" not in dumps(sent(user, call, result, facts=blind))


def test_results_are_text_and_say_that_they_are_errors() -> None:
    call = Message(
        "a", "assistant", (CallPart("c1", "Read", {}), CallPart("c2", "Read", {}), CallPart("c3", "Read", {}))
    )
    parts = (
        ResultPart("c1", "Read", (Text("one"), Text("two"))),
        ResultPart("c2", "Read", (Text("no file"),), is_error=True),
        ResultPart("c3", "Read", ()),
    )
    outputs = [item["output"] for item in sent(HELLO, call, Message("t", "tool", parts))["input"][-3:]]
    assert outputs == ["one\ntwo", "Error: no file", ""]


def test_ids_names_and_arguments_of_other_origin_are_made_acceptable_and_stay_paired() -> None:
    long = "x" * 80
    call = Message("a", "assistant", (CallPart(long, "my tool!", {}, "{not json"), CallPart("c~2", "Read", {}, "")))
    results = Message("t", "tool", (ResultPart(long, "my tool!", ()), ResultPart("c~2", "Read", ())))
    first, second, one, two = sent(HELLO, call, results)["input"][1:]
    assert (first["call_id"], second["call_id"]) == (one["call_id"], two["call_id"])
    assert len(first["call_id"]) <= 64
    assert first["name"].startswith("my_tool__")
    assert loads(first["arguments"]) == {"not_json": "{not json"}
    assert second["arguments"] == "{}"


def test_tool_choices_are_sent_as_far_as_the_model_can_be_held_to_them() -> None:
    def choice(wanted: ToolChoice, facts: ModelFacts = FACTS) -> Any:
        return sent(HELLO, facts=facts, tools=(READ,), tool_choice=wanted)["tool_choice"]

    assert choice(ToolChoice("required")) == "required"
    assert choice(ToolChoice("none")) == "none"
    assert choice(ToolChoice("named", "Read")) == {"type": "function", "name": "Read"}
    weak = replace(FACTS, abilities=Abilities(force=frozenset({"auto", "none"})))
    assert choice(ToolChoice("named", "Read"), weak) == "auto"
    assert any("tool choice" in note for note in notes(weak, tools=(READ,), tool_choice=ToolChoice("required")))


def test_options_that_a_model_does_not_know_are_left_out_with_a_note() -> None:
    wishes = RequestOptions(effort="max", thinking=5000, temperature=0.2, stop=("x",), service_tier="flex")
    body = sent(HELLO, options=wishes)
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["service_tier"] == "flex"
    assert not body.keys() & {"temperature", "stop"}
    assert len(notes(options=wishes)) == 4
    plain = sent(HELLO, facts=PLAIN, options=wishes)
    assert plain["temperature"] == 0.2
    assert "reasoning" not in plain
    assert sent(HELLO, options=RequestOptions(thinking="off"))["reasoning"]["effort"] == "none"
    bound = replace(FACTS, thinking="always")
    assert sent(HELLO, facts=bound, options=RequestOptions(thinking="off"))["reasoning"]["effort"] == "low"
    assert notes() == []


def test_limits_are_lowered_to_those_of_the_model_and_raised_to_those_of_the_api() -> None:
    def limit(wanted: int, facts: ModelFacts = FACTS) -> int:
        return sent(HELLO, facts=facts, limits=RequestLimits(wanted))["max_output_tokens"]

    assert [limit(500), limit(5000), limit(1)] == [500, 1000, 16]
    assert limit(5000, replace(FACTS, known=False)) == 5000
    assert "max_output_tokens" not in sent(HELLO)


def test_a_schema_is_strict_only_where_strict_mode_takes_it() -> None:
    closed = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"b": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
    }
    open_ones = [
        {**closed, "additionalProperties": True},
        {**closed, "required": []},
        {**closed, "minProperties": 1},
        {"type": "array", "items": {}},
        {**closed, "$defs": {"b": {"type": "object", "properties": {}}}},
        {**closed, "properties": {"a": True}},
    ]
    found = sent(HELLO, output=closed)["text"]["format"]
    assert (found["type"], found["strict"], found["schema"]) == ("json_schema", True, closed)
    for schema in open_ones:
        assert sent(HELLO, output=schema)["text"]["format"]["strict"] is False, schema
    weak = replace(FACTS, abilities=Abilities())
    assert "text" not in sent(HELLO, facts=weak, output=closed)
    assert any("JSON Schema" in note for note in notes(weak, output=closed))


def test_extra_fields_are_laid_over_the_body_and_the_cache_key_can_be_switched_off() -> None:
    body = sent(HELLO, session="s" * 99, options=RequestOptions(body={"store": True, "truncation": "auto"}))
    assert (body["store"], body["truncation"], len(body["prompt_cache_key"])) == (True, "auto", 64)
    assert "prompt_cache_key" not in sent(HELLO, session="s", cache=CacheHints(tools=False, system=False))


def test_half_a_character_does_not_spoil_the_request() -> None:
    request = Request("", (Message("u", "user", (Text("\ud83d" + "\ude00 \ud800"),)),))
    assert "😀 �" in FAMILY.post(request, FACTS, None)[0].body.decode()


def test_a_request_that_json_cannot_say_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="JSON") as raised:
        FAMILY.post(Request("", (HELLO,), options=RequestOptions(body={"x": object()})), FACTS, None)
    assert raised.value.kind == "bad_request"

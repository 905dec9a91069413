"""OpenAI's Chat Completions API and the habits of the servers that imitate it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from json import dumps, loads
from pathlib import Path
from typing import Any

import pytest

from callgate.formats.jsonable import from_json, to_json
from callgate.providers.catalogue import Catalogue, ModelName
from callgate.providers.family import ModelFacts, ServerEvent
from callgate.providers.openai_chat import OpenAIChat
from callgate.words.messages import CallPart, Image, Message, Opaque, ResultPart, Text, Thinking, Usage
from callgate.words.model import Abilities, Request, RequestLimits, RequestOptions, ToolChoice, ToolSpec
from tests.providers.openai_kit import Told, body_of, fixture, names, parse

FAMILY = OpenAIChat()
FACTS = ModelFacts(name="m", family="openai-chat", output_tokens=1000, abilities=Abilities(structured=True))
READ = ToolSpec("Read", "Reads a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}})
HELLO = Message("u", "user", (Text("Hello"),))
A, B = '{"file_path":"a"}', '{"file_path":"b"}'


def told(name: str) -> Told:
    return parse(FAMILY, fixture("openai-chat", name))


def quirky(*quirks: str, **fields: Any) -> ModelFacts:
    return replace(FACTS, quirks=frozenset(quirks), **fields)


def sent(*messages: Message, facts: ModelFacts = FACTS, **fields: Any) -> dict[str, Any]:
    return body_of(FAMILY, Request(fields.pop("system", ""), messages, **fields), facts)


def notes(facts: ModelFacts = FACTS, **fields: Any) -> Sequence[str]:
    return FAMILY.post(Request("", (HELLO,), **fields), facts, None)[1]


# ---- streams --------------------------------------------------------------------------------------------------------

# fixture: texts, thinking, calls (id, arguments), stop reason
HABITS: dict[str, tuple[list[str], list[str], list[tuple[str, str]], str]] = {
    "arguments_object": ([], [], [("call_1", A)], "tool_calls"),
    "azure_filters": (["Yes."], [], [], "end"),
    "deepseek_overloaded": (["Half"], [], [], ""),
    "deepseek_thinking": ([], ["I should read."], [("call_00_a", '{"file_path": "a"}')], "tool_calls"),
    "error_as_text": ([], [], [], ""),
    "gemini_signature": ([], [], [("function-call-1", A), ("function-call-2", B)], "tool_calls"),
    "groq_usage": (["Yes."], [], [], "end"),
    "interleaved": ([], [], [("call_1", A), ("call_2", B)], "tool_calls"),
    "llamacpp_calls": ([], ["Hm."], [("Xk2", A)], "tool_calls"),
    "llamacpp_error": (["Half"], [], [], ""),
    "mistral_thinking": (
        ["Yes."],
        ["Hm."],
        [("D681PevKs", '{"file_path": "a"}'), ("E792QfwLt", '{"file_path": "b"}')],
        "tool_calls",
    ),
    "name_in_pieces": ([], [], [("call_1", A)], "tool_calls"),
    "no_done": (["Whole."], [], [], "end"),
    "no_ids": ([], [], [("", A), ("", B)], "tool_calls"),
    "no_index": ([], [], [("call_1", A), ("call_2", B)], "tool_calls"),
    "no_reason": (["Half"], [], [("call_1", A)], ""),
    "ollama_calls": ([], ["I need two files."], [("call_a1b2", A), ("call_c3d4", B)], "tool_calls"),
    "ollama_old_calls": ([], [], [("call_1", A), ("call_2", B)], "tool_calls"),
    "openai_audio": (["Hm"], [], [], "end"),
    "openai_calls": (
        ["I look."],
        [],
        [("call_1", '{"file_path":"a \\"b\\".txt","limit":10}'), ("call_2", "{}")],
        "tool_calls",
    ),
    "openai_filtered": (["Well"], [], [], "refusal"),
    "openai_function_call": ([], [], [("", A)], "tool_calls"),
    "openai_length": (["Half"], [], [("call_1", '{"file_path":"a')], "max_tokens"),
    "openai_refusal": (["I cannot help with that."], [], [], "refusal"),
    "openai_text": (["Grüße, 世界 🐈: «ok»."], [], [], "end"),
    "openai_two_choices": (["first answer"], [], [], "end"),
    "openrouter_error": (["Half"], [], [], ""),
    "openrouter_reasoning": ([], ["I think."], [("toolu_1", '{"file_path": "a"}')], "tool_calls"),
    "repeated_names": ([], [], [("call_1", A)], "tool_calls"),
    "vllm_changing_ids": ([], [], [("chatcmpl-tool-1", '{"file_path": "a"}')], "tool_calls"),
    "vllm_error": ([], [], [], ""),
    "vllm_usage_in_every_chunk": (["Yes."], ["Hm"], [], "end"),
    "whole_message": (["Whole."], [], [("call_1", A)], "tool_calls"),
    "xai_reasoning_apart": (["Yes."], [], [], "end"),
}
OPEN = {"openai_length", "no_reason"}
"""Their last call is not complete."""


def test_the_table_of_habits_has_every_fixture() -> None:
    assert sorted(HABITS) == names("openai-chat")


@pytest.mark.parametrize("name", HABITS)
def test_the_habits_of_servers_are_read_as_they_are_meant(name: str) -> None:
    found = told(name)
    calls = [(call_id, text) for call_id, _, text, _ in found.calls()]
    assert (found.parts("text"), found.parts("thinking"), calls, found.stop) == HABITS[name]
    assert all(called in ("Read", "Write", "Now") for _, called, _, _ in found.calls())
    assert all(closed for *_, closed in found.calls()) == (name not in OPEN)


USAGES = {
    "openai_calls": Usage(input=90, cache_read=1920, output=187, reasoning=128),
    "vllm_usage_in_every_chunk": Usage(input=50, output=3),
    "deepseek_thinking": Usage(input=44, cache_read=256, output=40, reasoning=22),
    "groq_usage": Usage(input=40, output=3),
    "openrouter_reasoning": Usage(input=100, cache_read=400, output=60, reasoning=20),
    "xai_reasoning_apart": Usage(input=20, cache_read=10, output=103, reasoning=100),
    "ollama_old_calls": Usage(),
}


@pytest.mark.spec("PRV-11")
@pytest.mark.parametrize("name", USAGES)
def test_usage_counts_in_whatever_chunk_it_comes(name: str) -> None:
    end = told(name).ended
    assert end is not None
    assert end.usage == USAGES[name]


@pytest.mark.spec("PRV-11")
def test_cached_tokens_above_the_total_leave_no_input() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}
    chunk = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}
    end = parse(FAMILY, [ServerEvent("", dumps(chunk))]).ended
    assert end is not None
    assert (end.usage.input, end.usage.cache_read) == (0, 9)


def test_errors_in_a_stream_say_what_they_are() -> None:
    kinds: dict[str, tuple[str, bool]] = {}
    for name in names("openai-chat"):
        error = told(name).error
        if error is not None:
            kinds[name] = (error.kind, error.retryable)
    assert kinds == {
        "deepseek_overloaded": ("overloaded", True),
        "error_as_text": ("server", True),
        "llamacpp_error": ("too_long", False),
        "openrouter_error": ("server", True),
        "vllm_error": ("server", True),
    }


def _finishes(event: ServerEvent) -> bool:
    choices = [] if event.data == "[DONE]" else loads(event.data).get("choices", [])
    return any(choice.get("finish_reason") and not choice["index"] for choice in choices)


def test_a_message_is_whole_with_a_reason_to_finish_and_cut_off_without_wherever_it_is_cut() -> None:
    for name in names("openai-chat"):
        events = fixture("openai-chat", name)
        finish = next((n for n, event in enumerate(events) if _finishes(event)), len(events))
        for length in range(len(events)):
            found = parse(FAMILY, events[:length])
            assert (found.ended is None) == (length <= finish or found.error is not None), f"{name} cut after {length}"


def test_a_call_starts_to_run_when_the_next_one_begins() -> None:
    events = fixture("openai-chat", "openai_calls")
    parser = FAMILY.parser()
    at = next(n for n, event in enumerate(events) if "call_2" in event.data)
    out = [one for event in events[: at + 1] for one in parser.feed(event)]
    assert type(out[-1]).__name__ == "PartEnded"


def _chunk(*calls: dict[str, Any], finish: str | None = None) -> ServerEvent:
    return ServerEvent("", dumps({"choices": [{"delta": {"tool_calls": [*calls]}, "finish_reason": finish}]}))


def test_more_arguments_for_a_call_that_was_whole_are_an_error() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "Read", "arguments": A}}
    second = {"index": 1, "id": "c2", "function": {"name": "Read", "arguments": B}}
    space, more = ({"index": 0, "function": {"arguments": text}} for text in (" \n", "}"))
    assert parse(FAMILY, [_chunk(first), _chunk(second), _chunk(space), _chunk(finish="stop")]).stop == "tool_calls"
    error = parse(FAMILY, [_chunk(first), _chunk(second), _chunk(more), _chunk(finish="stop")]).error
    assert error is not None
    assert error.kind == "protocol"


REASONS = {
    "stop": "end",
    "length": "max_tokens",
    "model_length": "context_full",
    "content_filter": "refusal",
    "tool_calls": "end",
    "abort": "cut_off",
    "something new": "cut_off",
}


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_to_finish_has_a_stop_reason_and_an_unknown_one_proves_nothing(reason: str) -> None:
    chunk = {"choices": [{"delta": {"content": "x"}, "finish_reason": reason}]}
    assert parse(FAMILY, [ServerEvent("", dumps(chunk)), ServerEvent("", "[DONE]")]).stop == REASONS[reason]


@pytest.mark.parametrize("data", ["{", "[]", '{"choices":[1]}', '{"choices":[{"delta":{"content":{"a":1}}}]}', "NaN"])
def test_data_that_the_api_does_not_promise_ends_the_stream_with_an_error(data: str) -> None:
    error = parse(FAMILY, [*fixture("openai-chat", "openai_text")[:3], ServerEvent("", data)]).error
    assert error is not None
    assert error.kind == "protocol"


# ---- back again -----------------------------------------------------------------------------------------------------


def back(name: str, *quirks: str) -> dict[str, Any]:
    message = told(name).message()
    recorded = from_json(Message, loads(dumps(to_json(message))))
    assert recorded == message
    return sent(HELLO, recorded, facts=quirky(*quirks))["messages"][1]


@pytest.mark.spec("PRV-13")
def test_reasoning_details_and_signatures_go_back_as_they_came() -> None:
    assert back("openrouter_reasoning")["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "format": "anthropic-claude-v1",
            "index": 0,
            "text": "I think.",
            "signature": "EqQBsig==",
        },
        {"type": "reasoning.encrypted", "data": "gAAA==", "id": "rs_1", "format": "openai-responses-v1", "index": 1},
    ]
    first, second = back("gemini_signature")["tool_calls"]
    assert first["extra_content"] == {"google": {"thought_signature": "CvcQsig=="}}
    assert "extra_content" not in second


def test_thinking_goes_back_to_servers_that_want_it_and_to_no_other() -> None:
    assert "reasoning_content" not in back("deepseek_thinking")
    assert back("deepseek_thinking", "reasoning_content")["reasoning_content"] == "I should read."
    assert back("ollama_calls", "reasoning")["reasoning"] == "I need two files."
    foreign = Message("a", "assistant", (Thinking("x", "sig"), CallPart("c", "Read", {})), "anthropic/claude")
    assert sent(HELLO, foreign, facts=quirky("reasoning_content"))["messages"][1]["reasoning_content"] == ""
    assert "reasoning" not in sent(HELLO, foreign, facts=quirky("reasoning"))["messages"][1]


def test_nothing_of_another_provider_is_sent_and_a_message_of_nothing_else_is_left_out() -> None:
    hidden = Opaque("anthropic", {"type": "redacted_thinking"})
    only = Message("a", "assistant", (Thinking("x"), hidden), "anthropic/claude")
    assert [message["role"] for message in sent(HELLO, only, HELLO)["messages"]] == ["user", "user"]


# ---- requests -------------------------------------------------------------------------------------------------------


def test_a_request_has_only_the_fields_that_every_server_knows() -> None:
    assert sent(HELLO, system="Be brief.", tools=(READ,), session="s1") == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "Read", "description": "Reads a file.", "parameters": READ.parameters},
            }
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_images_of_results_follow_in_a_message_of_the_user_after_all_results() -> None:
    png = Image("image/png", b"\x89PNG")
    call = Message("a", "assistant", (CallPart("c1", "Read", {}), CallPart("c2", "Read", {})))
    results = Message(
        "t",
        "tool",
        (ResultPart("c1", "Read", (Text("one"), png)), ResultPart("c2", "Read", (Text("no"),), is_error=True)),
    )
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    for after in ((), (Message("a2", "assistant", (Text("I see."),)),)):
        messages = sent(HELLO, call, results, *after)["messages"]
        assert [message["role"] for message in messages[1:5]] == ["assistant", "tool", "tool", "user"]
        assert messages[2]["content"] == "one\n(An image follows in the next message.)"
        assert messages[3]["content"] == "Error: no"
        assert messages[4]["content"][1] == image
    asked = sent(HELLO, call, results, Message("u2", "user", (Text("Well?"),)))["messages"]
    assert [message["role"] for message in asked[1:]] == ["assistant", "tool", "tool", "user"]
    assert asked[-1]["content"][-1] == {"type": "text", "text": "Well?"}
    blind = replace(FACTS, abilities=Abilities(images=False))
    assert "base64" not in dumps(sent(HELLO, call, results, facts=blind))


def test_calls_and_results_stay_paired_whatever_form_ids_must_have() -> None:
    ids = ("toolu_01", "x" * 60, "call~2", "")
    call = Message("a", "assistant", tuple(CallPart(each, "Read", {"a": 1}) for each in ids))
    results = Message("t", "tool", tuple(ResultPart(each, "Read", (Text("x"),)) for each in ids))
    for facts, longest in ((FACTS, 40), (quirky("ids_of_nine"), 9)):
        answer, *outputs = sent(HELLO, call, results, facts=facts)["messages"][1:]
        asked = [each["id"] for each in answer["tool_calls"]]
        assert asked == [each["tool_call_id"] for each in outputs]
        assert len({*asked}) == 4
        assert all(0 < len(each) <= longest for each in asked)
        assert answer["content"] is None
        assert answer["tool_calls"][0]["function"] == {"name": "Read", "arguments": '{"a":1}'}


def test_tool_choices_are_sent_as_far_as_the_model_can_be_held_to_them() -> None:
    def choice(wanted: ToolChoice, facts: ModelFacts = FACTS) -> Any:
        return sent(HELLO, facts=facts, tools=(READ,), tool_choice=wanted).get("tool_choice")

    assert choice(ToolChoice()) is None
    assert choice(ToolChoice("required")) == "required"
    assert choice(ToolChoice("none")) == "none"
    assert choice(ToolChoice("named", "Read")) == {"type": "function", "function": {"name": "Read"}}
    weak = replace(FACTS, abilities=Abilities(force=frozenset({"auto", "none"})))
    assert choice(ToolChoice("named", "Read"), weak) is None
    assert notes(weak, tools=(READ,), tool_choice=ToolChoice("required"))


def test_options_are_sent_and_those_that_a_model_does_not_know_are_left_out_with_a_note() -> None:
    wishes = RequestOptions(effort="high", temperature=0.2, stop=("x", "y"), service_tier="flex", body={"top_k": 3})
    body = sent(HELLO, options=wishes, limits=RequestLimits(50), output={"type": "object"})
    assert (body["temperature"], body["stop"], body["service_tier"]) == (0.2, ["x", "y"], "flex")
    assert (body["max_tokens"], body["top_k"]) == (50, 3)
    assert body["response_format"]["json_schema"]["strict"] is False
    assert len(notes(options=wishes)) == 1  # it has no effort
    assert not sent(HELLO, facts=quirky("no_sampling"), options=wishes).keys() & {"temperature", "stop"}
    assert len(notes(quirky("no_sampling"), options=wishes)) == 3
    weak = replace(FACTS, abilities=Abilities())
    assert "response_format" not in sent(HELLO, facts=weak, output={})


def test_effort_and_thinking_are_said_in_the_words_of_the_server() -> None:
    high, off = RequestOptions(effort="high"), RequestOptions(thinking="off")
    thinks = replace(FACTS, thinking="adaptive", efforts={"low": "low", "high": "max"})
    assert sent(HELLO, facts=thinks, options=high)["reasoning_effort"] == "max"
    assert sent(HELLO, facts=thinks, options=off)["reasoning_effort"] == "none"
    own = replace(FACTS, efforts={"high": {"reasoning": {"effort": "high"}}})
    assert sent(HELLO, facts=own, options=high)["reasoning"] == {"effort": "high"}
    deepseek = quirky("thinking_type", thinking="adaptive")
    assert sent(HELLO, facts=deepseek, options=off)["thinking"] == {"type": "disabled"}
    assert notes(replace(thinks, thinking="always"), options=off)
    assert notes(thinks, options=RequestOptions(thinking=4000))


GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "models.md").read_text(encoding="utf-8")
QUIRKS = set(re.findall(r"^\| `([a-z_]+)` \|", GUIDE.partition("\n| quirk ")[2].partition("\n\n")[0], re.MULTILINE))


def test_every_quirk_changes_a_request() -> None:
    long = Message("a", "assistant", (Thinking("Hm"), CallPart("call_1", "Read", {})), "openai-chat/m")
    result = Message("t", "tool", (ResultPart("call_1", "Read", (Text("x"),)),))
    options = RequestOptions(temperature=1.0, thinking="off")
    request = Request("s", (HELLO, long, result), (READ,), limits=RequestLimits(9), options=options, session="s1")
    without = FAMILY.post(request, FACTS, None)[0].body
    assert len(QUIRKS) > 10
    for quirk in QUIRKS - {"text_calls", "no_text_calls"}:
        assert FAMILY.post(request, quirky(quirk), None)[0].body != without, quirk


def test_the_quirks_of_servers_in_the_table_of_models_are_known() -> None:
    catalogue = Catalogue()
    found = {
        quirk for server in catalogue.servers.values() if server.family == "openai-chat" for quirk in server.quirks
    }
    assert found
    assert found <= QUIRKS
    assert "reasoning_content" in catalogue.facts(ModelName("deepseek", "deepseek-v4-pro")).quirks
    assert {"no_sampling", "cache_key"} <= catalogue.facts(ModelName("openai-chat", "gpt-5")).quirks


def test_the_same_request_gives_the_same_bytes() -> None:
    request = Request("s", (HELLO,), (READ,), options=RequestOptions(headers={"HTTP-Referer": "https://example.org"}))
    posts = [FAMILY.post(request, FACTS, "sk-secret")[0] for _ in range(2)]
    assert posts[0] == posts[1]
    assert posts[0].path == "/chat/completions"
    assert posts[0].headers["authorization"] == "Bearer sk-secret"
    assert posts[0].headers["http-referer"] == "https://example.org"
    assert b"sk-secret" not in posts[0].body

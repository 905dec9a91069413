"""The parser of the Anthropic Messages API, on fixtures of our own."""

import json
from typing import Any

import pytest

from callgate.providers.anthropic import Anthropic
from callgate.providers.family import ServerEvent
from callgate.words.messages import CallPart, Opaque, Text, Thinking, Usage
from callgate.words.model import ArgumentsDelta, MessageEnded, MessageStarted, ModelEvent, PartEnded, TextDelta
from tests.providers.fixtures import folded, parsed, streamed, usage_of


def read(name: str) -> list[ModelEvent]:
    events, error = parsed(Anthropic().parser(), streamed("anthropic", name))
    assert error is None
    return events


def given(*data: dict[str, Any]) -> list[ServerEvent]:
    return [ServerEvent(each["type"], json.dumps(each)) for each in data]


START = {"type": "message_start", "message": {"id": "m", "model": "claude-x", "usage": {"input_tokens": 3}}}
STOP = {"type": "message_stop"}


def ending(reason: str | None) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}


def test_text_streams_piece_by_piece_and_empty_pieces_are_left_out() -> None:
    events = read("text")
    assert isinstance(events[0], MessageStarted)
    assert events[0].model == "anthropic/claude-opus-5-5"
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "Grüße",
        ', "world"\n',
        "\U0001f44b done.",
    ]
    assert events[-1] == MessageEnded("end", Usage(output=14))
    assert usage_of(events) == Usage(input=25, output=15)


def test_thinking_keeps_its_signature_and_calls_stream_their_arguments() -> None:
    events = read("thinking_and_calls")
    read_call, glob, tasks = folded(events).calls
    assert folded(events).parts == (
        Thinking("First I read both files.", "EqoBCkgIAhABGAIiQ+/="),
        Text("I look at both."),
        CallPart("toolu_01A", "Read", {}, '{"file_path": "src/a.py", "limit": 20}'),
        Thinking("", "omitted-but-signed=="),
        glob,
        tasks,
    )
    assert read_call.kept is None
    assert glob.kept == Opaque("anthropic", {"caller": {"type": "direct"}})
    assert tasks.raw_arguments == ""
    assert tasks.kept == Opaque("anthropic", {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_0"}})
    assert [event.text for event in events if isinstance(event, ArgumentsDelta)][:3] == [
        '{"file_path"',
        ': "src/a.py"',
        ', "limit": 20}',
    ]


def test_counts_of_the_end_replace_those_of_the_start_and_include_thinking() -> None:
    events = read("thinking_and_calls")
    assert usage_of(events) == Usage(input=9, cache_read=1200, cache_write=300, output=311, reasoning=42)
    assert events[-1] == MessageEnded("tool_calls", Usage(input=2, output=310, reasoning=42))


def test_a_server_that_counts_less_at_the_end_gives_no_negative_usage() -> None:
    less = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 1}}
    events, _ = parsed(Anthropic().parser(), given(START, less, STOP))
    assert usage_of(events) == Usage(input=3)


def test_blocks_of_the_provider_are_opaque_as_they_came_with_their_deltas_inside() -> None:
    parts = folded(read("server_tools")).parts
    assert parts[1] == Opaque(
        "anthropic",
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "claude shannon"}},
    )
    kinds = [part.data.get("type") for part in parts if isinstance(part, Opaque) and isinstance(part.data, dict)]
    assert kinds == [
        "server_tool_use",
        "web_search_tool_result",
        None,  # citations of the text before
        "server_tool_use",
        "web_fetch_tool_result",
        "server_tool_use",
        "code_execution_tool_result",
        "server_tool_use",
        "bash_code_execution_tool_result",
        "server_tool_use",
        "text_editor_code_execution_tool_result",
        "server_tool_use",
        "tool_search_tool_result",
        "container_upload",
        None,  # the container of the message
    ]


def test_citations_stand_behind_the_text_they_belong_to() -> None:
    parts = folded(read("server_tools")).parts
    at = parts.index(Text("He was born in 1916."))
    kept = parts[at + 1]
    assert isinstance(kept, Opaque)
    assert isinstance(kept.data, dict)
    assert kept.data["on"] == "block"
    assert [citation["type"] for citation in kept.data["citations"]] == [
        "char_location",
        "page_location",
        "content_block_location",
        "web_search_result_location",
        "search_result_location",
    ]


def test_blocks_and_deltas_of_types_that_are_not_known_yet_do_no_harm() -> None:
    events = read("own_blocks")
    data = [part.data for part in folded(events).parts if isinstance(part, Opaque)]
    assert data[0] == {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"}
    assert {"type": "hologram", "shape": {"vertices": [1, 2]}, "text": "a cube"} in data
    compaction = next(each for each in data if isinstance(each, dict) and each.get("type") == "compaction")
    assert compaction == {
        "type": "compaction",
        "content": "They talked of ledgers.",
        "encrypted_content": "ZW5j",
        "signature": "sig=",
    }


@pytest.mark.parametrize(
    ("name", "reason", "detail"),
    [
        ("text", "end", ""),
        ("thinking_and_calls", "tool_calls", ""),
        ("refusal", "refusal", "cyber: It may enable harm."),
        ("max_tokens", "max_tokens", ""),
        ("max_tokens_in_call", "max_tokens", ""),
        ("context_full", "context_full", ""),
        ("stop_sequence", "end", "three"),
        ("own_blocks", "paused", "pause_turn"),
        ("compacted", "paused", "compaction"),
    ],
)
def test_stop_reasons(name: str, reason: str, detail: str) -> None:
    end = read(name)[-1]
    assert isinstance(end, MessageEnded)
    assert (end.stop_reason, end.detail) == (reason, detail)


def test_a_reason_that_is_not_known_ends_the_message_as_cut_off() -> None:
    events, error = parsed(Anthropic().parser(), given(START, ending("moon_phase"), STOP))
    assert error is None
    assert events[-1] == MessageEnded("cut_off", Usage(output=5), "moon_phase")


def test_a_message_that_asks_for_calls_ends_with_calls_whatever_the_server_says() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}
    block = [
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_stop", "index": 0},
    ]
    events, _ = parsed(Anthropic().parser(), given(START, *block, ending("end_turn"), STOP))
    assert events[-1] == MessageEnded("tool_calls", Usage(output=5))
    assert folded(events).calls == (CallPart("t", "Read", {}, '{"path": "a"}'),)
    none, _ = parsed(Anthropic().parser(), given(START, ending("tool_use"), STOP))
    assert none[-1] == MessageEnded("end", Usage(output=5))


def test_without_its_end_marker_a_message_has_no_end() -> None:
    events = read("cut")
    assert isinstance(events[-1], PartEnded)
    assert usage_of(events) == Usage(input=25, output=1)


def test_an_error_in_the_middle_is_the_last_thing_that_comes() -> None:
    parser = Anthropic().parser()
    _, error = parsed(parser, streamed("anthropic", "overloaded"))
    assert error is not None
    assert (error.kind, error.retryable) == ("overloaded", True)
    assert "req_01" in str(error)
    assert list(parser.feed(ServerEvent("", json.dumps(START)))) == []


@pytest.mark.parametrize(
    "events",
    [
        [ServerEvent("message_start", "not json")],
        [ServerEvent("error", "upstream closed")],
        [ServerEvent("x", "[1]")],
        given(START, START),
        given({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        given(START, {"type": "content_block_delta", "index": 4, "delta": {"type": "text_delta", "text": "x"}}),
        given(START, {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t"}}),
        given(START, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 1}}),
        given(START, STOP),
        given(START, ending(None), STOP),
        given(
            START,
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            ending("end_turn"),
            STOP,
        ),
    ],
)
def test_what_the_api_does_not_promise_is_an_error(events: list[ServerEvent]) -> None:
    _, error = parsed(Anthropic().parser(), events)
    assert error is not None
    assert error.kind in ("protocol", "server")


def test_pings_and_unknown_events_say_nothing() -> None:
    parser = Anthropic().parser()
    for event in (ServerEvent("ping", ""), ServerEvent("ping", "{}"), ServerEvent("", '{"type":"later"}')):
        assert list(parser.feed(event)) == []


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected", "retryable"),
    [
        (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum", "too_long", False),
        (400, "invalid_request_error", "input length and `max_tokens` exceed context limit", "too_long", False),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", "no_credit", False),
        (400, "invalid_request_error", "messages.0.content.1: image exceeds 5 MB maximum", "image", False),
        (400, "invalid_request_error", "max_tokens: Field required", "bad_request", False),
        (401, "authentication_error", "invalid x-api-key", "wrong_key", False),
        (402, "billing_error", "Payment needed", "no_credit", False),
        (403, "permission_error", "not allowed", "wrong_key", False),
        (404, "not_found_error", "model: claude-9", "unknown_model", False),
        (409, "conflict_error", "again", "server", True),
        (413, "request_too_large", "Request exceeds the maximum size", "too_long", False),
        (429, "rate_limit_error", "This request would exceed your rate limit", "rate_limited", True),
        (500, "api_error", "Internal server error", "server", True),
        (504, "timeout_error", "timed out", "timeout", True),
        (529, "overloaded_error", "Overloaded", "overloaded", True),
        (529, "new_error", "Overloaded", "overloaded", True),
    ],
)
def test_faults_of_answers(status: int, kind: str, message: str, expected: str, retryable: bool) -> None:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    error = Anthropic().fault(status, {"request-id": "req_9", "retry-after": "7"}, body)
    assert (error.kind, error.retryable) == (expected, retryable)
    assert error.retry_after == (7.0 if retryable else None)
    assert "req_9" in str(error)
    assert message.rstrip(".") in str(error)


@pytest.mark.parametrize(
    "body", [b"", b"<html>bad gateway</html>", b"[]", b'{"error": "no"}', b"\xff\xfe", b"{" * 9000]
)
def test_a_fault_is_made_of_any_body(body: bytes) -> None:
    assert Anthropic().fault(502, {}, body).kind == "server"

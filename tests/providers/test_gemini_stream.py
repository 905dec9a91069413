"""The parser of Gemini's streams, on fixtures of our own."""

import json
from typing import Any

import pytest

from callgate.providers.family import ServerEvent
from callgate.providers.gemini import Gemini
from callgate.providers.gemini_stream import STOPS
from callgate.words.messages import CallPart, Opaque, Text, Thinking, Usage
from callgate.words.model import MessageEnded, MessageStarted, ModelEvent, PartEnded, TextDelta
from tests.providers.fixtures import folded, parsed, streamed, usage_of


def read(name: str) -> list[ModelEvent]:
    events, error = parsed(Gemini().parser(), streamed("gemini", name))
    assert error is None
    return events


def chunk(**candidate: Any) -> ServerEvent:
    return ServerEvent("", json.dumps({"candidates": [candidate]}))


def test_text_streams_piece_by_piece_into_one_part() -> None:
    events = read("text")
    assert isinstance(events[0], MessageStarted)
    assert (events[0].id, events[0].model) == ("resp-1", "gemini/gemini-3.8-flash")
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "Grüße",
        ', "world"\n',
        "\U0001f44b ",
        "done.",
    ]
    assert folded(events).parts == (Text('Grüße, "world"\n\U0001f44b done.'),)
    assert events[-1] == MessageEnded("end", Usage(output=9))


def test_thoughts_are_thinking_and_calls_come_whole_with_their_signature_and_id() -> None:
    events = read("thinking_and_calls")
    first = Opaque("gemini", {"functionCall": {"id": "fc_1"}, "thoughtSignature": "EjQKMgFyd2hhdA=="})
    assert folded(events).parts == (
        Thinking("**Reading**\nBoth files."),
        Text("I look."),
        CallPart("fc_1", "Read", {}, '{"file_path": "src/a.py", "limit": 20}', first),
        CallPart("fc_2", "Glob", {}, '{"pattern": "*.py"}', Opaque("gemini", {"functionCall": {"id": "fc_2"}})),
        CallPart("resp-1-3", "Tasks", {}, "{}"),
    )
    end = events[-1]
    assert isinstance(end, MessageEnded)
    assert end.stop_reason == "tool_calls"


def test_a_call_is_closed_in_the_event_that_brings_it() -> None:
    parser = Gemini().parser()
    out = parser.feed(chunk(content={"parts": [{"functionCall": {"name": "Read", "args": {}}}]}))
    assert isinstance(out[-1], PartEnded)


@pytest.mark.spec("PRV-11")
def test_cached_tokens_are_no_input_and_thoughts_are_output() -> None:
    assert usage_of(read("thinking_and_calls")) == Usage(input=100, cache_read=1400, output=100, reasoning=60)
    assert usage_of(read("own_parts")) == Usage(input=27, output=30)


@pytest.mark.spec("PRV-11")
def test_usage_that_comes_after_the_end_counts() -> None:
    events = read("late_usage")
    assert usage_of(events) == Usage(input=20, output=3, reasoning=1)


@pytest.mark.spec("PRV-11")
def test_more_cached_tokens_than_the_whole_prompt_are_no_negative_input() -> None:
    counts = {"promptTokenCount": 5, "cachedContentTokenCount": 9, "candidatesTokenCount": -3}
    data = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}], "usageMetadata": counts}
    events, _ = parsed(Gemini().parser(), [ServerEvent("", json.dumps(data))])
    assert usage_of(events) == Usage(cache_read=9)


def test_a_signature_on_text_stands_behind_it_and_says_how_much_it_signs() -> None:
    assert folded(read("signed_text")).parts == (
        Thinking("Thought."),
        Text("one two three"),
        Opaque("gemini", {"thoughtSignature": "c2lnMQ==", "on": "text", "chars": 5}),
        Text(" four"),
        Opaque("gemini", {"text": "", "thoughtSignature": "c2lnMg=="}),
    )


def test_a_signature_on_a_thought_is_that_of_the_thinking() -> None:
    signed = chunk(content={"parts": [{"text": "Hm", "thought": True, "thoughtSignature": "s"}, {"text": "x"}]})
    events, _ = parsed(Gemini().parser(), [signed])
    assert folded(events).parts == (Thinking("Hm", "s"), Text("x"))


def test_parts_of_the_provider_are_opaque_as_they_came() -> None:
    opaque = [part.data for part in folded(read("own_parts")).parts if isinstance(part, Opaque)]
    assert [next(iter(data)) for data in opaque if isinstance(data, dict)] == [
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
        "inlineData",
        "fileData",
        "functionResponse",
        "hologram",
        "partMetadata",
    ]
    assert opaque[0] == {
        "executableCode": {"language": "PYTHON", "code": "print(2)\n", "id": "x1"},
        "thoughtSignature": "c2lnMw==",
    }


def test_a_call_in_pieces_which_no_request_asks_for_ends_the_stream() -> None:
    for call in ({"name": "Edit", "willContinue": True}, {"name": "Edit", "partialArgs": [{"jsonPath": "$.a"}]}):
        _, error = parsed(Gemini().parser(), [chunk(content={"parts": [{"functionCall": call}]}, finishReason="STOP")])
        assert error is not None
        assert error.kind == "protocol"


def test_calls_without_an_id_or_with_the_same_one_get_ids_of_their_own() -> None:
    parts = [{"functionCall": {"name": "A", **more}} for more in ({}, {"id": "x"}, {"id": "x"}, {})]
    events, _ = parsed(Gemini().parser(), [chunk(content={"parts": parts}, finishReason="STOP")])
    ids = [call.id for call in folded(events).calls]
    assert len(set(ids)) == 4
    assert ids[1] == "x"


@pytest.mark.parametrize(
    ("name", "reason", "detail"),
    [
        ("text", "end", ""),
        ("max_tokens", "max_tokens", "MAX_TOKENS"),
        ("safety", "refusal", "SAFETY: Blocked by a filter."),
        ("malformed_call", "cut_off", "MALFORMED_FUNCTION_CALL: Malformed function call: print(default_api.Read("),
        ("blocked", "refusal", "PROHIBITED_CONTENT"),
        ("empty", "cut_off", "STOP"),
    ],
)
def test_ends(name: str, reason: str, detail: str) -> None:
    end = read(name)[-1]
    assert isinstance(end, MessageEnded)
    assert (end.stop_reason, end.detail) == (reason, detail)


def test_every_finish_reason_ends_a_message_as_the_table_says_and_unknown_ones_as_cut_off() -> None:
    for reason, expected in (*STOPS.items(), ("MOON_PHASE", "cut_off")):
        said = chunk(content={"parts": [{"text": "x"}]}, finishReason=reason)
        events, _ = parsed(Gemini().parser(), [said])
        assert isinstance(events[-1], MessageEnded)
        assert events[-1].stop_reason == expected, reason


def test_without_a_finish_reason_a_message_has_no_end() -> None:
    events = read("cut")
    assert isinstance(events[-1], TextDelta)
    unspecified = chunk(content={"parts": [{"text": "x"}]}, finishReason="FINISH_REASON_UNSPECIFIED")
    assert isinstance(parsed(Gemini().parser(), [unspecified])[0][-1], TextDelta)


def test_an_error_in_the_middle_is_the_last_thing_that_comes() -> None:
    _, error = parsed(Gemini().parser(), streamed("gemini", "overloaded"))
    assert error is not None
    assert (error.kind, error.retryable) == ("overloaded", True)


@pytest.mark.parametrize(
    "data",
    [
        "not json",
        "[1]",
        '"text"',
        '{"candidates": 3}',
        '{"candidates": [{"content": {"parts": [4]}}]}',
        '{"candidates": [{"content": {"parts": [{"functionCall": {"args": {}}}]}}]}',
        '{"candidates": [{"content": {"parts": [{"functionCall": {"name": "A", "args": [1]}}]}}]}',
        '{"candidates": [{"finishReason": 4}]}',
        '{"usageMetadata": [1]}',
    ],
)
def test_what_the_api_does_not_promise_is_an_error(data: str) -> None:
    _, error = parsed(Gemini().parser(), [ServerEvent("", data)])
    assert error is not None
    assert error.kind == "protocol"


def fault(code: int, status: str, message: str, *details: dict[str, Any]) -> bytes:
    error = {"code": code, "status": status, "message": message, "details": list(details)}
    return json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    ("code", "status", "message", "expected", "retryable"),
    [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "wrong_key", False),
        (400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum", "too_long", False),
        (400, "INVALID_ARGUMENT", "Unable to process input image", "image", False),
        (400, "INVALID_ARGUMENT", "Invalid JSON payload received", "bad_request", False),
        (400, "FAILED_PRECONDITION", "Please enable billing on your project", "no_credit", False),
        (403, "PERMISSION_DENIED", "no permission", "wrong_key", False),
        (404, "NOT_FOUND", "models/gemini-9 is not found", "unknown_model", False),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", "rate_limited", True),
        (429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted", "no_credit", False),
        (500, "INTERNAL", "An internal error has occurred", "server", True),
        (503, "UNAVAILABLE", "The model is overloaded", "overloaded", True),
        (504, "DEADLINE_EXCEEDED", "too slow", "timeout", True),
    ],
)
def test_faults_of_answers(code: int, status: str, message: str, expected: str, retryable: bool) -> None:
    error = Gemini().fault(code, {}, fault(code, status, message))
    assert (error.kind, error.retryable) == (expected, retryable)
    assert Gemini().fault(code, {}, b"[" + fault(code, status, message) + b"]").kind == expected


def test_the_wait_stands_in_the_details_and_a_limit_for_the_day_is_not_waited_for() -> None:
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = Gemini().fault(429, {}, fault(429, "RESOURCE_EXHAUSTED", "quota", wait))
    assert error.retry_after == 34.5
    assert Gemini().fault(429, {"retry-after": "3"}, fault(429, "RESOURCE_EXHAUSTED", "quota", wait)).retry_after == 3
    daily = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
    assert not Gemini().fault(429, {}, fault(429, "RESOURCE_EXHAUSTED", "quota", daily, wait)).retryable


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"[7]", b'{"error": 7}', b"\xff", b"[" * 9000])
def test_a_fault_is_made_of_any_body(body: bytes) -> None:
    assert Gemini().fault(502, {}, body).kind == "server"

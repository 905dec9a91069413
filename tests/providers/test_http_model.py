"""A model behind HTTP: the exchange, its failures, and what is kept for the next one. All sockets are real."""

import asyncio
import errno
import socket
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.addresses import base_url
from callgate.providers.exchange import fault_of_exception
from callgate.providers.http_model import HttpModel
from callgate.providers.stream_parser import with_joined_deltas
from callgate.testing import ManualClock, settle
from callgate.words.errors import ModelError
from callgate.words.messages import Message, Text, Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    ModelEvent,
    ModelNoted,
    PartEnded,
    RequestOptions,
    TextDelta,
    ThinkingDelta,
)
from tests.providers.clients import REQUEST, failed, is_whole, model_on, streamed, text_of, waiting
from tests.providers.servers import CUT, HANG, Answer, Call, FakeServer, Reply, Say, Until, writer

PLAIN = writer("plain")
HELLO = Reply.of(PLAIN, Answer())
EVENTS = [data for _, data in PLAIN.events(Answer((Say("Hello, world."), Call("c1", "look", '{"at": 1}'))))]

BIG = replace(REQUEST, messages=[Message("u1", "user", (Text("x" * 20_000_000),))])


async def test_a_post_goes_out_and_its_events_come_back() -> None:
    async with (
        FakeServer(HELLO) as server,
        model_on(server, base=f"{server.url}/v1/", headers={"X-Own": "1"}) as (model, _),
    ):
        events, error = await streamed(model)
        assert error is None
        assert text_of(events) == "Hello."
        assert is_whole(events)
        sent = server.requests[0]
        assert (sent.method, sent.target) == ("POST", "/v1/talk")
        assert sent.json["messages"] == [{"role": "user", "text": "hi"}]
        assert sent.headers["x-api-key"] == PLAIN.key
        assert sent.headers["x-own"] == "1"
        assert sent.headers["accept-encoding"] == "identity"
        assert sent.headers["user-agent"].startswith("callgate/")


async def test_headers_of_the_user_replace_those_of_the_family() -> None:
    async with FakeServer(HELLO) as server, model_on(server, headers={"X-API-KEY": "other"}) as (model, _):
        await streamed(model)
        assert server.requests[0].headers["x-api-key"] == "other"


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_events_may_be_cut_anywhere(size: int) -> None:
    data = b"".join(EVENTS)
    cut = [data[start : start + size] for start in range(0, len(data), size)]
    async with FakeServer(Reply(cut), Reply(cut, chunked=False)) as server, model_on(server) as (model, _):
        chunked, first = await streamed(model)
        until_closed, second = await streamed(model)
        assert first is second is None
        assert chunked == until_closed
        assert is_whole(chunked)


async def test_a_connection_is_used_again_and_its_events_are_not_waited_for_behind_the_end() -> None:
    late = Until()
    first = Reply([*HELLO.steps, late])
    async with FakeServer(first, HELLO, HELLO) as server, model_on(server) as (model, _):
        events, _ = await streamed(model)  # the end of the body has not come, and nobody waits for it
        assert is_whole(events)
        late.go.set()
        await settle()
        await streamed(model)
        await streamed(model)
        assert [request.connection for request in server.requests] == [1, 1, 1]


async def test_a_connection_whose_last_answer_has_not_ended_is_not_used_again() -> None:
    async with FakeServer(Reply([*HELLO.steps, HANG]), HELLO) as server, model_on(server) as (model, _):
        await streamed(model)
        events, error = await streamed(model)
        assert error is None
        assert is_whole(events)
        assert [request.connection for request in server.requests] == [1, 2]


async def test_a_kept_connection_that_the_server_closes_without_an_answer_costs_nothing() -> None:
    async with FakeServer(HELLO, Reply(before=[CUT]), HELLO) as server, model_on(server) as (model, _):
        await streamed(model)
        events, error = await streamed(model)
        assert error is None
        assert is_whole(events)
        assert [request.connection for request in server.requests] == [1, 1, 2]


async def test_a_new_connection_that_is_closed_without_an_answer_is_a_failure() -> None:
    async with FakeServer(Reply(before=[CUT]), HELLO) as server, model_on(server) as (model, _):
        error = await failed(model)
        assert (error.kind, error.retryable) == ("connection", True)
        assert len(server.requests) == 1


async def test_a_kept_connection_that_breaks_after_the_first_byte_is_a_failure() -> None:
    torn = Reply([b"HTTP/1.1 200 OK\r\ncontent"], raw=True)
    async with FakeServer(HELLO, torn, HELLO) as server, model_on(server) as (model, _):
        await streamed(model)
        error = await failed(model)
        assert (error.kind, error.retryable) == ("connection", True)
        assert len(server.requests) == 2


async def test_an_old_connection_is_not_used_again() -> None:
    async with FakeServer(HELLO, HELLO) as server, model_on(server) as (model, clock):
        await streamed(model)
        clock.advance(61)
        await streamed(model)
        assert [request.connection for request in server.requests] == [1, 2]


async def test_connections_that_are_kept_are_few() -> None:
    gates = [Until() for _ in range(7)]
    replies = [Reply([HELLO.steps[0], gate, *HELLO.steps[1:]]) for gate in gates]
    async with FakeServer(*replies) as server, model_on(server) as (model, _):
        tasks = [asyncio.create_task(streamed(model)) for _ in gates]
        for gate in gates:
            await gate.reached.wait()
            gate.go.set()
        await asyncio.gather(*tasks)
        await settle()
        assert server.connections == 7
        assert server.open == 4


@pytest.mark.parametrize("events", [0, 1, 3])
async def test_closing_the_stream_lets_go_of_the_connection_at_once(events: int) -> None:
    hang = Reply([*EVENTS[:3], HANG] if events else [HANG])
    async with FakeServer(hang) as server, model_on(server) as (model, clock):
        stream = model.stream(REQUEST)
        for _ in range(events):
            await anext(stream)
        if not events:
            task = asyncio.create_task(anext(stream))
            await waiting(clock)
            task.cancel()
            await asyncio.wait((task,))
            assert task.cancelled()
        await stream.aclose()
        await server.gone.wait()
        assert clock.next_timer is None


@pytest.mark.parametrize(
    "reply",
    [Reply(before=[HANG]), Reply([HANG]), Reply([EVENTS[0], HANG]), Reply([b"HTTP/1.1 200", HANG], raw=True)],
    ids=["before the head", "before the body", "in the middle", "in the head"],
)
async def test_silence_is_limited_in_every_phase(reply: Reply) -> None:
    async with FakeServer(reply) as server, model_on(server, idle_seconds=30.0) as (model, clock):
        task = asyncio.create_task(failed(model))
        await waiting(clock)
        clock.advance(29.9)
        await settle()
        assert not task.done()
        clock.advance(0.2)
        error = await task
        assert (error.kind, error.retryable) == ("timeout", True)
        assert "30 seconds" in str(error)
        await server.gone.wait()


async def test_only_silence_counts_not_the_time_of_the_whole_answer_nor_that_of_a_busy_reader() -> None:
    gates = [Until() for _ in EVENTS]
    steps = [step for gate, data in zip(gates, EVENTS, strict=True) for step in (gate, data)]
    async with FakeServer(Reply(steps)) as server, model_on(server) as (model, clock):
        stream = model.stream(REQUEST)
        for gate in gates:
            task = asyncio.create_task(anext(stream))
            await gate.reached.wait()
            await waiting(clock)
            clock.advance(80)
            gate.go.set()
            await task
            clock.advance(1000)  # the reader does other things
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_a_server_that_takes_no_bytes_is_silent_too() -> None:
    server = FakeServer()
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # the system connects, and nobody reads
        server.url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        async with model_on(server) as (model, clock):
            task = asyncio.create_task(failed(model, BIG))
            await waiting(clock)
            clock.advance(91)
            assert (await task).kind == "timeout"


async def test_an_answer_that_comes_before_the_body_is_whole_is_read() -> None:
    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"error": "too much"}'
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(hasty, "127.0.0.1", 0)
    server = FakeServer()
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with model_on(server) as (model, _):
        error = await failed(model, BIG)
        assert (error.kind, "too much" in str(error)) == ("too_long", True)
    listening.close()
    await settle()


@pytest.mark.parametrize(
    ("reply", "kind", "retryable", "words"),
    [
        (Reply.error(PLAIN, 401, "bad key"), "wrong_key", False, "bad key"),
        (Reply.error(PLAIN, 429, "slow down", retry_after="7", request_id="req_9"), "rate_limited", True, "req_9"),
        (Reply.error(PLAIN, 529, "busy"), "overloaded", True, "HTTP 529"),
        (Reply([], 502, {}), "server", True, "HTTP 502"),
        (Reply([b"<html><title>Bad\n gateway</title>"], 502, {}), "server", True, "“Bad gateway”"),
        (Reply([], 302, {"location": "https://login.example/"}), "protocol", False, "to https://login.example/"),
        (
            Reply([b"<!doctype html><title>Sign in</title>"], headers={"content-type": "text/html"}),
            "protocol",
            False,
            "“Sign in”",
        ),
        (Reply([b'{"id": 1}'], headers={"content-type": "application/json"}), "protocol", False, "one JSON value"),
        (Reply([b'{"id": 1}']), "protocol", False, "one JSON value"),
        (Reply([b'[{"error": "x"}]'], headers={"content-type": "application/json"}), "other", False, "HTTP 200"),
        (Reply([b'{"error": "it broke"}'], headers={}), "other", False, "it broke"),
        (Reply([b"hello there"], headers={"content-type": "text/plain"}), "protocol", False, "text/plain instead of"),
        (Reply([]), "protocol", True, "an empty answer"),
        (Reply([b": ping\n\n"]), "protocol", True, "an empty answer"),
        (Reply([], headers={}), "protocol", False, "an empty answer"),
        (Reply([b"x"], headers={"content-encoding": "gzip"}), "protocol", False, "compressed"),
        (Reply([b"SSH-2.0-OpenSSH_9\r\n\r\n"], raw=True), "protocol", False, "check the base URL"),
        (Reply([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000], raw=True), "protocol", False, "check the base URL"),
        (Reply([EVENTS[0], CUT]), "connection", True, "closed it before the end"),
        (Reply([EVENTS[0], b"data: nonsense\n\n"]), "protocol", False, "nonsense"),
        (Reply([EVENTS[0], PLAIN.error_event("overloaded", "busy")]), "overloaded", True, "busy"),
        (Reply([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"], raw=True), "protocol", False, "plain"),
        (Reply.error(PLAIN, 500, f"your key is {PLAIN.key}"), "server", True, "your key is [removed]"),
    ],
)
async def test_every_failure_has_a_kind_and_words(reply: Reply, kind: str, retryable: bool, words: str) -> None:
    async with FakeServer(reply) as server, model_on(server) as (model, _):
        error = await failed(model)
        assert (error.kind, error.retryable) == (kind, retryable), error
        assert words in str(error)
        assert PLAIN.key not in str(error)


async def test_the_time_to_wait_comes_with_the_error_and_the_connection_is_kept() -> None:
    async with (
        FakeServer(Reply.error(PLAIN, 429, "no", retry_after="7"), HELLO) as server,
        model_on(server) as (model, _),
    ):
        assert (await failed(model)).retry_after == 7.0
        await streamed(model)
        assert [request.connection for request in server.requests] == [1, 1]


async def test_events_are_read_under_another_content_type() -> None:
    reply = replace(HELLO, headers={"content-type": "application/octet-stream"})
    async with FakeServer(reply) as server, model_on(server) as (model, _):
        events, error = await streamed(model)
        assert error is None
        assert is_whole(events)


@pytest.mark.spec("PRV-1")
async def test_a_stream_that_ends_without_its_marker_is_cut_off_and_no_error() -> None:
    async with FakeServer(Reply(EVENTS[:-1])) as server, model_on(server) as (model, _):
        events, error = await streamed(model)
        assert error is None
        assert not is_whole(events)


@pytest.mark.spec("PRV-3")
async def test_a_server_of_this_machine_that_is_not_running_is_named_and_not_asked_again() -> None:
    async with FakeServer() as server:
        url = server.url
    server.url = url
    async with model_on(server) as (model, _):
        error = await failed(model)
        assert (error.kind, error.retryable) == ("connection", False)
        assert "is not running on this machine: start it, then send the prompt again (127.0.0.1:" in str(error)


@pytest.mark.spec("PRV-3")
@pytest.mark.parametrize(
    ("base", "retryable", "says"),
    [
        ("http://127.0.0.1:11434/v1", False, "start it with `ollama serve`, then send the prompt again"),
        ("http://localhost:11434/v1", False, "start it with `ollama serve`, then send the prompt again"),
        ("http://models.example:11434/v1", True, "is the server running? (models.example:11434)"),
    ],
)
@pytest.mark.parametrize(
    "refused",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "no"),
        OSError(f"Multiple exceptions: [Errno {errno.ECONNREFUSED}] no, [Errno {errno.ECONNREFUSED}] no"),
    ],
    ids=["one address", "all addresses of a name"],
)
def test_a_refused_connection_is_tried_again_unless_it_leads_to_this_machine(
    refused: OSError, base: str, retryable: bool, says: str
) -> None:
    error = fault_of_exception(refused, "ollama", base_url(base), 1.0)
    assert isinstance(error, ModelError)
    assert (error.kind, error.retryable) == ("connection", retryable)
    assert says in str(error)


async def test_a_host_that_is_not_found_is_named() -> None:
    server = FakeServer()
    server.url = "http://no-such-host.invalid"
    async with model_on(server) as (model, _):
        error = await failed(model)
        assert (error.kind, error.retryable) == ("connection", True)
        assert "no-such-host.invalid" in str(error)


@pytest.mark.parametrize("key", ["sk-secret\nx", "sk-sécret-key"])
async def test_a_key_that_cannot_be_sent_is_not_repeated(key: str) -> None:
    async with FakeServer(HELLO) as server, model_on(server, key=key) as (model, _):
        error = await failed(model)
        assert error.kind == "wrong_key"
        assert "cret" not in str(error)


async def test_a_request_that_cannot_be_written_is_the_familys_error() -> None:
    async with FakeServer() as server, model_on(server) as (model, _):
        error = await failed(model, replace(REQUEST, options=RequestOptions(body={"unwritable": True})))
        assert error.kind == "bad_request"
        assert server.connections == 0


async def test_a_note_is_given_once_by_a_model() -> None:
    request = replace(REQUEST, options=RequestOptions(temperature=0.5))
    async with FakeServer(HELLO, HELLO) as server, model_on(server) as (model, _):
        first, _ = await streamed(model, request)
        second, _ = await streamed(model, request)
        assert [event for event in first if isinstance(event, ModelNoted)] == [ModelNoted("a temperature is not known")]
        assert not [event for event in second if isinstance(event, ModelNoted)]


@pytest.mark.spec("PRV-11")
async def test_usage_that_the_server_does_not_give_is_estimated_and_marked() -> None:
    silent, half = Answer((Say("x" * 40),), usage=Usage()), Answer((Say("x" * 40),), usage=Usage(input=7))
    async with (
        FakeServer(Reply.of(PLAIN, silent), Reply.of(PLAIN, half), HELLO) as server,
        model_on(server) as (model, _),
    ):
        ends = [(await streamed(model, replace(REQUEST, system="y" * 332)))[0][-1] for _ in range(3)]
        usages = [end.usage for end in ends if isinstance(end, MessageEnded)]
        assert usages == [
            Usage(input=100, output=12, estimated=True),
            Usage(input=7, output=12, estimated=True),
            Usage(input=10, output=5),
        ]


def test_a_model_lives_longer_than_an_event_loop() -> None:
    made: list[HttpModel] = []

    async def once(last: bool) -> None:
        async with FakeServer(HELLO) as server:
            if not made:
                made.append(
                    HttpModel("plain/x", PLAIN.family, PLAIN.facts, key=None, clock=ManualClock(), base=server.url)
                )
            events, error = await streamed(made[0])
            assert (error is None) == (not last)
            assert is_whole(events) == (not last)
            await made[0].aclose()

    asyncio.run(once(False))
    asyncio.run(once(True))  # another server: the first one is gone


DELTAS = st.lists(
    st.builds(TextDelta, st.integers(0, 1), st.text("ab", min_size=1, max_size=2))
    | st.builds(ArgumentsDelta, st.integers(0, 1), st.text("ab", min_size=1, max_size=2))
    | st.builds(ThinkingDelta, st.integers(0, 1), st.text("ab", max_size=2))
    | st.builds(PartEnded, st.integers(0, 1))
)


@given(DELTAS, st.booleans())
def test_joined_deltas_have_the_same_text_in_the_same_order(events: list[ModelEvent], fails: bool) -> None:
    error = ModelError("busy", kind="overloaded")
    made: list[ModelEvent] = []
    joining = with_joined_deltas([*events, *([error] if fails else [])])
    with pytest.raises(ModelError) if fails else nullcontext():
        made.extend(joining)
    assert letters(made) == letters(events)
    between = [(one, other) for one, other in pairwise(made) if isinstance(one, TextDelta | ArgumentsDelta)]
    assert all(type(one) is not type(other) or one.index != getattr(other, "index", -1) for one, other in between)


def letters(events: list[ModelEvent]) -> list[tuple[type, int, str]]:
    """Each character with the kind and part of its event; other events without text."""
    found: list[tuple[type, int, str]] = []
    for event in events:
        text = getattr(event, "text", "")
        index = getattr(event, "index", -1)
        found += [(type(event), index, char) for char in text] or [(type(event), index, "")]
    return found


async def test_events_that_arrived_together_are_one_delta_each_part() -> None:
    data = b"".join(EVENTS)
    async with FakeServer(Reply([data])) as server, model_on(server) as (model, _):
        events = [event async for event in model.stream(REQUEST)]
        assert events == [*with_joined_deltas(events)]


async def test_a_broken_chunk_behind_received_events_ends_the_answer_after_them() -> None:
    head = b"".join(EVENTS[:4])
    chunk = f"{len(head):x}\r\n".encode() + head + b"\r\n"
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with FakeServer(Reply([raw + chunk + b"zz\r\nno chunk"], raw=True)) as server, model_on(server) as (model, _):
        events, error = await streamed(model)
        assert text_of(events)
        assert error is not None
        assert error.kind == "protocol"

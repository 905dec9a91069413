"""OpenAI's APIs over real sockets: what a server says arrives, in pieces of any size, with calls that take turns."""

from typing import cast

import pytest

from callgate.words.messages import Usage
from callgate.words.model import StopReason
from tests.providers.clients import failed, model_on, streamed
from tests.providers.openai_kit import fold
from tests.providers.servers import Answer, Call, FakeServer, Reply, Say, Think, writer

PARTS = (Think("Hm.", "sig"), Say("Grüße 🐈"), Call("c1", "look", '{"at":1}'), Call("c2", "see", '{"é":"🐈"}'))
USAGE = Usage(input=7, cache_read=20, cache_write=3, output=9, reasoning=4)
PATHS = {"openai": "/responses", "openai-chat": "/chat/completions"}


@pytest.mark.parametrize("family", PATHS)
@pytest.mark.parametrize(
    "answer", [Answer(PARTS, usage=USAGE, piece=size, interleave=size == 2) for size in (1, 2, 99)]
)
async def test_an_answer_arrives_as_it_was_said(family: str, answer: Answer) -> None:
    wire = writer(family)
    async with FakeServer(Reply.of(wire, answer)) as server, model_on(server, wire) as (model, _):
        events, error = await streamed(model)
    assert error is None
    told = fold(events)
    assert told.started is not None
    assert told.started.model == f"{family}/fake-1"
    assert (told.parts("thinking"), told.parts("text")) == (["Hm."], ["Grüße 🐈"])
    assert told.calls() == [("c1", "look", '{"at":1}', True), ("c2", "see", '{"é":"🐈"}', True)]
    assert told.ended is not None
    assert (told.stop, told.ended.usage) == ("tool_calls", USAGE)
    assert server.requests[0].target == PATHS[family]
    assert server.requests[0].headers["authorization"] == f"Bearer {wire.key}"


@pytest.mark.parametrize("family", PATHS)
async def test_stop_reasons_and_failures_are_told(family: str) -> None:
    wire = writer(family)
    reasons = ("end", "max_tokens", "refusal")
    replies = [Reply.of(wire, Answer(stop=cast("StopReason", reason))) for reason in reasons]
    broken = Reply([*replies[0].steps[:2], wire.error_event("overloaded", "busy")])
    refusals = [Reply.error(wire, status) for status in (401, 404, 429, 503)]
    async with FakeServer(*replies, broken, *refusals) as server, model_on(server, wire) as (model, _):
        assert [fold((await streamed(model))[0]).stop for _ in reasons] == [*reasons]
        kinds = [(await failed(model)).kind for _ in range(5)]
    assert kinds == ["overloaded", "wrong_key", "unknown_model", "rate_limited", "overloaded"]

"""Promises that every family of APIs keeps."""

import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.anthropic import Anthropic
from callgate.providers.family import Family
from callgate.providers.gemini import Gemini
from callgate.providers.http_model import HttpModel
from callgate.providers.openai_chat import OpenAIChat
from callgate.providers.openai_responses import OpenAIResponses
from callgate.providers.request_json import RequestMemo
from callgate.testing import ManualClock, check_model
from callgate.words.messages import Message, Text, Usage
from callgate.words.model import ModelEvent, Request
from tests.profiles import fewer
from tests.providers.clients import REQUEST, model_on, streamed
from tests.providers.fixtures import folded, usage_of
from tests.providers.histories import FACTS, requests
from tests.providers.servers import Answer, Call, FakeServer, Reply, Say, Think, writers

WRITERS = writers()
OURS: dict[str, Family] = {"anthropic": Anthropic(), "gemini": Gemini()}
KINDS: dict[str, Callable[[], Family]] = {
    "anthropic": Anthropic,
    "gemini": Gemini,
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
}
ANSWER = Answer(
    (Think("Hm, so.", "c2lnbmVk"), Say("I look at both."), Call("c1", "look", '{"at": "Grüße"}'), Call("c2", "look")),
    usage=Usage(input=100, cache_read=40, output=30, reasoning=10),
)


@pytest.mark.parametrize("family", WRITERS)
async def test_a_model_of_each_family_keeps_the_promises_of_models(family: str) -> None:
    wire = WRITERS[family]
    async with FakeServer(*(Reply.of(wire, ANSWER) for _ in range(2))) as server, AsyncExitStack() as stack:

        def make() -> HttpModel:
            name = f"{family}/{wire.facts.name}"
            model = HttpModel(name, wire.family, wire.facts, clock=ManualClock(), key=wire.key, base=server.url)
            stack.push_async_callback(model.aclose)
            return model

        await check_model(make, REQUEST)


@pytest.mark.parametrize("family", OURS)
@pytest.mark.parametrize("piece", [1, 3, 1000])
async def test_pieces_of_any_length_make_the_same_message(family: str, piece: int) -> None:
    async def message(answer: Answer) -> tuple[Any, Usage]:
        async with (
            FakeServer(Reply.of(WRITERS[family], answer)) as server,
            model_on(server, WRITERS[family]) as (model, _),
        ):
            events: list[ModelEvent] = (await streamed(model))[0]
            return folded(events), usage_of(events)

    whole = await message(ANSWER)
    assert whole[1] == ANSWER.usage
    assert await message(replace(ANSWER, piece=piece)) == whole
    assert await message(replace(ANSWER, piece=piece, interleave=True)) == whole


def contents(request: Request, family: str) -> list[Any]:
    """Messages of a body without the marks of the cache, which are no part of what is compared there."""
    body = json.loads(OURS[family].post(request, FACTS[family], None)[0].body, object_hook=_unmarked)
    return body["messages" if family == "anthropic" else "contents"]


def _unmarked(found: dict[str, Any]) -> dict[str, Any]:
    found.pop("cache_control", None)
    return found


@pytest.mark.timeout(600)
@pytest.mark.spec("PRV-6")
@pytest.mark.parametrize("family", OURS)
@given(data=st.data())
@fewer(15)
def test_a_longer_conversation_begins_with_the_same_bytes(family: str, data: st.DataObject) -> None:
    """Else nothing of it would be found in a cache. The one exception is a server's call that will never be answered:
    it is left out from the next word of a person on."""
    request = data.draw(requests(family))
    long = contents(request, family)
    if "srvtoolu_1" in json.dumps(long) or any(_dangles(message) for message in request.messages):
        return
    for count in range(1, len(request.messages) + 1):
        short = contents(replace(request, messages=request.messages[:count]), family)
        if not short:
            continue
        parts = "content" if family == "anthropic" else "parts"
        assert short[:-1] == long[: len(short) - 1]
        assert short[-1][parts] == long[len(short) - 1][parts][: len(short[-1][parts])]


@pytest.mark.timeout(600)
@pytest.mark.spec("PRV-6")
@pytest.mark.parametrize("family", KINDS)
@given(data=st.data())
@fewer(15)
def test_what_was_written_for_the_last_request_is_the_same_as_written_anew(family: str, data: st.DataObject) -> None:
    """The JSON of messages and tools is kept; whichever request came before, the bytes are those of a new family."""
    own = "gemini" if family == "gemini" else "anthropic"
    request, other = data.draw(requests(own)), data.draw(requests(own))
    kept = KINDS[family]()
    for count in (*range(1, len(request.messages) + 1), 0):
        prefix = replace(request, messages=request.messages[:count])
        for each in (prefix, replace(prefix, options=other.options), replace(other, messages=prefix.messages), other):
            assert kept.post(each, FACTS[own], None) == KINDS[family]().post(each, FACTS[own], None)


def test_each_message_is_written_once() -> None:
    made: list[str] = []
    memo = RequestMemo[Message, str]()

    def make(message: Message) -> str:
        made.append(message.id)
        return message.id.upper()

    talk = [Message(f"m{number}", "user", (Text("Hello"),)) for number in range(3)]
    assert memo.convert(talk[:2], make) == ["M0", "M1"]
    assert memo.convert(talk, make) == ["M0", "M1", "M2"]
    assert made == ["m0", "m1", "m2"]
    assert memo.convert([replace(talk[0]), talk[1]], make) == ["M0", "M1"]
    assert made == ["m0", "m1", "m2", "m0"], "another object may say something else"
    assert memo.convert(talk[:2], make, under="another model") == ["M0", "M1"]
    assert made[4:] == ["m0", "m1"]


def _dangles(message: Any) -> bool:
    return "srvtoolu_1" in repr(message)

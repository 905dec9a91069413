"""The vendor's SDK as an oracle: it knows every event, reads the same bytes to the same end, and its types take our
requests."""

from collections.abc import Iterator, Mapping
from functools import cache
from json import dumps, loads
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.family import ModelFacts
from callgate.providers.openai_chat import OpenAIChat
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.messages import CallPart, Image, Message, Part, Resource, ResultPart, Text, Thinking
from callgate.words.model import Abilities, Request, RequestLimits, RequestOptions, ToolChoice, ToolSpec
from tests.history import faults
from tests.profiles import fewer
from tests.providers.openai_kit import DATA, Told, body_of, fixture, names, parse, server_events
from tests.providers.servers import Answer, Call, Say, Think, writer
from tests.providers.test_deferred_tools import bodies

pytestmark = pytest.mark.slow
openai: Any = pytest.importorskip("openai", reason="the SDK comes with `sh scripts/setup.sh oracles`")
streaming: Any = pytest.importorskip("openai.lib.streaming.chat")
pydantic: Any = pytest.importorskip("pydantic")
httpx2: Any = pytest.importorskip("httpx2")

RESPONSES, CHAT = OpenAIResponses(), OpenAIChat()
NAMES = [name for name in names("openai") if name != "llamacpp"]
"""Streams of the vendor's own form."""


def client(family: str, name: str) -> Any:
    return answering((DATA / family / f"{name}.sse").read_bytes())


def answering(data: bytes) -> Any:
    answer = lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)  # noqa: E731
    transport = httpx2.MockTransport(answer)
    return openai.OpenAI(api_key="x", max_retries=0, http_client=httpx2.Client(transport=transport))


# ---- events ---------------------------------------------------------------------------------------------------------


def types_of(union: Any) -> set[str]:
    """The values of ``type`` in a union of the SDK's models."""
    return {get_args(each.model_fields["type"].annotation)[0] for each in get_args(get_args(union)[0])}


def test_the_fixtures_have_every_event_and_every_item_that_the_sdk_knows() -> None:
    from_sdk: Any = openai.types.responses
    lines = (DATA / "openai" / "COVERED.md").read_text(encoding="utf-8").splitlines()
    rows = {line.split("|")[1].strip(" `") for line in lines if line.startswith("| `")}
    assert {row for row in rows if not row.startswith("item ")} == types_of(from_sdk.ResponseStreamEvent)
    assert {row[5:] for row in rows if row.startswith("item ")} == types_of(from_sdk.ResponseOutputItem)


def test_every_event_of_the_fixtures_is_one_that_the_sdk_takes() -> None:
    takes = pydantic.TypeAdapter(openai.types.responses.ResponseStreamEvent)
    for name in NAMES:
        for event in fixture("openai", name):
            takes.validate_json(event.data)
    chunk = openai.types.chat.ChatCompletionChunk
    for name in names("openai-chat"):
        if name.startswith("openai_"):
            for event in fixture("openai-chat", name):
                if event.data != "[DONE]":
                    chunk.model_validate_json(event.data, strict=True)


# ---- the same bytes -------------------------------------------------------------------------------------------------

STATUS = {"end": "completed", "tool_calls": "completed", "max_tokens": "incomplete", "refusal": None}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("failed", "error")])
def test_the_sdk_reads_the_same_answer_of_responses(name: str) -> None:
    ours = parse(RESPONSES, fixture("openai", name))
    with client("openai", name).responses.stream(model="m", input="x") as stream:
        deltas = [event for event in stream if event.type.endswith(".delta")]
        theirs = next(loads(event.data)["response"] for event in reversed(fixture("openai", name)))
    final = openai.types.responses.Response.model_validate(theirs)
    texts = [part for item in final.output if item.type == "message" for part in item.content]
    assert ours.parts("text") == [part.text if part.type == "output_text" else part.refusal for part in texts]
    assert "".join(ours.parts("text")) == _joined(deltas, "response.output_text.delta", "response.refusal.delta")
    calls = [item for item in final.output if item.type == "function_call"]
    assert [call[:3] for call in ours.calls()] == [(call.call_id, call.name, call.arguments) for call in calls]
    assert "".join(call[2] for call in ours.calls()) == _joined(deltas, "response.function_call_arguments.delta")
    thoughts = _joined(deltas, "response.reasoning_summary_text.delta", "response.reasoning_text.delta")
    assert "".join(ours.parts("thinking")).replace("\n\n", "") == thoughts.replace("\n\n", "")
    assert STATUS[ours.stop] in (final.status, None)
    assert ours.ended is not None
    usage = ours.ended.usage
    assert usage.input + usage.cache_read + usage.cache_write == final.usage.input_tokens
    assert (usage.output, usage.reasoning) == (
        final.usage.output_tokens,
        final.usage.output_tokens_details.reasoning_tokens,
    )


def _joined(deltas: list[Any], *kinds: str) -> str:
    return "".join(event.delta for event in deltas if event.type in kinds)


def test_the_sdk_fails_where_we_do() -> None:
    with client("openai", "error").responses.stream(model="m", input="x") as stream:
        assert "error" in [event.type for event in stream]
    for name in ("vllm_error", "llamacpp_error", "error_as_text"):
        with pytest.raises(openai.APIError):
            list(client("openai-chat", name).chat.completions.create(model="m", messages=[], stream=True))
        assert parse(CHAT, fixture("openai-chat", name)).error is not None


@pytest.mark.parametrize("name", [name for name in names("openai-chat") if name.startswith(("openai_", "ollama_c"))])
def test_the_sdk_reads_the_same_answer_of_chat_completions(name: str) -> None:
    ours = parse(CHAT, fixture("openai-chat", name))
    state = streaming.ChatCompletionStreamState()
    for chunk in client("openai-chat", name).chat.completions.create(model="m", messages=[], stream=True):
        state.handle_chunk(chunk)
    theirs = state.current_completion_snapshot
    choice = next(choice for choice in theirs.choices if choice.index == 0)
    message = choice.message
    assert "".join(ours.parts("text")) == (message.content or "") + (message.refusal or "")
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    if message.function_call:
        calls = [("", message.function_call.name, message.function_call.arguments)]
    assert [call[:3] for call in ours.calls()] == calls
    wanted = {"stop": {"end", "refusal"}, "length": {"max_tokens"}, "content_filter": {"refusal"}}
    assert ours.stop in wanted.get(choice.finish_reason, {"tool_calls"})
    assert ours.ended is not None
    usage = ours.ended.usage
    assert (usage.input + usage.cache_read, usage.output) == (
        theirs.usage.prompt_tokens,
        theirs.usage.completion_tokens,
    )


ANSWER = Answer((Think("Hm.", "sig"), Say("Grüße 🐈"), Call("c1", "look", '{"at":1}'), Call("c2", "see")), piece=2)


def test_the_sdk_reads_what_the_fake_servers_write() -> None:
    written = b"".join(data for _, data in writer("openai-chat").events(ANSWER))
    state = streaming.ChatCompletionStreamState()
    for chunk in answering(written).chat.completions.create(model="m", messages=[], stream=True):
        state.handle_chunk(chunk)
    message = state.current_completion_snapshot.choices[0].message
    assert message.content == "Grüße 🐈"
    assert [(call.id, call.function.arguments) for call in message.tool_calls] == [("c1", '{"at":1}'), ("c2", "{}")]
    takes = pydantic.TypeAdapter(openai.types.responses.ResponseStreamEvent)
    written = b"".join(data for _, data in writer("openai").events(ANSWER))
    for number, event in enumerate(server_events(written.decode())):
        data = loads(event.data) | {"sequence_number": number}
        if "response" not in data:
            takes.validate_python(data | ({"logprobs": []} if "output_text" in event.event else {}))


# ---- requests -------------------------------------------------------------------------------------------------------

_text = st.text(min_size=1, max_size=12)
_image = st.builds(Image, st.just("image/png"), st.binary(max_size=8))
_resource = st.builds(
    Resource,
    st.just("file:///a.pdf"),
    st.none() | _text,
    st.none() | st.binary(max_size=8),
    st.sampled_from([None, "application/pdf", "image/png", "text/x-odd"]),
)
_content = st.builds(Text, _text) | _image | _resource
_arguments = st.dictionaries(_text, st.none() | st.integers() | _text, max_size=3)
_OWN: Mapping[str, Told] = {
    **{f"openai/{name}": parse(RESPONSES, fixture("openai", name)) for name in ("text", "refusal")},
    **{f"openai-chat/{name}": parse(CHAT, fixture("openai-chat", name)) for name in ("openai_text", "groq_usage")},
}
"""Answers of both families, as they are on record."""


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Any legal conversation of our nouns."""
    messages: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        messages.append(Message(f"m{len(messages)}", "user", tuple(draw(st.lists(_content, min_size=1, max_size=3)))))
        for _ in range(draw(st.integers(0, 2))):
            if draw(st.booleans()):
                messages.append(_OWN[draw(st.sampled_from(sorted(_OWN)))].message())
                break
            calls: list[CallPart] = []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                call_id = draw(st.sampled_from([f"call_{number}", f"call {number}~", f"{number}" * 50]))
                raw = draw(st.none() | st.sampled_from(["", "{", '{"a": 1}']))
                calls.append(CallPart(call_id, draw(st.sampled_from(["Read", "no such tool!"])), draw(_arguments), raw))
            before: list[Part] = draw(st.lists(st.builds(Text, _text) | st.builds(Thinking, _text), max_size=2))
            messages.append(Message(f"m{len(messages)}", "assistant", (*before, *calls), draw(_models)))
            results = (
                ResultPart(call.id, call.name, tuple(draw(st.lists(_content, max_size=2))), draw(st.booleans()))
                for call in calls
            )
            messages.append(Message(f"m{len(messages)}", "tool", tuple(results)))
    return messages


_models = st.sampled_from(["openai/gpt", "openai-chat/m", "anthropic/claude", None])
_tools = (ToolSpec("Read", "Reads.", {"type": "object", "properties": {"a": {"type": "string"}}}),)
_options = st.builds(
    RequestOptions,
    effort=st.sampled_from([None, "low", "max"]),
    thinking=st.sampled_from([None, "off", "adaptive", 4000]),
    temperature=st.sampled_from([None, 0.5]),
    stop=st.sampled_from([(), ("x",)]),
    service_tier=st.sampled_from([None, "flex"]),
)
_requests = st.builds(
    Request,
    system=st.sampled_from(["", "Be brief."]),
    messages=histories(),
    tools=st.sampled_from([(), _tools]),
    tool_choice=st.sampled_from(
        [ToolChoice(), ToolChoice("required"), ToolChoice("named", "Read"), ToolChoice("none")]
    ),
    limits=st.builds(RequestLimits, st.sampled_from([None, 1, 10**6])),
    options=_options,
    output=st.sampled_from([None, {"type": "object", "properties": {}, "additionalProperties": False}]),
    session=st.sampled_from(["", "s1"]),
)
_facts = st.builds(
    ModelFacts,
    name=st.just("gpt-5"),
    family=st.just("openai"),
    thinking=st.sampled_from(["none", "always", "adaptive"]),
    efforts=st.sampled_from([None, {"low": "low", "high": "high"}]),
    abilities=st.builds(Abilities, structured=st.booleans(), images=st.booleans()),
    quirks=st.frozensets(st.sampled_from(["max_completion_tokens", "cache_key", "developer_role", "no_sampling"])),
)


def test_every_item_that_is_kept_is_one_that_the_sdk_sends_back() -> None:
    for name in NAMES:
        for event in fixture("openai", name):
            data = loads(event.data)
            if data["type"] == "response.output_item.done":
                taken(openai.types.responses.ResponseInputItemParam, data["item"])


@cache
def _adapter(kind: Any) -> Any:
    return pydantic.TypeAdapter(kind)


def taken(kind: Any, body: object) -> object:
    """The body as the SDK's type reads it. Iterables are read lazily, so all of it is walked while the type lives."""
    return _walked(_adapter(kind).validate_python(body))


def _walked(value: Any) -> object:
    if isinstance(value, dict):
        return {key: _walked(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list | Iterator) or type(value).__name__ == "ValidatorIterator":
        return [_walked(each) for each in value]
    return value


@fewer(20)
@given(_requests, _facts)
def test_any_legal_conversation_fits_the_types_of_the_sdk(request: Request, facts: ModelFacts) -> None:
    assert faults(request.messages) == []
    responses = body_of(RESPONSES, request, facts)
    kind = openai.types.responses.response_create_params.ResponseCreateParamsStreaming
    assert dumps(taken(kind, responses), sort_keys=True) == dumps(responses, sort_keys=True)
    chat = body_of(CHAT, request, facts)
    kind = openai.types.chat.completion_create_params.CompletionCreateParamsStreaming
    assert dumps(taken(kind, chat), sort_keys=True) == dumps(chat, sort_keys=True)


@pytest.mark.spec("SRC-8")
def test_a_search_for_tools_and_its_answer_fit_the_types_of_the_sdk() -> None:
    kind = openai.types.responses.response_create_params.ResponseCreateParamsStreaming
    for body in bodies("gpt-6.1-sol"):
        assert dumps(taken(kind, body), sort_keys=True) == dumps(body, sort_keys=True)

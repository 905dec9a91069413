"""Anthropic's own SDK against our parser and our bodies: the same bytes, the same message; requests of its types."""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json

from callgate.providers.anthropic import Anthropic as Ours
from callgate.providers.anthropic_stream import STOPS
from callgate.providers.server_faults import CODES
from callgate.words.messages import CallPart, Message, Opaque, Text, Thinking, Usage
from callgate.words.model import MessageEnded, Request
from tests.profiles import fewer
from tests.providers.fixtures import DATA, folded, parsed, streamed, usage_of
from tests.providers.histories import FACTS, requests
from tests.providers.loopback import needs, sdk, serving_fixture
from tests.providers.servers import Answer, Call, Reply, Say, Think, serving, writer
from tests.providers.test_deferred_tools import bodies

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"), needs("anthropic")]

RECORD = Path(__file__).parents[2] / "docs" / "decisions" / "0027-models.md"
WHOLE = [path.stem for path in sorted((DATA / "anthropic").glob("*.sse")) if path.stem not in ("cut", "overloaded")]


def members(name: str) -> Iterator[Any]:
    """The members of a union in the SDK's types of the beta API, which are those of the stable one and more."""
    yield from get_args(get_args(getattr(sdk("anthropic.types.beta"), name))[0])


def kinds(name: str) -> set[str]:
    return {get_args(member.model_fields["type"].annotation)[0] for member in members(name)}


def fixture_data() -> list[dict[str, Any]]:
    return [
        json.loads(event.data)
        for path in (DATA / "anthropic").glob("*.sse")
        for event in streamed("anthropic", path.stem)
    ]


def test_the_fixtures_have_every_event_block_and_delta_of_the_sdk() -> None:
    data = fixture_data()
    assert kinds("BetaRawMessageStreamEvent") <= {each["type"] for each in data}
    assert kinds("BetaRawContentBlockDelta") <= {each["delta"].get("type") for each in data if "delta" in each}
    blocks = {each["content_block"]["type"] for each in data if "content_block" in each}
    assert kinds("BetaContentBlock") <= blocks
    cited = {each["delta"]["citation"]["type"] for each in data if "citation" in each.get("delta", {})}
    assert kinds("BetaTextCitation") <= cited
    named = set(re.findall(r"`(\w+)`", RECORD.read_text()))
    for union in ("RawMessageStreamEvent", "RawContentBlockDelta", "ContentBlock", "TextCitation"):
        assert kinds(f"Beta{union}") <= named, "the table of the record has it too"


def test_every_stop_reason_and_every_type_of_error_of_the_sdk_has_a_row() -> None:
    assert set(get_args(sdk("anthropic.types.beta").BetaStopReason)) == set(STOPS)
    memory = {"memory_precondition_failed_error", "memory_path_conflict_error"}  # of another API
    assert set(get_args(sdk("anthropic.types.shared").ErrorType)) - memory <= set(CODES)


@pytest.mark.parametrize("name", WHOLE)
def test_the_sdk_reads_the_same_message_out_of_the_same_bytes(name: str) -> None:
    with serving_fixture("anthropic", name) as base:
        client = sdk("anthropic").Anthropic(api_key="k", base_url=base, max_retries=0)
        ask: Any = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        with client.beta.messages.stream(**ask) as stream:
            theirs = stream.get_final_message()
    events, error = parsed(Ours().parser(), streamed("anthropic", name))
    assert error is None
    message, end = folded(events), events[-1]
    assert isinstance(end, MessageEnded)
    assert [_shown(block.to_dict()) for block in theirs.content] == _blocks(message)
    usage, total = theirs.usage, usage_of(events)
    thought = usage.output_tokens_details.thinking_tokens if usage.output_tokens_details else 0
    assert total == Usage(
        input=usage.input_tokens,
        cache_read=usage.cache_read_input_tokens or 0,
        cache_write=usage.cache_creation_input_tokens or 0,
        output=usage.output_tokens,
        reasoning=thought,
    )
    assert end.stop_reason == STOPS[theirs.stop_reason]
    assert f"anthropic/{theirs.model}" == message.model or name == "own_blocks"  # the SDK takes that of the fallback


def test_the_sdk_reads_what_the_fake_server_writes() -> None:
    parts = (Think("Hm.", "sig"), Say("Grüße 🐈"), Call("c1", "look", '{"at":1}'), Call("c2", "see"))
    with serving(Reply.of(writer("anthropic"), Answer(parts, piece=2))) as server:
        client = sdk("anthropic").Anthropic(api_key="k", base_url=server.url, max_retries=0)
        ask: Any = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        with client.beta.messages.stream(**ask) as stream:
            theirs = stream.get_final_message()
    thought, said, *calls = theirs.content
    assert (thought.thinking, thought.signature, said.text) == ("Hm.", "sig", "Grüße 🐈")
    assert [(call.id, call.name, call.input) for call in calls] == [("c1", "look", {"at": 1}), ("c2", "see", {})]
    assert (theirs.stop_reason, theirs.usage.input_tokens, theirs.usage.output_tokens) == ("tool_use", 10, 5)


def test_a_stream_that_breaks_off_or_fails_is_an_error_for_both() -> None:
    with serving_fixture("anthropic", "overloaded") as base:
        client = sdk("anthropic").Anthropic(api_key="k", base_url=base, max_retries=0)
        ask: Any = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        stream = client.messages.create(stream=True, **ask)
        with pytest.raises(sdk("anthropic").APIStatusError, match="Overloaded"):
            list(stream)


def _shown(block: dict[str, Any]) -> dict[str, Any]:
    """Nulls and empty lists aside: the SDK adds some and leaves out others. It does not know the hologram's text."""
    plain = {key: value for key, value in block.items() if value is not None and value != [] and key != "parsed_output"}
    if block["type"] == "hologram":
        plain.pop("text")
    return {
        key: _shown(value) if isinstance(value, dict) and "type" in value else value for key, value in plain.items()
    }


def _blocks(message: Message) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case Text(text):
                blocks.append({"text": text, "type": "text"})
            case Thinking(text, signature):
                blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            case CallPart():
                kept: Any = part.kept.data if part.kept else {}
                given = from_json(part.raw_arguments or "{}", allow_partial=True)
                blocks.append({"type": "tool_use", "id": part.id, "name": part.name, "input": given, **kept})
            case Opaque(_, data):
                assert isinstance(data, dict)
                if "type" in data:
                    blocks.append(_shown(data))
                elif data["on"] == "block":
                    blocks[-1] |= {key: value for key, value in data.items() if key != "on"}
            case _:
                raise AssertionError(part)
    return blocks


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read_all(value: Any) -> None:
    """Reads lazy iterators too, which pydantic checks only then."""
    for each in value.values() if isinstance(value, dict) else value:
        if not isinstance(each, str | int | float | bool | bytes | None | BaseModel):
            _read_all(each)


@pytest.mark.timeout(600)
@given(request=requests("anthropic"))
@fewer(20)
def test_every_legal_history_makes_a_body_of_the_sdks_types(request: Request) -> None:
    kind = sdk("anthropic.types.message_create_params").MessageCreateParamsStreaming
    body = json.loads(Ours().post(request, FACTS["anthropic"], "k")[0].body)
    assert body.keys() <= get_type_hints(kind).keys()
    _read_all(_adapter(kind).validate_python(body))
    roles = [each["role"] for each in body["messages"]]
    assert all(one != other for one, other in pairwise(roles))
    assert not roles or roles[0] == "user"
    open_calls: set[str] = set()
    for content in body["messages"]:
        blocks = content["content"]
        assert blocks
        assert all(block.get("text", "x").strip() for block in blocks)
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        assert answered == open_calls, "each call has its result in the next message"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}


@pytest.mark.spec("SRC-8")
def test_references_to_tools_that_were_found_are_of_the_sdks_types() -> None:
    kind = sdk("anthropic.types.message_create_params").MessageCreateParamsStreaming
    for body in bodies("claude-opus-5-5"):
        _read_all(_adapter(kind).validate_python(body))

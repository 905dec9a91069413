"""Google's own SDK against our parser and our bodies: the same bytes, the same answer; requests of its types."""

import json
import re
from base64 import urlsafe_b64decode
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from callgate.providers.gemini import Gemini as Ours
from callgate.providers.gemini_stream import STOPS
from callgate.words.messages import CallPart, Message, Opaque, Text, Thinking, Usage
from callgate.words.model import MessageEnded, Request
from tests.profiles import fewer
from tests.providers.fixtures import DATA, folded, parsed, streamed, usage_of
from tests.providers.histories import FACTS, requests
from tests.providers.loopback import needs, sdk, serving_fixture
from tests.providers.servers import Answer, Call, Reply, Say, Think, serving, writer

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"), needs("google.genai")]

RECORD = Path(__file__).parents[2] / "docs" / "decisions" / "0027-models.md"
NAMES = [path.stem for path in sorted((DATA / "gemini").glob("*.sse")) if path.stem != "overloaded"]
CONFIGURING = {"media_resolution", "video_metadata", "media_processing", "speech_metadata", "audio_transcription"}
"""Fields of a part that say how media are read or spoken, which stand beside its content."""


def test_the_fixtures_have_every_kind_of_part_of_the_sdk() -> None:
    data = [json.loads(event.data) for name in NAMES for event in streamed("gemini", name)]
    parts = [part for each in data for candidate in each.get("candidates", ()) for part in _parts(candidate)]
    have = {
        field
        for part in parts
        for field in sdk("google.genai.types").Part.model_validate(_known(part)).model_fields_set
    }
    assert set(sdk("google.genai.types").Part.model_fields) - CONFIGURING <= have
    named = set(re.findall(r"`(\w+)`", RECORD.read_text()))
    assert set(sdk("google.genai.types").Part.model_fields) - CONFIGURING <= named, "the table of the record has it too"
    calls = {field for part in parts for field in part.get("functionCall", {})}
    assert calls == {"id", "name", "args"}


def _parts(candidate: dict[str, Any]) -> list[dict[str, Any]]:
    return candidate.get("content", {}).get("parts", [])


def _known(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "hologram"}


def test_every_finish_reason_of_the_sdk_has_a_row() -> None:
    assert {each.value for each in sdk("google.genai.types").FinishReason} - {"FINISH_REASON_UNSPECIFIED"} == set(STOPS)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "own_parts"])
def test_the_sdk_reads_the_same_answer_out_of_the_same_bytes(name: str) -> None:
    with serving_fixture("gemini", name) as base:
        client = sdk("google.genai").Client(api_key="k", http_options={"base_url": base})
        chunks = list(client.models.generate_content_stream(model="gemini-x", contents="x"))
    events, error = parsed(Ours().parser(), streamed("gemini", name))
    assert error is None
    message = folded(events)
    parts = [part for chunk in chunks for part in (chunk.parts or ())]
    texts = [part.text for part in parts if part.text and not part.thought]
    assert "".join(texts) == message.text
    thoughts = [part.text for part in parts if part.text and part.thought]
    assert "".join(thoughts) == "".join(part.text for part in message.parts if isinstance(part, Thinking))
    calls = [(part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call]
    assert calls == [(call.name, json.loads(call.raw_arguments or "")) for call in message.calls]
    assert [part.thought_signature for part in parts if part.thought_signature] == _signatures(message)
    assert usage_of(events) == _usage([chunk.usage_metadata for chunk in chunks if chunk.usage_metadata])
    reasons = [c.finish_reason.value for chunk in chunks for c in chunk.candidates or () if c.finish_reason]
    ends = [event for event in events if isinstance(event, MessageEnded)]
    blocked = any(chunk.prompt_feedback for chunk in chunks)
    assert bool(ends) == bool(reasons or blocked)
    if reasons and calls == [] and message.parts:
        assert ends[0].stop_reason == STOPS[reasons[-1]]


def test_the_sdk_reads_what_the_fake_server_writes() -> None:
    said = (Think("Hm."), Say("Grüße 🐈"), Call("c1", "look", '{"at":1}'), Call("c2", "see"))
    with serving(Reply.of(writer("gemini"), Answer(said, piece=2))) as server:
        client = sdk("google.genai").Client(api_key="k", http_options={"base_url": server.url})
        chunks = list(client.models.generate_content_stream(model="gemini-x", contents="x"))
    parts = [part for chunk in chunks for part in (chunk.parts or ())]
    assert "".join(part.text for part in parts if part.text and part.thought) == "Hm."
    assert "".join(part.text for part in parts if part.text and not part.thought) == "Grüße 🐈"
    calls = [(each.id, each.name, each.args) for part in parts if (each := part.function_call)]
    assert calls == [("c1", "look", {"at": 1}), ("c2", "see", {})]
    assert _usage([chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]) == Usage(input=10, output=5)


def _signatures(message: Message) -> list[bytes]:
    found: list[bytes] = []
    for part in message.parts:
        kept = part.kept if isinstance(part, CallPart) else part
        if isinstance(kept, Opaque) and isinstance(kept.data, dict) and "thoughtSignature" in kept.data:
            found.append(urlsafe_b64decode(kept.data["thoughtSignature"]))
        elif isinstance(part, Thinking) and part.signature:
            found.append(urlsafe_b64decode(part.signature))
        else:
            assert isinstance(part, Text | Thinking | CallPart)
    return found


def _usage(told: list[Any]) -> Usage:
    """The last count of each kind."""

    def last(name: str) -> int:
        return next((value for each in reversed(told) if (value := getattr(each, name)) is not None), 0)

    cached, thoughts = last("cached_content_token_count"), last("thoughts_token_count")
    return Usage(
        input=last("prompt_token_count") - cached,
        cache_read=cached,
        output=last("candidates_token_count") + thoughts,
        reasoning=thoughts,
    )


def test_a_failure_in_the_middle_is_an_error_for_both() -> None:
    with serving_fixture("gemini", "overloaded") as base:
        client = sdk("google.genai").Client(api_key="k", http_options={"base_url": base})
        stream = client.models.generate_content_stream(model="gemini-x", contents="x")
        with pytest.raises(sdk("google.genai.errors").APIError, match="overloaded"):
            list(stream)


@pytest.mark.timeout(600)
@given(request=requests("gemini"))
@fewer(20)
def test_every_legal_history_makes_a_body_of_the_sdks_types(request: Request) -> None:
    """The SDK's models forbid fields that they do not know."""
    types = sdk("google.genai.types")
    body = json.loads(Ours().post(request, FACTS["gemini"], "k")[0].body)
    assert body.keys() <= {"systemInstruction", "tools", "toolConfig", "contents", "generationConfig"}
    types.GenerationConfig.model_validate(body["generationConfig"])
    for kind, name in ((types.Content, "systemInstruction"), (types.ToolConfig, "toolConfig")):
        if name in body:
            kind.model_validate(body[name])
    for tool in body.get("tools", ()):
        types.Tool.model_validate(tool)
    contents = [types.Content.model_validate(each) for each in body["contents"]]
    assert all(each.parts for each in contents)
    assert not contents or contents[0].role == "user"
    calls = [[part.function_call for part in each.parts or () if part.function_call] for each in contents]
    results = [[part.function_response for part in each.parts or () if part.function_response] for each in contents]
    assert not calls or not calls[-1] or len(calls) == 1
    for asked, answered in pairwise(range(len(contents))):
        assert [(c.name, c.id) for c in calls[asked]] == [(r.name, r.id) for r in results[answered]]
    for content, made in zip(contents, calls, strict=True):
        if made:
            first = next(part for part in content.parts or () if part.function_call)
            assert first.thought_signature

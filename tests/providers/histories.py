"""Random requests with legal histories: every call has its result in the next message."""

from typing import Any

from hypothesis import strategies as st

from callgate.providers.family import ModelFacts
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking
from callgate.words.model import (
    Abilities,
    CacheHints,
    Request,
    RequestLimits,
    RequestOptions,
    ToolChoice,
    ToolSpec,
)

FACTS = {
    "anthropic": ModelFacts(
        name="claude-sonnet-4-5",
        family="anthropic",
        output_tokens=64_000,
        thinking="budget",
        abilities=Abilities(caches=True, structured=True),
    ),
    "gemini": ModelFacts(
        name="gemini-3.8-flash",
        family="gemini",
        output_tokens=65_536,
        thinking="always",
        efforts={"low": "low", "high": "high"},
        abilities=Abilities(structured=True),
    ),
}
CITATION = {
    "type": "search_result_location",
    "cited_text": "a",
    "search_result_index": 0,
    "source": "s",
    "start_block_index": 0,
    "end_block_index": 1,
    "title": None,
}
OWN: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
        {"on": "block", "citations": [CITATION]},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "container_upload", "file_id": "file_1"},
    ],
    "gemini": [
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"on": "text", "chars": 2, "thoughtSignature": "c2ln"},
        {"text": "", "thoughtSignature": "c2ln"},
        {"toolCall": {"id": "t", "toolType": "URL_CONTEXT", "args": {}}},
    ],
}
KEPT = {
    "anthropic": {"caller": {"type": "direct"}},
    "gemini": {"functionCall": {"id": "f1"}, "thoughtSignature": "c2ln"},
}
WORDS = st.sampled_from(["", " ", "\n\t", "Hello", "Grüße \U0001f44b", "a\ud800b", "x" * 50, "\0"])
CONTENT = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Image, st.sampled_from(["image/png", "image/gif", "image/tiff"]), st.binary(max_size=4)),
    st.builds(
        Resource,
        st.sampled_from(["", "file:///a"]),
        st.none() | WORDS,
        st.none() | st.binary(max_size=4),
        st.sampled_from([None, "application/pdf", "image/png", "text/plain"]),
    ),
)
ARGUMENTS = st.sampled_from([{}, {"path": "a"}, {"n": float("inf")}, {"deep": [{"a": None}]}])


COUNTS = st.sampled_from([None, 0, 1, 3, 99])
HINTS = st.builds(CacheHints, st.booleans(), st.booleans(), COUNTS, st.sampled_from(["5m", "1h"]))


@st.composite
def requests(draw: st.DrawFn, family: str) -> Request:
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 6))):
        messages.append(Message(f"u{number}", "user", tuple(draw(st.lists(CONTENT, max_size=3)))))
        if draw(st.booleans()):
            messages += _answer(draw, family, number)
    tools = (ToolSpec("Read", "Reads", {"type": "object", "properties": {"path": {"type": "string"}}}),)
    return Request(
        draw(WORDS),
        messages,
        draw(st.sampled_from([(), tools])),
        draw(st.sampled_from([ToolChoice(), ToolChoice("required"), ToolChoice("named", "Read"), ToolChoice("none")])),
        RequestLimits(draw(st.sampled_from([None, 1, 5000])), draw(st.sampled_from([None, 2000]))),
        draw(HINTS),
        RequestOptions(
            effort=draw(st.sampled_from([None, "low", "max"])),
            thinking=draw(st.sampled_from([None, "off", "adaptive", 0, 3000])),
            stop=draw(st.sampled_from([(), ("END",)])),
        ),
        draw(st.sampled_from([None, {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}])),
    )


def _answer(draw: st.DrawFn, family: str, number: int) -> list[Message]:
    """A message of a model, of this family or another, and the results of its calls."""
    parts: list[Any] = draw(
        st.lists(
            st.one_of(
                st.builds(Text, WORDS),
                st.builds(Thinking, WORDS, st.sampled_from([None, "c2ln"])),
                st.builds(Opaque, st.sampled_from([family, "other"]), st.sampled_from(OWN[family])),
            ),
            max_size=4,
        )
    )
    kept = Opaque(family, KEPT[family])
    for at in range(draw(st.integers(0, 3))):
        raw = draw(st.sampled_from([None, "", "nonsense", '{"path": 1}']))
        call_id = draw(st.sampled_from(["toolu_", "call ~", "über"])) + f"{number}.{at}"
        name = draw(st.sampled_from(["Read", "no such tool", "x" * 80]))
        parts.append(CallPart(call_id, name, draw(ARGUMENTS), raw, draw(st.sampled_from([None, kept]))))
    model = draw(st.sampled_from([None, f"{family}/{FACTS[family].name}", "other/x"]))
    message = Message(f"a{number}", "assistant", tuple(parts), model)
    results = [
        ResultPart(call.id, call.name, tuple(draw(st.lists(CONTENT, max_size=2))), draw(st.booleans()))
        for call in message.calls
    ]
    return [message, *([Message(f"t{number}", "tool", tuple(results))] if results else [])]

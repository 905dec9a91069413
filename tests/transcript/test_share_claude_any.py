"""Whatever a transcript holds, reading it does not fail and every call has one result."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.conversation.ledger import Ledger
from callgate.formats.jsonable import from_json, to_json
from callgate.transcript.share.aisdk import to_ai_sdk
from callgate.transcript.share.claude_import import read_claude
from callgate.transcript.share.html import to_html
from callgate.transcript.share.markdown import to_markdown
from callgate.transcript.share.session_page import Exported
from callgate.words.events import Durable
from tests.history import faults

pytestmark = pytest.mark.spec("TRS-12")

DATA = Path(__file__).parents[1] / "data" / "claude"
SAMPLES = [path.read_bytes().split(b"\n") for path in sorted(DATA.glob("*.jsonl"))]

names = st.sampled_from(["a", "b", "c", "d", "e"])
texts = st.text(max_size=8) | st.sampled_from(
    ["\ud800", "```", "<b>", "The user doesn't want to proceed with this tool use"]
)
junk = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(st.integers(), max_size=2)
uses = st.fixed_dictionaries(
    {"type": st.just("tool_use"), "id": names | junk, "name": names | junk},
    optional={"input": st.dictionaries(texts, junk, max_size=2) | junk},
)
results = st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": names | junk},
    optional={
        "content": texts | junk | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), max_size=2),
        "is_error": st.booleans(),
    },
)
others = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "image", "document", "new"])},
    optional={
        "text": texts,
        "thinking": texts,
        "source": st.dictionaries(st.sampled_from(["type", "data", "media_type"]), texts),
    },
)
blocks = st.lists(uses | results | others | junk, max_size=3) | texts | junk
entries = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "assistant", "system", "summary", "attachment"]) | junk},
    optional={
        "uuid": names | junk,
        "parentUuid": names | junk,
        "logicalParentUuid": names,
        "isSidechain": st.booleans(),
        "agentId": st.sampled_from(["x", "y"]),
        "isMeta": st.booleans(),
        "isCompactSummary": st.booleans(),
        "subtype": st.just("compact_boundary"),
        "timestamp": st.sampled_from(["2026-03-01T09:00:00Z", "0001-01-01T00:00:00+14:00", "soon", ""]) | junk,
        "summary": texts,
        "leafUuid": names,
        "cwd": texts,
        "message": st.fixed_dictionaries(
            {"content": blocks}, optional={"id": names | junk, "usage": junk, "stop_reason": texts}
        )
        | junk,
    },
)
any_lines = st.lists(entries.map(lambda entry: json.dumps(entry).encode()) | st.binary(max_size=12), max_size=14)


@st.composite
def mutated(draw: st.DrawFn) -> list[bytes]:
    """A sample with lines moved, doubled, cut or under another name."""
    lines = list(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(0, 6))):
        at, to = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.sampled_from(["move", "double", "cut", "drop", "rename"])):
            case "move":
                lines.insert(to, lines.pop(at))
            case "double":
                lines.insert(to, lines[at])
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "drop" if len(lines) > 1:
                del lines[at]
            case _:
                name = draw(st.sampled_from([b"u-1", b"a-1", b"a-2", b"r-1", b"toolu_1", b"msg_1"]))
                other = draw(st.sampled_from([b"u-1", b"a-3", b"r-1", b"toolu_2", b"msg_2", b"gone"]))
                lines[at] = lines[at].replace(name, other)
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    return lines


def check(events: Iterable[Durable]) -> None:
    events = tuple(events)
    ledger = Ledger(events)
    assert (ledger.calls, ledger.open_turn) == ({}, None)
    ids = [message.id for message in ledger.messages]
    assert len(ids) == len(set(ids))
    assert faults(ledger.history()) == []
    for event in events:
        written = json.dumps(to_json(event), ensure_ascii=False, allow_nan=False).encode()
        assert from_json(Durable, json.loads(written)) == event


def check_exports(events: tuple[Durable, ...]) -> None:
    exported = Exported("s", "title", "", events)
    to_markdown(exported).encode()
    to_html(exported).encode()
    said = to_ai_sdk(exported)
    json.dumps(said, ensure_ascii=False, allow_nan=False).encode()
    calls: list[Any] = []
    for message in said:
        results = [part["toolCallId"] for part in message["content"] if part["type"] == "tool-result"]
        assert results == calls
        calls = [part["toolCallId"] for part in message["content"] if part["type"] == "tool-call"]
    assert not calls


@given(any_lines | mutated())
def test_any_lines_are_read_folded_written_and_exported(lines: list[bytes]) -> None:
    imported = read_claude(lines)
    check(imported.events)
    check_exports(imported.events)
    assert 0 <= imported.left_out <= len(lines)

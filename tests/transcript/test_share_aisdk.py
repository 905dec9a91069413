"""A session leaves as messages of the AI SDK."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.admin.sessions import Shape, Shown
from callgate.conversation.view import NO_RESULT
from callgate.transcript.session_summary import Summary
from callgate.transcript.share.aisdk import to_ai_sdk
from callgate.transcript.share.claude_import import read_claude
from callgate.transcript.share.session_page import Exported
from callgate.words.calls import Result
from callgate.words.events import CallSettled, Durable, MessageAdded
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking
from callgate.words.model import StopReason
from callgate.words.turns import Compacted

pytestmark = pytest.mark.spec("TRS-12")

DATA = Path(__file__).parents[1] / "data" / "claude"


def export(*events: Durable) -> list[dict[str, Any]]:
    return to_ai_sdk(Exported("s1", "", "", events))


def said(role: str, *parts: object, name: str = "m1", model: str | None = None) -> MessageAdded:
    return MessageAdded(0.0, Message(name, role, tuple(parts), model))  # type: ignore[arg-type]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def results(messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(part["toolCallId"], part["output"]) for m in messages if m["role"] == "tool" for part in m["content"]]


def test_a_whole_session_has_the_shape_of_model_messages() -> None:
    imported = read_claude((DATA / "parallel.jsonl").read_bytes().split(b"\n"))
    user, assistant, tool, last = to_ai_sdk(Exported("s1", "", "", imported.events))
    assert user == {"role": "user", "content": [text("How many beds are in plan.txt, and what does the sketch show?")]}
    assert assistant["role"] == "assistant"
    assert assistant["content"][:3] == [
        {
            "type": "reasoning",
            "text": "Two files. I can read both at once.",
            "providerOptions": {"anthropic": {"signature": "c2lnbmVk"}},
        },
        text("I look at both files."),
        {
            "type": "tool-call",
            "toolCallId": "toolu_1",
            "toolName": "Read",
            "input": {"file_path": "/home/ada/garden/plan.txt"},
        },
    ]
    assert tool["role"] == "tool"
    assert tool["content"][0] == {
        "type": "tool-result",
        "toolCallId": "toolu_1",
        "toolName": "Read",
        "output": {"type": "text", "value": "1→four beds\n2→a pond"},
    }
    assert [part["type"] for part in tool["content"][1]["output"]["value"]] == ["media"]
    assert tool["content"][1]["output"]["value"][0]["mediaType"] == "image/png"
    assert tool["content"][2]["output"]["type"] == "error-text"
    assert last == {"role": "assistant", "content": [text("There are **four** beds.")]}


def test_pictures_and_files_of_a_person_are_parts_and_empty_texts_are_none() -> None:
    parts = (
        Text(""),
        Image("image/png", b"abc"),
        Resource("a.pdf", None, b"abc", "application/pdf"),
        Resource("x", "in"),
    )
    assert export(said("user", *parts), said("user", Text(""))) == [
        {
            "role": "user",
            "content": [
                {"type": "image", "image": "YWJj", "mediaType": "image/png"},
                {"type": "file", "data": "YWJj", "mediaType": "application/pdf", "filename": "a.pdf"},
                text("in"),
            ],
        }
    ]


def test_a_signature_goes_only_where_it_is_understood_and_hidden_reasoning_stays_hidden() -> None:
    hidden = Opaque("anthropic", {"type": "redacted_thinking", "data": "xyz"})
    (message,) = export(said("assistant", Thinking("hm", "sig"), hidden, Opaque("other", {}), model="other-1"))
    assert message["content"] == [
        {"type": "reasoning", "text": "hm"},
        {"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"redactedData": "xyz"}}},
    ]


def test_each_call_has_one_result_right_after_it_and_stray_results_are_left_out() -> None:
    messages = export(
        said("tool", ResultPart("c1", "read", (Text("too early"),))),
        said(
            "assistant", CallPart("c1", "read", {}), CallPart("c2", "read", {}), CallPart("c3", "read", {}), name="a1"
        ),
        said("user", Text("hurry"), name="u1"),
        said("tool", ResultPart("c2", "read", (Text("two"),)), ResultPart("c9", "read", (Text("stray"),)), name="r1"),
        CallSettled(0.0, "c1", Result((Text("one"),))),
        said("tool", ResultPart("c2", "read", (Text("again"),)), name="r2"),
    )
    assert [message["role"] for message in messages] == ["assistant", "tool", "user"]
    assert results(messages) == [
        ("c1", {"type": "text", "value": "one"}),
        ("c2", {"type": "text", "value": "two"}),
        ("c3", {"type": "error-text", "value": NO_RESULT[0].text}),
    ]


def test_an_id_that_comes_again_is_told_apart() -> None:
    turn = [
        said("assistant", CallPart("c", "a", {}), name="a1"),
        said("tool", ResultPart("c", "a", (Text("1"),)), name="r1"),
    ]
    again = [
        said("assistant", CallPart("c", "a", {}), name="a2"),
        said("tool", ResultPart("c", "a", (Text("2"),)), name="r2"),
    ]
    assert results(export(*turn, *again)) == [
        ("c", {"type": "text", "value": "1"}),
        ("c~2", {"type": "text", "value": "2"}),
    ]


def test_what_an_export_leaves_out_is_said_first() -> None:
    messages = to_ai_sdk(Exported("s1", "", "", (said("user", Text("hi")),)), "3 lines are left out")
    assert messages == [
        {"role": "system", "content": "3 lines are left out"},
        {"role": "user", "content": [text("hi")]},
    ]


@pytest.mark.parametrize("shape", ["ai-sdk", "html", "markdown"])
def test_every_export_says_that_lines_of_a_newer_version_were_left_out(shape: Shape) -> None:
    shown = Shown(
        session="s1",
        named="s1",
        about=Summary(),
        events=(said("user", Text("hi")),),
        damages=(),
        unknown=3,
        questions=(),
        missing=False,
        draft=None,
    )
    assert "3 lines from a newer version of Callgate are ignored" in shown.written_as(shape)


def test_a_summary_stands_in_for_what_is_not_there() -> None:
    whole = export(said("user", Text("a"), name="u1"), Compacted(0.0, "sum"), said("user", Text("b"), name="u2"))
    assert [message["content"][0]["text"] for message in whole] == ["a", "b"]
    cut = export(said("user", Text("a"), name="u1"), Compacted(0.0, "sum", "u1"), said("user", Text("b"), name="u2"))
    assert [message["content"][0]["text"] for message in cut] == ["sum", "a", "b"]
    alone = export(Compacted(0.0, "sum"), said("user", Text("b"), name="u2"))
    assert [message["content"][0]["text"] for message in alone] == ["sum", "b"]


def test_what_json_or_utf_8_cannot_hold_is_replaced() -> None:
    bad = "\ud800"
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    messages = export(
        said("user", Text(f"a{bad}b"), Resource(bad), Image(bad, b"")),
        said(
            "assistant", CallPart(bad, bad, {bad: [bad, float("nan")]}), CallPart("d", "x", {"deep": deep}), name="a1"
        ),
        said("tool", ResultPart(bad, bad, (Text(bad), Image(bad, b"x")), is_error=True), name="r1"),
    )
    written = json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    assert "a\ufffdb".encode() in written


def test_calls_and_results_in_the_wrong_place_do_no_harm() -> None:
    messages = export(
        said("user", CallPart("c1", "read", {}), Text("hi")),
        said("assistant", ResultPart("c1", "read", ()), name="a1"),
        said("tool", Text("no result"), name="r1"),
    )
    assert messages == [{"role": "user", "content": [text("hi")]}]


def cut(words: str, name: str, stop: StopReason = "max_tokens", *more: Any) -> MessageAdded:
    return MessageAdded(0.0, Message(name, "assistant", (*more, Text(words))), stop)


PROMPT = said("user", Text("go"), name="u1")
REMINDER = replace(said("user", Text("remember"), name="r1"), about="todos")
CUT_ANSWERS: list[tuple[str, tuple[MessageAdded, ...], list[tuple[str, list[str]]]]] = [
    ("two parts", (cut("one ", "a1"), cut("two", "a2", "end")), [("assistant", ["one two"])]),
    ("three", (cut("1", "a1"), cut("2", "a2"), cut("3", "a3", "end")), [("assistant", ["123"])]),
    ("cut by the network", (cut("one ", "a1", "cut_off"), cut("two", "a2", "end")), [("assistant", ["one two"])]),
    ("paused by the provider", (cut("one ", "a1", "paused"), cut("two", "a2", "end")), [("assistant", ["one two"])]),
    ("no continuation", (cut("one", "a1"),), [("assistant", ["one"])]),
    ("another prompt", (cut("one", "a1"), PROMPT, cut("two", "a2", "end")),
     [("assistant", ["one"]), ("user", ["go"]), ("assistant", ["two"])]),
    ("a reminder between", (cut("one ", "a1"), REMINDER, cut("two", "a2", "end")),
     [("user", ["remember"]), ("assistant", ["one two"])]),
    ("an overlap", (cut("one line\nthe second line of it", "a1"), cut("the second line of it is long", "a2", "end")),
     [("assistant", ["one line\nthe second line of it is long"])]),
    ("an empty continuation", (cut("one", "a1"), cut("", "a2", "end")), [("assistant", ["one"])]),
    ("whole messages", (cut("one", "a1", "end"), cut("two", "a2", "end")),
     [("assistant", ["one"]), ("assistant", ["two"])]),
    ("thinking before the continuation", (cut("one ", "a1"), cut("two", "a2", "end", Thinking("hm"))),
     [("assistant", ["hm", "one two"])]),
]  # fmt: skip


@pytest.mark.spec("TRN-15")
def test_a_message_that_was_cut_off_is_joined_with_its_continuation() -> None:
    wrong: list[str] = []
    for name, events, wanted in CUT_ANSWERS:
        found = [(each["role"], [part["text"] for part in each["content"]]) for each in export(PROMPT, *events)[1:]]
        if found != wanted:
            wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spec("TRN-15")
def test_the_calls_of_a_continuation_keep_their_results() -> None:
    asked = MessageAdded(0.0, Message("a2", "assistant", (Text("two"), CallPart("c1", "look", {}))), "tool_calls")
    answered = said("tool", ResultPart("c1", "look", (Text("seen"),)), name="t1")
    _, whole, result = export(PROMPT, cut("one ", "a1"), asked, answered)
    assert [part.get("text", part.get("toolCallId")) for part in whole["content"]] == ["one two", "c1"]
    assert results([result]) == [("c1", {"type": "text", "value": "seen"})]

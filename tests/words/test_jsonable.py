"""Nouns to JSON and back without loss."""

import json
from dataclasses import fields
from typing import Any, cast, get_args

import pytest

from callgate.words import events as facts
from callgate.words.arguments import Repair
from callgate.words.calls import Artifact, Display, Edited, Result, Status, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import (
    Allow,
    ApprovalPolicy,
    Ask,
    Choice,
    Confirmation,
    Decision,
    Deny,
    Pattern,
    Question,
)
from callgate.words.inputs import Answer, Close, Input, Interrupt, Prompt, Rewind, SetMode, Steer
from callgate.words.jsonable import from_json, to_json
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.traits import exclusive, reads, writes

CHANGES = ChangeSet("Edit a", (FileChange("a", None, b"\x00\xff"), FileChange("b", b"", None)), "Edit")
POLICY = ApprovalPolicy("allow", "Bash", Pattern("prefix", "git", "command"), "user", 1.5, 2.5, "Ada", "note")
CONFIRMATION = Confirmation("c1", "yes_always", "hash", "Ada", 3.5, POLICY, True, {"command": "ls"}, "note")
QUESTION = Question(
    "c1", "Bash", {"x": [1]}, "hash", "rule", "why", 4.5, (Choice("exact", None),), CHANGES, "high", ("agent",)
)
RESULT = Result(
    (Text("t"), Image("image/png", b"\x89"), Resource("a:b"), Resource("c:d", "text"), Resource("e:f", data=b"\x00")),
    (Display("table", {"columns": [], "rows": []}, "title"), Display("text", "plain")),
    True,
    "tool_error",
    {"type": "Text", "n": 1, "f": 1.5, "none": None, "list": [{"type": "Image"}]},
    (Artifact("/a", 3),),
    {"type": "Allow", "deep": {"x": [1]}},
)
CALL = ToolCall(
    "c1",
    "Bash",
    {"type": "Deny", "text": "é\u2028\x00"},
    '{"type"',
    3,
    "m1",
    Status.ERROR,
    1.0,
    2.0,
    1000.0,
    "live",
    RESULT,
    QUESTION,
    Ask("rule", "why", {"x": 1}, "high", "deny", True),
    Edited("Ada", {"x": 0}),
    (Repair("$.x", "a number in a string"),),
)
MESSAGE = Message(
    "m1",
    "assistant",
    (
        *RESULT.content,
        Thinking("hm", "sig"),
        CallPart("c1", "Bash", {"type": "Text"}, "raw"),
        ResultPart("c1", "Bash", RESULT.content, True),
        Opaque("provider", {"type": "secret", "data": [1]}),
    ),
    "model",
    Usage(1, 2, 3, 4, 5),
)


def back(kind: Any, value: object) -> object:
    return from_json(kind, json.loads(json.dumps(to_json(value), allow_nan=False)))


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    "noun",
    [
        *(CALL, RESULT, QUESTION, POLICY, CONFIRMATION, CHANGES, MESSAGE),
        *(ToolCall("c1", "Read"), Result(), exclusive, reads("a") | writes("b")),
    ],
    ids=lambda noun: type(noun).__name__,
)
def test_a_noun_comes_back_equal(noun: object) -> None:
    assert back(type(noun), noun) == noun


@pytest.mark.spec("RUN-7")
def test_nothing_of_the_example_call_is_left_at_its_default() -> None:
    """Otherwise the round trip above would not prove that every field survives."""
    fresh = ToolCall("other", "other")
    assert all(getattr(CALL, field.name) != getattr(fresh, field.name) for field in fields(ToolCall))


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("decision", [Allow("rule", "r", {"x": 1}), Ask("rule"), Deny("rule", "r", "blocked_by_hook")])
def test_where_several_classes_are_possible_the_right_one_comes_back(decision: Decision) -> None:
    assert back(Decision, decision) == decision
    assert back(Decision | None, None) is None


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize(
    "sent",
    [
        Prompt("text"),
        Prompt((Text("a"), Image("image/png", b"\x01"))),
        Steer("x"),
        Interrupt(),
        Answer(CONFIRMATION),
        SetMode("plan"),
        Rewind("m1"),
        Close("bye"),
    ],
)
def test_inputs_come_back_equal(sent: object) -> None:
    assert back(Input, sent) == sent


EVENTS: list[object] = [
    facts.MessageAdded(1.0, MESSAGE, "tool_calls"),
    facts.TurnStarted(1.0, 1, "m1"),
    facts.TurnEnded(1.0, 1, "calls", "detail"),
    facts.RunEnded(1.0, "done"),
    facts.CallArrived(1.0, "c1", "Bash", {"x": 1}, 0, "m1", "raw", (Repair("$", "fence"),), "Extra"),
    facts.CallDecided(1.0, "c1", Deny("rule"), "hash"),
    facts.QuestionAsked(1.0, QUESTION),
    facts.QuestionAnswered(1.0, CONFIRMATION),
    facts.CallStarted(1.0, "c1", 2),
    facts.CallSettled(1.0, "c1", RESULT, 12.5),
    facts.ContextUpdated(1.0, "c1", {"type": "x"}),
    facts.PolicyAdded(1.0, POLICY),
    facts.StrayFound(1.0, "c1", "Bash"),
    facts.StrayEnded(1.0, "c1"),
    facts.ModeSet(1.0, "plan"),
    facts.ModelSet(1.0, "other"),
    facts.Rewound(1.0, "m1"),
    facts.Noted(1.0, "text", "error", "c1"),
]


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_durable_events_come_back_equal(event: object) -> None:
    assert back(facts.Durable, event) == event


def test_there_is_an_example_of_every_durable_event() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(facts.Durable))


def test_numbers_that_are_times_come_back_as_floats() -> None:
    policy = from_json(ApprovalPolicy, {"effect": "allow", "tool": "Bash", "created_at": 5, "expires_at": 6})
    assert (type(policy.created_at), type(policy.expires_at)) == (float, float)


def test_keys_that_a_newer_version_wrote_are_ignored() -> None:
    written = {**cast(dict[str, Any], to_json(Text("x"))), "colour": "red"}
    assert from_json(Text, written) == Text("x")


def test_what_an_older_version_did_not_write_takes_its_default() -> None:
    assert from_json(ToolCall, {"id": "c1", "name": "Read"}) == ToolCall("c1", "Read")


def test_a_function_cannot_be_written_down() -> None:
    with pytest.raises(TypeError, match="function"):
        to_json(Result(context_update=lambda context: context))

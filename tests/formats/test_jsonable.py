"""Nouns to JSON and back without loss."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType, ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.formats.jsonable import from_json, to_json, to_sparse
from callgate.words import calls, decisions, messages
from callgate.words import events as facts
from callgate.words.calls import Artifact, Display, Edited, Repair, Result, Status, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import (
    Allow,
    ApprovalPolicy,
    Ask,
    AskedField,
    AskedOption,
    Choice,
    Confirmation,
    Decision,
    Deny,
    FieldAnswer,
    Pattern,
    Question,
)
from callgate.words.errors import UsageError
from callgate.words.inputs import (
    Answer,
    Close,
    EditPrompt,
    Input,
    Interrupt,
    Prompt,
    Resolve,
    Rewind,
    SetMode,
    Steer,
    WithdrawPrompt,
)
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Spent, Text, Thinking, Usage
from callgate.words.noun import noun
from callgate.words.pending import Staged
from callgate.words.traits import Locks, exclusive, reads, writes

CHANGES = ChangeSet("Edit a", (FileChange("a", None, b"\x00\xff"), FileChange("b", b"", None)), "Edit")
POLICY = ApprovalPolicy(
    effect="allow",
    tool="Bash",
    pattern=Pattern("prefix", "git", "command"),
    scope="user",
    created_at=1.5,
    expires_at=2.5,
    origin="Ada",
    note="note",
)
CONFIRMATION = Confirmation(
    call_id="c1",
    outcome="yes_always",
    arguments_hash="hash",
    by="Ada",
    at=3.5,
    always=POLICY,
    stop=True,
    arguments={"command": "ls"},
    note="note",
    answers=(FieldAnswer(("Red", "Blue"), "own words"), FieldAnswer()),
)
QUESTION = Question(
    call_id="c1",
    tool="Bash",
    arguments={"x": [1]},
    arguments_hash="hash",
    by="rule",
    reason="why",
    asked_at=4.5,
    choices=(Choice("exact", None),),
    preview=CHANGES,
    risk="high",
    path=("agent",),
    asks=(AskedField("Colour", "Which?", (AskedOption("Red", "warm", "`r`"),), several=True, required=False),),
)
RESULT = Result(
    content=(
        Text("t"),
        Image("image/png", b"\x89"),
        Resource("a:b"),
        Resource("c:d", "text"),
        Resource("e:f", data=b"\x00"),
    ),
    display=(Display("table", {"columns": [], "rows": []}, "title"), Display("text", "plain")),
    is_error=True,
    code="tool_error",
    details={"type": "Text", "n": 1, "f": 1.5, "none": None, "list": [{"type": "Image"}]},
    artifacts=(Artifact("/a", 3),),
    context_update={"type": "Allow", "deep": {"x": [1]}},
)
CALL = ToolCall(
    id="c1",
    name="Bash",
    arguments={"type": "Deny", "text": "é\u2028\x00"},
    raw_arguments='{"type"',
    index=3,
    message_id="m1",
    status=Status.ERROR,
    started_at=1.0,
    ended_at=2.0,
    duration_ms=1000.0,
    live_output="live",
    result=RESULT,
    question=QUESTION,
    decision=Ask(by="rule", reason="why", arguments={"x": 1}, risk="high", unattended="deny", unconditional=True),
    edited=Edited("Ada", {"x": 0}),
    repairs=(Repair("$.x", "a number in a string"),),
    kept=Opaque("gemini", {"thoughtSignature": "abc"}),
    from_text=True,
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


def back_from_sparse(value: object) -> object:
    return from_json(type(value), json.loads(json.dumps(to_sparse(value), allow_nan=False)))


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
        EditPrompt("q1", "text"),
        WithdrawPrompt("q1"),
        Steer("x"),
        Interrupt(),
        Answer(CONFIRMATION),
        SetMode("plan"),
        Rewind("m1"),
        Resolve("apply", "why", "pending-action:t:1", {"x": 1}),
        Close("bye", "discard"),
    ],
)
def test_inputs_come_back_equal(sent: object) -> None:
    assert back(Input, sent) == sent


COUNTED = facts.Counted(3, 2, Usage(1))
EVENTS: list[Any] = [
    facts.MessageAdded(1.0, MESSAGE, "tool_calls"),
    facts.PromptQueued(1.0, "q1", (Text("a"), Image("image/png", b"\x01")), steers=True),
    facts.PromptDequeued(1.0, "q1", "withdrawn"),
    facts.TurnStarted(1.0, 1, "m1"),
    facts.TurnEnded(1.0, 1, "calls", "detail"),
    facts.RunEnded(1.0, "done"),
    facts.RunEnded(1.0, "model_error", "away", kind="connection", retryable=True),
    facts.RequestRetried(at=1.0, message_id="a1", attempt=1, delay=2.5, kind="overloaded", detail="too busy"),
    facts.Paused(1.0, "3 calls in a row were denied"),
    facts.ActionStaged(
        1.0,
        Staged(
            id="pending-action:t:1",
            label="l",
            source="t",
            tool="t",
            message_id="m1",
            call_id="c1",
            summary="1 file",
            paths=("a",),
            details={"x": 1},
            change=3,
        ),
    ),
    facts.ActionResolved(at=1.0, id="id-1", label="l", ended="discarded", reason="why", by="person"),
    facts.CallArrived(
        at=1.0,
        call_id="c1",
        name="Bash",
        arguments={"x": 1},
        index=0,
        message_id="m1",
        raw_arguments="raw",
        repairs=(Repair("$", "fence"),),
        asked_as="Extra",
    ),
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
    facts.EffortSet(1.0, "high"),
    facts.Rewound(1.0, "m1", COUNTED),
    facts.Branched(1.0, "m1", COUNTED),
    facts.Compacted(1.0, "summary", "m1", "reactive", context={"type": "x"}, counted=COUNTED),
    facts.Snipped(1.0, ("m1", "m2")),
    facts.ResultReplaced(1.0, "m1", "c1", (Text("gone"),)),
    facts.MetadataSet(1.0, "tags", ["a", {"type": "Text"}]),
    facts.AgentOpened(1.0, "reviewer-2", "reviewer"),
    facts.AgentSpent(1.0, "reviewer-2", 7, Spent("m", Usage(input=1), 0.5)),
    facts.AnswerUnused(1.0, "title", Spent("m", Usage(input=1), 0.5)),
    facts.SessionOpened(1.0, "1.0", "/work", "elsewhere"),
    facts.Forked(1.0, "s1"),
    facts.LinesQuarantined(1.0, ((0, 10), (30, 4)), "kept"),
    facts.Noted(1.0, "text", "error", "c1"),
    facts.NoticeAdded(1.0, "bg-1@1.000", "task", "It ended.", wake=True),
    facts.NoticeDelivered(1.0, "bg-1@1.000"),
    facts.FeatureRecorded(1.0, "budget", "spent", {"dollars": 1.5}),
]


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_durable_events_come_back_equal(event: object) -> None:
    assert back(facts.Durable, event) == event
    assert back_from_sparse(event) == event


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "data"]) | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: JSON,
    str: st.text(max_size=10),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=10),
    NoneType: st.none(),
}


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Whatever an annotation allows."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin in (Union, UnionType):
        return st.one_of([values_of(member) for member in inside if get_origin(member) is not Callable])
    if origin is Literal:
        return st.sampled_from(inside)
    if origin in (Mapping, dict):
        return st.dictionaries(values_of(inside[0]), values_of(inside[1]), max_size=3)
    if origin is tuple and inside[-1] is ...:
        return st.lists(values_of(inside[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, inside))
    if is_dataclass(kind):
        return nouns_of(cast(type, kind))
    assert issubclass(kind, Enum), f"no values for {kind}"
    return st.sampled_from(list(kind))


def nouns_of(cls: type) -> st.SearchStrategy[Any]:
    """Nouns of a class; each field that has a default is often at it."""
    hints, given_fields = get_type_hints(cls), {}
    for each in fields(cls):
        given_fields[each.name] = values_of(hints[each.name])
        if each.default_factory is not MISSING:
            given_fields[each.name] |= st.builds(each.default_factory)
        elif each.default is not MISSING:
            given_fields[each.name] |= st.just(each.default)
    return st.builds(cls, **given_fields)


@pytest.mark.spec("RUN-7")
@pytest.mark.parametrize("module", [messages, calls, decisions, facts], ids=lambda module: module.__name__)
@given(data=st.data())
def test_every_noun_comes_back_equal_whole_and_sparse(module: ModuleType, data: st.DataObject) -> None:
    here = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
    value = data.draw(st.one_of([values_of(each) for each in here if is_dataclass(each)]))
    assert back(type(value), value) == value
    assert back_from_sparse(value) == value
    assert "type" not in to_sparse(value)


@pytest.mark.spec("RUN-7")
@given(values_of(facts.Durable))
def test_a_whole_event_says_what_it_is(event: object) -> None:
    again = back(facts.Durable, event)
    assert again == event
    assert json.dumps(to_json(again)) == json.dumps(to_json(event))


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """The JSON of an event in which something was taken away or replaced."""
    event = draw(values_of(facts.Durable))
    data = draw(st.sampled_from([to_json(event), {"type": type(event).__name__, **to_sparse(event)}]))
    for _ in range(draw(st.integers(1, 3))):
        places = [*within(data)]
        if not places:
            break
        container, key = draw(st.sampled_from(places))
        if draw(st.booleans()):
            container[key] = draw(JSON | values_of(facts.Durable).map(to_json))
        else:
            del container[key]
    return data


def within(data: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as what holds it and its key there."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, item in inside for place in ((data, key), *within(item))]


@given(JSON | damaged())
def test_any_json_is_read_as_an_event_or_refused_in_words(data: Any) -> None:
    try:
        event = from_json(facts.Durable, data)
    except UsageError:
        return
    assert type(event) in get_args(facts.Durable)


@pytest.mark.parametrize(
    ("noun", "sparse"),
    [
        (
            facts.CallSettled(1.0, "c1", Result((Text("x"),))),
            {"at": 1.0, "call_id": "c1", "result": {"type": "Result", "content": [{"type": "Text", "text": "x"}]}},
        ),
        (
            facts.MessageAdded(1.0, Message("m1", "user", (), usage=Usage(3))),
            {
                "at": 1.0,
                "message": {
                    "type": "Message",
                    "id": "m1",
                    "role": "user",
                    "parts": [],
                    "usage": {"type": "Usage", "input": 3},
                },
            },
        ),
        (
            facts.CallDecided(1.0, "c1", Allow("rule"), "h"),
            {"at": 1.0, "call_id": "c1", "decision": {"type": "Allow", "by": "rule"}, "arguments_hash": "h"},
        ),
        (facts.Rewound(1.0, "m1", facts.Counted()), {"at": 1.0, "message_id": "m1"}),
        (facts.LinesQuarantined(1.0, ((1, 2),), "f"), {"at": 1.0, "ranges": [[1, 2]], "kept_in": "f"}),
        (Display("table", Text("x")), {"kind": "table", "body": {"type": "Text", "text": "x"}}),
        (Result(details={"u": (Usage(1),)}), {"details": {"u": [{"type": "Usage", "input": 1}]}}),
        (ToolCall("c1", "Read"), {"id": "c1", "name": "Read"}),
        (Interrupt(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sparse_leaves_out_defaults_and_the_type_at_the_top(noun: object, sparse: dict[str, Any]) -> None:
    assert to_sparse(noun) == sparse


def test_a_value_that_only_equals_the_default_is_not_left_out() -> None:
    assert to_sparse(facts.CallStarted(1.0, "c1", True)) == {"at": 1.0, "call_id": "c1", "attempt": True}


@pytest.mark.parametrize("value", [{}, Text, None, "text"])
def test_only_a_noun_is_sparse(value: object) -> None:
    with pytest.raises(TypeError, match="only a value type"):
        to_sparse(value)


def test_what_does_not_fit_its_annotation_is_written_all_the_same() -> None:
    odd: Any = facts.LinesQuarantined(1.0, cast(Any, ((1, 2, b"3"), [Status.ERROR])), cast(Any, Text("x")))
    wanted = {"at": 1.0, "ranges": [[1, 2, "Mw=="], ["error"]], "kept_in": {"type": "Text", "text": "x"}}
    assert to_json(odd) == {"type": "LinesQuarantined", **wanted, "counted": to_json(facts.Counted())}
    assert to_sparse(odd) == wanted


def test_nouns_mappings_and_tuples_in_a_mapping_are_written() -> None:
    details = {"a": MappingProxyType({"b": (Text("x"), Status.ERROR)}), "c": b"d"}
    assert to_json(details) == {"a": {"b": [{"type": "Text", "text": "x"}, "error"]}, "c": "ZA=="}


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (Text, {}, "Text has no 'text'"),
        (facts.CallStarted, {"at": 1.0}, "CallStarted has no 'call_id'"),
        (Message, {"id": "m1", "role": "user", "parts": [{"type": "Image", "data": ""}]}, "Image has no 'media_type'"),
        (Locks, {"reads": "abc"}, "expected a list, not str"),
        (Locks, {"reads": {"a": 1}}, "expected a list, not dict"),
        (Locks, {"reads": None}, "expected a list, not NoneType"),
        (facts.LinesQuarantined, {"at": 1.0, "ranges": [[1]], "kept_in": ""}, "expected a list of 2 values"),
        (facts.LinesQuarantined, {"at": 1.0, "ranges": ["ab"], "kept_in": ""}, "expected a list of 2 values"),
        (Image, {"media_type": "image/png", "data": "a"}, "invalid JSON for Image"),
        (Resource, {"uri": "a:b", "data": 5}, "invalid JSON for Resource"),
        (Choice, {"label": "x", "pattern": "git"}, "Pattern must be an object, not str"),
        (facts.MessageAdded, {"at": 1.0, "message": {}, "stop_reason": "because"}, "invalid JSON for MessageAdded"),
        (facts.StrayEnded, {"at": 10**400, "call_id": "c1"}, "invalid JSON for StrayEnded"),
        (ToolCall, {"id": "c1", "name": "Read", "status": []}, "not a valid Status"),
        (Decision, {"by": "rule"}, "dict without a type is not one of Allow, Ask, Deny"),
        (Decision, {"type": "Perhaps", "by": "rule"}, "'Perhaps' is not one of Allow, Ask, Deny"),
        (Decision, {"type": ["Allow"]}, "not one of Allow"),
        (Decision, None, "NoneType without a type is not one of Allow"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(kind: Any, data: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        from_json(kind, data)


def test_where_one_class_is_possible_no_type_is_needed() -> None:
    data = {"id": "m1", "role": "user", "parts": [], "usage": {"input": 3}}
    assert (
        from_json(Message, data)
        == from_json(Message, MappingProxyType(data))
        == Message("m1", "user", (), None, Usage(3))
    )
    assert from_json(Status | None, "error") is Status.ERROR


def test_a_default_that_can_change_belongs_to_one_noun_alone() -> None:
    assert from_json(Result, {}).details is not from_json(Result, {}).details


@noun
class Tree:
    name: str
    above: "Tree | None" = None
    below: "tuple[Tree | str, ...]" = ()


@dataclass
class Loose:
    a: int
    b: tuple[str, bytes] = field(kw_only=True)
    c: Mapping[str, Any] | Text = field(default_factory=dict)
    d: int = field(init=False, default=7)


@pytest.mark.parametrize(
    "value",
    [
        Tree("a", Tree("b", Tree("c")), (Tree("d", below=("e", Tree("f"))),)),
        Loose(1, b=("x", b"y"), c={"type": "Image", "text": "z"}),
        Loose(1, b=("x", b"y"), c=Text("z")),
    ],
    ids=["contains itself", "mapping", "noun"],
)
def test_other_shapes_of_classes_come_back_equal(value: object) -> None:
    assert back(type(value), value) == value
    assert back_from_sparse(value) == value


def test_fields_of_earlier_logs_are_read_under_their_new_names() -> None:
    asked = Ask("rule", unconditional=True)
    old = {("standing" if name == "unconditional" else name): value for name, value in to_json(asked).items()}
    assert "standing" in old
    assert from_json(Ask, old) == asked

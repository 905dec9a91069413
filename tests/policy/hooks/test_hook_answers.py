"""Answers of hooks are read strictly: a failure is never turned into a guess."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.processes import Finished
from callgate.policy.entries import EVENTS
from callgate.policy.hooks.hook_answers import LARGEST, LONGEST, cut_text, read_answer, read_exit, read_json, read_text
from callgate.policy.hooks.hook_protocol import EVENTS_WITH_TEXT, SILENT, SUBJECTS, HookAnswer, HookFailure
from tests.rows import rows

PRE, ASKED, POST, PROMPT = "PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit"
ALLOWING = b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}'
BLOCKED = "blocked by a hook without a reason"


def own(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": fields}


# ---- exit codes ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("HOOK-1")
@rows("stdout", [b"", b"text", ALLOWING, b"{broken", b'{"continue": true}'])
@rows("cut", [False, True])
@rows("event", EVENTS)
def test_exit_2_blocks_whatever_is_on_stdout(stdout: bytes, cut: bool, event: str) -> None:
    assert read_exit(event, Finished(2, stdout, b" not on Friday\n", cut=cut)) == HookAnswer("deny", "not on Friday")


def test_exit_2_without_a_word_blocks_too() -> None:
    assert read_exit(PRE, Finished(2)) == HookAnswer("deny", BLOCKED)
    assert read_exit(PRE, Finished(2, b"", b"\xff")) == HookAnswer("deny", "\N{REPLACEMENT CHARACTER}")


@rows(
    ("code", "why"),
    [
        (1, "ended with exit code 1"),
        (3, "ended with exit code 3"),
        (127, "ended with exit code 127"),
        (-9, "was killed by signal 9"),
    ],
)
def test_other_codes_are_failures_with_what_the_hook_complained_about(code: int, why: str) -> None:
    assert read_exit(PRE, Finished(code, ALLOWING, b"oops\n")) == HookFailure(why, "oops")


def test_exit_0_is_read_from_stdout_alone() -> None:
    assert read_exit(PRE, Finished(0)) == SILENT
    assert read_exit(PRE, Finished(0, ALLOWING, b"chatter")) == HookAnswer("allow")
    assert read_exit(PRE, Finished(0, ALLOWING, b"much chatter", cut=True)) == HookAnswer("allow")


def test_more_output_than_anybody_reads_is_a_failure() -> None:
    assert read_exit(PRE, Finished(0, b" " * LARGEST, cut=True)) == HookFailure("wrote too much output")
    assert read_exit(PRE, Finished(0, b" " * (LARGEST - 1))) == SILENT


# ---- text ---------------------------------------------------------------------------------------------------------


@rows("event", EVENTS)
def test_plain_text_is_context_where_there_is_a_place_for_it_and_shown_elsewhere(event: str) -> None:
    expected = HookAnswer(context="mind the gap") if event in EVENTS_WITH_TEXT else HookAnswer(shown=("mind the gap",))
    assert read_text(event, b"\n mind the gap \n") == expected
    assert read_text(event, b" \n") == SILENT


def test_text_takers_are_those_of_the_protocol() -> None:
    assert EVENTS_WITH_TEXT == ("UserPromptSubmit", "SessionStart")


@rows(
    ("stdout", "why"),
    [
        (b"\xff\xfe", "wrote output that is not UTF-8"),
        (b"{", "returned invalid JSON"),
        (b"{} and more", "wrote other text after its JSON"),
        (b'{"a": NaN}', "returned invalid JSON"),
        (b'{"reason": "\\ud800"}', "returned invalid JSON"),
        (b"{" + b'"a":{' * 100_000, "returned invalid JSON"),
        (b'{"decision": "block", "decision": "approve"}', "returned JSON with a duplicate key"),
        (b'{"hookSpecificOutput": {"a": 1, "a": 1}}', "returned JSON with a duplicate key"),
        (b'starting\n{"decision": "block"}', "wrote other text before its JSON"),
        (b'note: {"decision": "block"}', "wrote other text before its JSON"),
        (b'start\n  {"decision":\n"block"}', "wrote other text before its JSON"),
        (b'[{"decision": "block"}]', "wrote other text before its JSON"),
        (b'\x1b[0m{"decision": "block"}', "wrote other text before its JSON"),
        (b'a\n{"b": 1}', "wrote other text before its JSON"),
        (b'a\n{ }\n{\n "hookSpecificOutput": {}\n}\ndone', "wrote other text before its JSON"),
    ],
)
def test_output_that_may_mean_something_but_cannot_be_read_is_a_failure(stdout: bytes, why: str) -> None:
    assert read_text(PRE, stdout) == HookFailure(why)


@rows("stdout", [b"[1]", b'"text"', b"42", b"null", b"a {b}", b"a\n{b", b"\n\n["])
def test_text_that_only_looks_a_little_like_json_is_text(stdout: bytes) -> None:
    assert read_text(PRE, stdout) == HookAnswer(shown=(stdout.decode().strip(),))


def test_text_for_the_model_may_hold_json_that_is_no_answer() -> None:
    assert read_text("SessionStart", b'see {"name": "x"}') == HookAnswer(context='see {"name": "x"}')
    assert isinstance(read_text("SessionStart", b'see {"decision": "block"}'), HookFailure)


def test_an_answer_behind_other_text_is_a_failure() -> None:
    noise = "noise" + "\n{" * 30 + '\n{"decision": "block"}'
    assert read_text(PRE, noise.encode()) == HookFailure("wrote other text before its JSON")


def test_a_byte_order_mark_is_no_text() -> None:
    assert read_text(PRE, b"\xef\xbb\xbf" + ALLOWING) == HookAnswer("allow")


def test_long_texts_are_cut_and_say_so() -> None:
    assert cut_text("x" * LONGEST) == "x" * LONGEST
    assert cut_text("x" * LONGEST + "yz") == "x" * LONGEST + " [2 more characters]"
    answer = read_answer(PRE, {"decision": "block", "reason": "r" * (LONGEST + 1)})
    assert answer == HookAnswer("deny", "r" * LONGEST + " [1 more characters]")


# ---- fields -------------------------------------------------------------------------------------------------------


@rows(
    ("event", "said", "answer"),
    [
        (PRE, {}, SILENT),
        (PRE, {"continue": True, "suppressOutput": True}, SILENT),
        (PRE, {"suppressOutput": "anything"}, SILENT),
        (PRE, {"hookSpecificOutput": {}}, SILENT),
        (PRE, own(hookEventName="PreToolUse"), SILENT),
        (PRE, {"systemMessage": "hello"}, HookAnswer(shown=("hello",))),
        (PRE, {"continue": False}, HookAnswer(stop="a hook stopped the work")),
        (PRE, {"continue": False, "stopReason": "enough"}, HookAnswer(stop="enough")),
        (PRE, {"continue": False, "decision": "block", "reason": "r"}, HookAnswer("deny", "r", stop="r")),
        (PRE, {"stopReason": "not asked for"}, SILENT),
        (PRE, {"decision": "block"}, HookAnswer("deny", BLOCKED)),
        (PRE, {"decision": "block", "reason": "no"}, HookAnswer("deny", "no")),
        (PRE, {"decision": "approve", "reason": "ok"}, HookAnswer("allow", "ok")),
        (PRE, {"reason": "about nothing"}, SILENT),
        (POST, {"decision": "block", "reason": "lint"}, HookAnswer("deny", "lint")),
        (PRE, own(permissionDecision="allow", permissionDecisionReason="fine"), HookAnswer("allow", "fine")),
        (PRE, own(permissionDecision="ask", permissionDecisionReason="sure?"), HookAnswer("ask", "sure?")),
        (PRE, own(permissionDecision="deny", permissionDecisionReason="no"), HookAnswer("deny", "no")),
        (PRE, own(permissionDecision="deny"), HookAnswer("deny", BLOCKED)),
        (PRE, {"reason": "r", **own(permissionDecision="ask")}, HookAnswer("ask", "r")),
        (PRE, {"decision": "approve", **own(permissionDecision="deny")}, HookAnswer("deny", BLOCKED)),
        (PRE, {"decision": "approve", "reason": "a", **own(permissionDecision="ask")}, HookAnswer("ask", "a")),
        (PRE, {"decision": "block", "reason": "b", **own(permissionDecision="allow")}, HookAnswer("deny", "b")),
        (PRE, own(updatedInput={"a": 1}), HookAnswer(arguments={"a": 1})),
        (PRE, own(updatedInput={}), HookAnswer(arguments={})),
        (PRE, own(additionalContext="c"), HookAnswer(context="c")),
        (POST, own(hookEventName=POST, additionalContext="c"), HookAnswer(context="c")),
        (ASKED, own(decision={"behavior": "allow"}), HookAnswer("allow")),
        (ASKED, own(decision={"behavior": "allow", "updatedInput": {"a": 2}}), HookAnswer("allow", arguments={"a": 2})),
        (ASKED, own(decision={"behavior": "allow", "updatedInput": {}}), HookAnswer("allow", arguments={})),
        (ASKED, own(decision={"behavior": "deny", "message": "no"}), HookAnswer("deny", "no")),
        (
            ASKED,
            own(decision={"behavior": "deny", "interrupt": True}),
            HookAnswer("deny", BLOCKED, stop="a hook stopped the work"),
        ),
        (ASKED, own(decision={"behavior": "deny", "interrupt": False}), HookAnswer("deny", BLOCKED)),
        (ASKED, own(decision={"behavior": "allow", "interrupt": True}), HookAnswer("allow")),
        (ASKED, {"reason": "r", **own(decision={"behavior": "deny"})}, HookAnswer("deny", "r")),
        (ASKED, {"decision": "approve"}, HookAnswer("allow")),
        (ASKED, {"decision": "block"}, HookAnswer("deny", BLOCKED)),
    ],
)
def test_an_answer_is_what_its_fields_say(event: str, said: dict[str, Any], answer: HookAnswer) -> None:
    assert read_answer(event, said) == answer
    assert read_json(event, json.dumps(said)) == answer


def test_null_is_the_same_as_nothing() -> None:
    names = ("continue", "stopReason", "systemMessage", "decision", "reason", "hookSpecificOutput", "new")
    assert read_answer(PRE, dict.fromkeys(names)) == SILENT
    inner = ("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext")
    assert read_answer(PRE, own(**dict.fromkeys((*inner, "decision")))) == SILENT


@rows(
    ("said", "unknown"),
    [
        ({"desicion": "block"}, "desicion"),
        (own(permisionDecision="deny"), "hookSpecificOutput.permisionDecision"),
        ({"a": 1, **own(b=2)}, "a, hookSpecificOutput.b"),
    ],
)
def test_fields_that_nobody_knows_are_named(said: dict[str, Any], unknown: str) -> None:
    assert read_answer(PRE, said) == HookAnswer(shown=(f"returned unknown fields: {unknown}",))


def test_unknown_fields_of_a_choice_are_named_and_never_at_length() -> None:
    answer = read_answer(ASKED, own(decision={"behavior": "allow", "updatedPermissions": []}))
    named = "hookSpecificOutput.decision.updatedPermissions"
    assert answer == HookAnswer("allow", shown=(f"returned unknown fields: {named}",))
    long = read_answer(PRE, {"x" * 1000: 1, "systemMessage": "m"})
    assert isinstance(long, HookAnswer)
    assert long.shown == ("m", f"returned unknown fields: {'x' * 200}")


@rows(
    ("event", "said", "why"),
    [
        (PRE, [], "it must be an object, not a list"),
        (PRE, "x", "it must be an object, not text"),
        (PRE, 1, "it must be an object, not a number"),
        (PRE, None, "it must be an object, not null"),
        (PRE, {"continue": "false"}, "continue must be true or false, not text"),
        (PRE, {"continue": 0}, "continue must be true or false, not a number"),
        (PRE, {"stopReason": 1}, "stopReason must be text, not a number"),
        (PRE, {"systemMessage": ["x"]}, "systemMessage must be text, not a list"),
        (PRE, {"decision": "deny"}, "decision must be one of block, approve"),
        (PRE, {"decision": "Block"}, "decision must be one of block, approve"),
        (PRE, {"decision": True}, "decision must be one of block, approve, not true or false"),
        (PRE, {"reason": {}}, "reason must be text, not an object"),
        (PRE, {"hookSpecificOutput": "x"}, "~ must be an object, not text"),
        (PRE, own(hookEventName=1), "~.hookEventName must be text, not a number"),
        (PRE, own(permissionDecision="block"), "~.permissionDecision must be one of allow, ask, deny"),
        (PRE, own(permissionDecisionReason=1), "~.permissionDecisionReason must be text, not a number"),
        (PRE, own(updatedInput="x"), "~.updatedInput must be an object, not text"),
        (PRE, own(updatedInput=[]), "~.updatedInput must be an object, not a list"),
        (PRE, own(additionalContext=1), "~.additionalContext must be text, not a number"),
        (PRE, own(decision={}), "~.decision has no effect for PreToolUse"),
        (ASKED, own(decision="allow"), "~.decision must be an object, not text"),
        (ASKED, own(decision={"behavior": "ask"}), "~.decision.behavior must be one of allow, deny"),
        (ASKED, own(decision={"message": 1}), "~.decision.message must be text, not a number"),
        (ASKED, own(decision={"interrupt": 1}), "~.decision.interrupt must be true or false, not a number"),
        (ASKED, own(decision={"updatedInput": 1}), "~.decision.updatedInput must be an object, not a number"),
        (ASKED, own(permissionDecision="allow"), "~.permissionDecision has no effect for PermissionRequest"),
        (ASKED, own(permissionDecisionReason="r"), "~.permissionDecisionReason has no effect for PermissionRequest"),
        (POST, own(updatedInput={}), "~.updatedInput has no effect for PostToolUse"),
        (POST, own(hookEventName=PRE), "~.hookEventName must be PostToolUse"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_a_failure(event: str, said: Any, why: str) -> None:
    """``~`` stands for hookSpecificOutput."""
    why = why.replace("~", "hookSpecificOutput")
    assert read_answer(event, said) == HookFailure(f"returned an invalid answer: {why}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
WORDS = st.sampled_from(["block", "approve", "allow", "ask", "deny", PRE, ASKED, POST, "x"])
CHOICE = st.dictionaries(st.sampled_from(["behavior", "updatedInput", "message", "interrupt", "x"]), WORDS | JSON)
OWN_NAMES = [
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
    "x",
]
OWN = st.dictionaries(st.sampled_from(OWN_NAMES), WORDS | JSON) | st.fixed_dictionaries({"decision": CHOICE})
TOP_NAMES = ["continue", "stopReason", "systemMessage", "suppressOutput", "decision", "reason", "x"]
TOP = st.dictionaries(st.sampled_from(TOP_NAMES), WORDS | JSON)
ANSWERS = st.builds(lambda top, inner: {**top, "hookSpecificOutput": inner}, TOP, OWN | JSON) | TOP | JSON


@given(st.sampled_from(sorted(EVENTS)), ANSWERS)
def test_reading_never_raises_and_never_finds_more_than_was_said(event: str, said: Any) -> None:
    answer = read_json(event, json.dumps(said))
    if isinstance(answer, HookFailure):
        return
    inner = said.get("hookSpecificOutput") or {}
    if answer.verdict is not None:
        given_words = [
            said.get("decision"),
            inner.get("permissionDecision"),
            (inner.get("decision") or {}).get("behavior"),
        ]
        means = {"block": "deny", "approve": "allow"}
        meant = {means.get(word, word) for word in given_words if word is not None}
        assert answer.verdict == next(effect for effect in ("deny", "ask", "allow") if effect in meant)
    if answer.arguments is not None:
        assert event in (PRE, ASKED)
        assert answer.arguments in (inner.get("updatedInput"), (inner.get("decision") or {}).get("updatedInput"))


@given(st.binary(max_size=200), st.integers(-64, 255))
def test_any_output_with_any_code_is_an_answer_or_a_failure(stdout: bytes, code: int) -> None:
    answer = read_exit(PROMPT, Finished(code, stdout, stdout))
    if code == 2:
        assert isinstance(answer, HookAnswer)
        assert answer.verdict == "deny"
    elif code != 0:
        assert isinstance(answer, HookFailure)


def test_every_subject_belongs_to_an_event() -> None:
    assert set(SUBJECTS) < set(EVENTS)


BLOCKING = b'{"decision": "block", "reason": "no"}'


@rows("rest", [b"\ndone", b" {}", b'\n{"decision": "approve"}', b"}"])
def test_a_block_counts_whatever_is_written_after_it(rest: bytes) -> None:
    assert read_text(PRE, BLOCKING + rest) == HookAnswer("deny", "no")
    stops = read_text(PRE, b'{"continue": false, "stopReason": "enough"}' + rest)
    assert isinstance(stops, HookAnswer)
    assert stops.stop == "enough"
    assert read_text(PRE, ALLOWING + rest) == HookFailure("wrote other text after its JSON")

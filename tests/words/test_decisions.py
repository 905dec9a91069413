"""What an answer is bound to, and the shapes of questions, answers and policies."""

from dataclasses import fields
from typing import Any, get_args

import pytest

from callgate.words.decisions import (
    WANTED,
    Answered,
    ApprovalPolicy,
    AskedField,
    Confirmation,
    Effect,
    FieldAnswer,
    FieldKind,
    Pattern,
    Scope,
    answers_fault,
    arguments_hash,
)


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    one, two = {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}
    assert arguments_hash("Bash", one) == arguments_hash("Bash", two)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": "x\ny"}, {"a": "x\\ny"}),
        ({"a": "é"}, {"a": "e\u0301"}),
        ({"a": True}, {"a": 1}),
    ],
)
def test_different_arguments_have_different_hashes(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert arguments_hash("Bash", one) != arguments_hash("Bash", other)


def test_the_hash_names_the_tool_too() -> None:
    assert arguments_hash("Bash", {}) != arguments_hash("Edit", {})


def test_a_tools_name_cannot_pose_as_arguments() -> None:
    assert arguments_hash("Bash\n{}", {}) != arguments_hash("Bash", {})


def test_what_is_no_json_has_no_hash() -> None:
    with pytest.raises(ValueError):
        arguments_hash("Bash", {"x": float("nan")})


def test_the_words_of_answers_effects_and_scopes_are_those_of_the_specification() -> None:
    assert set(get_args(Answered)) == {"yes", "yes_always", "no"}
    assert set(get_args(Effect)) == {"allow", "ask", "deny"}
    assert set(get_args(Scope)) == {"session", "project", "user"}


def test_a_confirmation_has_the_fields_of_the_specification() -> None:
    wanted = ["call_id", "outcome", "arguments_hash", "by", "at", "always", "stop", "arguments", "note", "door"]
    assert [field.name for field in fields(Confirmation)] == [*wanted, "path", "answers"]
    plain = Confirmation("c1", "yes", "hash")
    assert (plain.always, plain.stop, plain.arguments, plain.note) == (None, False, None, None)


def test_a_policy_has_the_fields_of_the_specification_and_lasts_for_the_session_by_default() -> None:
    wanted = ["effect", "tool", "pattern", "scope", "created_at", "expires_at", "origin", "note"]
    assert [field.name for field in fields(ApprovalPolicy)] == wanted
    assert ApprovalPolicy("allow", "Bash").scope == "session"


def test_a_pattern_is_made_of_structured_fields() -> None:
    assert [field.name for field in fields(Pattern)] == ["kind", "value", "field"]


def test_own_words_are_an_answer_only_of_the_kind_of_their_field() -> None:
    taken: dict[FieldKind, tuple[str, ...]] = {
        "text": ("three", "3", "nan"),
        "number": ("3", "-3.5", " 1e3 "),
        "integer": ("3", "-3", " 12 "),
        "option": (),
    }
    refused: dict[FieldKind, tuple[str, ...]] = {
        "text": (),
        "number": ("three", "nan", "inf", "1e999", "3 nights"),
        "integer": ("three", "3.5", "9" * 400),
        "option": ("three", "3"),
    }
    assert taken.keys() == refused.keys() == WANTED.keys()
    for kind in WANTED:
        field = AskedField("Nights", "How many?", kind=kind)
        for text in taken[kind]:
            assert answers_fault([field], [FieldAnswer(text=text)]) is None, (kind, text)
        for text in refused[kind]:
            told = f"Nights: expected {WANTED[kind]}, not {text!r:.40}"
            assert answers_fault([field], [FieldAnswer(text=text)]) == told, (kind, text)
        assert answers_fault([field], [FieldAnswer()]) == f"Nights: expected {WANTED[kind]}"

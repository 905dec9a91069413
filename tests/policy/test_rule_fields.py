"""Rules on arguments: parsed with positions, matched on top-level values and on nothing else."""

from typing import Any

import pytest

from callgate.policy.rule_fields import Wild, example, parse_fields
from tests.rows import rows


@rows(
    ("pattern", "text", "fits"),
    [
        ("users", "users", True),
        ("users", "users ", False),
        ("users", "xusers", False),
        ("us*", "users", True),
        ("us*", "us", True),
        ("us*", "bus", False),
        ("*ers", "users", True),
        ("*ers", "ersatz", False),
        ("u*s", "us", True),
        ("u*s", "u", False),
        ("ab*ba", "aba", False),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("a*b*b*c", "a-b-c", False),
        ("a*bc*bc", "abcbc", True),
        ("a*bc*bc", "abc", False),
        ("*", "", True),
        ("*", "line\nline", True),
    ],
)
def test_a_star_stands_for_any_run_of_characters(pattern: str, text: str, fits: bool) -> None:
    assert Wild(tuple(pattern.split("*"))).fits(text) is fits


def test_many_stars_take_no_longer_than_one() -> None:
    pattern = Wild(tuple("*a" * 200))
    assert not Wild(("", *("a" for _ in range(200)), "b")).fits("a" * 10_000)
    assert pattern.parts


def covers(content: str, arguments: dict[str, Any]) -> bool:
    return all(each.covers(arguments) for each in parse_fields(content))


def touches(content: str, arguments: dict[str, Any]) -> bool:
    return all(each.may_match(arguments) for each in parse_fields(content))


@pytest.mark.spec("GATE-1")
@rows(
    ("content", "arguments", "fits"),
    [
        ("table=users", {"table": "users"}, True),
        ("table=users", {"table": "users2"}, False),
        ("table=users", {"table": "Users"}, False),
        ("table=us*", {"table": "users"}, True),
        (" table = users ", {"table": "users"}, True),
        ("table=a b", {"table": "a b"}, True),
        ("table=a  ", {"table": "a  "}, False),
        ("a=1, b=x*", {"a": 1, "b": "xy"}, True),
        ("a=1, b=x*", {"a": 1, "b": "yx"}, False),
        ("a=1, b=x*", {"a": 1}, False),
        ("a=1", {"a": "1"}, True),
        ("a=1", {"a": 1.0}, True),
        ("a=1", {"a": 1.5}, False),
        ("a=1.5", {"a": 1.5}, True),
        ("a=1", {"a": True}, False),
        ("a=true", {"a": True}, True),
        ("a=true", {"a": False}, False),
        ("a=false", {"a": False}, True),
        ("a=None", {"a": None}, False),
        ("a=*", {"a": None}, False),
        ("a=*", {}, False),
        ("a=*", {"a": ""}, True),
        (r"a=\*", {"a": "*"}, True),
        (r"a=\*", {"a": "x"}, False),
        (r"a=x\,y", {"a": "x,y"}, True),
        (r"a=x\\y", {"a": "x\\y"}, True),
        ("a=x=y", {"a": "x=y"}, True),
        ("a=inf", {"a": float("inf")}, True),
        ("a.b=1", {"a": {"b": 1}}, False),
        ("a.b=1", {"a.b": 1}, True),
    ],
)
def test_a_field_is_compared_with_the_value_of_the_argument_of_that_name(
    content: str, arguments: dict[str, Any], fits: bool
) -> None:
    assert covers(content, arguments) is fits
    assert touches(content, arguments) is fits


@rows(
    "arguments",
    [
        {"query": "table=users"},
        {"query": '{"table": "users"}'},
        {"options": {"table": "users"}},
        {"options": [{"table": "users"}]},
        {"table": {"table": "users"}},
        {"table": {"users": 1}},
        {"table ": "users"},
        {"Table": "users"},
    ],
)
def test_an_injected_or_nested_key_never_matches(arguments: dict[str, Any]) -> None:
    assert not covers("table=users", arguments)
    assert not touches("table=users", arguments)


def test_a_list_is_stopped_by_a_value_in_it_and_allowed_by_none() -> None:
    assert touches("table=users", {"table": ["log", "users"]})
    assert touches("table=1", {"table": (1, 2)})
    assert not touches("table=users", {"table": ["log", ["users"]]})
    assert not touches("table=users", {"table": []})
    assert not covers("table=users", {"table": ["users"]})


@rows(
    ("content", "why"),
    [
        ("users", "name=value, at character 1"),
        ("=users", "name=value, at character 1"),
        ("table=users,", "name=value, at character 13"),
        ("table=users, x", "name=value, at character 14"),
        ("a=1,,b=2", "name=value, at character 5"),
        ("a=1, a=2", "a appears twice, again at character 6"),
        ("a=", "no value at character 3; write a=*"),
        ("a= ,b=1", "no value at character 4"),
        (r"a=\x", "a backslash may only escape *, a comma or a backslash, at character 3"),
        ("a=\\", "at character 3"),
        ("", "at character 1"),
    ],
)
def test_what_is_no_field_is_refused_with_its_position(content: str, why: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_fields(content)
    assert why in str(error.value)


def test_a_self_test_is_written_like_a_rule_and_its_stars_are_letters() -> None:
    assert example(r"a=1, b=x*y, c=\*") == {"a": "1", "b": "x*y", "c": "*"}

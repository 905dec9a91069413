"""Strict JSON: what is taken, what is refused and in which words, at what cost."""

import json
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tools.strict_json import LIMITS, MAX_DIGITS, JSONFault, JSONLimits, decode_utf8, parse, plain
from tests.rows import rows

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=20
)


def _fault(text: str, limits: JSONLimits = LIMITS) -> JSONFault:
    with pytest.raises(JSONFault) as caught:
        parse(text, limits)
    assert caught.value.lines
    assert all(line.startswith("$") for line in caught.value.lines)
    return caught.value


@given(VALUES, st.booleans())
def test_what_was_dumped_is_parsed_back(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse(text) == value
    assert parse(f" \t\r\n{text}\n") == value


@given(st.text() | st.text(alphabet='{}[]",:\\u0dD8-1.eE+ntrfalse \n'))
def test_any_text_is_parsed_as_json_does_or_refused(text: str) -> None:
    try:
        value = parse(text)
    except JSONFault:
        return
    assert value == json.loads(text)


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.data())
def test_every_beginning_of_a_json_text_is_truncated(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert _fault(text[:cut]).kind == "truncated"


@given(VALUES)
def test_an_object_that_never_was_text_is_copied_by_the_same_rules(value: Any) -> None:
    assert plain({"a": value}) == parse(json.dumps({"a": value}))


@rows(
    ("text", "kind", "words"),
    [
        ("", "empty", "no text"),
        (" \n", "empty", "no text"),
        ("{", "truncated", "truncated"),
        ('{"a', "truncated", "string that starts at character 1"),
        ('  {"a', "truncated", "string that starts at character 3"),
        ('{"a":tr', "truncated", "truncated"),
        ('{"a":-', "truncated", "truncated"),
        ('{"a":1.', "truncated", "truncated"),
        ('{"a":1e+', "truncated", "truncated"),
        ('{"a":"\\', "truncated", "truncated"),
        ('{"a":"\\u00', "truncated", "truncated"),
        ('{"a":"\\ud83d\\u', "truncated", "truncated"),
        ('{"a":1}{"a":2}', "extra", "second value"),
        ('{"a":1}\n{"a":2}', "extra", "second value"),
        ('{"a":1}}', "extra", "after the end"),
        ('{"a":1} // c', "extra", "after the end"),
        ('{"a":1,}', "syntax", "not JSON"),
        ("{a:1}", "syntax", "not JSON"),
        ('{"a":True}', "syntax", "not JSON"),
        ('{"a":01}', "syntax", "not JSON"),
        ('{"a":+1}', "syntax", "not JSON"),
        ('{"a":"\\x"}', "syntax", "not JSON"),
        ('{"a":"x\ny"}', "syntax", "control character"),
        ("\ufeff{}", "syntax", "not JSON"),
        ("\u00a0{}", "syntax", "not JSON"),
        ('{"a":{"b":NaN}}', "content", "$.a.b: got NaN"),
        ('[0,"x",-Infinity]', "content", "$[2]: got -Infinity"),
        ('{"a":1e400}', "content", "$.a: got 1e400"),
        ('{"a":1,"\\u0061":2}', "content", "$.a: got a duplicate key"),
        ('[{"x y":1,"x y":1}]', "content", '$[0]["x y"]: got a duplicate key'),
        ('{"a":"\\ud800"}', "content", "$.a: got a lone surrogate"),
        ('{"a":"\\ude00\\ud83d"}', "content", "surrogate"),
        ('{"\\ud800":1}', "content", "surrogate in a key"),
        ('{"a":"\ud800"}', "content", "surrogate"),
        ("9" * (MAX_DIGITS + 1), "content", "digits"),
        ("0." + "9" * MAX_DIGITS, "content", "digits"),
    ],
)
@pytest.mark.spec("TOOL-7")
def test_a_refusal_says_what_is_wrong_and_where(text: str, kind: str, words: str) -> None:
    fault = _fault(text)
    assert fault.kind == kind
    assert words in fault.lines[0]


def test_every_fault_of_the_content_has_its_own_line() -> None:
    lines = _fault('{"a":NaN,"b":{"c":1,"c":"\\ud800"},"d":1e999}').lines
    assert [line.partition(":")[0] for line in lines] == ["$.a", "$.b.c", "$.b.c", "$.d"]


@rows(("text", "value"), [("10.0", 10), ("1e3", 1000), ("-0.0", 0), ("2.5", 2.5), ("1e16", 1e16)])
def test_a_whole_number_is_an_integer_however_it_is_written(text: str, value: Any) -> None:
    assert (parse(text), type(parse(text))) == (value, type(value))
    assert type(plain({"a": float(text)})["a"]) is type(value)


def test_integers_keep_every_digit_whatever_python_is_told_about_digits() -> None:
    text = "9" * MAX_DIGITS
    before = sys.get_int_max_str_digits()
    try:
        for limit in (0, 640):
            sys.set_int_max_str_digits(limit)
            assert parse(text) == parse(f"[-{text}]")[0] * -1 == 10**MAX_DIGITS - 1  # type: ignore[index, operator]
            assert _fault("9" * (MAX_DIGITS + 1)).kind == "content"
    finally:
        sys.set_int_max_str_digits(before)


@rows(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_is_bounded_exactly(opening: str, closing: str) -> None:
    deep = 64 // len(closing)
    parse(opening * deep + "1" + closing * deep)
    assert "nesting" in _fault("[" + opening * deep + "1" + closing * deep + "]").lines[0]
    assert "nesting" in _fault(opening * 40_000 + "1" + closing * 40_000).lines[0]


def test_brackets_and_commas_inside_strings_do_not_count() -> None:
    inside = '[{,"\\' * 100_000
    assert parse(json.dumps({"a": inside, "b": [[], [inside]]})) == {"a": inside, "b": [[], [inside]]}


MEGABYTES = 8 * 1024 * 1024
HUGE = {
    "too long": "x" * (MEGABYTES + 1),
    "many arrays": "[" + "[]," * (MEGABYTES // 3 - 1) + "0]",
    "many objects": "[" + '{"":0},' * (MEGABYTES // 7 - 1) + "0]",
    "many strings": "[" + '"","[",' * (MEGABYTES // 8) + "0]",
    "many numbers": "[" + "1," * (MEGABYTES // 2 - 2) + "1]",
    "only opened": "[" * MEGABYTES,
    "only closed": "]" * MEGABYTES,
    "only quotes": '"' * MEGABYTES,
    "one integer": "9" * MEGABYTES,
    "one fraction": "0." + "9" * (MEGABYTES - 2),
    "one exponent": "1e" + "9" * (MEGABYTES - 2),
    "many surrogates": "[" + '"\\ud800",' * 90_000 + "1]",
    "only blanks": " " * MEGABYTES,
}


@pytest.mark.spec("TOOL-7")
@rows("name", HUGE)
def test_whatever_is_sent_is_refused_without_taking_memory(name: str) -> None:
    tracemalloc.start()
    try:
        fault = _fault(HUGE[name])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000
    assert sum(map(len, fault.lines)) < 10_000


def test_a_long_text_within_the_limits_is_taken() -> None:
    content = 'naïve, "quoted" [text] {of} 😀\\\n' * 100_000
    for ascii_only in (True, False):
        assert parse(json.dumps({"content": content}, ensure_ascii=ascii_only)) == {"content": content}


@rows(
    "raw",
    [
        b'{"a":"\xff\xfe"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xc0\x80"}',
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        '{"a":1}'.encode("utf-16-be"),
        '{"a":1}'.encode("utf-32-le"),
    ],
)
@pytest.mark.spec("TOOL-7")
def test_bytes_are_utf8_or_refused(raw: bytes) -> None:
    with pytest.raises(JSONFault, match="UTF-8") as caught:
        decode_utf8(raw)
    assert caught.value.kind == "encoding"


def test_utf8_bytes_are_decoded_up_to_the_limit() -> None:
    assert decode_utf8('{"a":"é"}'.encode()) == '{"a":"é"}'
    with pytest.raises(JSONFault, match="at most"):
        decode_utf8(b"x" * 41, JSONLimits(chars=10))


@rows(
    ("value", "words"),
    [
        ({"a": {(1, 2): 2}}, "keys must be str"),
        ({"a": {1: 2, "1": 3}}, '$.a["1"]: got a duplicate key'),
        ({"a": object()}, "it contains a Python object"),
        ({"a": [b"x"]}, "it contains a Python bytes"),
        ({"a": float("nan")}, "$.a: got NaN"),
        ({"a": 10**MAX_DIGITS}, "digits"),
        ({"a": ["\ud800"]}, "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ({"a": [0] * 300_000}, "values"),
    ],
)
def test_an_object_that_json_could_not_say_is_refused(value: Any, words: str) -> None:
    with pytest.raises(JSONFault) as caught:
        plain(value)
    assert words in caught.value.lines[0]


def test_an_object_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["a"] = value
    with pytest.raises(JSONFault, match="Circular reference"):
        plain(value)

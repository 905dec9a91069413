"""Arguments: what is accepted as it is, what is repaired without loss, what is rejected."""

import json
import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tools.arguments import Arguments
from callgate.words.calls import Accepted, Rejected
from tests.rows import rows

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer", "minimum": 0, "default": 3},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["integer", "null"]},
        "either": {"type": ["string", "integer"]},
        "word_or_count": {"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]},
        "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "item": {"$ref": "#/$defs/item"},
        "shape": {"oneOf": [{"$ref": "#/$defs/item"}, {"type": "array", "items": {"type": "integer"}}]},
        "free": {"type": "object"},
        "any": {},
    },
    "$defs": {
        "item": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "n": {"type": "integer"}, "item": {"$ref": "#/$defs/item"}},
            "required": ["id"],
        }
    },
}
TOOL = Arguments(SCHEMA)
NEEDY = Arguments({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})


def _repaired(raw: Any, tool: Arguments = TOOL) -> tuple[Any, list[tuple[str, str]]]:
    read = tool.read(raw)
    assert isinstance(read, Accepted), read
    assert tool.read(json.dumps(read.arguments)) == Accepted(read.arguments)
    return read.arguments, [(repair.path, repair.what) for repair in read.repairs]


def _rejected(raw: Any, tool: Arguments = TOOL) -> str:
    read = tool.read(raw)
    assert isinstance(read, Rejected), read
    assert read.errors
    return "\n".join(read.errors)


@rows(
    "arguments",
    [
        {},
        {"text": "", "count": 0, "ratio": -1.5, "flag": False, "maybe": None},
        {"either": "5", "any": "5", "word_or_count": "auto"},
        {"text": "5", "list": [{"id": "5"}], "free": {"a": "{}", "b": [None, "true"]}},
        {"text": '{"a": 1}', "any": "[1]"},
        {"text": "```json\n{}\n```"},
    ],
)
@pytest.mark.spec("TOOL-7")
def test_arguments_that_fit_stay_what_the_model_wrote(arguments: dict[str, Any]) -> None:
    assert TOOL.read(json.dumps(arguments)) == Accepted(arguments)
    assert TOOL.read(f"\n {json.dumps(arguments)}\r\n\t") == Accepted(arguments)
    assert TOOL.read(json.dumps(arguments).encode()) == Accepted(arguments)
    assert TOOL.read(arguments) == Accepted(arguments)


@rows(
    ("raw", "arguments", "what"),
    [
        ('\ufeff{"count":1}', {"count": 1}, "byte order mark"),
        ('\u00a0{"count":1}\u3000\n', {"count": 1}, "white space"),
        ('```json\n{"count":1}\n```', {"count": 1}, "code fence"),
        ('\n```\n{"count":1}\n```\n', {"count": 1}, "code fence"),
        ('```JSON {"count":1}```', {"count": 1}, "code fence"),
        ('{"count":1,}', {"count": 1}, "removed 1 trailing comma"),
        (
            '{"list":[{"id":",]",},\n],"text":",}" , \n}',
            {"list": [{"id": ",]"}], "text": ",}"},
            "removed 3 trailing commas",
        ),
        ('"{\\"count\\":1}"', {"count": 1}, "from a JSON string"),
        ("", {}, "no arguments"),
        (" \n", {}, "no arguments"),
        ("null", {}, "no arguments"),
    ],
)
@pytest.mark.spec("TOOL-7")
def test_what_surrounds_the_payload_is_taken_away(raw: str, arguments: Any, what: str) -> None:
    read, repairs = _repaired(raw)
    assert read == arguments
    ((path, done),) = repairs
    assert path == "$"
    assert what in done


@rows(
    ("value", "mended", "path"),
    [
        ({"count": "12"}, {"count": 12}, "$.count"),
        ({"count": "12.0"}, {"count": 12}, "$.count"),
        ({"count": "9007199254740993"}, {"count": 9007199254740993}, "$.count"),
        ({"ratio": "-0.5"}, {"ratio": -0.5}, "$.ratio"),
        ({"ratio": "0.00001"}, {"ratio": 0.00001}, "$.ratio"),
        ({"maybe": "3"}, {"maybe": 3}, "$.maybe"),
        ({"flag": "false"}, {"flag": False}, "$.flag"),
        ({"flag": "true"}, {"flag": True}, "$.flag"),
        ({"count": None, "text": "x"}, {"text": "x"}, "$.count"),
        ({"list": '[{"id":"1"}]'}, {"list": [{"id": "1"}]}, "$.list"),
        ({"list": ['{"id":"1"}']}, {"list": [{"id": "1"}]}, "$.list[0]"),
        (
            {"item": {"id": "1", "item": {"id": "2", "n": "3"}}},
            {"item": {"id": "1", "item": {"id": "2", "n": 3}}},
            "$.item.item.n",
        ),
        ({"item": {"id": "1", "n": None}}, {"item": {"id": "1"}}, "$.item.n"),
        ({"free": ' {"a": 1} '}, {"free": {"a": 1}}, "$.free"),
        ({"shape": "[1]"}, {"shape": [1]}, "$.shape"),
        ({"shape": ["1"]}, {"shape": [1]}, "$.shape[0]"),
    ],
)
@pytest.mark.spec("TOOL-7")
def test_a_value_sent_in_a_string_is_read_where_the_schema_leaves_one_reading(
    value: Any, mended: Any, path: str
) -> None:
    for raw in (json.dumps(value), value):
        read, repairs = _repaired(raw)
        assert json.dumps(read) == json.dumps(mended)
        assert [where for where, _ in repairs] == [path]


def test_repairs_inside_repairs_are_all_recorded() -> None:
    read, repairs = _repaired('```json\n{"list": "[{\\"id\\": \\"1\\", \\"n\\": \\"2\\"}]", "flag": "true",}\n```')
    assert read == {"list": [{"id": "1", "n": 2}], "flag": True}
    assert [path for path, _ in repairs] == ["$", "$", "$.list", "$.list[0].n", "$.flag"]


@rows(
    "value",
    [
        *(
            "ten",
            "",
            " 1",
            "1 ",
            "1e3",
            "+1",
            "01",
            ".5",
            "1.",
            "1_000",
            "0x1",
            "٣",
            "NaN",
            "1,5",
            "-",
            "--1",
            "1.5",
            "true",
        ),
        "1" * 401,
    ],
)
@pytest.mark.spec("TOOL-7")
def test_a_string_that_is_not_a_plain_decimal_is_no_integer(value: str) -> None:
    assert "$.count: got " in _rejected(json.dumps({"count": value}))


@rows("value", ["True", "FALSE", "yes", "1", "0", "", " true", "null", 1, 0, []])
@pytest.mark.spec("TOOL-7")
def test_only_true_and_false_in_a_string_are_booleans(value: Any) -> None:
    assert "$.flag: got " in _rejected(json.dumps({"flag": value}))


@pytest.mark.spec("TOOL-7")
def test_a_number_in_a_string_is_not_read_when_digits_would_be_lost() -> None:
    assert "lose digits" in _rejected('{"ratio": "3.14159265358979323846"}')
    assert "$.ratio: got " in _rejected(json.dumps({"ratio": "1" * 350 + ".5"}))


@rows(
    ("raw", "words"),
    [
        ('{"text":"half', "truncated"),
        ('{"list":[{"id":"1",},', "truncated"),
        ('```json\n{"count":1}', "truncated"),
        ('```json\n{"count":1\n```', "truncated"),
        ('"{\\"count\\":1"', "truncated"),
        ('{"list":"[{\\"id\\":\\"1\\""}', "$.list: got "),
        ('{"list":"[{\\"id\\":\\"1\\""}', "truncated"),
        ('{"free":"{\\"a\\":1,\\"a\\":2}"}', "duplicate"),
        ('{"count":1}{"count":2}', "second value"),
        ('```json\n{"count":1}\n{"count":2}\n```', "second value"),
        ('{"count":1},', "after the end"),
        ('{"count":1,"count":1,}', "duplicate"),
        ('{"count":NaN,}', "NaN"),
        ("[,]", "not JSON"),
        ('{"list":[,]}', "not JSON"),
        ('{"list":[{"id":"1"},,]}', "not JSON"),
        ("{,}", "not JSON"),
        ("{count:1}", "not JSON"),
        ("{'count':1}", "not JSON"),
        ('{"flag":True}', "not JSON"),
        ('{"text":"a\nb"}', "control character"),
        ('{"count":1} // one', "after the end"),
        ('{"count":1}<|end|>', "after the end"),
        ('Sure! {"count":1}', "not JSON"),
        ('```bash\n{"count":1}\n```', "not JSON"),
        ('```json\n{"count":1}\n``` done', "truncated"),
        ("[]", "$: got an array of 0, expected an object"),
        ('"text"', '$: got "text", expected an object'),
        ("true", "$: got true, expected an object"),
        ('"\\"{}\\""', "expected an object"),
        ('"null"', "expected an object"),
        ('{"unknown":null}', "unexpected"),
        ('{"word_or_count":"5"}', "$.word_or_count: got "),
        ('{"item":{"id":null}}', "$.item.id: got null"),
        ('{"text":5}', "$.text: got 5, expected a string"),
        ('{"text":["a"]}', "$.text: got an array of 1, expected a string"),
        ('{"list":{"id":"1"}}', "$.list: got an object"),
        ('{"list":"{}"}', '$.list: got "{}", expected an array'),
    ],
)
@pytest.mark.spec("TOOL-7")
def test_what_would_have_to_be_guessed_is_rejected(raw: str, words: str) -> None:
    assert words in _rejected(raw)


@rows("raw", ["", "  ", "null", "{}", "``````"])
@pytest.mark.spec("TOOL-7")
def test_nothing_is_no_arguments_only_where_none_is_required(raw: str) -> None:
    assert "$.text: got nothing, expected a string (required)" in _rejected(raw, NEEDY)


def test_a_union_is_mended_only_if_its_branches_agree() -> None:
    counted = {"type": "object", "properties": {"n": {"type": "integer"}}}
    flagged = {"type": "object", "properties": {"n": {"type": "integer"}, "f": {"type": "boolean"}}}
    held = {"type": "object", "properties": {"n": {"type": "object"}}}
    tool = Arguments({"properties": {"a": {"anyOf": [counted, flagged]}, "b": {"anyOf": [counted, held]}}})
    assert _repaired({"a": {"n": "1"}}, tool)[0] == {"a": {"n": 1}}
    # Open as branches are, the first would take "true" as any other key, the second as a boolean: two readings.
    assert "$.a.n: got " in _rejected({"a": {"n": "1", "f": "true"}}, tool)
    # Absent key or absent key: both branches read null alike, so the reading is certain.
    assert _repaired({"b": {"n": None}}, tool)[0] == {"b": {}}


def test_json_inside_strings_cannot_go_past_the_limits() -> None:
    tool = Arguments(
        {"properties": {"a": {"type": "array"}, "b": {"type": "object", "properties": {"c": {"type": "array"}}}}}
    )
    assert _repaired({"a": "[" * 63 + "]" * 63}, tool)[1] == [("$.a", "parsed the array from a JSON string")]
    assert "nesting" in _rejected({"a": "[" * 64 + "]" * 64}, tool)
    assert "nesting" in _rejected({"b": {"c": "[" * 63 + "]" * 63}}, tool)
    assert "inside strings are not parsed" in _rejected({"a": json.dumps(["x" * 2_000_000])}, tool)


class _Hostile(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise OSError("no")

    def __len__(self) -> int:
        return 1


@rows("raw", [None, 1, [], object(), _Hostile(), {1: 2}, {"free": {"a": {2}}}, b"\xff", bytearray(b"[]")])
def test_what_is_no_payload_at_all_is_rejected_too(raw: Any) -> None:
    assert _rejected(raw)


def test_a_schema_of_multiplying_references_rejects_instead_of_running_on() -> None:
    definitions: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(25)}
    tool = Arguments({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions | {"d25": {"type": "string"}}})
    assert "a value too large to check" in _rejected('{"a":"x"}', tool)


JSONISH = st.text(alphabet='{}[]",:`\\ \n0123456789.-eE\ufeffjsontrufalcidxmybhp$')
PAYLOADS = st.one_of(
    st.text(),
    JSONISH,
    st.binary(),
    st.dictionaries(
        st.sampled_from([*SCHEMA["properties"], "other"]),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(), JSONISH, st.integers().map(str),
            st.lists(st.fixed_dictionaries({"id": st.text(), "n": st.integers().map(str) | st.none()})).map(json.dumps),
            st.fixed_dictionaries({"id": st.text(max_size=2), "n": st.integers().map(str)}),
        ),
    ),
)  # fmt: skip
WRAPS = st.sampled_from(["%s", "\ufeff%s", "```json\n%s\n```", " %s\u00a0", "%s%s", "%s,", "[%s]"])


@given(PAYLOADS, WRAPS)
@pytest.mark.spec("TOOL-7")
def test_reading_never_raises_and_what_was_repaired_is_accepted_as_it_is(payload: Any, wrap: str) -> None:
    if isinstance(payload, dict):
        raws: list[Any] = [
            payload,
            json.dumps(payload),
            wrap.replace("%s", json.dumps(payload)),
            json.dumps(json.dumps(payload)),
        ]
    else:
        raws = [payload]
    for raw in raws:
        read = TOOL.read(raw)
        if isinstance(read, Rejected):
            assert read.errors
            assert all(line.startswith("$") and "\n" not in line for line in read.errors)
        else:
            assert TOOL.read(json.dumps(read.arguments)) == Accepted(read.arguments)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"]]), st.integers() | st.text() | st.none()), st.data())
@pytest.mark.spec("TOOL-7")
def test_a_payload_that_was_cut_is_never_accepted(payload: Any, data: st.DataObject) -> None:
    text = json.dumps(payload)
    assert "truncated" in _rejected(text[: data.draw(st.integers(1, len(text) - 1))])


@rows(
    "raw",
    [
        json.dumps({"list": ["x"] * 30_000}),
        json.dumps({"list": json.dumps([{"id": 1}] * 10_000)}),
        json.dumps({"list": [json.dumps({"id": "1", "n": "1"})] * 10_000, "more": 1}),
        '{"list":[' + "[,]," * 10_000 + "1,]}",
        json.dumps({"any": ["\0" * 100] * 3_000, "text": 1}),
    ],
    ids=["wrong items", "wrong inner items", "inner objects", "commas", "escapes"],
)
def test_many_faults_take_neither_memory_nor_long_answers(raw: str) -> None:
    tracemalloc.start()
    try:
        read = TOOL.read(raw)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(read, Rejected)
    assert len(read.errors) <= 21
    assert peak < 60_000_000

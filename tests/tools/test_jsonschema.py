"""The schema compiler against the reference implementation, and where it differs on purpose."""

from typing import Any

import jsonschema as reference
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tools.jsonschema import Schema, SchemaError, TooMuchWork
from callgate.tools.schema_node import compile_pattern
from callgate.words.errors import ToolDefinitionError
from tests.rows import rows

KEYS = st.sampled_from(["a", "b", "c", "d1", ""])
TEXTS = st.one_of(KEYS, st.sampled_from(["ab", "abc", "1", "é", "a b", "\n"]), st.text(max_size=4))
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([0.0, 1.0, 2.5, -0.5, 2**53 + 1, -(10**30)]),
    st.floats(-10, 10, allow_nan=False).map(lambda value: round(value, 2)),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
LISTS = st.lists(SCALARS, max_size=4)
OBJECTS = st.dictionaries(KEYS, SCALARS | LISTS | st.dictionaries(KEYS, SCALARS, max_size=3), max_size=4)
VALUES = st.one_of(SCALARS, LISTS, OBJECTS, st.lists(OBJECTS | LISTS, max_size=3))
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])
COUNTS = st.integers(0, 4)
PATTERNS = st.sampled_from(["^a", "b$", "^[a-c]*$", r"\d", "^$", "(a|b)c", "^(?!a)", "^(?=.*b).{1,3}$"])


LEAF_KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=4),
    "const": VALUES,
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "exclusiveMinimum": NUMBERS,
    "exclusiveMaximum": NUMBERS,
    "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
    "minLength": COUNTS,
    "maxLength": COUNTS,
    "pattern": PATTERNS,
    "minItems": COUNTS,
    "maxItems": COUNTS,
    "uniqueItems": st.booleans(),
    "minProperties": COUNTS,
    "maxProperties": COUNTS,
    "required": st.lists(KEYS, max_size=2, unique=True),
    "dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2),
    "format": st.sampled_from(["date", "email"]),
    "x-unknown": st.just({"type": "string"}),
}


def _deep_keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    return {
        "properties": st.dictionaries(KEYS, inner, max_size=3),
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "dependentSchemas": st.dictionaries(KEYS, inner, max_size=2),
        "items": inner,
        "prefixItems": some,
        "contains": inner,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
    }


@st.composite
def parts(draw: st.DrawFn, depth: int) -> Any:
    """Few keywords at a time: a schema that says everything fits nothing."""
    if depth < 2 and draw(st.integers(0, 9)) == 0:
        return draw(st.booleans())
    names = draw(st.lists(st.sampled_from(sorted(LEAF_KEYWORDS)), max_size=2, unique=True))
    schema = {name: draw(LEAF_KEYWORDS[name]) for name in names}
    if depth:
        deep = _deep_keywords(parts(depth - 1))
        names = draw(st.lists(st.sampled_from(sorted(deep)), max_size=3, unique=True))
        schema |= {name: draw(deep[name]) for name in names}
    return schema


def _opened(schema: Any) -> Any:
    """Says aloud what the standard implies: other keys are welcome. That is where Callgate differs."""
    if isinstance(schema, list):
        return [_opened(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    values = ("enum", "const", "required", "dependentRequired", "type")
    out = {key: item if key in values else _opened(item) for key, item in schema.items()}
    maps = {"properties", "patternProperties", "dependentSchemas", "$defs"}
    for key in maps & out.keys():
        out[key] = {name: _opened(item) for name, item in schema[key].items()}
    return out if "additionalProperties" in out else out | {"additionalProperties": True}


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema = draw(parts(2))
    # The second may refer to the first and to itself below a key, so every reference ends.
    one = draw(parts(0))
    two = draw(st.sampled_from([{"properties": {"a": {"$ref": "#/$defs/two"}}}, {"items": {"$ref": "#/$defs/one"}}]))
    return _opened(schema | {"$defs": {"one": one, "two": two}})


def _for_python(schema: Any) -> Any:
    """The reference matches with Python's ``re``, where ``$``, ``\\d`` and ``.`` mean more than in the standard."""
    if isinstance(schema, list):
        return [_for_python(each) for each in schema]
    if not isinstance(schema, dict):
        return schema

    def spelled(pattern: str) -> str:
        return pattern.replace("$", r"\Z").replace(r"\d", "[0-9]").replace(".", "[^\n\r\u2028\u2029]")

    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "pattern" and isinstance(value, str):
            out[key] = spelled(value)
        elif key == "patternProperties":
            out[key] = {spelled(pattern): _for_python(each) for pattern, each in value.items()}
        elif key in ("enum", "const"):
            out[key] = value
        else:
            out[key] = _for_python(value)
    return out


@given(schemas(), st.lists(VALUES, min_size=1, max_size=6))
def test_a_value_fits_exactly_when_the_reference_implementation_says_so(schema: Any, values: list[Any]) -> None:
    ours, theirs = Schema(schema), reference.Draft202012Validator(_for_python(schema))
    for value in values:
        fits = theirs.is_valid(value)
        assert ours.fits(value) == fits
        lines = ours.faults(value)
        assert bool(lines) == (not fits)
        assert all(line.startswith("$") and ": " in line and "\n" not in line and len(line) <= 600 for line in lines)


FEW_KEYS = st.sampled_from(["a", "b", "abc"])
KEY_SCHEMAS = st.sampled_from([True, False, {"type": "string"}, {"type": "integer"}, {"minLength": 2}, {"minimum": 1}])
# Keywords that depend on one another: drawn one by one they would seldom meet.
OBJECT_SCHEMAS = st.fixed_dictionaries(
    {"additionalProperties": KEY_SCHEMAS},
    optional={
        "properties": st.dictionaries(FEW_KEYS, KEY_SCHEMAS, min_size=1, max_size=3),
        "patternProperties": st.dictionaries(PATTERNS, KEY_SCHEMAS, min_size=1, max_size=2),
        "propertyNames": KEY_SCHEMAS,
        "dependentSchemas": st.dictionaries(FEW_KEYS, st.just({"required": ["b"]}), min_size=1, max_size=2),
    },
)
ARRAY_SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "prefixItems": st.lists(KEY_SCHEMAS, min_size=1, max_size=2),
        "items": KEY_SCHEMAS,
        "contains": KEY_SCHEMAS,
        "minContains": COUNTS,
        "maxContains": COUNTS,
    },
)


FEW_VALUES = st.dictionaries(FEW_KEYS, SCALARS, max_size=3) | LISTS


@given(st.one_of(OBJECT_SCHEMAS, ARRAY_SCHEMAS), st.lists(FEW_VALUES, min_size=6, max_size=12))
def test_keywords_that_depend_on_one_another_agree_with_the_reference_too(schema: Any, values: list[Any]) -> None:
    ours, theirs = Schema(schema, top=False), reference.Draft202012Validator(_for_python(schema))
    for value in values:
        assert ours.fits(value) == theirs.is_valid(value)
        assert bool(ours.faults(value)) == (not ours.fits(value))


@given(schemas(), st.dictionaries(KEYS, VALUES, max_size=4))
def test_refusing_unknown_keys_is_unevaluated_properties_of_the_standard(schema: Any, value: Any) -> None:
    def closed(part: Any) -> Any:
        return {key: item for key, item in part.items() if key != "additionalProperties"}

    schema = closed(schema) | {"unevaluatedProperties": False}
    for keyword in ("allOf", "anyOf", "oneOf"):
        if keyword in schema:
            schema[keyword] = [closed(part) if isinstance(part, dict) else part for part in schema[keyword]]
    # Nested schemas are open and below a value of their own, so only the outermost object differs.
    ours = Schema(schema)
    assert ours.fits(value) == reference.Draft202012Validator(_for_python(schema)).is_valid(value)
    assert bool(ours.faults(value)) == (not ours.fits(value))


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@rows(
    ("schema", "value", "fault"),
    [
        (_object(a={"type": "integer"}), {"a": True}, "$.a: got true, expected an integer"),
        (_object(a={"type": "integer"}), {"a": 1e300}, "$.a: got 1e+300, expected an integer"),
        (_object(a={"type": "string"}), {"a": None}, "$.a: got null, expected a string"),
        (_object(a={"enum": ["x", 1]}), {"a": "X"}, '$.a: got "X", expected one of "x", 1'),
        (_object(a={"const": 3}), {"a": 4}, "$.a: got 4, expected 3"),
        (_object(a={"maxLength": 2}), {"a": "abc"}, "$.a: got 3 characters, expected at most 2"),
        (_object(a={"minItems": 1}), {"a": []}, "$.a: got 0 items, expected at least 1"),
        (
            _object(a={"pattern": "^x"}),
            {"a": "y\0"},
            '$.a: got "y\\u0000" (contains a NUL), expected a string matching "^x"',
        ),
        (_object() | {"required": ["b c"]}, {}, '$["b c"]: got nothing, expected a value (required)'),
        (_object(a={}), {"b": 1}, '$.b: unexpected key, expected only "a"'),
        (_object(a={}) | {"additionalProperties": False}, {"b": 1}, '$.b: unexpected key, expected only "a"'),
        (_object(a={"type": ["string", "null"]}), {"a": 1}, "$.a: got 1, expected a string or null"),
        (
            _object(a={"anyOf": [{"type": "string"}, {"type": "null"}]}),
            {"a": 1},
            "$.a: got 1, expected a string or null",
        ),
        (
            _object(a={"anyOf": [_object(b={"type": "null"}), {"type": "null"}]}),
            {"a": {"b": 1}},
            "$.a.b: got 1, expected null",
        ),
        (
            _object(a={"uniqueItems": True}),
            {"a": [1, 1.0]},
            "$.a: got an array of 2, expected an array without equal items",
        ),
        (_object(a={"multipleOf": 0.1}), {"a": 0.35}, "$.a: got 0.35, expected a multiple of 0.1"),
        (_object(a=False), {"a": 1}, "$.a: got 1, expected nothing here"),
    ],
)
@pytest.mark.spec("TOOL-7")
def test_a_fault_names_the_path_what_came_and_what_was_wanted(schema: Any, value: Any, fault: str) -> None:
    assert Schema(schema).faults(value) == (fault,)
    assert not Schema(schema).fits(value)


@rows(
    ("schema", "value"),
    [
        (_object(a={"type": "integer"}), {"a": 10.0}),
        (_object(a={"type": "integer", "minimum": 2**53}), {"a": 2**53 + 1}),
        (_object(a={"multipleOf": 0.1}), {"a": 0.3}),
        (_object(a={"type": "object"}), {"a": {"anything": 1}}),
        (_object(a={"type": "object", "properties": {}}), {"a": {"anything": 1}}),
        (_object(a={"type": "string", "nullable": True, "enum": ["x"]}), {"a": None}),
        (_object(a={"items": [{"type": "string"}, {}], "additionalItems": {"type": "null"}}), {"a": ["x", 1, None]}),
        (_object(a={"minimum": 1, "exclusiveMinimum": False}), {"a": 1}),
        (_object(a={"dependencies": {"x": ["y"]}}), {"a": {"x": 1, "y": 2}}),
        ({"$ref": "#/definitions/a~1b%20c", "definitions": {"a/b c": _object(a={})}}, {"a": 1}),
        ({"allOf": [_object(a={}), _object(b={})]}, {"a": 1, "b": 2}),
        (_object(a={"type": "string"}) | {"additionalProperties": False}, {"a": "x"}),
        (_object(a={}, b={}) | {"dependentSchemas": {"a": {"required": ["b"]}}}, {"b": 1}),
        (_object(a={}, b={}) | {"dependentSchemas": {"a": {"required": ["b"]}}}, {}),
        (_object() | {"patternProperties": {"^x": {}}, "additionalProperties": False}, {"xy": 1}),
        (_object(a={"dependentSchemas": {"x": False}}), {"a": {"y": 1}}),
        (_object(a={"anyOf": [_object(b={}), {"type": "object"}]}), {"a": {"c": 1}}),
        (_object(a={"not": _object(b={"properties": {"c": {}}})}), {"a": 1}),
    ],
)
def test_these_fit(schema: Any, value: Any) -> None:
    assert Schema(schema).faults(value) == ()
    assert Schema(schema).fits(value)


@rows(
    ("schema", "value"),
    [
        (_object(a={"minimum": 1, "exclusiveMinimum": True}), {"a": 1}),
        (_object(a={"items": [{"type": "string"}], "additionalItems": False}), {"a": ["x", 1]}),
        (_object(a={"dependencies": {"x": ["y"]}}), {"a": {"x": 1}}),
        (_object(a={}, b={}) | {"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}),
        ({}, {"a": 1}),
        (_object(a={"items": _object(b={})}), {"a": [{"c": 1}]}),
        (_object(a={"oneOf": [_object(k={"const": 1}, b={}), _object(k={"const": 2}, c={})]}), {"a": {"k": 1, "c": 1}}),
        (_object(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": _object(n={"$ref": "#/$defs/n"})}}, {"a": {"n": {"m": 1}}}),
        # What only asks a question keeps the meaning of the standard: the extra key does not make "not" true.
        (_object(a={"not": _object(b=_object(c={}))}), {"a": {"b": {"d": 1}}}),
        (_object(a={"pattern": r"^\d+$"}), {"a": "٣"}),
        (_object(a={"pattern": r"^a+$"}), {"a": "aa\n"}),
        (_object(a={"pattern": r"^(?=a)[a-z]+$"}), {"a": "aa\n"}),
    ],
)
def test_these_do_not_fit(schema: Any, value: Any) -> None:
    assert Schema(schema).faults(value)
    assert not Schema(schema).fits(value)


_LONG_CHAIN = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(2000)} | {"d2000": {}}


@rows(
    ("schema", "place"),
    [
        ({"type": "text"}, "#: type"),
        ({"type": []}, "#: type"),
        ({"properties": {"a/b": {"type": 5}}}, "#/properties/a~1b: type"),
        ({"properties": []}, "#: properties"),
        ({"properties": {"a": 1}}, "#/properties/a: a schema must be"),
        ({"properties": {"a": {"required": True}}}, "#/properties/a: required"),
        ({"enum": "x"}, "#: enum"),
        ({"minLength": -1}, "#: minLength"),
        ({"minLength": 1.5}, "#: minLength"),
        ({"minimum": "1"}, "#: minimum"),
        ({"minimum": float("nan")}, "#: minimum"),
        ({"multipleOf": 0}, "#: multipleOf"),
        ({"pattern": "("}, "#: pattern"),
        ({"patternProperties": {"[": {}}}, "#: patternProperties"),
        ({"anyOf": []}, "#: anyOf"),
        ({"anyOf": {}}, "#: anyOf"),
        ({"items": {"$ref": "https://example.com/x"}}, "#/items: only references inside"),
        ({"$ref": "other.json#/x"}, "#: only references inside"),
        ({"$ref": "#/$defs/missing"}, "#: the reference"),
        ({"$ref": "#"}, "cycle"),
        ({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}, "cycle"),
        ({"$ref": "#/$defs/d0", "$defs": _LONG_CHAIN}, "deep"),
        ({"$dynamicRef": "#x"}, "#: $dynamicRef"),
        ({"unevaluatedProperties": {"type": "string"}}, "#: unevaluatedProperties"),
        ({"items": {"$id": "https://example.com/y"}}, "#/items: a $id"),
    ],
)
def test_a_schema_that_is_broken_or_not_supported_is_refused_with_its_place(schema: Any, place: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(schema)
    assert place in str(caught.value)
    assert isinstance(caught.value, ToolDefinitionError)
    assert isinstance(caught.value, ValueError)


def test_a_schema_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["items"] = schema
    with pytest.raises(SchemaError, match="nested deeper"):
        Schema(schema)


def test_references_that_multiply_end_after_a_bounded_number_of_steps() -> None:
    definitions: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(25)}
    schema = Schema({"$ref": "#/$defs/d0", "$defs": definitions | {"d25": {}}}, top=False)
    with pytest.raises(TooMuchWork):
        schema.fits({})
    with pytest.raises(TooMuchWork):
        schema.faults({})


def test_there_are_at_most_twenty_faults_and_a_count_of_the_rest() -> None:
    faults = Schema(_object(a={"items": {"type": "string"}})).faults({"a": list(range(50))})
    assert len(faults) == 21
    assert faults[-1] == "$: 30 more faults"


def test_equal_items_are_found_among_numbers_whose_hashes_collide() -> None:
    schema = Schema(_object(a={"uniqueItems": True}))
    colliding = [n * (2**61 - 1) for n in range(100_000)]
    assert schema.fits({"a": colliding})
    assert not schema.fits({"a": [*colliding, 0]})


def test_a_pattern_that_could_backtrack_without_end_is_answered_in_linear_time() -> None:
    pattern = compile_pattern("^(a+)+$")
    assert pattern.longest is None
    assert not pattern.fits("a" * 50_000 + "b")


@rows(
    ("source", "longest"),
    [(r"^(?!-)[a-z-]+$", 1000), (r"^(?=.*a)(?=.*b).{3,}$", 31), (r"^(?!x)(a+)+$", 12), (r"^(?!x)((a|b))*$", 12)],
)
def test_a_pattern_only_python_takes_is_checked_on_short_text_only(source: str, longest: int) -> None:
    assert compile_pattern(source).longest == longest
    schema = Schema(_object(a={"pattern": source}))
    faults = schema.faults({"a": "a" * 2000})
    assert any(f"got 2000 characters, expected at most {longest}" in line for line in faults)
    assert not schema.fits({"a": "a" * 2000})


@rows(
    ("source", "fits", "fails"),
    [
        (r"^[\w&&\d]$", "&", "é"),
        (r"^[[~]$", "[", "]"),
        (r"^\/x\/$", "/x/", "x"),
        (r"^(?<year>\d{4})$", "2024", "٢٠٢٤"),
        (r"^(.)\1$", "aa", "ab"),
        (r"^[+--]$", ",", "."),
        (r"^(?!x)[a||&]+$", "|&", "x"),
        (r"\W", "é", "e"),
        (r"^\D$", "x", "1"),
    ],
)
def test_patterns_mean_what_they_mean_in_json_schema(source: str, fits: str, fails: str) -> None:
    pattern = compile_pattern(source)
    assert pattern.fits(fits)
    assert not pattern.fits(fails)

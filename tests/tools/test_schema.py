"""Signatures as JSON Schema, and JSON arguments as the values the function asked for."""

import dataclasses
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import cache, partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from callgate.core.ports import Run
from callgate.tools.parameters import Parameters, read_parameters
from callgate.tools.signature import read_signature
from callgate.tools.tool import FunctionTool, tool
from callgate.words.calls import Accepted, Rejected
from callgate.words.errors import ToolDefinitionError
from tests.rows import rows
from tests.tools.fake_run import FakeRun


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Size(StrEnum):
    BIG = "big"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Item(BaseModel):
    """Something to buy."""

    title: str
    count: int = Field(default=1, ge=1, description="How many.")


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Options(TypedDict, total=False):
    depth: int


class Leaf(typing.TypedDict):
    """Of the standard library, which pydantic alone does not take before Python 3.12."""

    name: typing.Required[str]
    size: typing.NotRequired[Annotated[int, Field(ge=0)]]


class Tree(Leaf, total=False):
    kids: "list[Tree] | None"


class Pair(NamedTuple):
    left: int
    right: str


STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
POINT = {
    "type": "object",
    "properties": {"x": INTEGER, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
}
ITEM = {
    "type": "object",
    "description": "Something to buy.",
    "properties": {
        "title": STRING,
        "count": {"type": "integer", "default": 1, "minimum": 1, "description": "How many."},
    },
    "required": ["title"],
}
TYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "str": (str, STRING),
    "int": (int, INTEGER),
    "float": (float, {"type": "number"}),
    "bool": (bool, {"type": "boolean"}),
    "none": (None, NULL),
    "any": (Any, {}),
    "list": (list[int], {"type": "array", "items": INTEGER}),
    "bare list": (list, {"type": "array", "items": {}}),
    "sequence": (Sequence[str], {"type": "array", "items": STRING}),
    "set": (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
    "tuple": (
        tuple[int, str],
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
    ),
    "dict": (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    "mapping": (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
    "literal": (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    "one literal": (Literal["a"], {"type": "string", "const": "a"}),
    "optional": (Optional[int], {"anyOf": [INTEGER, NULL]}),  # noqa: UP045
    "union": (int | str, {"anyOf": [INTEGER, STRING]}),
    "path": (Path, {"type": "string", "format": "path"}),
    "datetime": (datetime, {"type": "string", "format": "date-time"}),
    "date": (date, {"type": "string", "format": "date"}),
    "uuid": (UUID, {"type": "string", "format": "uuid"}),
    "described": (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
    "field": (
        Annotated[int, Field(description="How many.", ge=1, le=9)],
        {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 9},
    ),
    "string pattern": (Annotated[str, Field(pattern="^a+$")], {"type": "string", "pattern": "^a+$"}),
    "enum": (Colour, {"$ref": "Colour", "$is": {"type": "string", "enum": ["red", "blue"]}}),
    "int enum": (Level, {"$ref": "Level", "$is": {"type": "integer", "enum": [1, 2]}}),
    "dataclass": (Point, {"$ref": "Point", "$is": POINT}),
    "model": (Item, {"$ref": "Item", "$is": ITEM}),
    "typed dict": (
        Options,
        {
            "$ref": "Options",
            "$is": {"type": "object", "properties": {"depth": INTEGER}},
        },
    ),
    "recursive": (
        Node,
        {
            "$ref": "Node",
            "$is": {
                "type": "object",
                "properties": {
                    "name": STRING,
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
                },
                "required": ["name"],
            },
        },
    ),
}


def parameters_of(fn: Callable[..., Any]) -> Parameters:
    return read_parameters(read_signature(fn, "t"), {}, "t")


def definitions_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    # Whether a nested class is closed depends on pydantic's version; the arguments are checked as if it were.
    inner: dict[str, dict[str, Any]] = schema.get("$defs", {})
    return {
        name: {key: value for key, value in each.items() if (key, value) != ("additionalProperties", False)}
        for name, each in inner.items()
    }


def taking(hint: Any) -> Callable[..., Any]:
    def function(value: Any) -> Any:
        return value

    function.__annotations__["value"] = hint
    return function


@pytest.mark.spec("TOOL-1")
@rows("name", TYPES)
def test_a_type_has_its_schema(name: str) -> None:
    hint, wanted = TYPES[name]
    schema = parameters_of(taking(hint)).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    definitions = definitions_of(schema)
    if "$is" in wanted:
        assert definitions == {wanted["$ref"]: wanted["$is"]}
        wanted = {"$ref": f"#/$defs/{wanted['$ref']}"}
    schema.pop("$defs", None)
    assert schema == {
        "type": "object",
        "properties": {"value": wanted},
        "required": ["value"],
        "additionalProperties": False,
    }


DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "int": (int, 3, 3),
    "str": (str, "x", "x"),
    "none": (int | None, None, None),
    "path": (Path, Path("a/b"), "a/b"),
    "enum": (Colour, Colour.RED, "red"),
    "dataclass": (Point, Point(1), {"x": 1, "y": 0}),
    "list": (list[int], [1], [1]),
    "float": (float, 1, 1.0),
}
NO_DEFAULTS: dict[str, tuple[Any, Any]] = {
    "none where none is no value": (int, None),
    "a sentinel": (int, object()),
    "not finite": (float, float("inf")),
}


@pytest.mark.spec("TOOL-1")
@rows("name", DEFAULTS)
def test_a_default_is_told_to_the_model(name: str) -> None:
    hint, default, shown = DEFAULTS[name]
    function = taking(hint)
    function.__defaults__ = (default,)
    parameters = parameters_of(function)
    assert "required" not in parameters.schema
    assert parameters.schema["properties"]["value"]["default"] == shown
    assert parameters.convert({}) == {}
    assert parameters.filled({})["value"] is default


@rows("name", NO_DEFAULTS)
def test_a_default_that_is_no_valid_json_stays_the_functions_own(name: str) -> None:
    hint, default = NO_DEFAULTS[name]
    function = taking(hint)
    function.__defaults__ = (default,)
    schema = parameters_of(function).schema
    assert "default" not in schema["properties"]["value"]
    assert "required" not in schema


@pytest.mark.spec("TOOL-1")
def test_descriptions_come_from_field_then_annotated_then_docstring() -> None:
    @tool
    def look(a: Annotated[int, Field(description="field")], b: Annotated[int, "string"], c: int, d: int) -> None:
        """Look at it.

        Args:
            a: docstring a
            b: docstring b
            c: docstring c
        """

    described = {name: each.get("description") for name, each in look.spec.parameters["properties"].items()}
    assert described == {"a": "field", "b": "string", "c": "docstring c", "d": None}
    assert look.spec.description == "Look at it."


def test_a_field_as_default_value_works_like_one_in_annotated() -> None:
    async def buy(count: int = Field(3, description="How many.", ge=1), tags: list[str] = Field(default_factory=list)):  # noqa: B008
        pass

    parameters = parameters_of(buy)
    wanted = {"type": "integer", "default": 3, "description": "How many.", "minimum": 1}
    assert parameters.schema["properties"]["count"] == wanted
    assert parameters.convert({}) == {"count": 3, "tags": []}


def test_a_field_alias_is_what_the_model_sees() -> None:
    def find(user_id: Annotated[int, Field(alias="userId")]) -> None: ...

    parameters = parameters_of(find)
    assert list(parameters.schema["properties"]) == ["userId"]
    assert parameters.convert({"userId": 3}) == {"user_id": 3}


def test_a_parameter_without_annotation_takes_anything() -> None:
    def echo(value, *, more=None): ...  # pyright: ignore

    assert parameters_of(echo).schema["properties"] == {"value": {}, "more": {"default": None}}


def test_any_parameter_name_works() -> None:
    def odd(schema: int, copy: int, model_config: int, _hidden: int, title: str, properties: int) -> None: ...

    schema = parameters_of(odd).schema
    assert list(schema["properties"]) == ["schema", "copy", "model_config", "_hidden", "title", "properties"]
    assert schema["properties"]["title"] == STRING


@pytest.mark.spec("TOOL-1")
@rows("known", [True, False], ids=["types that were seen", "types that were forgotten"])
def test_typed_dicts_of_the_standard_library_work_nested_and_recursive(known: bool) -> None:
    if not known:  # typing remembers the last hundred or so, and makes new ones of all others
        for forget in typing._cleanups:  # pyright: ignore
            forget()

    def plant(tree: dict[str, list[Tree | None]], leaf: Annotated[Leaf, "A leaf."]) -> None: ...

    made = tool(plant)
    definitions = definitions_of(made.spec.parameters)
    assert definitions["Tree"]["required"] == definitions["Leaf"]["required"] == ["name"]
    assert definitions["Leaf"]["properties"] == {"name": STRING, "size": {"type": "integer", "minimum": 0}}
    assert definitions["Leaf"]["description"].startswith("Of the standard library")
    kids = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Tree"}}, NULL]}
    assert definitions["Tree"]["properties"]["kids"] == kids
    assert made.spec.parameters["properties"]["leaf"]["description"] == "A leaf."
    good = {"tree": {"a": [{"name": "x", "kids": [{"name": "y"}]}, None]}, "leaf": {"name": "z"}}
    assert accepted(made, good) == good
    assert isinstance(made.read('{"tree": {}, "leaf": {"size": 1}}'), Rejected)


def test_a_number_too_large_for_a_float_is_refused() -> None:
    def scale(factor: float) -> None: ...

    assert isinstance(tool(scale).read('{"factor": %s}' % ("9" * 400)), Rejected)


def test_no_parameters_make_an_empty_object() -> None:
    def now() -> str: ...  # pyright: ignore

    assert parameters_of(now).schema == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.spec("TOOL-6")
@rows("hint", [Run, "Run", Run | None, "Run | None", "Optional[Run]", "Annotated[Run, 'x']"], ids=str)
def test_the_run_is_known_by_its_annotation_and_not_in_the_schema(hint: Any) -> None:
    def work(value: int, whatever: Any = None) -> None: ...

    work.__annotations__["whatever"] = hint
    takes = read_signature(work, "t")
    assert takes.run == "whatever"
    assert takes.names == ("value",)


def test_the_run_is_known_even_where_only_a_type_checker_can_see_it() -> None:
    scope: dict[str, Any] = {}
    exec("def work(a: int, r: 'callgate.Run | None'): ...", scope)
    assert read_signature(scope["work"], "t").run == "r"


def test_annotations_of_the_future_and_local_classes_are_resolved() -> None:
    source = """
from __future__ import annotations
from callgate.tools.tool import tool

def make():
    from dataclasses import dataclass
    from callgate.core.ports import Run

    @dataclass
    class Local:
        x: int

    @tool
    def plain(value: Local, run: Run) -> str:
        return ""

    @tool(effects="none")
    def decorated(value: list[Local]) -> str:
        return ""

    return plain, decorated
"""
    scope: dict[str, Any] = {}
    exec(source, scope)
    plain, decorated = scope["make"]()
    local = {"type": "object", "properties": {"x": INTEGER}, "required": ["x"]}
    assert definitions_of(plain.spec.parameters) == definitions_of(decorated.spec.parameters) == {"Local": local}


def test_wrapped_partial_bound_and_callable_objects_have_signatures() -> None:
    def inner(a: int, secret: str) -> None: ...

    @wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    class Worker:
        def method(self, a: int) -> None: ...

        def __call__(self, a: "int") -> None: ...

    assert read_signature(outer, "t").names == ("a", "secret")
    assert read_signature(partial(inner, secret="s"), "t").names == ("a",)
    assert read_signature(Worker().method, "t").names == ("a",)
    assert parameters_of(Worker()).schema["properties"] == {"a": INTEGER}


def positional(a: int, /) -> None: ...
def starred(*args: int) -> None: ...
def keywords(**kwargs: int) -> None: ...
def a_function(a: int, b: Callable[[], int]) -> None: ...
def unknown_name(b: "Nowhere") -> None: ...  # pyright: ignore # noqa: F821
def method(self, a: int) -> None: ...  # pyright: ignore
def two_runs(a: Run, b: Run) -> None: ...


class Strange:
    pass


def strange(b: Strange) -> None: ...


@pytest.mark.spec("TOOL-1")
@rows(
    ("function", "parameter"),
    [
        (positional, "a"),
        (starred, "args"),
        (keywords, "kwargs"),
        (a_function, "b"),
        (unknown_name, "b"),
        (method, "self"),
        (two_runs, "b"),
        (strange, "b"),
    ],
)
def test_what_cannot_be_a_parameter_is_refused_by_name(function: Callable[..., Any], parameter: str) -> None:
    with pytest.raises(ToolDefinitionError) as refused:
        tool(function, name="the-tool")
    assert "'the-tool'" in str(refused.value)
    assert f"'{parameter}'" in str(refused.value)


# --- from JSON to Python and back ---


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def keyed(value: Any) -> Any:
    raise KeyError("oops")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    when: datetime


def accepted(made: FunctionTool[Any], arguments: Any) -> Mapping[str, Any]:
    outcome = made.read(json.dumps(arguments))
    assert isinstance(outcome, Accepted), outcome
    return outcome.arguments


def test_what_only_a_validator_can_refuse_is_refused_when_read() -> None:
    @tool
    def halve(pairs: list[Annotated[int, AfterValidator(even)]], when: datetime | None = None) -> None: ...

    outcome = halve.read('{"pairs": [2, 3, 4, 5], "when": "soon"}')
    assert isinstance(outcome, Rejected)
    assert outcome.errors[0] == "$.pairs[1]: got 3: must be even"
    assert outcome.errors[1] == "$.pairs[3]: got 5: must be even"
    assert outcome.errors[2].startswith('$.when: got "soon", expected a valid datetime')
    assert len(outcome.errors) == 3


def test_a_validator_that_breaks_is_a_rejection_too() -> None:
    @tool
    def look(value: Annotated[int, AfterValidator(keyed)]) -> None: ...

    assert look.read('{"value": 1}') == Rejected(("$: KeyError: 'oops'",))


def test_very_many_faults_are_cut() -> None:
    @tool
    def halve(pairs: list[Annotated[int, AfterValidator(even)]]) -> None: ...

    outcome = halve.read(json.dumps({"pairs": [1] * 1000}))
    assert isinstance(outcome, Rejected)
    assert len(outcome.errors) == 21
    assert outcome.errors[-1] == "… and 980 more"


def test_strict_types_take_what_json_can_say() -> None:
    @tool
    def plan(value: Strict) -> None: ...

    accepted(plan, {"value": {"when": "2026-01-02T12:00:00Z"}})


def test_what_is_on_record_is_json_and_what_the_function_gets_is_not() -> None:
    def look(where: Path, points: list[Point], colour: Colour = Colour.RED) -> None: ...

    made = tool(look)
    arguments = accepted(made, {"where": "a/b", "points": [{"x": 1}], "colour": "blue"})
    assert arguments == {"where": "a/b", "points": [{"x": 1}], "colour": "blue"}
    values = parameters_of(look).convert(arguments)
    assert values == {"where": Path("a/b"), "points": [Point(1)], "colour": Colour.BLUE}


def test_a_function_cannot_change_the_record_through_its_arguments() -> None:
    def look(value: Any, free: dict[str, Any]) -> None: ...

    arguments = {"value": [{"a": 1}], "free": {"b": {"c": []}}}
    values = parameters_of(look).convert(arguments)
    assert isinstance(values, dict)
    values["value"][0]["a"] = 2
    values["free"]["b"]["c"].append(1)
    assert arguments == {"value": [{"a": 1}], "free": {"b": {"c": []}}}


text = st.text(st.characters(exclude_categories=("Cs",)))
integers = st.integers(-(2**53), 2**53)
moments = st.datetimes(min_value=datetime(1800, 1, 1), timezones=st.just(UTC))
points = st.builds(Point, integers, integers)
ROUND_TRIPS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, integers),
    (str, text),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (int | None, st.none() | integers),
    (int | str | bool, st.one_of(integers, text, st.booleans())),
    (list[int], st.lists(integers)),
    (set[str], st.sets(text)),
    (tuple[int, str], st.tuples(integers, text)),
    (dict[str, float], st.dictionaries(text, st.floats(allow_nan=False, allow_infinity=False))),
    (dict[int, str], st.dictionaries(integers, text)),
    (Literal["a", 1, True], st.sampled_from(["a", 1, True])),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (Size, st.sampled_from(Size)),
    (Path, st.text("abc/.", min_size=1).map(Path)),
    (datetime, moments),
    (date, st.dates()),
    (timedelta, st.timedeltas(timedelta(days=-9999), timedelta(days=9999))),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (UUID, st.uuids()),
    (Point, points),
    (Pair, st.builds(Pair, integers, text)),
    (list[Point | None], st.lists(points | st.none())),
    (Item, st.builds(Item, title=text, count=st.integers(1, 99))),
    (
        Node,
        st.recursive(
            st.builds(Node, name=text), lambda kids: st.builds(Node, name=text, children=st.lists(kids, max_size=3))
        ),
    ),
    (Options, st.just({}) | st.builds(dict, depth=integers)),
]


def echoing(hint: Any) -> tuple[FunctionTool[Any], list[Any]]:
    seen: list[Any] = []

    async def echo(value: Any) -> None:
        seen.append(value)

    echo.__annotations__["value"] = hint
    return tool(echo), seen


ECHOES = [echoing(hint) for hint, _ in ROUND_TRIPS]


@pytest.mark.spec("TOOL-1")
@given(st.tuples(*(values for _, values in ROUND_TRIPS)))
def test_a_value_written_as_json_comes_back_as_itself(values: tuple[Any, ...]) -> None:
    for (hint, _), (made, seen), value in zip(ROUND_TRIPS, ECHOES, values, strict=True):
        raw = json.dumps({"value": json.loads(adapter_of(hint).dump_json(value))})
        outcome = made.read(raw)
        assert isinstance(outcome, Accepted), (hint, outcome)
        assert not outcome.repairs, hint
        with pytest.raises(StopIteration):
            made.run(outcome.arguments, FakeRun()).send(None)
        assert seen.pop() == value, hint


@cache
def adapter_of(hint: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)

"""What tools return becomes content for the model, and never something the record cannot hold."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from callgate.tools.values import applied, to_result
from callgate.words.calls import Display, Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from callgate.words.messages import Image, Resource, Text
from tests.rows import rows

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


@dataclass
class Point:
    x: int
    y: float


class Person(BaseModel):
    name: str
    born: datetime


class Colour(Enum):
    RED = "red"


class Size(StrEnum):
    BIG = "big"


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@rows(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        (b"bytes that are text", "bytes that are text"),
        (bytearray("é".encode()), "é"),
        (3, "3"),
        (True, "true"),
        (2.5, "2.5"),
        (float("nan"), "NaN"),
        ([1.0, float("-inf")], '[1.0,"-Infinity"]'),
        ({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'),
        ({1: "a", Colour.RED: PurePosixPath("x/y")}, '{"1":"a","red":"x/y"}'),
        ((1, 2), "[1,2]"),
        ({5}, "[5]"),
        (Point(1, 2.0), '{"x":1,"y":2.0}'),
        ([Point(1, 2.0)], '[{"x":1,"y":2.0}]'),
        (Person(name="Ada", born=NOON), '{"name":"Ada","born":"2026-01-02T12:00:00Z"}'),
        (Colour.RED, "red"),
        (Size.BIG, "big"),
        (PurePosixPath("a/b"), "a/b"),
        (NOON, "2026-01-02T12:00:00Z"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("name\udcff", "name\\udcff"),
        (["name\udcff"], '["name\\\\udcff"]'),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_a_plain_value_is_text_or_json(value: Any, text: str) -> None:
    result = to_result(value, "t")
    assert result.content == (Text(text),)
    assert (result.is_error, result.code, dict(result.details)) == (False, "ok", {})
    text.encode()


def test_nothing_is_an_empty_result() -> None:
    assert to_result(None, "t") == Result()


def test_content_is_taken_as_it_is() -> None:
    image = Image("image/png", PNG)
    assert to_result(image, "t").content == (image,)
    assert to_result([image, "and words"], "t").content == (image, Text("and words"))


def test_bytes_that_are_no_text_are_an_image_or_a_resource() -> None:
    assert to_result(PNG, "t").content == (Image("image/png", PNG),)
    (part,) = to_result(b"\xff\0", "t").content
    assert part == Resource("result:t", data=b"\xff\0", media_type="application/octet-stream")


def test_a_result_passes_with_its_details_made_json() -> None:
    given_back = to_result(
        Result(
            (Text("x"),),
            display=(Display("table", {"columns": ["a"], "rows": [[PurePosixPath("p")]]}),),
            details={"at": NOON, "list": (1, 2)},
            context_update={"cwd": PurePosixPath("/w")},
        ),
        "t",
    )
    assert given_back.details == {"at": "2026-01-02T12:00:00Z", "list": [1, 2]}
    assert given_back.display[0].body["rows"] == [["p"]]
    assert given_back.context_update == {"cwd": "/w"}


def test_a_result_with_loose_content_is_put_right() -> None:
    assert to_result(Result("words"), "t").content == (Text("words"),)  # pyright: ignore[reportArgumentType]
    assert to_result(Result(["a", Text("b")]), "t").content == (Text("a"), Text("b"))  # pyright: ignore[reportArgumentType]


def test_a_result_that_is_an_error_has_the_code_of_one() -> None:
    assert to_result(Result((Text("no"),), is_error=True), "t").code == "tool_error"
    assert to_result(Result((Text("no"),), code="limit"), "t").is_error


def test_a_function_of_the_context_stays_a_function() -> None:
    def update(context: Any) -> Any:
        return context

    assert to_result(Result(context_update=update), "t").context_update is update


class Opaque:
    pass


def numbers() -> Iterator[int]:
    yield 1


@rows(
    "value",
    [Opaque(), [Opaque()], {"a": Opaque()}, numbers(), len],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_what_has_no_json_fails_and_names_the_type(value: Any) -> None:
    with pytest.raises(ToolFailure) as failure:
        to_result(value, "find")
    assert "find returned a " in str(failure.value)
    assert any(name in str(failure.value) for name in ("Opaque", "generator", "builtin_function"))


def test_a_value_that_contains_itself_fails() -> None:
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(ToolFailure, match="ircular"):
        to_result(knot, "t")


def test_an_applied_change_is_summed_up() -> None:
    files = tuple(FileChange(path, None, b"") for path in ("a", "b"))
    assert applied(ChangeSet("Rename x", files)) == "Applied: Rename x (2 files)"
    assert applied(ChangeSet("Edit a", files[:1])) == "Applied: Edit a (1 file)"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(json_values) | st.dictionaries(st.text(), json_values))
def test_json_comes_out_as_it_went_in(value: Any) -> None:
    assert json.loads(to_result(value, "t").text) == value


anything = st.recursive(
    st.one_of(st.binary(), st.text(st.characters()), st.floats(), st.dates(), st.uuids(), st.just(Opaque())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner) | st.tuples(inner),
)


@given(anything)
def test_whatever_comes_out_can_be_sent(value: Any) -> None:
    try:
        result = to_result(value, "t")
    except ToolFailure:
        return
    result.text.encode()

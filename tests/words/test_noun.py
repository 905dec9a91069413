"""A noun is a frozen dataclass in every respect but the cost of making one."""

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from inspect import signature
from typing import Any

import pytest

from callgate.words.noun import noun


@noun
class Thing:
    """A thing."""

    kind: str
    size: int = 1
    details: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def double(self) -> int:
        return 2 * self.size


def test_fields_defaults_keywords_and_properties_work() -> None:
    thing = Thing("a", details={"x": 1})
    assert (thing.kind, thing.size, thing.details, thing.double) == ("a", 1, {"x": 1}, 2)
    assert Thing(kind="a").details is not Thing(kind="a").details
    assert [each.name for each in fields(Thing)] == ["kind", "size", "details"]
    assert Thing.__doc__ == "A thing."


def test_it_cannot_be_changed_and_takes_no_new_attribute() -> None:
    thing = Thing("a")
    with pytest.raises(FrozenInstanceError):
        thing.size = 2  # type: ignore[misc]
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        thing.other = 2  # type: ignore[attr-defined]


def test_replace_equality_and_repr_are_those_of_a_dataclass() -> None:
    assert replace(Thing("a"), kind="b") == Thing("b")
    assert Thing("a") != Thing("b")
    assert repr(Thing("a")) == "Thing(kind='a', size=1, details={})"


def test_copies_and_pickles_are_equal() -> None:
    thing = Thing("a", 2, {"x": [1]})
    deep = copy.deepcopy(thing)
    assert copy.copy(thing) == deep == pickle.loads(pickle.dumps(thing)) == thing
    assert deep.details["x"] is not thing.details["x"]


def test_it_can_be_matched_and_its_signature_is_to_be_seen() -> None:
    match Thing("a", 3):
        case Thing(kind, size):
            assert (kind, size) == ("a", 3)
    assert list(signature(Thing).parameters) == ["kind", "size", "details"]


@pytest.mark.parametrize("arguments", [(), ("a", 1, {}, "more")])
def test_wrong_arguments_are_a_type_error(arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="Thing"):
        Thing(*arguments)  # type: ignore[arg-type]


def test_its_methods_are_those_of_a_frozen_dataclass() -> None:
    @noun
    class Empty:
        pass

    @noun
    class Shown:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Empty.__doc__ is None
    assert repr(Shown("a")) == "<a>"
    assert Shown("a") != Shown("b")
    assert Shown("a") != "a"
    assert repr(Thing("a", 2)) == "Thing(kind='a', size=2, details={})"
    with pytest.raises(FrozenInstanceError):
        del Thing("a").size  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"Thing.__init__\(\) missing 1 required positional argument: 'kind'"):
        Thing()  # type: ignore[call-arg]
    assert str(signature(Shown)) == "(name: str)"


def test_a_default_given_by_field_is_the_default() -> None:
    @noun
    class Named:
        name: str
        normal: type = field(default=str)
        parts: list[str] = field(default_factory=list[str])

    assert (Named("a").normal, Named("a").parts) == (str, [])
    assert [each.default for each in fields(Named)][1] is str

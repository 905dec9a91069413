"""Arguments that are one of several objects: the fault is told of the one that the tag means."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from callgate import tool
from callgate.words.calls import Accepted, Rejected


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog", "puppy"]
    lives: str
    tricks: list[str]
    age: int


@tool
def adopt(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
    """Adopt a pet."""
    return pet.kind


@tool
def adopt_any(pet: Cat | Dog) -> str:
    """Adopt a pet; nothing says which key is the tag."""
    return pet.kind


FAULTS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (
        {"kind": "dog", "lives": 9},
        (
            "$.pet.tricks: got nothing, expected an array (required)",
            "$.pet.age: got nothing, expected an integer (required)",
            "$.pet.lives: got 9, expected a string",
        ),
    ),
    ({"kind": "puppy", "lives": "", "tricks": 3, "age": 1}, ("$.pet.tricks: got 3, expected an array",)),
    ({"kind": "cat", "tricks": [], "age": "x"}, ("$.pet.lives: got nothing, expected an integer (required)",)),
    ({"kind": "fish", "lives": 9}, ('$.pet.kind: got "fish", expected one of "cat", "dog", "puppy"',)),
    ({"kind": None}, ('$.pet.kind: got null, expected one of "cat", "dog", "puppy"',)),
    ({"lives": 9}, ('$.pet.kind: got nothing, expected one of "cat", "dog", "puppy" (required)',)),
    ({}, ('$.pet.kind: got nothing, expected one of "cat", "dog", "puppy" (required)',)),
]


def test_the_faults_are_those_of_the_branch_that_the_tag_means() -> None:
    wrong: list[str] = []
    for pet, wanted in FAULTS:
        for each in (adopt, adopt_any):
            read = each.read({"pet": pet})
            if not isinstance(read, Rejected) or read.errors != wanted:
                wrong.append(f"{each.spec.name} of {pet}: {read}")
    assert not wrong, "\n".join(wrong)


def test_a_value_of_each_branch_is_taken() -> None:
    for pet in ({"kind": "cat", "lives": 9}, {"kind": "puppy", "lives": "", "tricks": [], "age": 1}):
        assert isinstance(adopt.read({"pet": pet}), Accepted)

"""A compiled schema as data, its regular expressions, and functions that describe values and schemas in messages.

Patterns are in ECMA-262 syntax and match anywhere in the text. The linear-time engine of pydantic_core accepts nearly
all of them. Other patterns (look-around, back-references) run on Python's ``re``, which may backtrack: the length of
the text is limited so that the worst case is about a million steps, and a longer text is rejected with a fault that
names the limit.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from math import inf
from types import NoneType
from typing import Any, TypeAlias, cast

from callgate.tools.strict_json import MAX_WHOLE, shown
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

STEPS = 1_000_000
# Repeats inside repeats can cost 3^n and more.
NESTED_LIMIT = 12

_TOKEN = late_pattern(r"\\u\{[0-9a-fA-F]+\}|\\.|\[\^?(?:\\.|[^\]\\])*\]|\(\?<(?![=!])|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_ASCII = {"d": "0-9", "w": "0-9A-Za-z_"}


@noun
class TextPattern:
    """A compiled pattern. ``longest`` is the limit on the length of a text (None: no limit); a longer text never
    matches."""

    source: str
    fits: Callable[[str], bool]
    longest: int | None = None


def compile_pattern(source: str) -> TextPattern:
    """Compile a pattern. Raise ``ValueError`` if no engine accepts it."""
    # Imported here: pydantic_core costs 25 ms, and many tools have no pattern at all.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        schema = core_schema.str_schema(pattern=_portable(source), regex_engine="rust-regex", strict=True)
        return TextPattern(source, SchemaValidator(schema).isinstance_python)
    except SchemaError:
        pass
    try:
        backtracking = re.compile(_portable(source, python=True))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    most = _longest(source)
    return TextPattern(source, lambda text: len(text) <= most and backtracking.search(text) is not None, most)


def _portable(source: str, *, python: bool = False) -> str:
    """Return the ECMA pattern in the syntax of both engines: digits and word characters are ASCII, ``$`` matches only
    at the end of the text, and set operations in classes are escaped."""
    out: list[str] = []
    for token in _TOKEN.findall(source):
        if token[0] == "[" and len(token) > 1:
            body = re.sub(r"\\.|[\[&~|]|(?<=-)-", _in_class, token[1:], flags=re.DOTALL)
            out.append("[" + body)
        elif token[0] == "\\" and token[1:] in _ASCII:
            out.append(f"[{_ASCII[token[1:]]}]")
        elif token[0] == "\\" and token[1:].lower() in _ASCII:
            out.append(f"[^{_ASCII[token[1:].lower()]}]")
        elif python and token == "$":
            out.append(r"\Z")
        elif python and token == "(?<":
            out.append("(?P<")
        else:
            out.append(token)
    return "".join(out)


def _in_class(found: re.Match[str]) -> str:
    text = found[0]
    return _ASCII.get(text[1:], text) if text[0] == "\\" else "\\" + text


def _longest(source: str) -> int:
    """Return the allowed length of a text. With k consecutive repeats, a text of n characters takes about n^(k + 1)
    steps at worst."""
    repeats = 1
    groups = [False]  # for each open group: does it hold a repeat or an alternative?
    closed = False  # did a group that does just close?
    for token in _TOKEN.findall(source):
        if token in ("*", "+") or (token[0] == "{" and len(token) > 1):
            if closed:
                return NESTED_LIMIT
            repeats += 1
            groups = [True] * len(groups)
        closed = False
        if token == "|":
            groups[-1] = True
        elif token.startswith("("):
            groups.append(False)
        elif token == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1] = groups[-1] or closed
    return max(NESTED_LIMIT, min(10_000, int(STEPS ** (1 / repeats))))


Test: TypeAlias = Callable[[Any], bool]

LONGEST_WANTED = 400


def _has_type(types: tuple[type, ...], value: Any) -> bool:
    return type(value) in types


def _is_integer(value: Any) -> bool:
    # Past 2^53 the digits of a float are no longer certain, so it is no integer here.
    return type(value) is int or (type(value) is float and value.is_integer() and -MAX_WHOLE <= value <= MAX_WHOLE)


# The Python types whose every value is of the kind.
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (NoneType,),
}
KINDS: dict[str, Test] = {name: partial(_has_type, types) for name, types in _TYPES.items()} | {"integer": _is_integer}


def kinds_of(value: Any) -> set[str]:
    """Return the names of the JSON types of a value. An integer is also a number."""
    return {name for name, test in KINDS.items() if test(value)}


@noun
class ValueRule:
    """A condition on values of the Python ``types``, or on all values if ``types`` is empty. ``got`` describes a value
    in a fault."""

    test: Test
    wanted: str
    types: tuple[type, ...] = ()
    got: Callable[[Any], str] | None = None


@dataclass(eq=False)
class SchemaNode:
    """One schema. The fields correspond to the keywords of JSON Schema; a node without keywords accepts every value."""

    at: str
    kinds: tuple[str, ...] = ()
    nullable: bool = False
    choices: tuple[Any, ...] | None = None
    rules: list[ValueRule] = field(default_factory=list[ValueRule])
    properties: "dict[str, SchemaNode]" = field(default_factory=dict[str, "SchemaNode"])
    patterns: "list[tuple[TextPattern, SchemaNode]]" = field(default_factory=list[tuple[TextPattern, "SchemaNode"]])
    additional: "SchemaNode | None" = None
    required: tuple[str, ...] = ()
    names: "SchemaNode | None" = None
    dependent: "dict[str, SchemaNode]" = field(default_factory=dict[str, "SchemaNode"])
    prefix: "tuple[SchemaNode, ...]" = ()
    items: "SchemaNode | None" = None
    contains: "SchemaNode | None" = None
    contained: tuple[int, float] = (1, inf)  # minContains, maxContains
    ref: "SchemaNode | None" = None
    all_of: "tuple[SchemaNode, ...]" = ()
    any_of: "tuple[SchemaNode, ...]" = ()
    one_of: "tuple[SchemaNode, ...]" = ()
    none_of: "SchemaNode | None" = None
    premise: "SchemaNode | None" = None
    then: "SchemaNode | None" = None
    otherwise: "SchemaNode | None" = None
    open: bool = False  # accepts other keys explicitly
    free: bool = False  # has no condition on keys
    closed: bool = False  # rejects keys that no part of it names
    sealed: bool = False  # the same by the schema itself: a free part does not accept them then
    target: bool = False  # a target of references

    @property
    def always(self) -> "tuple[SchemaNode, ...]":
        """The schemas that must match every value of this schema: the reference and ``allOf``."""
        return (*((self.ref,) if self.ref else ()), *self.all_of)

    def parts(self) -> "Iterator[SchemaNode]":
        """Yield the schemas that apply to the same value and may name its keys."""
        yield from (*self.always, *self.any_of, *self.one_of, *self.dependent.values())
        if self.premise:
            yield from filter(None, (self.premise, self.then, self.otherwise))

    @cached_property
    def combines(self) -> bool:
        """True if other schemas apply to the same value."""
        return self.none_of is not None or any(True for _ in self.parts())

    @cached_property
    def types(self) -> frozenset[type]:
        """The Python types whose values always have one of the ``kinds``."""
        return frozenset(kind for name in self.kinds for kind in _TYPES[name])

    @cached_property
    def simple(self) -> frozenset[type]:
        """The Python types whose values always match, because the schema has no other condition on them."""
        about_keys = self.properties or self.patterns or self.additional or self.required or self.names or self.closed
        about_items = self.prefix or self.items or self.contains
        more = {each for each, says in ((dict, about_keys), (list, about_items)) if says}
        types = self.types
        if self.combines:  # for example `int | None`
            only_choice = not self.kinds and self.none_of is None and len(list(self.parts())) == len(self.any_of)
            types = frozenset[type]().union(*(branch.simple for branch in self.any_of if only_choice))
        return frozenset() if self.rules else types - more

    @cached_property
    def flat(self) -> dict[str, frozenset[type]]:
        """The Python types that match, for each key, if the schema only has conditions on keys and their types;
        otherwise empty."""
        says_more = self.rules or self.combines or self.patterns or self.names or "object" not in self.kinds
        return {} if says_more else {key: child.simple for key, child in self.properties.items()}

    def surely_fits(self, value: Any) -> bool:
        """Return True if a value matches by its type, or an object by the types of its values. False means unknown."""
        flat: dict[str, frozenset[type]] = self.flat
        keys: dict[str, Any] = value
        if value.__class__ is not dict or not flat:
            return value.__class__ in self.simple
        for key, item in keys.items():
            if type(item) not in flat.get(key, ()):
                return False
        for key in self.required:  # noqa: SIM110 - all() with a generator is three times slower
            if key not in keys:
                return False
        return True

    def schemas_of(self, key: str) -> "Sequence[SchemaNode]":
        """Return the schemas for the value of a key."""
        child = self.properties.get(key)
        if child is not None and not self.patterns:
            return (child,)
        found = [each for pattern, each in self.patterns if pattern.fits(key)]
        return [child, *found] if child else found or ([self.additional] if self.additional else [])

    @cached_property
    def admits(self) -> set[str]:
        """The JSON types that a matching value may have."""
        kinds = set(self.kinds or KINDS)
        if "number" in kinds:
            kinds.add("integer")
        if self.choices is not None:
            kinds &= {kind for choice in self.choices for kind in kinds_of(choice)}
        for part in self.always:
            kinds &= part.admits
        for branches in (self.any_of, self.one_of):
            if branches:
                kinds &= {kind for branch in branches for kind in branch.admits}
        return kinds | {"null"} if self.nullable else kinds

    @cached_property
    def known(self) -> tuple[str, ...]:
        """All keys that this schema, or another schema for the same value, names, in order."""
        return tuple(dict.fromkeys([*self.properties, *(key for part in self.parts() for key in part.known)]))

    @cached_property
    def known_required(self) -> frozenset[str]:
        return frozenset(self.required).union(*(part.known_required for part in self.always))

    @cached_property
    def tags(self) -> dict[str, tuple[Any, ...] | None]:
        """The values that the schema lists for each key, or None for a key without a list."""
        found: dict[str, tuple[Any, ...] | None] = {}
        for part in reversed(self.always):
            found |= part.tags
        return found | {key: child.listed for key, child in self.properties.items()}

    @cached_property
    def listed(self) -> tuple[Any, ...] | None:
        return self.ref.listed if self.choices is None and self.ref else self.choices

    @cached_property
    def wanted(self) -> str:
        """A short description of matching values."""
        text = self._wanted()
        return text if len(text) <= LONGEST_WANTED else f"{text[:LONGEST_WANTED]}…"

    def _wanted(self) -> str:
        if self.choices is not None:
            more = f" or {len(self.choices) - 12} more" if len(self.choices) > 12 else ""
            values = ", ".join(quote(choice) for choice in self.choices[:12]) + more
            return f"one of {values}" if len(self.choices) > 1 else values or "nothing"
        if self.kinds:
            named = [*self.kinds, *(["null"] if self.nullable else [])]
            return " or ".join(_WORDS.get(kind, f"a {kind}") for kind in dict.fromkeys(named))
        if self.always:
            return self.always[0].wanted
        if branches := self.any_of or self.one_of:
            return " or ".join(islice(dict.fromkeys(branch.wanted for branch in branches), 8))
        return self.rules[0].wanted if self.rules else "a value"


_WORDS = {"null": "null", "integer": "an integer", "object": "an object", "array": "an array"}


def quote(value: Any) -> str:
    """Return a short printable description of a value."""
    if type(value) is str:
        long = f" ({len(value)} characters)" if len(value) > 80 else ""
        return f"{shown(value)}{long}{' (contains a NUL)' if chr(0) in value else ''}"
    if type(value) is dict:
        keys = ", ".join(shown(key, 20) for key in islice(cast(dict[str, Any], value), 5))
        return f"an object with the keys {keys}" if keys else "an empty object"
    if type(value) is list:
        return f"an array of {len(cast(list[Any], value))}"
    text = json.dumps(value, default=lambda other: type(other).__name__)
    return text if len(text) <= 40 else f"{text[:20]}… (a number of {len(text)} digits)"

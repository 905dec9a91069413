"""One compiled schema: what it says as data, and how it explains what does not fit.

``test`` is a closure that `jsonschema` builds; everything here is for the slow path, after a test said no.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias, cast

from callgate.tools.patterns import Pattern
from callgate.tools.strict_json import MAX_WHOLE, join, shown

Test: TypeAlias = Callable[[Any], bool]


def _is_integer(value: Any) -> bool:
    # Past 2^53 the digits of a float are no longer certain, so it is no integer here.
    return type(value) is int or (type(value) is float and value.is_integer() and -MAX_WHOLE <= value <= MAX_WHOLE)


KINDS: dict[str, Test] = {
    "string": lambda value: type(value) is str,
    "integer": _is_integer,
    "number": lambda value: type(value) is int or type(value) is float,
    "boolean": lambda value: value is True or value is False,
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "null": lambda value: value is None,
}


def kinds_of(value: Any) -> set[str]:
    """The names of the types that a value has; an integer is a number too."""
    return {name for name, test in KINDS.items() if test(value)}


@dataclass(frozen=True, slots=True)
class Rule:
    """One assertion about a value itself. ``got`` describes the value where the value alone would not tell."""

    test: Test
    wanted: str
    got: Callable[[Any], str] | None = None


@dataclass(eq=False)
class Node:
    """The fields follow the keywords of JSON Schema; a node without any of them takes every value."""

    at: str
    kinds: tuple[str, ...] = ()
    nullable: bool = False
    choices: tuple[Any, ...] | None = None
    rules: list[Rule] = field(default_factory=list[Rule])
    properties: "dict[str, Node]" = field(default_factory=dict[str, "Node"])
    patterns: "list[tuple[Pattern, Node]]" = field(default_factory=list[tuple[Pattern, "Node"]])
    additional: "Node | None" = None
    required: tuple[str, ...] = ()
    names: "Node | None" = None
    dependent: "dict[str, Node]" = field(default_factory=dict[str, "Node"])
    prefix: "tuple[Node, ...]" = ()
    items: "Node | None" = None
    contains: "tuple[Node, int, float] | None" = None
    ref: "Callable[[], Node] | None" = None
    all_of: "tuple[Node, ...]" = ()
    any_of: "tuple[Node, ...]" = ()
    one_of: "tuple[Node, ...]" = ()
    none_of: "Node | None" = None
    condition: "tuple[Node, Node | None, Node | None] | None" = None
    open: bool = False  # says that other keys are welcome
    free: bool = False  # says nothing about keys
    closed: bool = False  # refuses keys that no part of it names
    sealed: bool = False  # the same, said by the schema itself: a free part then does not welcome them
    test: Test = lambda value: True

    def parts(self) -> "Iterator[Node]":
        """The schemas that judge the same value and may name its keys."""
        if self.ref:
            yield self.ref()
        yield from (*self.all_of, *self.any_of, *self.one_of, *self.dependent.values())
        yield from (node for node in self.condition or () if node)

    @cached_property
    def admits(self) -> set[str]:
        """The types a value may have to fit."""
        kinds = set(self.kinds or KINDS)
        if "number" in kinds:
            kinds.add("integer")
        if self.choices is not None:
            kinds &= {kind for choice in self.choices for kind in kinds_of(choice)}
        for part in (*((self.ref(),) if self.ref else ()), *self.all_of):
            kinds &= part.admits
        for branches in (self.any_of, self.one_of):
            if branches:
                kinds &= {kind for branch in branches for kind in branch.admits}
        return kinds | {"null"} if self.nullable else kinds

    @cached_property
    def known(self) -> tuple[str, ...]:
        """Every key that some part names, in the order of the schema."""
        return tuple(dict.fromkeys([*self.properties, *(key for part in self.parts() for key in part.known)]))

    @cached_property
    def known_required(self) -> frozenset[str]:
        """Every key that must be there."""
        parts = (*((self.ref(),) if self.ref else ()), *self.all_of)
        return frozenset(self.required).union(*(part.known_required for part in parts))


def unexpected(node: Node, value: dict[str, Any]) -> Collection[str]:
    """The keys that no part of a closed schema which holds for this value names."""
    return _unseen(node, value, value, sealed=node.sealed)


def _unseen(node: Node, keys: Collection[str], value: dict[str, Any], *, sealed: bool) -> Collection[str]:
    if node.open or (node.free and not sealed) or not keys:
        return ()
    keys = [key for key in keys if key not in node.properties]
    if node.patterns:
        keys = [key for key in keys if not any(pattern.fits(key) for pattern, _ in node.patterns)]
    held = [node.ref()] if node.ref else []
    held += node.all_of
    held += [branch for branch in (*node.any_of, *node.one_of) if branch.test(value)]
    held += [part for key, part in node.dependent.items() if key in value]
    if node.condition:
        premise, then, otherwise = node.condition
        held += [premise, *([then] if then else [])] if premise.test(value) else [otherwise] if otherwise else []
    for part in held:
        keys = _unseen(part, keys, value, sealed=sealed)
    return keys


# --- explaining ---


def faults(node: Node, value: Any, path: str) -> Iterator[str]:
    """One line per fault: the path, what came, what was wanted."""
    if value is None and node.nullable:
        return
    if node.kinds and not any(KINDS[kind](value) for kind in node.kinds):
        yield f"{path}: got {quote(value)}, wanted {wanted(node)}"
        return
    otherwise_fine = True
    for line in _said_faults(node, value, path):
        otherwise_fine = False
        yield line
    if node.closed and type(value) is dict:
        keys = cast(dict[str, Any], value)
        only = ", ".join(shown(key, 40) for key in islice(node.known, 20)) or "no keys"
        for key in unexpected(node, keys):
            # A branch that does not fit names no keys: until it does, its keys are not to blame.
            if otherwise_fine or key not in node.known:
                yield f"{join(path, key)}: unexpected key, wanted only {only}"


def _said_faults(node: Node, value: Any, path: str) -> Iterator[str]:
    for rule in node.rules:
        if not rule.test(value):
            yield f"{path}: got {(rule.got or quote)(value)}, wanted {rule.wanted}"
    if type(value) is dict:
        yield from _object_faults(node, cast(dict[str, Any], value), path)
    elif type(value) is list:
        yield from _array_faults(node, cast(list[Any], value), path)
    for part in (*((node.ref(),) if node.ref else ()), *node.all_of):
        yield from faults(part, value, path)
    yield from _choice_faults(node, value, path)


def _object_faults(node: Node, value: dict[str, Any], path: str) -> Iterator[str]:
    for key in node.required:
        if key not in value:
            child = node.properties.get(key)
            yield f"{join(path, key)}: got nothing, wanted {wanted(child) if child else 'a value'} (required)"
    for key, item in value.items():
        below = join(path, key)
        matching = [child for pattern, child in node.patterns if pattern.fits(key)]
        if key in node.properties:
            matching.append(node.properties[key])
        elif not matching and node.additional:
            # A plain "false" is about the key rather than about what it holds.
            if node.additional.admits:
                matching.append(node.additional)
            else:
                yield f"{below}: unexpected key, wanted only {', '.join(map(shown, node.properties)) or 'none'}"
        for child in matching:
            yield from faults(child, item, below)
        if node.names and not node.names.test(key):
            yield from (f"{line} (the key itself)" for line in faults(node.names, key, below))
    for key, part in node.dependent.items():
        if key in value:
            yield from faults(part, value, path)


def _array_faults(node: Node, value: list[Any], path: str) -> Iterator[str]:
    for index, (child, item) in enumerate(zip(node.prefix, value, strict=False)):
        yield from faults(child, item, f"{path}[{index}]")
    if node.items:
        for index in range(len(node.prefix), len(value)):
            # The test is cheaper than the explanation, and most items fit.
            if not node.items.test(value[index]):
                yield from faults(node.items, value[index], f"{path}[{index}]")
    if node.contains:
        child, least, most = node.contains
        count = sum(map(child.test, value))
        if not least <= count <= most:
            bound = f"at least {least}" if count < least else f"at most {most}"
            yield f"{path}: got an array with {count} items that are {wanted(child)}, wanted {bound}"


def _choice_faults(node: Node, value: Any, path: str) -> Iterator[str]:
    for branches in (node.any_of, node.one_of):
        fitting = sum(branch.test(value) for branch in branches)
        if branches and not fitting:
            yield from _nearest(branches, value, path)
        elif branches is node.one_of and fitting > 1:
            yield f"{path}: got {quote(value)}, which fits {fitting} alternatives, wanted exactly one"
    if node.none_of and node.none_of.test(value):
        yield f"{path}: got {quote(value)}, wanted anything but {wanted(node.none_of)}"
    if node.condition:
        premise, then, otherwise = node.condition
        branch = then if premise.test(value) else otherwise
        if branch:
            yield from faults(branch, value, path)


def _nearest(branches: tuple[Node, ...], value: Any, path: str) -> Iterator[str]:
    """The faults of the branch that the value nearly fits; a value of no branch's type is told all types."""
    kinds = kinds_of(value)
    alike = [branch for branch in branches if kinds & branch.admits]
    if isinstance(value, dict) and len(alike) > 1:
        tagged = _tagged(alike, cast("dict[str, Any]", value), path)
        if isinstance(tagged, str):
            yield tagged
            return
        if len(tagged) < len(alike):
            alike, branches = tagged, tuple(tagged)
    if not isinstance(value, dict | list) and len(alike) != 1:
        alternatives = dict.fromkeys(wanted(branch) for branch in branches)
        yield f"{path}: got {quote(value)}, wanted {' or '.join(islice(alternatives, 8))}"
        return
    explained = [list(islice(faults(branch, value, path), 20)) for branch in alike or branches]
    lines = min(explained, key=len)
    yield from lines if len(alike) == 1 else (f"{line} (the nearest of {len(branches)} alternatives)" for line in lines)


def _tagged(branches: list[Node], value: dict[str, Any], path: str) -> list[Node] | str:
    """The branches that a tag of the value means: a key for which every branch lists the values that it takes. A text
    where the tag is missing or means none of them."""
    for key in branches[0].known:
        tags = [_tag(branch, key) for branch in branches]
        if any(tag is None for tag in tags):
            continue
        meant = [
            branch for branch, tag in zip(branches, tags, strict=True) if tag and key in value and value[key] in tag
        ]
        if 0 < len(meant) < len(branches):
            return meant
        every = list(dict.fromkeys(quote(choice) for tag in tags for choice in tag or ()))
        if not meant and len(every) > 1 and (key in value or all(key in branch.known_required for branch in branches)):
            got = quote(value[key]) if key in value else "nothing"
            required = "" if key in value else " (required)"
            return f"{join(path, key)}: got {got}, wanted one of {', '.join(every[:12])}{required}"
    return branches


def _tag(node: Node, key: str) -> tuple[Any, ...] | None:
    """The values that this key may have, where the schema lists them."""
    child = node.properties.get(key)
    if child is not None:
        while child.choices is None and child.ref is not None:
            child = child.ref()
        return child.choices
    parts = (*((node.ref(),) if node.ref else ()), *node.all_of)
    return next((found for part in parts if (found := _tag(part, key)) is not None), None)


def wanted(node: Node) -> str:
    """A few words for what fits."""
    if node.choices is not None:
        more = f" or {len(node.choices) - 12} more" if len(node.choices) > 12 else ""
        values = ", ".join(quote(choice) for choice in node.choices[:12]) + more
        return f"one of {values}" if len(node.choices) > 1 else values or "nothing"
    if node.kinds:
        named = [*node.kinds, *(["null"] if node.nullable else [])]
        return " or ".join(_WORDS.get(kind, f"a {kind}") for kind in dict.fromkeys(named))
    parts = (*((node.ref(),) if node.ref else ()), *node.all_of[:1])
    if parts:
        return wanted(parts[0])
    if branches := node.any_of or node.one_of:
        return " or ".join(islice(dict.fromkeys(map(wanted, branches)), 8))
    return node.rules[0].wanted if node.rules else "a value"


_WORDS = {"null": "null", "integer": "an integer", "object": "an object", "array": "an array"}


def quote(value: Any) -> str:
    """A value in words: printable, and short whatever it is."""
    if type(value) is str:
        long = f" ({len(value)} characters)" if len(value) > 80 else ""
        return f"{shown(value)}{long}{' (it holds a NUL)' if chr(0) in value else ''}"
    if type(value) is dict:
        return (
            f"an object with the keys {', '.join(shown(key, 20) for key in islice(cast(dict[str, Any], value), 5))}"
            if value
            else "an empty object"
        )
    if type(value) is list:
        return f"an array of {len(cast(list[Any], value))}"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:20]}… (a number of {len(text)} digits)"


def bounded(lines: Iterable[str], most: int = 20) -> tuple[str, ...]:
    """The first lines, each cut, and how many more there are."""
    stream = iter(lines)
    out = [line if len(line) <= 600 else f"{line[:400]} … {line[-190:]}" for line in islice(stream, most)]
    if more := sum(1 for _ in islice(stream, 1000)):
        out.append(f"$: {more if more < 1000 else 'over 1000'} more faults")
    return tuple(out)

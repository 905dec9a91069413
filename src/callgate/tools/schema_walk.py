"""Compares a value with a compiled schema and yields the faults one by one.

A value matches if no fault is yielded. A fault is a path below the value and a message. Paths and messages are built
only for faults, so a matching value causes no extra cost.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, TypeAlias, cast

from callgate.tools.schema_node import KINDS, SchemaNode, kinds_of, quote
from callgate.tools.strict_json import join, shown

MAX_STEPS = 250_000

Fault: TypeAlias = tuple[str, str]


class TooMuchWork(Exception):
    """The references of the schema require too many steps for this value."""


class SchemaWalk:
    """One comparison of a value with a schema. The number of followed references is limited."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def step(self, node: SchemaNode) -> None:
        """Count a step if the node is the target of a reference. Raise ``TooMuchWork`` after too many steps."""
        if node.target:
            self._left -= 1
            if self._left < 0:
                raise TooMuchWork

    def fits(self, node: SchemaNode, value: Any) -> bool:
        return node.surely_fits(value) or next(self.faults(node, value), None) is None

    def faults(self, node: SchemaNode, value: Any) -> Iterator[Fault]:
        if node.nullable and value is None:
            return
        self.step(node)
        if node.kinds and type(value) not in node.types and not any(KINDS[kind](value) for kind in node.kinds):
            yield "", f"got {quote(value)}, expected {node.wanted}"
            return
        sound = True
        for rule in node.rules:
            if (not rule.types or type(value) in rule.types) and not rule.test(value):
                sound = False
                yield "", f"got {(rule.got or quote)(value)}, expected {rule.wanted}"
        for inside in self._inside(node, value):
            for fault in inside:
                sound = False
                yield fault
        if node.closed and type(value) is dict:
            keys = cast(dict[str, Any], value)
            if not keys.keys() <= node.properties.keys():
                yield from self._closed(node, keys, sound=sound)

    def _inside(self, node: SchemaNode, value: Any) -> list[Iterator[Fault]]:
        inside: list[Iterator[Fault]] = []
        if type(value) is dict:
            inside.append(self._object(node, cast(dict[str, Any], value)))
        elif type(value) is list:
            inside.append(self._array(node, cast(list[Any], value)))
        if node.combines:
            inside.append(self._combined(node, value))
        return inside

    def _object(self, node: SchemaNode, value: dict[str, Any]) -> Iterator[Fault]:
        for key in node.required:
            if key not in value:
                child = node.properties.get(key)
                yield join("", key), f"got nothing, expected {child.wanted if child else 'a value'} (required)"
        for key, item in value.items():
            for child in node.schemas_of(key):
                if child is node.additional and not child.admits:
                    # A plain "false" is about the key rather than about what it holds.
                    only = ", ".join(map(shown, node.properties)) or "none"
                    yield join("", key), f"unexpected key, expected only {only}"
                elif not child.surely_fits(item):
                    for path, text in self.faults(child, item):
                        yield join("", key) + path, text
            if node.names:
                for path, text in self.faults(node.names, key):
                    yield join("", key) + path, f"{text} (the key itself)"

    def _array(self, node: SchemaNode, value: list[Any]) -> Iterator[Fault]:
        for index, item in enumerate(value):
            child = node.prefix[index] if index < len(node.prefix) else node.items
            if child is not None and not child.surely_fits(item):
                for path, text in self.faults(child, item):
                    yield f"[{index}]{path}", text
        if node.contains:
            least, most = node.contained
            count = sum(self.fits(node.contains, item) for item in value)
            if not least <= count <= most:
                bound = f"at least {least}" if count < least else f"at most {most}"
                yield "", f"got an array with {count} items that are {node.contains.wanted}, expected {bound}"

    def _combined(self, node: SchemaNode, value: Any) -> Iterator[Fault]:
        for key, part in node.dependent.items():
            if isinstance(value, dict) and key in value:
                yield from self.faults(part, value)
        for part in node.always:
            yield from self.faults(part, value)
        for branches in (node.any_of, node.one_of):
            fitting = sum(self.fits(branch, value) for branch in branches)
            if branches and not fitting:
                yield from self._nearest(branches, value)
            elif branches is node.one_of and fitting > 1:
                yield "", f"got {quote(value)}, which matches {fitting} alternatives, expected exactly one"
        if node.none_of and self.fits(node.none_of, value):
            yield "", f"got {quote(value)}, expected anything but {node.none_of.wanted}"
        if node.premise:
            branch = node.then if self.fits(node.premise, value) else node.otherwise
            if branch:
                yield from self.faults(branch, value)

    def _nearest(self, branches: tuple[SchemaNode, ...], value: Any) -> Iterator[Fault]:
        """Yield the faults of the most similar alternative. If no alternative has the type of the value, yield one
        fault with all types."""
        alike = [branch for branch in branches if kinds_of(value) & branch.admits]
        if isinstance(value, dict) and len(alike) > 1:
            tagged = _tagged(alike, cast("dict[str, Any]", value))
            if isinstance(tagged, tuple):
                yield tagged
                return
            if len(tagged) < len(alike):
                alike, branches = tagged, tuple(tagged)
        if not isinstance(value, dict | list) and len(alike) != 1:
            alternatives = dict.fromkeys(branch.wanted for branch in branches)
            yield "", f"got {quote(value)}, expected {' or '.join(islice(alternatives, 8))}"
            return
        explained = [list(islice(self.faults(branch, value), 20)) for branch in alike or branches]
        near = "" if len(alike) == 1 else f" (the nearest of {len(branches)} alternatives)"
        for path, text in min(explained, key=len):
            yield path, text + near

    def _closed(self, node: SchemaNode, value: dict[str, Any], *, sound: bool) -> Iterator[Fault]:
        only = ", ".join(shown(key, 40) for key in islice(node.known, 20)) or "no keys"
        for key in self._unnamed(node, value, value, sealed=node.sealed):
            # A branch that does not match names no keys, so its keys are not reported.
            if sound or key not in node.known:
                yield join("", key), f"unexpected key, expected only {only}"

    def _unnamed(
        self, node: SchemaNode, keys: Collection[str], value: dict[str, Any], *, sealed: bool
    ) -> Collection[str]:
        """Return the keys of an object that no matching part of a closed schema names."""
        if node.open or (node.free and not sealed) or not keys:
            return ()
        self.step(node)
        keys = [key for key in keys if key not in node.properties]
        keys = [key for key in keys if not any(pattern.fits(key) for pattern, _ in node.patterns)]
        held = [*node.always, *(part for key, part in node.dependent.items() if key in value)]
        held += [branch for branch in (*node.any_of, *node.one_of) if self.fits(branch, value)]
        if node.premise:
            held += filter(None, (node.premise, node.then) if self.fits(node.premise, value) else (node.otherwise,))
        for part in held:
            keys = self._unnamed(part, keys, value, sealed=sealed)
        return keys


def _tagged(branches: list[SchemaNode], value: dict[str, Any]) -> list[SchemaNode] | Fault:
    """Return the alternatives selected by a tag: a key for which every alternative lists its values. Return a fault if
    the tag is missing or its value selects no alternative."""
    for key in branches[0].known:
        tags = [branch.tags.get(key) for branch in branches]
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
            return join("", key), f"got {got}, expected one of {', '.join(every[:12])}{required}"
    return branches

"""JSON Schema (2020-12, and keywords of older versions that tools still use), compiled once per tool.

``Schema.faults`` returns one line per fault, built only for faults. A value matches if there is no fault.

Differences from the standard, most of which reject keys and values that a tool did not declare:

* Where ``properties`` is declared, even if empty, a key that is not named in the schema is a fault unless
  ``additionalProperties`` allows it. Objects without ``properties`` accept any key. An empty schema of parameters
  accepts no arguments.
* A float above 2^53 is not an integer, because not all of its digits are exact.
* ``format`` is an annotation; ``nullable`` (OpenAPI) accepts null; unknown keywords are ignored.

Only local references are followed, and their number is limited.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from typing import Any, TypeAlias, cast
from urllib.parse import unquote

from callgate.tools.schema_node import KINDS, SchemaNode, ValueRule, kinds_of, quote
from callgate.tools.schema_rules import Keywords, SchemaError, SchemaPath, choice_rule, in_new_spelling
from callgate.tools.strict_json import join, shown

__all__ = ["Schema", "SchemaError", "TooMuchWork", "first_fault"]

MAX_SCHEMA_DEPTH = 64
MAX_FAULTS = 20
_ANNOTATIONS = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
# Keywords that hold schemas, with the fields of a node for them.
_SINGLE = {
    "additionalProperties": "additional",
    "propertyNames": "names",
    "items": "items",
    "contains": "contains",
    "not": "none_of",
    "if": "premise",
    "then": "then",
    "else": "otherwise",
}
_LISTS = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of", "prefixItems": "prefix"}
# Keywords whose schemas judge the same value, and those that only test it.
_PARTS = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
_ASKING = {"not", "if", "contains"}
# An object schema without any of these accepts any object.
_SAYS_MORE = (
    *("properties", "patternProperties", "required", "propertyNames", "dependentRequired", "dependentSchemas"),
    *("additionalProperties", "$ref", "allOf", "anyOf", "oneOf", "not", "if"),
)


class Schema:
    """A compiled schema. With ``top`` the schema describes the parameters of a tool, and the outermost object rejects
    unknown keys."""

    def __init__(self, schema: Mapping[str, Any] | bool, *, top: bool = True) -> None:
        self.root: SchemaNode = _Compiler(schema).compile(top=top)

    def fits(self, value: Any) -> bool:
        """Return True if a JSON value matches. Raise ``TooMuchWork`` if the check takes too many steps."""
        return self.root.surely_fits(value) or SchemaWalk().fits(self.root, value)

    def faults(self, value: Any) -> tuple[str, ...]:
        """Return one line per fault, limited in length and number; empty if the value matches. Raise ``TooMuchWork`` if
        the check takes too many steps."""
        found = SchemaWalk().faults(self.root, value)
        lines = [f"${path}: {text}" for path, text in islice(found, MAX_FAULTS)]
        lines = [line if len(line) <= 600 else f"{line[:400]} … {line[-190:]}" for line in lines]
        if more := sum(1 for _ in islice(found, 1000)):
            lines.append(f"$: {more if more < 1000 else 'over 1000'} more faults")
        return tuple(lines)


def first_fault(schema: Mapping[str, Any], value: Any) -> str:
    """Return the first fault of a value. Return an empty string if the value matches, or if the schema is invalid or
    too complex."""
    try:
        return next(iter(Schema(schema, top=False).faults(value)), "")
    except (SchemaError, TooMuchWork, RecursionError):
        return ""


class _Compiler:
    def __init__(self, schema: Mapping[str, Any] | bool) -> None:
        self.schema: Any = schema
        self.nodes: list[SchemaNode] = []
        self.targets: dict[tuple[str, bool, bool], SchemaNode] = {}
        self.pending: list[tuple[SchemaNode, Any, SchemaPath]] = []
        self.heights: dict[SchemaNode, int] = {}
        # Nodes with a value of their own, which reject unknown keys by default.
        self.whole: set[SchemaNode] = set()

    def compile(self, *, top: bool) -> SchemaNode:
        root = self.node(self.schema, SchemaPath())
        # References are compiled iteratively, because a chain of them may be long.
        while self.pending:
            self.fill(*self.pending.pop())
        for node in self.nodes:
            self.height(node, 0)
        for node in self.whole:
            declared = top if node is root else bool(node.known)
            node.closed = node.closed or (declared and node.additional is None and not node.open and not node.free)
        return root

    def height(self, node: SchemaNode, depth: int) -> int:
        """Return the depth of nested schemas that apply to one value. Raise SchemaError if it exceeds the limit or the
        references are circular."""
        if node not in self.heights:
            if depth > MAX_SCHEMA_DEPTH:
                raise SchemaError(f"{node.at}: the references form a cycle, or are nested more than {depth} deep")
            parts = [*node.parts(), *([node.none_of] if node.none_of else [])]
            self.heights[node] = 1 + max((self.height(part, depth + 1) for part in parts), default=0)
        if self.heights[node] + depth > MAX_SCHEMA_DEPTH:
            raise SchemaError(f"{node.at}: more than {MAX_SCHEMA_DEPTH} nested schemas for one value")
        return self.heights[node]

    # --- structure ---

    def node(self, schema: Any, place: SchemaPath, *, part: bool = False) -> SchemaNode:
        """Compile a schema. If ``part``, the schema applies to the same value as the enclosing schema."""
        if isinstance(schema, Mapping) and "$ref" in schema and schema.keys() <= _ANNOTATIONS | {"$ref"}:
            return self.reference(cast(Mapping[str, Any], schema)["$ref"], place, part=part)
        node = SchemaNode(place.at)
        if place.judging and not part:
            self.whole.add(node)
        self.fill(node, schema, place)
        return node

    def fill(self, node: SchemaNode, schema: Any, place: SchemaPath) -> None:
        self.nodes.append(node)
        if schema is False:
            node.kinds, node.choices = (), ()
            node.rules.append(ValueRule(lambda value: False, "nothing here"))
        if isinstance(schema, bool):
            node.free = schema
            return
        if not isinstance(schema, Mapping):
            raise place.error(f"a schema must be an object or a boolean, got {type(schema).__name__}")
        if place.depth > MAX_SCHEMA_DEPTH:
            raise place.error(f"the schema is nested deeper than {MAX_SCHEMA_DEPTH}")
        schema = in_new_spelling(cast(Mapping[str, Any], schema))
        keywords = Keywords(schema, place)
        keywords.refuse_unsupported()
        node.kinds = keywords.kinds()
        node.nullable = schema.get("nullable") is True
        node.rules += keywords.rules()
        node.choices = keywords.choices()
        if node.choices is not None:
            node.rules.append(choice_rule(node.choices, node.wanted))
        node.required = keywords.strings("required")
        self._children(node, keywords)
        # At the top, a schema that lists its properties, or is empty, accepts no others.
        lists_all = place.depth == 0 and ("properties" in schema or "type" not in schema)
        node.free = "object" in node.kinds and not lists_all and not any(schema.get(key) for key in _SAYS_MORE)
        welcome = (schema.get("additionalProperties", False), schema.get("unevaluatedProperties", False))
        node.open = welcome != (False, False)
        node.closed = node.sealed = "unevaluatedProperties" in schema and not node.open

    def _children(self, node: SchemaNode, keywords: Keywords) -> None:
        schema = keywords.schema

        def child(inner: Any, keyword: str, *tokens: str | int) -> SchemaNode:
            place = keywords.place.below(keyword, *tokens, asking=keyword in _ASKING)
            return self.node(inner, place, part=keyword in _PARTS)

        for keyword, name in _SINGLE.items():
            if keyword in schema:
                setattr(node, name, child(schema[keyword], keyword))
        for keyword, name in _LISTS.items():
            entries = keywords.schemas(keyword)
            setattr(node, name, tuple(child(each, keyword, at) for at, each in enumerate(entries)))
        node.properties = {key: child(each, "properties", key) for key, each in keywords.mapping("properties").items()}
        dependent = keywords.mapping("dependentSchemas").items()
        node.dependent = {key: child(each, "dependentSchemas", key) for key, each in dependent}
        node.patterns = [
            (keywords.pattern(key, "patternProperties"), child(each, "patternProperties", key))
            for key, each in keywords.mapping("patternProperties").items()
        ]
        least, most = keywords.count("minContains"), keywords.count("maxContains")
        node.contained = (1 if least is None else least, inf if most is None else most)
        if "$ref" in schema:
            node.ref = self.reference(schema["$ref"], keywords.place, part=True)

    def reference(self, ref: Any, place: SchemaPath, *, part: bool) -> SchemaNode:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise place.error(f"only references inside the schema (#/…) are followed, got {quote(ref)}")
        key = (unquote(ref), place.judging, part)
        if key not in self.targets:
            target: Any = self.schema
            for token in key[0].split("/")[1:]:
                token = token.replace("~1", "/").replace("~0", "~")
                if isinstance(target, list) and token.isdecimal() and int(token) < len(cast(list[Any], target)):
                    target = cast(list[Any], target)[int(token)]
                elif isinstance(target, Mapping) and token in target:
                    target = cast(Mapping[str, Any], target)[token]
                else:
                    raise place.error(f"the reference {quote(ref)} has no target")
            self.targets[key] = SchemaNode(key[0], target=True)
            if place.judging and not part:
                self.whole.add(self.targets[key])
            self.pending.append((self.targets[key], target, SchemaPath(key[0], 1, place.judging)))
        return self.targets[key]


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

    def _unnamed(self, node: SchemaNode, keys: Iterable[str], value: dict[str, Any], *, sealed: bool) -> Iterable[str]:
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
        pairs = zip(branches, tags, strict=True) if key in value else ()
        meant = [branch for branch, tag in pairs if tag and value[key] in tag]
        if 0 < len(meant) < len(branches):
            return meant
        every = list(dict.fromkeys(quote(choice) for tag in tags for choice in tag or ()))
        if not meant and len(every) > 1 and (key in value or all(key in branch.known_required for branch in branches)):
            got = quote(value[key]) if key in value else "nothing"
            required = "" if key in value else " (required)"
            return join("", key), f"got {got}, expected one of {', '.join(every[:12])}{required}"
    return branches

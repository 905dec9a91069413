"""JSON Schema (2020-12, and keywords of older versions that tools still use), compiled once per tool.

``Schema.faults`` returns one line per fault. A value matches if there is no fault.

Differences from the standard, most of which reject keys and values that a tool did not declare:

* Where ``properties`` is declared, even if empty, a key that is not named in the schema is a fault unless
  ``additionalProperties`` allows it. Objects without ``properties`` accept any key. An empty schema of parameters
  accepts no arguments.
* A float above 2^53 is not an integer, because not all of its digits are exact.
* ``format`` is an annotation; ``nullable`` (OpenAPI) accepts null; unknown keywords are ignored.

Only local references are followed, and their number is limited.
"""

from collections.abc import Mapping
from itertools import islice
from math import inf
from typing import Any, cast
from urllib.parse import unquote

from callgate.tools.schema_node import SchemaNode, ValueRule, quote
from callgate.tools.schema_rules import Keywords, SchemaError, SchemaPath, choice_rule, in_new_spelling
from callgate.tools.schema_walk import SchemaWalk, TooMuchWork

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
        node.dependent = {
            key: child(each, "dependentSchemas", key) for key, each in keywords.mapping("dependentSchemas").items()
        }
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

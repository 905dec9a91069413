"""JSON Schemas for structured output, in the part of the language that Anthropic's API accepts."""

from collections.abc import Mapping
from json import dumps
from typing import Any, Final, cast

_AS_IS: Final = frozenset({"$ref", "const", "description", "enum", "required", "title", "type"})
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_MANY: Final = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_NAMED: Final = ("$defs", "definitions", "properties")


def accepted(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with objects closed. Keywords that the API refuses, such as ``minimum``, are put into the description,
    where the model reads them."""
    found: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _NAMED and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            found[name] = {each: _inner(inside) for each, inside in named.items()}
        elif name in _MANY and isinstance(value, list):
            found[_MANY[name]] = [_inner(inside) for inside in cast("list[Any]", value)]
        elif name == "items":
            found[name] = _inner(value)
        elif name in _AS_IS or (name == "format" and value in _FORMATS) or (name == "minItems" and value in (0, 1)):
            found[name] = value
        elif name not in ("$schema", "$id", "additionalProperties"):
            rest[name] = value
    if found.get("type") == "object" or "properties" in found:
        found["additionalProperties"] = False
    if rest and "$ref" not in found:
        words = dumps(rest, ensure_ascii=False, default=str)
        found["description"] = f"{found['description']}\n\n{words}" if found.get("description") else words
    return found


def _inner(schema: Any) -> Any:
    return accepted(cast("Mapping[str, Any]", schema)) if isinstance(schema, Mapping) else schema

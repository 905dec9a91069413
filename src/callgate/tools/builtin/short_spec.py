"""The short definition of a tool, for a model with a small context window."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from callgate.words.model import ToolSpec

_LEFT_OUT = frozenset(("anyOf", "default", "minimum", "maximum", "minLength"))


def short_spec(spec: ToolSpec, parameters: Collection[str]) -> ToolSpec:
    """Return the definition with only the first sentence of the description and only these parameters. The tool
    still validates a call with its whole schema."""
    known: Mapping[str, Mapping[str, Any]] = spec.parameters["properties"]
    shown = {
        "type": "object",
        "properties": {name: _without_limits(known[name]) for name in parameters},
        "required": [name for name in parameters if known[name].get("default") is None],
        "additionalProperties": False,
    }
    first = re.split(r"(?<=\.)\s", spec.description, maxsplit=1)[0]
    return replace(spec, description=_without_examples(first), parameters=shown)


def _without_examples(text: str) -> str:
    """Return the text without examples, which a small model would use as values."""
    return text.partition("such as")[0].rstrip(" ,;:.")


def _without_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without limits and defaults, and without ``null``."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    kept["description"] = _without_examples(schema.get("description", ""))
    return {**(kinds[0] if kinds else {}), **kept}

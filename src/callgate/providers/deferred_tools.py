"""Converts tool definitions in results of ``SearchExtraTools`` to definitions of the provider's API, so that the
model can call deferred tools by their names."""

from collections.abc import Iterable
from json import loads
from typing import Any

from callgate.words.messages import Content, Message, Resource, ResultPart
from callgate.words.model import ToolSpec
from callgate.words.tool_search import DEFINITION, SEARCH


def defined_in(result: ResultPart) -> tuple[list[ToolSpec], list[Content]]:
    """Return the tools that a search result defines, and the remaining content of the result."""
    specs, rest = dict[str, ToolSpec](), list[Content]()
    for content in result.content:
        spec = _read(content) if result.name == SEARCH and not result.is_error else None
        if spec is None or spec.name in specs:
            rest.append(content)
        else:
            specs[spec.name] = spec
    return [*specs.values()], rest


def defined_before(messages: Iterable[Message]) -> list[ToolSpec]:
    """Return the tools that all searches in the messages have found. If a tool was found twice, its last definition
    is returned."""
    found: dict[str, ToolSpec] = {}
    for message in messages:
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ResultPart) and part.name == SEARCH:
                    found.update((spec.name, spec) for spec in defined_in(part)[0])
    return [*found.values()]


def _read(content: Content) -> ToolSpec | None:
    if not isinstance(content, Resource) or not content.uri.startswith(DEFINITION) or content.text is None:
        return None
    try:
        data: Any = loads(content.text)
        name, description, schema = data["name"], data["description"], {**data["input_schema"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    whole = content.uri == f"{DEFINITION}{name}" and isinstance(description, str)
    return ToolSpec(str(name), description, schema) if whole else None

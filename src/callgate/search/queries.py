"""Queries of ``SearchExtraTools``, and the definitions that answer them."""

from collections.abc import Sequence
from json import dumps

from callgate.core.ports import Tool
from callgate.words.messages import Content, Resource, Text
from callgate.words.model import ToolSpec
from callgate.words.noun import noun
from callgate.words.tool_search import DEFINITION, EXECUTE

MOST_CHARS = 40_000
"""Characters of all definitions of an answer."""
_DESCRIPTION = 4_000


@noun
class Query:
    """``names`` are asked for exactly; otherwise ``words`` are searched for, and every tool has the ``required``."""

    names: tuple[str, ...] = ()
    words: str = ""
    required: tuple[str, ...] = ()


def read_query(text: str) -> Query:
    kind, colon, rest = text.strip().partition(":")
    if colon and kind.lower() == "select":
        return Query(names=tuple(dict.fromkeys(filter(None, map(str.strip, rest.split(","))))))
    if colon and kind.lower() == "discover":
        return Query(words=rest.strip())
    words = text.split()
    required = tuple(word[1:].removeprefix("mcp__") for word in words if word.startswith("+") and len(word) > 1)
    return Query(words=" ".join(word.removeprefix("+") for word in words), required=required)


def definitions(found: Sequence[Tool]) -> list[Content]:
    """Name, description and JSON Schema of each tool, as long as there is room; the others by name."""
    shown, left = list[Content](), MOST_CHARS
    late: list[str] = []
    for each in found:
        text = definition(each.spec)
        if len(text) > left and shown:
            late.append(each.spec.name)
            continue
        left -= len(text)
        shown.append(Resource(f"{DEFINITION}{each.spec.name}", text, media_type="application/json"))
    if late:
        shown.append(Text(f"Found too, and too long to be shown here: {', '.join(late)}. select:NAME shows one."))
    return shown


def definition(spec: ToolSpec) -> str:
    """As JSON, always whole: a schema that is too long is left out, and a wrong call is told what is wanted."""
    described = spec.description
    if len(described) > _DESCRIPTION:
        described = f"{described[:_DESCRIPTION]} […]"
    whole = {"name": spec.name, "description": described, "input_schema": spec.parameters}
    text = _json(whole)
    if len(text) <= MOST_CHARS:
        return text
    return _json(
        {**whole, "input_schema": {"type": "object", "description": "Its parameters are too long to be shown."}}
    )


def _json(value: object) -> str:
    return dumps(value, ensure_ascii=False, default=dict, separators=(",", ":"))


def loaded_already(names: Sequence[str]) -> str:
    verb, them = ("is", "it by its") if len(names) == 1 else ("are", "them by their")
    return f"{', '.join(names)} {verb} loaded already: call {them} own name, without {EXECUTE}."

"""Computes the weighted terms of a tool, by which the tool is found."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

from callgate.search.query import terms
from callgate.words.noun import nothing, noun

# Weight and typical number of terms. Lengths are measured against what is typical, not against the average of an index:
# so the terms of a tool weigh the same in every index, and none changes when another tool is added or removed.
FIELDS = {
    "name": (2.0, 4),
    "server": (2.0, 2),
    "server_description": (1.0, 20),
    "description": (1.0, 20),
    "parameter_names": (0.6, 6),
    "parameter_descriptions": (0.6, 40),
    "parameter_values": (0.8, 10),
}
# Bonus for a name all of whose words are in the query.
COVERED_NAME = 1.8
# The share of a field's weight that its length divides, and the sum at which a term has half its full weight (BM25F).
LENGTH = 0.75
SATURATION = 1.2
# The least weight of a term: many words found once are worth more than one word found often.
PRESENT = 0.1

# Characters of a field that are indexed.
READ = 4_000


@noun
class ToolText:
    """The texts of a tool by which the tool is found.

    parameters  the JSON Schema of its arguments
    hint        more words by which the tool is found
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=nothing)
    server: str = ""
    server_description: str = ""
    hint: str = ""


def own_name(text: ToolText) -> tuple[str, str]:
    """Return the server and the name of a tool, with ``mcp__server__tool`` split into both."""
    prefix, _, rest = text.name.partition("__")
    server, _, name = rest.partition("__")
    return (text.server or server, name) if prefix == "mcp" and name else (text.server, text.name)


def weigh_terms(text: ToolText) -> dict[str, float]:
    """Return the terms of a tool, each with its weight from 0 to 1."""
    server, name = own_name(text)
    names, descriptions, values = _schema_words(text.parameters)
    summed: dict[str, float] = {}
    for each, said in {
        "name": name,
        "server": server,
        "server_description": text.server_description,
        "description": f"{text.description} {text.hint}",
        "parameter_names": " ".join(names),
        "parameter_descriptions": " ".join(descriptions),
        "parameter_values": " ".join(values),
    }.items():
        weight, typical = FIELDS[each]
        found = terms(said[:READ])
        weight /= 1 - LENGTH + LENGTH * len(found) / typical
        for term, count in Counter(found).items():
            summed[term] = summed.get(term, 0.0) + weight * count
    return {term: PRESENT + (1 - PRESENT) * total / (SATURATION + total) for term, total in summed.items()}


def _schema_words(schema: object) -> tuple[list[str], list[str], list[str]]:
    """Return the parameter names, descriptions and enum values of a JSON Schema, including nested schemas."""
    names, descriptions, values = list[str](), list[str](), list[str]()
    left = [schema]
    while left:
        each = left.pop()
        if isinstance(each, list | tuple):
            left.extend(cast("list[Any]", each))
        if not isinstance(each, Mapping):
            continue
        part = cast("Mapping[Any, Any]", each)
        left.extend(part.values())
        if isinstance(named := part.get("properties"), Mapping):
            names.extend(map(str, cast("Mapping[Any, Any]", named)))
        if isinstance(described := part.get("description"), str):
            descriptions.append(described)
        if isinstance(listed := part.get("enum"), list):
            values.extend(value for value in cast("list[Any]", listed) if isinstance(value, str))
    return names, descriptions, values

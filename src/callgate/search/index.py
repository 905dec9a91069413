"""The index of tools: found by the words of their names, servers, descriptions and parameters.

A posting says how much a term says about a tool (BM25F with fixed typical lengths), so it depends on that tool alone:
adding and removing tools touches nothing else, and an index that grew is the same as one built at once.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from heapq import nsmallest
from typing import Any, cast

from callgate.search.tokens import STOP_WORDS, terms
from callgate.words.noun import nothing, noun

# Field: weight, typical number of terms, share of the length that counts.
FIELDS = {
    "name": (3.0, 4, 0.5),
    "server": (1.5, 3, 0.5),
    "description": (1.0, 20, 0.5),
    "parameters": (0.6, 40, 0.5),
}
SATURATION = 1.2
# The bonus for a name all of whose words are in the query.
COVERED_NAME = 2.0


@noun
class ToolText:
    """The texts by which a tool is found."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=nothing)
    server: str = ""
    server_description: str = ""
    hint: str = ""


@noun
class Hit:
    """A tool that was found; a higher score is better."""

    name: str
    score: float


class ToolIndex:
    """Tools by the terms of their texts."""

    def __init__(self) -> None:
        self._texts: dict[str, ToolText] = {}
        self._postings: dict[str, dict[str, tuple[float, float]]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def put(self, text: ToolText) -> None:
        """Adds a tool, or replaces the one of the same name."""
        if self._texts.get(text.name) == text:
            return
        self.drop(text.name)
        self._texts[text.name] = text
        for term, weight in _weights(text).items():
            self._postings.setdefault(term, {})[text.name] = weight

    def drop(self, name: str) -> None:
        """Removes a tool; one that is not there is no error."""
        if (text := self._texts.pop(name, None)) is None:
            return
        for term in _weights(text):
            rest = self._postings[term]
            del rest[name]
            if not rest:
                del self._postings[term]

    def search(self, query: str, k: int = 10, *, required: Sequence[str] = ()) -> list[Hit]:
        """The best tools for a query, best first; each has all of the required terms."""
        needed = set(terms(" ".join(required)))
        wanted = Counter(terms(query))
        chosen = {term: count for term, count in wanted.items() if term not in STOP_WORDS} or wanted
        scores: dict[str, float] = {}
        for term in {*chosen, *needed}:
            found = self._postings.get(term, {})
            rarity = math.log(1 + (len(self) - len(found) + 0.5) / (len(found) + 0.5))
            for name, (weight, share) in found.items():
                scores[name] = scores.get(name, 0.0) + rarity * weight + share
        for term in needed:
            found = self._postings.get(term, {})
            scores = {name: score for name, score in scores.items() if name in found}
        best = nsmallest(k, scores.items(), key=lambda each: (-each[1], each[0]))
        return [Hit(name, score) for name, score in best]


def _weights(text: ToolText) -> dict[str, tuple[float, float]]:
    """The terms of a tool: the weight of each, and its share of the bonus for the name."""
    name = text.name
    if name.startswith("mcp__"):
        name = name.removeprefix("mcp__").partition("__")[2] or name
    fields = {
        "name": terms(name),
        "server": terms(f"{text.server} {text.server_description} {text.name if name != text.name else ''}"),
        "description": terms(f"{text.description} {text.hint}"),
        "parameters": terms(" ".join(_parameters(text.parameters))),
    }
    summed: dict[str, float] = {}
    for each, found in fields.items():
        weight, typical, share = FIELDS[each]
        length = 1 - share + share * len(found) / typical
        for term, count in Counter(found).items():
            summed[term] = summed.get(term, 0.0) + weight * count / length
    named = set(fields["name"])
    return {
        term: (total / (SATURATION + total), COVERED_NAME / len(named) if term in named else 0.0)
        for term, total in summed.items()
    }


def _parameters(schema: Any) -> list[str]:
    """The names and descriptions of the parameters of a JSON schema, nested ones included."""
    found: list[str] = []
    left = [schema]
    while left:
        each = left.pop()
        if isinstance(each, Mapping):
            schema = cast("Mapping[str, Any]", each)
            if isinstance(named := schema.get("properties"), Mapping):
                found.extend(map(str, cast("Mapping[str, Any]", named)))
            if isinstance(described := schema.get("description"), str):
                found.append(described)
            left.extend(schema.values())
        elif isinstance(each, list):
            left.extend(cast("list[Any]", each))
    return found

"""Computes the weighted terms of a query."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise

from callgate.search.search_terms import stem, terms
from callgate.words.noun import noun

FAINT = 0.5
# Numbers, single letters and quoted texts are mostly arguments.
NUMBER = 0.3
QUOTED = 0.5
ALIKE = 0.3
# Sentences with so few characters are not ranked on their own.
_END, _SHORT = re.compile(r"(?<=[.?!;])\s+|(?<=[。？！；])|\n+"), 8
_QUOTED = re.compile(r"\"[^\"]{1,80}\"|“[^”]{1,80}”|(?<!\w)'[^']{1,80}'(?!\w)|`[^`]{1,80}`")


@noun
class _Words:
    stop: frozenset[str]
    faint: frozenset[str]
    alike: Mapping[str, frozenset[str]]


@noun
class Asked:
    """A parsed query.

    weights    the weight of each term, including synonyms
    sentences  the terms of each sentence, sorted
    pairs      pairs of consecutive terms, without stop words and without terms that are not ASCII
    """

    weights: Mapping[str, float]
    sentences: tuple[tuple[str, ...], ...]
    pairs: tuple[tuple[str, str], ...]


def read_words(query: str) -> Asked:
    parts = [(part, terms(part)) for part in _END.split(query)]
    alike = _words().alike
    return Asked(
        _weigh([term for _, found in parts for term in found], query),
        tuple(_with_alike(found, alike) for part, found in parts if len(part) > _SHORT),
        tuple({pair: None for _, found in parts for pair in pairwise(without_stops(found)) if pair[0].isascii()}),
    )


def without_stops(found: list[str]) -> list[str]:
    stop = _words().stop
    return [term for term in found if term not in stop]


def _with_alike(found: list[str], alike: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    return tuple(sorted({*found}.union(*(alike.get(term, ()) for term in found))))


def sentences(query: str) -> list[str]:
    return [each for each in _END.split(query) if len(each) > _SHORT] or [query]


def _weigh(said: list[str], query: str) -> dict[str, float]:
    words, found = _words(), dict.fromkeys(said, 1.0)
    unquoted = _QUOTED.sub(" ", query)
    outside = found if unquoted == query else set(terms(unquoted))
    for term in found:
        if term in words.stop:
            found[term] = 0.0
        elif term in words.faint:
            found[term] = FAINT
        elif term.isascii() and (len(term) == 1 or not term.isalpha()):
            found[term] = NUMBER
        if term not in outside:
            found[term] *= QUOTED
    if not any(found.values()):
        return dict.fromkeys(found, 1.0)
    weights = {term: weight for term, weight in found.items() if weight}
    for term, weight in [*weights.items()]:
        for other in words.alike.get(term, ()):
            if other not in found:
                weights[other] = max(weights.get(other, 0.0), ALIKE * weight)
    return weights


@cache
def _words() -> _Words:
    read = tomllib.loads(files("callgate.search").joinpath("words.toml").read_text(encoding="utf-8"))
    alike: dict[str, frozenset[str]] = {}
    for line in read["alike"].strip().splitlines():
        group = frozenset(map(stem, line.split()))
        for word in group:
            alike[word] = alike.get(word, frozenset()) | group
    return _Words(frozenset(map(stem, read["stop"].split())), frozenset(map(stem, read["faint"].split())), alike)

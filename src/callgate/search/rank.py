"""Ranks tools by the sum of their term weights, and reorders the result for queries with several sentences."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from heapq import nlargest
from importlib.util import find_spec
from typing import Any

# With this many tools numpy is used if it is installed.
LARGE = 1000
# Rare terms come first. Once they have found this many tools, common terms add to the scores of those alone.
ENOUGH = 1000
# A term of so many tools is common: its array is made in advance.
COMMON = 50
# Terms near a word: letters of a part, letters by which lengths differ, how much alike, and how many of each kind.
_PART, _LETTERS, _LIKENESS, _NEAREST = 4, 2, 0.8, 3


class Postings:
    """The postings of the index: for each term the numbers of the tools that contain it, with the weight of the term in
    each tool."""

    def __init__(self) -> None:
        self.by_term: dict[str, dict[int, float]] = {}
        self._arrays: dict[str, tuple[Any, Any]] = {}
        self.size = 0
        self._free: list[int] = []

    def __len__(self) -> int:
        return self.size - len(self._free)

    def add(self, weights: Mapping[str, float]) -> int:
        if self._free:
            number = self._free.pop()
        else:
            number, self.size = self.size, self.size + 1
        for term, weight in weights.items():
            self.by_term.setdefault(term, {})[number] = weight
            self._arrays.pop(term, None)
        return number

    def remove(self, number: int, terms: Iterable[str]) -> None:
        self._free.append(number)
        for term in terms:
            found = self.by_term[term]
            del found[number]
            self._arrays.pop(term, None)
            if not found:
                del self.by_term[term]

    def arrays(self, term: str) -> tuple[Any, Any]:
        """Return the numbers of the tools that contain a term, and the weights, as numpy arrays. Arrays of common terms
        are made at the first query, other arrays when they are needed."""
        if not self._arrays:
            for each, found in self.by_term.items():
                if len(found) >= COMMON:
                    self._arrays[each] = _arrays(found)
        if (pair := self._arrays.get(term)) is None:
            pair = self._arrays[term] = _arrays(self.by_term[term])
        return pair

    def having_all(self, terms: Iterable[str]) -> set[int]:
        found = sorted((self.by_term.get(term, {}) for term in terms), key=len)
        return set(found[0]).intersection(*found[1:]) if found else set()

    def rarest_first(self, weights: Mapping[str, float]) -> list[tuple[str, float]]:
        """Return the query terms that occur in any tool, each with a weight, rarest first. The weight grows with rarity
        and is never zero."""
        rated: list[tuple[float, str]] = []
        for term, weight in weights.items():
            if count := len(self.by_term.get(term, ())):
                rated.append((-weight * math.log(1 + (len(self) - count + 0.5) / (count + 0.5)), term))
        return [(term, -weight) for weight, term in sorted(rated)]

    def near(self, word: str) -> list[str]:
        """Return the indexed terms most similar to a word that is not indexed: with a common beginning or end, or with
        one or two letters different."""
        from difflib import get_close_matches  # only for a query that finds nothing

        whole, alike = list[str](), list[str]()
        for term in self.by_term:
            longer, shorter = (term, word) if len(term) > len(word) else (word, term)
            if len(shorter) >= _PART and (longer.startswith(shorter) or longer.endswith(shorter)):
                whole.append(term)
            elif term[0] == word[0] and len(longer) - len(shorter) <= _LETTERS and len(shorter) > _LETTERS:
                alike.append(term)
        whole.sort(key=lambda term: (abs(len(term) - len(word)), term))
        return [*whole[:_NEAREST], *get_close_matches(word, alike, _NEAREST, _LIKENESS)]


def best(
    postings: Postings, rated: Sequence[tuple[str, float]], allowed: set[int] | None, count: int
) -> dict[int, float]:
    """Return the scores of the ``count`` tools with the highest scores, and of further tools with the same score as the
    last of them. ``allowed`` limits the search to these tools."""
    if len(postings) >= LARGE and _has_numpy():
        return _best_by_numpy(postings, rated, allowed, count)
    scores = {} if allowed is None else dict.fromkeys(allowed, 0.0)
    for term, weight in rated:
        found = postings.by_term[term]
        if allowed is None and len(scores) < ENOUGH:
            for number, impact in found.items():
                scores[number] = scores.get(number, 0.0) + weight * impact
        elif len(found) < len(scores):
            for number, impact in found.items():
                if number in scores:
                    scores[number] += weight * impact
        else:
            for number in scores:
                if number in found:
                    scores[number] += weight * found[number]
    if len(scores) <= count:
        return scores
    last = nlargest(count, scores.values())[-1]
    return {number: score for number, score in scores.items() if score >= last}


@cache
def _has_numpy() -> bool:
    return find_spec("numpy") is not None


def _arrays(found: Mapping[int, float]) -> tuple[Any, Any]:
    import numpy

    return numpy.fromiter(found, numpy.intp, len(found)), numpy.fromiter(found.values(), float, len(found))


def _best_by_numpy(
    postings: Postings, rated: Sequence[tuple[str, float]], allowed: set[int] | None, count: int
) -> dict[int, float]:
    """Compute the scores with numpy. The sums are made in the same order as without numpy, so that the scores are
    identical."""
    import numpy

    scores = numpy.zeros(postings.size)
    seen = numpy.zeros(postings.size, dtype=bool)
    if allowed is not None:
        seen[list(allowed)] = True
    for term, weight in rated:
        numbers, impacts = postings.arrays(term)
        if allowed is None and numpy.count_nonzero(seen) < ENOUGH:
            seen[numbers] = True
        scores[numbers] += weight * impacts
    chosen = seen.nonzero()[0]
    if len(chosen) > count:
        values = scores[chosen]
        chosen = chosen[values >= numpy.partition(values, -count)[-count]]
    return dict(zip(chosen.tolist(), scores[chosen].tolist(), strict=True))


# The number of best tools that are reordered.
REORDERED = 25
# The share that a tool loses if tools before it have all of its terms of the query.
ANSWERED = 0.25


def spread(
    order: Sequence[int], scores: Mapping[int, float], terms_of: Callable[[int], Mapping[str, float]], k: int
) -> dict[int, float]:
    """Return the first ``k`` tools in an order that covers more sentences of the query. Their scores decrease.

    order     the tools by their scores
    terms_of  returns the query terms of a tool, each with its share of the tool's score
    """
    first, made = [*order[:REORDERED]], dict[int, float]()
    terms = {number: terms_of(number) for number in first}
    sums = {number: sum(found.values()) or 1.0 for number, found in terms.items()}
    answered = dict.fromkeys(first, 0.0)
    seen: dict[str, float] = {}

    def score(number: int) -> float:
        return scores[number] * (1 - ANSWERED * min(answered[number] / sums[number], 1.0))

    while first and len(made) < k:
        chosen = max(first, key=score)  # of equal ones the first
        made[chosen] = score(chosen)
        first.remove(chosen)
        for term, part in terms[chosen].items():
            before = seen.get(term, 0.0)
            if part > before:
                seen[term] = part
                for number in first:
                    if own := terms[number].get(term):
                        answered[number] += max(0.0, min(own, part) - before)
    return made | {number: scores[number] * (1 - ANSWERED) for number in order[REORDERED:k]}

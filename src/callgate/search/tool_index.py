"""The index of tools by the terms of their names, servers, descriptions and parameters.

The weight of a term in a tool depends only on the tool. So adding or removing a tool changes no other tool, and an
updated index equals a newly built index. An index must be used by one thread at a time.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest

from callgate.search.fields import COVERED_NAME, READ, ToolText, own_name, weigh_terms
from callgate.search.query import FAINT, Asked, read_words, terms, without_stops
from callgate.search.vectors import ToolVectors
from callgate.words.noun import noun

# The best by the sum of their terms are looked at more closely.
POOL = 50
# Those that are as good as the last of them come in addition, up to so many in all, in the order of their names.
MOST_EQUAL = 200
# The share that a tool gets of the score of the best tool of its server.
SIBLINGS = 0.5
# The share that is added of the score of the best sentence of the query, and of words that are neighbours both in the
# query and in the tool.
SENTENCE = 0.5
NEIGHBOURS = 0.2
# A tool with less than this share of the best score is no match. In the sets for development this changes no figure.
WORST = 0.1
# Words of a query that finds nothing for which near ones are looked for: each takes a look at every term.
MOST_NEAR = 3


@noun
class Hit:
    """A tool found by a search, with its score; a higher score is better."""

    name: str
    score: float


@noun
class _Entry:
    text: ToolText
    server: str
    words: frozenset[str]
    terms: tuple[str, ...]
    said: str


class ToolIndex:
    """The index of tools by their terms, and by word vectors if ``vectors`` is passed."""

    def __init__(self, vectors: ToolVectors | None = None) -> None:
        self._numbers: dict[str, int] = {}
        self._entries: dict[int, _Entry] = {}
        self._postings = Postings()
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def put(self, text: ToolText) -> None:
        number = self._numbers.get(text.name)
        if number is not None and self._entries[number].text == text:
            return
        self.drop(text.name)
        weights = weigh_terms(text)
        number = self._numbers[text.name] = self._postings.add(weights)
        server, name = own_name(text)
        words, described = terms(name), terms(text.description[:READ])
        said = f" {' '.join(without_stops(words))} . {' '.join(without_stops(described))} "
        self._entries[number] = _Entry(text, server, frozenset(words), tuple(weights), said)
        if self._vectors:
            self._vectors.put(number, text)

    def drop(self, name: str) -> None:
        if (number := self._numbers.pop(name, None)) is None:
            return
        self._postings.remove(number, self._entries.pop(number).terms)
        if self._vectors:
            self._vectors.drop(number)

    def search(self, query: str, k: int = 10, *, required: Sequence[str] = (), by_meaning: bool = True) -> list[Hit]:
        """Return the tools that match a query best, in order. Only tools that contain all ``required`` terms are
        returned."""
        needed = dict.fromkeys(terms(" ".join(required)), 1.0)
        allowed = self._postings.having_all(needed) if needed else None
        asked = read_words(query)
        weights = {**asked.weights, **needed}
        if not needed and self._postings.by_term.keys().isdisjoint(weights):
            weights = self._near(asked)
        rarest = self._postings.rarest_first(weights)
        pool = self._fewer(best(self._postings, rarest, allowed, max(k, POOL)), max(k, MOST_EQUAL))
        self._read_order(pool, asked, dict(rarest))
        rated = self._rated(pool, frozenset(weights))
        if self._vectors and by_meaning and asked.weights:
            self._vectors.mix(query, rated, allowed if allowed is not None else self._entries)
        entries = self._entries
        order = sorted(rated, key=lambda number: (-rated[number], entries[number].text.name))
        if len(asked.sentences) > 1:
            rated = spread(order, rated, self._terms_of(rarest), k)
            order = [*rated]
        least = WORST * rated[order[0]] if order and not needed else 0.0
        return [Hit(entries[number].text.name, rated[number]) for number in order[:k] if rated[number] >= least]

    def _terms_of(self, rarest: Sequence[tuple[str, float]]) -> Callable[[int], Mapping[str, float]]:
        """Return a function that returns the query terms of a tool, each with its share of the tool's score."""
        found = [(term, weight, self._postings.by_term[term]) for term, weight in rarest]
        return lambda number: {term: weight * has[number] for term, weight, has in found if number in has}

    def _near(self, asked: Asked) -> dict[str, float]:
        """Return terms similar to words of a short query that are not indexed: misspelled or inflected words, and parts
        of compounds."""
        words = [term for term, weight in asked.weights.items() if weight >= FAINT]
        return {term: 1.0 for word in words if len(words) <= MOST_NEAR for term in self._postings.near(word)}

    def _fewer(self, pool: dict[int, float], most: int) -> dict[int, float]:
        """Return the tools with the highest scores, at most ``most``, because later steps look up each query word in
        each tool."""
        if len(pool) <= most:
            return pool
        entries = self._entries
        return dict(sorted(pool.items(), key=lambda each: (-each[1], entries[each[0]].text.name))[:most])

    def _read_order(self, pool: dict[int, float], asked: Asked, rare: Mapping[str, float]) -> None:
        """Add score bonuses for word order: for the best matching sentence of the query, and for consecutive words."""
        fits = self._best_sentence(pool, asked.sentences, rare) if len(asked.sentences) > 1 else pool
        for number, fit in fits.items():
            pool[number] += SENTENCE * fit
        by_term = self._postings.by_term
        for one, two in asked.pairs:
            if one in rare and two in rare:
                phrase, bonus = f" {one} {two} ", NEIGHBOURS * (rare[one] + rare[two])
                for number in pool.keys() & by_term[one].keys() & by_term[two].keys():
                    if phrase in self._entries[number].said:
                        pool[number] += bonus

    def _best_sentence(
        self, pool: Mapping[int, float], sentences: Sequence[Sequence[str]], rare: Mapping[str, float]
    ) -> dict[int, float]:
        fits = dict.fromkeys(pool, 0.0)
        for sentence in sentences:
            scores: dict[int, float] = {}
            for term in sentence:
                if weight := rare.get(term):
                    found = self._postings.by_term[term]
                    for number in found.keys() & pool.keys():
                        scores[number] = scores.get(number, 0.0) + weight * found[number]
            for number, score in scores.items():
                if score > fits[number]:
                    fits[number] = score
        return fits

    def _rated(self, pool: Mapping[int, float], asked: frozenset[str]) -> dict[int, float]:
        """Return the scores with bonuses for the tool's name and for other matching tools of its server."""
        rated: dict[int, float] = {}
        servers: dict[str, float] = {}
        for number, score in pool.items():
            entry = self._entries[number]
            if covered := len(entry.words & asked):
                share = covered / len(entry.words)
                score += COVERED_NAME * share * share
            rated[number] = score
            if (server := entry.server) and score > servers.get(server, 0.0):
                servers[server] = score
        for number, score in rated.items() if servers else ():
            if server := self._entries[number].server:
                rated[number] = score + SIBLINGS * servers.get(server, 0.0)
        return rated


# Rare terms come first. Once they have found this many tools, common terms add to the scores of those alone.
ENOUGH = 1000
# Terms near a word: letters of a part, letters by which lengths differ, how much alike, and how many of each kind.
_PART, _LETTERS, _LIKENESS, _NEAREST = 4, 2, 0.8, 3


class Postings:
    """The postings of the index: for each term the numbers of the tools that contain it, with the weight of the term in
    each tool."""

    def __init__(self) -> None:
        self.by_term: dict[str, dict[int, float]] = {}
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
        return number

    def remove(self, number: int, terms: Iterable[str]) -> None:
        self._free.append(number)
        for term in terms:
            found = self.by_term[term]
            del found[number]
            if not found:
                del self.by_term[term]

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

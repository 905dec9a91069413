"""The order of the best tools for a query that asks for several things: a tool that answers what the tools before it
have answered already counts less."""

from collections.abc import Callable, Mapping, Sequence

# The best are put in order so; the others follow.
REORDERED = 25
# The share that a tool loses if tools before it have all of its terms of the query.
ANSWERED = 0.25


def spread(
    order: Sequence[int], scores: Mapping[int, float], terms_of: Callable[[int], Mapping[str, float]], k: int
) -> dict[int, float]:
    """The first ``k`` in the new order, with new scores that fall. ``order`` is that of the scores; ``terms_of`` gives
    the terms of the query that a tool has, with their part in its score."""
    first, made = [*order[:REORDERED]], dict[int, float]()
    terms = {number: terms_of(number) for number in first}
    sums = {number: sum(found.values()) or 1.0 for number, found in terms.items()}
    answered = dict.fromkeys(first, 0.0)
    seen: dict[str, float] = {}

    def score(number: int) -> float:
        return scores[number] * (1 - ANSWERED * min(answered[number] / sums[number], 1.0))

    while first and len(made) < k:
        chosen = max(first, key=score)  # of equals the one that was before
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

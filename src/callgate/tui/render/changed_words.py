"""Finds the changed words of changed lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MOST_LINES, MOST_WORDS, MOST_REPEATS = 40, 200, 30
"""The maximum number of neighbouring changed lines, of words in a line, and of the same word in a line, that are
compared. The time of a comparison grows with the square of the repetitions."""
LEAST_ALIKE = 0.4
"""The minimum share of equal words in two lines that are compared as versions of one line."""
MOST_MARKED = 0.7
"""The maximum share of marked letters in a line. A line with more changes has no marks."""

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)

Range = tuple[int, int]
Marks = list[Sequence[Range]]


def changed_words(removed: Sequence[str], added: Sequence[str]) -> tuple[Marks, Marks]:
    """Return the ranges of changed characters in each removed line and in each added line. A line without a similar
    line on the other side has no ranges."""
    gone: Marks = [()] * len(removed)
    new: Marks = [()] * len(added)
    before, after = [*map(_WORDS.findall, removed)], [*map(_WORDS.findall, added)]
    for at, to in _similar_lines(before, after):
        gone[at], new[to] = _changed(before[at], after[to])
    return gone, new


def changed_middles(old: str, new: str) -> tuple[Sequence[Range], Sequence[Range]]:
    """Return the ranges of two lines between their common beginning and end, or nothing if most of a line is
    changed. The run time is linear in the length of the lines."""
    begin = _equal(old, new)
    end = min(_equal(old[::-1], new[::-1]), min(len(old), len(new)) - begin)
    if max(len(old), len(new)) - begin - end > MOST_MARKED * min(len(old.strip()), len(new.strip())):
        return (), ()
    gone, added = [[(begin, len(line) - end)] if begin < len(line) - end else [] for line in (old, new)]
    return gone, added


def _equal(one: str, other: str) -> int:
    """Return the number of equal characters at the beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _similar_lines(before: Sequence[list[str]], after: Sequence[list[str]]) -> Iterator[Range]:
    """Yield the pairs of similar lines, in order, with the highest total similarity."""
    olds, news = [*map(_counted, before)], [*map(_counted, after)]
    if max(len(before), len(after)) > MOST_LINES:
        yield from ((at, at) for at, two in enumerate(zip(olds, news, strict=False)) if _alike(*two))
        return
    alike = [[_alike(old, new) for new in news] for old in olds]
    best = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for at in reversed(range(len(before))):
        for to in reversed(range(len(after))):
            both = alike[at][to] and alike[at][to] + best[at + 1][to + 1]
            best[at][to] = max(both, best[at + 1][to], best[at][to + 1])
    at = to = 0
    while at < len(before) and to < len(after):
        if alike[at][to] and best[at][to] == alike[at][to] + best[at + 1][to + 1]:
            yield at, to
            at, to = at + 1, to + 1
        elif best[at][to] == best[at + 1][to]:
            at += 1
        else:
            to += 1


def _counted(words: list[str]) -> Counter[str]:
    """Return the number of occurrences of each word in a line. For a line that is not compared, return an empty
    counter."""
    if len(words) > MOST_WORDS:
        return Counter()
    found = Counter(word for word in words if not word.isspace())
    return found if max(found.values(), default=0) <= MOST_REPEATS else Counter()


def _alike(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of equal words, or 0.0 for lines that are not similar."""
    share = 2 * (old & new).total() / max(old.total() + new.total(), 1)
    return share if share >= LEAST_ALIKE else 0.0


def _changed(before: list[str], after: list[str]) -> tuple[Sequence[Range], Sequence[Range]]:
    found: tuple[list[Range], list[Range]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            _add(found[0], before, a, b)
            _add(found[1], after, c, d)
    return _marked(found[0], before), _marked(found[1], after)


def _add(ranges: list[Range], words: list[str], begin: int, end: int) -> None:
    """Add a range of words. Ranges with only blanks between them become one range."""
    if begin == end:
        return
    if ranges and "".join(words[ranges[-1][1] : begin]).isspace():
        begin = ranges.pop()[0]
    ranges.append((begin, end))


def _marked(ranges: Sequence[Range], words: list[str]) -> Sequence[Range]:
    """Return ranges of words as ranges of characters, or nothing if most of the line is changed."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    letters = sum(not sign.isspace() for begin, end in ranges for sign in "".join(words[begin:end]))
    if letters > MOST_MARKED * sum(not sign.isspace() for sign in "".join(words)):
        return ()
    return [(ends[begin], ends[end]) for begin, end in ranges]

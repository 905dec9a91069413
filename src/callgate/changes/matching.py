"""Finds the common lines of two texts, for diffs: exactly if that is fast enough, otherwise by unique lines.

Lines that occur on only one side are removed first, which loses nothing and makes most inputs small. A shortest edit
script is then searched (Myers' greedy algorithm). If that would take too long, lines that occur once on each side split
the texts into pieces; a piece that is still too large and has no such line is treated as different.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

Block = tuple[int, int, int]
"""A block of equal lines: start before, start after, length."""
_Chain: TypeAlias = "tuple[_Chain, int, int, int] | None"
"""The blocks on the path to a point, as a linked list with the last block first."""
_Series: TypeAlias = "tuple[_Series, int, int] | None"
"""Landmarks in rising order, as a linked list with the last landmark first."""

EFFORT = 150_000
"""The most steps of a search, about a twentieth of a second."""
_LEAST = 64


def matches(before: Sequence[Hashable], after: Sequence[Hashable], *, effort: int = EFFORT) -> list[Block]:
    """Return the blocks of lines that are equal in both texts, in order. Adjacent blocks are joined. The list ends with
    an empty block at the end of both texts.

    The time is bounded by the lengths and ``effort``. The same input always gives the same blocks.
    """
    numbers: dict[Hashable, int] = {}
    left = [numbers.setdefault(line, len(numbers)) for line in before]
    right = [numbers.setdefault(line, len(numbers)) for line in after]
    head, tail = _ends(left, right)
    blocks = [(0, 0, head), *_between(left, right, head, tail, effort), (len(left) - tail, len(right) - tail, tail)]
    return [*_joined(blocks), (len(left), len(right), 0)]


def _ends(left: Sequence[int], right: Sequence[int]) -> tuple[int, int]:
    """Return the number of equal lines at the beginning, and the number of equal lines at the end of the remaining
    lines."""
    short = min(len(left), len(right))
    head = next((at for at in range(short) if left[at] != right[at]), short)
    rest = short - head
    return head, next((at for at in range(rest) if left[-1 - at] != right[-1 - at]), rest)


def _between(left: list[int], right: list[int], head: int, tail: int, effort: int) -> Iterator[Block]:
    """Yield the blocks of equal lines between the equal beginning and the equal end."""
    one, other = range(head, len(left) - tail), range(head, len(right) - tail)
    shared = {left[at] for at in one} & {right[at] for at in other}
    ours = [at for at in one if left[at] in shared]
    theirs = [at for at in other if right[at] in shared]
    for start, begin, length in _search([left[at] for at in ours], [right[at] for at in theirs], effort):
        yield from ((ours[start + step], theirs[begin + step], 1) for step in range(length))


def _joined(blocks: Sequence[Block]) -> Iterator[Block]:
    start, begin, length = 0, 0, 0
    for at, to, more in blocks:
        if (at, to) == (start + length, begin + length):
            length += more
            continue
        if length:
            yield start, begin, length
        start, begin, length = at, to, more
    if length:
        yield start, begin, length


def _search(left: list[int], right: list[int], effort: int) -> Iterator[Block]:
    head, tail = _ends(left, right)
    to, until = len(left) - tail, len(right) - tail
    yield 0, 0, head
    ours, theirs = left[head:to], right[head:until]
    if ours and theirs and effort >= _LEAST:
        exact = _shortest(ours, theirs, effort)
        found = _by_landmarks(ours, theirs, effort // 2) if exact is None else exact
        yield from ((start + head, begin + head, length) for start, begin, length in found)
    yield to, until, tail


def _shortest(left: list[int], right: list[int], effort: int) -> list[Block] | None:
    """Return the blocks of a shortest edit script, or None if the search takes more steps than ``effort``."""
    many, others = len(left), len(right)
    # furthest[k]: how far down ``left`` the best path on diagonal k has come; a negative k counts from the end.
    furthest = [0] * (2 * min(many + others, effort) + 3)
    chains: list[_Chain] = [None] * len(furthest)
    spent = 0
    for edits in range(many + others + 1):
        for k in range(2 * max(0, edits - others) - edits, edits - 2 * max(0, edits - many) + 1, 2):
            if k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1]):
                start, chain = furthest[k + 1], chains[k + 1]
            else:
                start, chain = furthest[k - 1] + 1, chains[k - 1]
            at, to = start, start - k
            while at < many and to < others and left[at] == right[to]:
                at += 1
                to += 1
            if at > start:
                chain = (chain, start, start - k, at - start)
            furthest[k], chains[k] = at, chain
            if at >= many and to >= others:
                return _unchained(chain)
            spent += 1 + at - start
        if spent > effort:
            return None
    raise AssertionError("a path always ends")


def _unchained(chain: _Chain) -> list[Block]:
    blocks: list[Block] = []
    while chain is not None:
        chain, start, begin, length = chain
        blocks.append((start, begin, length))
    return blocks[::-1]


def _by_landmarks(left: list[int], right: list[int], effort: int) -> Iterator[Block]:
    marks = _landmarks(left, right)
    if not marks:
        return
    share = effort // (len(marks) + 1)
    start = begin = 0
    for at, to in [*marks, (len(left), len(right))]:
        for one, other, length in _search(left[start:at], right[begin:to], share):
            yield start + one, begin + other, length
        if at < len(left):
            yield at, to, 1
        start, begin = at + 1, to + 1


def _landmarks(left: list[int], right: list[int]) -> list[tuple[int, int]]:
    """Return the longest sequence of lines that occur once on each side and are in the same order on both sides."""
    here, there = Counter(left), Counter(right)
    where = {line: to for to, line in enumerate(right) if there[line] == 1 and here[line] == 1}
    lows: list[int] = []  # the lowest end of a rising series of each length
    tops: list[_Series] = []
    for at, line in enumerate(left):
        if line in where:
            to = where[line]
            length = bisect_left(lows, to)
            series = (tops[length - 1] if length else None, at, to)
            if length == len(lows):
                lows.append(to)
                tops.append(series)
            else:
                lows[length], tops[length] = to, series
    found: list[tuple[int, int]] = []
    series = tops[-1] if tops else None
    while series is not None:
        series, at, to = series
        found.append((at, to))
    return found[::-1]

"""Aligns two lists of lines as ``git`` does it, for merges.

Where lines repeat, many alignments are equally short, and a merge can depend on which one is taken. People know git's
outcome, so the choices that decide it are the same here: which lines are left out of the search, which of two equal
steps is taken, and where a change that could lie in several places is put.

The search is Myers' O(ND) from both corners in linear space ("An O(ND) Difference Algorithm and Its Variations", 1986).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

from callgate.words.noun import noun

PATIENCE = 256
"""Rounds after which a search no longer looks for the shortest way and goes on from the furthest point it has reached:
work grows with the lines and not with their square."""
MANY = 65_533
"""From so many lines in the search on (of both lists together) it is given up instead: going on would take minutes, and
git takes other shortcuts there."""
WINDOW = 100
"""The number of neighbours that a frequent line is compared with."""

Lines = list[int]
"""Each line as a number; equal lines have equal numbers."""


@noun
class Hunk:
    """The old lines ``[start, end)`` gave way to others; ``growth`` is how many more those are."""

    start: int
    end: int
    growth: int


def hunks(old: Lines, new: Lines) -> list[Hunk] | None:
    """The changes that make ``new`` of ``old``, in order; between two of them at least one line is common. None: there
    are ``MANY`` lines, and the lists are too far apart."""
    head = _common_head(old, new)
    tail = _common_head(reversed(old[head:]), reversed(new[head:]))
    worth_old = _worth_aligning(old, range(head, len(old) - tail), Counter(new))
    worth_new = _worth_aligning(new, range(head, len(new) - tail), Counter(old))
    runs = _runs([old[at] for at in worth_old], [new[at] for at in worth_new])
    if runs is None:
        return None
    # The positions of common lines, with a stop before the first line and one after the last.
    kept_old, kept_new = [-1, *range(head)], [-1, *range(head)]
    for i, j, length in sorted(runs):
        kept_old += worth_old[i : i + length]
        kept_new += worth_new[j : j + length]
    kept_old += range(len(old) - tail, len(old) + 1)
    kept_new += range(len(new) - tail, len(new) + 1)
    _settle(old, kept_old, kept_new)
    _settle(new, kept_new, kept_old)
    return [
        Hunk(old_from + 1, old_to, (new_to - new_from) - (old_to - old_from))
        for (old_from, old_to), (new_from, new_to) in zip(pairwise(kept_old), pairwise(kept_new), strict=True)
        if old_to - old_from > 1 or new_to - new_from > 1
    ]


def _common_head(one: Iterable[int], other: Iterable[int]) -> int:
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


def _worth_aligning(lines: Lines, inner: range, elsewhere: Counter[int]) -> list[int]:
    """Positions of lines that the search should look at.

    A line that the other list has not is changed anyway. One that the other list has very often (an empty line) says
    little: where it stands among lines that are changed anyway, it is taken for changed too.
    """
    often = _about_root(len(lines))
    counts = [elsewhere[lines[at]] for at in inner]
    lonely = [0, *accumulate(count == 0 for count in counts)]
    frequent = [0, *accumulate(count >= often for count in counts)]
    # Where the neighbourhood of each line begins and ends: at the next line that is neither lonely nor frequent.
    plain = [0 < count < often for count in counts]
    begins = list(accumulate((at + 1 if yes else 0 for at, yes in enumerate(plain)), max, initial=0))
    ends = list(accumulate((at if yes else len(plain) for at, yes in _backwards(plain)), min, initial=len(plain)))[::-1]

    def says_little(at: int) -> bool:
        begin, end = max(begins[at], at - WINDOW), min(ends[at + 1], at + 1 + WINDOW)
        if lonely[begin] == lonely[at] or lonely[at + 1] == lonely[end]:
            return False
        # The line counts for both sides.
        repeated = frequent[end] - frequent[begin] + 1
        return 3 * repeated < lonely[end] - lonely[begin]

    return [inner[at] for at, count in enumerate(counts) if count and (count < often or not says_little(at))]


def _backwards(values: list[bool]) -> Iterator[tuple[int, bool]]:
    return zip(range(len(values) - 1, -1, -1), reversed(values), strict=True)


def _about_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << (number.bit_length() + 1) // 2


def _runs(old: Lines, new: Lines) -> list[tuple[int, int, int]] | None:
    """Stretches ``(in old, in new, length)`` of equal lines that leave few others; in no order."""
    runs: list[tuple[int, int, int]] = []
    boxes = [(0, len(old), 0, len(new), False)]
    while boxes:
        left, right, top, bottom, small = boxes.pop()
        x, y = old[left:right], new[top:bottom]
        head = _common_head(x, y)
        tail = _common_head(reversed(x[head:]), reversed(y[head:]))
        runs += [(left, top, head), (right - tail, bottom - tail, tail)]
        left, right, top, bottom = left + head, right - tail, top + head, bottom - tail
        if left == right or top == bottom:
            continue
        split = _split(old[left:right], new[top:bottom], small=small)
        if not (split.small_before and split.small_after) and len(old) + len(new) >= MANY:
            return None
        i, j = left + split.i, top + split.j
        boxes += [(i, right, j, bottom, split.small_after), (left, i, top, j, split.small_before)]
    return runs


@noun
class _Split:
    """A point on a short way through both lists, and whether the parts before and after it are known to be close enough
    to be searched to the end."""

    i: int
    j: int
    small_before: bool
    small_after: bool


class _Wave:
    """The furthest points reached from a corner: on each diagonal ``i - j`` the furthest ``i`` after so many rounds."""

    def __init__(self, x: Lines, y: Lines, *, upwards: bool) -> None:
        self._x, self._y, self._upwards = x, y, upwards
        # Diagonals below zero are counted from the end of the list, as Python does.
        self.reach = [0] * (len(x) + len(y) + 3)
        self.low = self.high = 0

    def diagonals(self) -> range:
        """Those of this round. Of points that are equally good the first one counts."""
        return range(self.low, self.high + 1, 2) if self._upwards else range(self.high, self.low - 1, -2)

    def widen(self) -> None:
        """One more diagonal on each side, or one less where the edge is reached."""
        if self.low > -len(self._y):
            self.low -= 1
            self.reach[self.low - 1] = -1
        else:
            self.low += 1
        if self.high < len(self._x):
            self.high += 1
            self.reach[self.high + 1] = -1
        else:
            self.high -= 1

    def advance(self, other: "_Wave | None") -> tuple[int, int] | None:
        """One change and then as many equal lines as there are, on every diagonal; the point where it meets the other
        wave, if it does."""
        x, y, reach = self._x, self._y, self.reach
        wide, deep = len(x), len(y)
        shift = wide - deep
        self.widen()
        for d in self.diagonals():
            i = reach[d - 1] + 1 if reach[d - 1] >= reach[d + 1] else reach[d + 1]
            j = i - d
            while i < wide and j < deep and x[i] == y[j]:
                i += 1
                j += 1
            reach[d] = i
            if other and other.low <= shift - d <= other.high and i + other.reach[shift - d] >= wide:
                return i, j
        return None

    def furthest(self) -> tuple[int, int]:
        best = (0, 0)
        for d in self.diagonals():
            i = min(self.reach[d], len(self._x), len(self._y) + d)
            if 2 * i - d > sum(best):
                best = i, i - d
        return best


def _split(x: Lines, y: Lines, *, small: bool) -> _Split:
    # Seen from the other corner the diagonals are reversed: this way both waves take them in the same order.
    there, back = _Wave(x, y, upwards=False), _Wave(x[::-1], y[::-1], upwards=True)
    # The waves can only meet in the half round that fits the parity of the sizes.
    odd = (len(x) - len(y)) % 2
    rounds = 0
    while small or rounds < PATIENCE:
        rounds += 1
        if met := there.advance(back if odd else None):
            return _Split(*met, small_before=True, small_after=True)
        if met := back.advance(None if odd else there):
            return _Split(len(x) - met[0], len(y) - met[1], small_before=True, small_after=True)
    ahead, behind = there.furthest(), back.furthest()
    if sum(behind) < sum(ahead):
        return _Split(*ahead, small_before=True, small_after=False)
    return _Split(len(x) - behind[0], len(y) - behind[1], small_before=False, small_after=True)


def _settle(lines: Lines, kept: Lines, partner: Lines) -> None:
    """Slides each change of ``lines`` to where it is to lie; ``kept`` is changed in place, ``partner`` is only read.

    A change followed by a copy of its first line may as well lie one line lower, and so on. It is put beside a
    change of the other list, at the lowest such place; if there is none, as low as it can. Changes that touch on the
    way become one.
    """
    gap = 0
    while gap < len(kept) - 1:
        if kept[gap + 1] - kept[gap] > 1:
            gap = _settled(lines, kept, partner, gap)
        gap += 1


def _settled(lines: Lines, kept: Lines, partner: Lines, gap: int) -> int:
    """Settles the change that lies before the common line ``gap + 1``; before which one it lies then."""
    while True:
        size = kept[gap + 1] - kept[gap]
        while gap > 0 and lines[kept[gap]] == lines[kept[gap + 1] - 1]:
            kept[gap] = kept[gap + 1] - 1
            gap -= 1
        beside = gap if partner[gap + 1] - partner[gap] > 1 else None
        while gap < len(kept) - 2 and lines[kept[gap] + 1] == lines[kept[gap + 1]]:
            kept[gap + 1] = kept[gap] + 1
            gap += 1
            beside = gap if partner[gap + 1] - partner[gap] > 1 else beside
        if kept[gap + 1] - kept[gap] == size:
            break
        # It has met another change: the two together may get further.
    while beside is not None and gap > beside:
        kept[gap] = kept[gap + 1] - 1
        gap -= 1
    return gap

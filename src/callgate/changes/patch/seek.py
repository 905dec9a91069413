"""Finding lines among lines, again and again, for a bounded amount of work."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from callgate.changes.patch.spot import Spot

# What a patch may cost to place. A thousand hunks that all have moved in a file of 100,000 lines take far less; what
# takes more was made to.
MOST_WORK = 1_000_000


class Effort:
    """What is left of the work that one patch may make."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, units: int, spot: Spot) -> None:
        self._left -= units
        if self._left < 0:
            raise spot.fault(
                "Finding the places takes too long.",
                "Write smaller patches, in the order of the file, and with lines that are not everywhere in it.",
            )


class Lines:
    """The lines of one file, made ready to be searched many times.

    A place is looked for by the rarest of the wanted lines, and the effort is charged for every place that is tried.
    """

    def __init__(self, lines: Sequence[bytes], effort: Effort) -> None:
        self._effort = effort
        self._numbers: dict[bytes, int] = {}
        self._places: list[list[int]] = []
        self._lines: list[int] = []
        for at, line in enumerate(lines):
            number = self._numbers.setdefault(line, len(self._places))
            if number == len(self._places):
                self._places.append([])
            self._places[number].append(at)
            self._lines.append(number)

    def first(self, wanted: Sequence[bytes], after: int, spot: Spot) -> int | None:
        """The first place at or after ``after`` where these lines stand; there is at least one of them."""
        needle = self._needle(wanted, spot)
        if needle is None:
            return None
        rarest, places = self._rarest(needle)
        for index in range(bisect_left(places, after + rarest), len(places)):
            if self._fits(needle, places[index] - rarest, spot):
                return places[index] - rarest
        return None

    def nearest(self, wanted: Sequence[bytes], aim: int, now: Callable[[int], int], spot: Spot) -> Iterator[int]:
        """Every place where these lines stand, the nearest to ``aim`` first and of two as near the later one first.

        ``now`` says where a line is by now: lines may have moved, but they are still in the same order.
        """
        needle = self._needle(wanted, spot)
        if needle is None:
            return
        rarest, places = self._rarest(needle)
        ahead = bisect_left(places, aim, key=lambda place: now(place - rarest))
        behind = ahead - 1
        while behind >= 0 or ahead < len(places):
            later = places[ahead] - rarest if ahead < len(places) else None
            earlier = places[behind] - rarest if behind >= 0 else None
            if earlier is None or (later is not None and now(later) - aim <= aim - now(earlier)):
                start, ahead = places[ahead] - rarest, ahead + 1
            else:
                start, behind = earlier, behind - 1
            if self._fits(needle, start, spot):
                yield start

    def _needle(self, wanted: Sequence[bytes], spot: Spot) -> list[int] | None:
        """The wanted lines by their numbers; None if one of them is nowhere in the file."""
        if len(wanted) > len(self._lines):
            return None
        needle = [self._numbers.get(line, -1) for line in wanted]
        self._effort.spend(len(needle) // 8, spot)
        return None if -1 in needle else needle

    def _rarest(self, needle: list[int]) -> tuple[int, list[int]]:
        index = min(range(len(needle)), key=lambda index: len(self._places[needle[index]]))
        return index, self._places[needle[index]]

    def _fits(self, needle: list[int], start: int, spot: Spot) -> bool:
        self._effort.spend(1 + len(needle) // 8, spot)
        return start >= 0 and self._lines[start : start + len(needle)] == needle

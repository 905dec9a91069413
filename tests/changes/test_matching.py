"""Equal lines are found: the most there are where that is affordable, and never in more time than allowed."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.matching import matches
from tests.rows import rows

FEW = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=14)
MANY = st.lists(st.integers(0, 40), max_size=80)


def longest(before: Sequence[object], after: Sequence[object]) -> int:
    """How many lines two texts have in common at most, by the book."""
    row = [0] * (len(after) + 1)
    for line in before:
        last = row
        row = [0]
        for at, other in enumerate(after):
            row.append(last[at] + 1 if line == other else max(last[at + 1], row[at]))
    return row[-1]


def check(before: Sequence[object], after: Sequence[object], blocks: Sequence[tuple[int, int, int]]) -> None:
    assert blocks[-1] == (len(before), len(after), 0)
    for start, begin, length in blocks[:-1]:
        assert length > 0
        assert before[start : start + length] == after[begin : begin + length]
    for (start, begin, length), (at, to, _) in pairwise(blocks[:-1]):
        assert at >= start + length
        assert to >= begin + length
        assert (at, to) != (start + length, begin + length)


@given(FEW, FEW)
def test_no_more_lines_could_be_matched(before: list[bytes], after: list[bytes]) -> None:
    blocks = matches(before, after)
    check(before, after, blocks)
    assert sum(length for _, _, length in blocks) == longest(before, after)


@given(MANY, MANY, st.sampled_from([0, 64, 100, 200, 1_000]))
def test_with_little_effort_the_blocks_still_hold(before: list[int], after: list[int], effort: int) -> None:
    check(before, after, matches(before, after, effort=effort))


@given(MANY)
def test_equal_texts_are_one_block(lines: list[int]) -> None:
    assert matches(lines, lines) == [*([(0, 0, len(lines))] if lines else []), (len(lines), len(lines), 0)]


def test_lines_that_stand_once_are_landmarks_when_the_search_is_too_long() -> None:
    parts = [[f"a{at}" for at in range(3_000)], [f"b{at}" for at in range(2_000)]]
    assert matches(parts[0] + parts[1], parts[1] + parts[0])[0] == (0, 2_000, 3_000)


def test_what_has_no_landmarks_and_is_too_much_counts_as_different() -> None:
    before, after = [at * at % 7 for at in range(5_000)], [at * at * at % 5 for at in range(5_000)]
    check(before, after, blocks := matches(before, after))
    assert sum(length for _, _, length in blocks) < 10


@rows(
    ("before", "after"),
    [
        ([*range(5_000)], [*range(5_000)][::-1]),
        ([0] * 5_000, [0, 1] * 2_500),
        ([0, 0, 1] * 3_000, [0, 1] * 3_000),
        ([at % 100 for at in range(5_000)], [at * 7 % 100 for at in range(5_000)]),
    ],
    ids=["turned-round", "every-second", "shifted", "mixed-up"],
)
def test_long_lines_are_compared_a_few_times_however_long_the_search_is(before: list[int], after: list[int]) -> None:
    steps = 0

    class Line(int):
        def __hash__(self) -> int:
            return int(self)

        def __eq__(self, other: object) -> bool:
            nonlocal steps
            steps += 1
            return int(self) == other

    check(before, after, matches([Line(line) for line in before], [Line(line) for line in after]))
    assert steps < 3 * (len(before) + len(after))

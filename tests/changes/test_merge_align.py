"""Alignments of lines: git's, hunk by hunk. Most of what goes wrong here would seldom show in a merge."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.merge_align import Hunk, hunks
from tests.changes.merge_kit import Versions, by_git, lines, long_versions, needs_git, numbered, versions

Pair = tuple[bytes, bytes]
# With the whole file as context: with none at all git takes a shortcut that a merge does not take.
DIFF = "diff --no-index --no-indent-heuristic --diff-algorithm=myers --text --unified=1000000 0 1"


@pytest.fixture
def git() -> None:
    needs_git()


def hunks_by_git(cases: list[Pair]) -> list[list[Hunk]]:
    return [read(output) for _, output in by_git(DIFF, cases)]


def read(diff: bytes) -> list[Hunk]:
    found: list[Hunk] = []
    at = removed = added = 0
    _, _, body = diff.partition(b"\n@@")
    for line in [*lines(body)[1:], b" the end"]:
        if line.startswith(b"-"):
            removed += 1
        elif line.startswith(b"+"):
            added += 1
        elif line.startswith(b" "):
            if removed or added:
                found.append(Hunk(at, at + removed, added - removed))
            at, removed, added = at + removed + 1, 0, 0
    return found


def aligned(old: bytes, new: bytes) -> list[Hunk]:
    numbers: dict[bytes, int] = {}
    found = hunks(*([numbers.setdefault(line, len(numbers)) for line in lines(data)] for data in (old, new)))
    assert found is not None
    return found


def pairs() -> st.SearchStrategy[Pair]:
    return versions().map(lambda case: case[:2])


def rewritten(seed: int) -> Pair:
    """Lines that only one version has, and among them some that both have, seldom or often; what is around them is
    the same."""
    pick = random.Random(seed)
    around = b"".join(numbered(pick.choice((0, 300))))
    size = pick.choice((20, 100, 400))

    def version(own: bytes) -> bytes:
        known = [b"%d\n" % number for number in range(pick.choice((1, 3, 10)))]
        share = pick.choice((0.1, 0.3, 0.6, 0.9))
        return around + b"".join(own if pick.random() < share else pick.choice(known) for _ in range(size)) + around

    return version(b"old\n"), version(b"new\n")


@pytest.mark.usefixtures("git")
@given(st.lists(pairs(), min_size=1, max_size=3))
def test_every_change_is_where_git_has_it(cases: list[Pair]) -> None:
    assert [aligned(*case) for case in cases] == hunks_by_git(cases)


@pytest.mark.usefixtures("git")
def test_in_rewritten_files_every_change_is_where_git_has_it() -> None:
    cases = [rewritten(seed) for seed in range(150)]
    assert [aligned(*case) for case in cases] == hunks_by_git(cases)


@pytest.mark.usefixtures("git")
def test_in_long_files_that_are_far_apart_every_change_is_where_git_has_it() -> None:
    cases = [long_versions(seed)[:2] for seed in range(25)]
    assert [aligned(*case) for case in cases] == hunks_by_git(cases)


@given(versions())
def test_outside_its_changes_an_alignment_has_equal_lines(case: Versions) -> None:
    old, new = lines(case[0]), lines(case[1])
    found = aligned(*case[:2])
    after = shift = 0
    for hunk in [*found, Hunk(len(old), len(old), 0)]:
        assert old[after : hunk.start] == new[after + shift : hunk.start + shift]
        after = hunk.end
        shift += hunk.growth
    assert len(new) == len(old) + shift
    assert all(hunk.end < next_one.start for hunk, next_one in pairwise(found))

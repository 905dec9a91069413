"""Three-way merges: the outcome that people know from git, with nothing lost, and in bounded time."""

import random
from collections import Counter
from itertools import pairwise

from hypothesis import given

from callgate.changes.merge import Conflict, Region, merge
from tests.changes.merge_kit import Versions, edited_by_two, lines, merged_by_git, needs_git, numbered, versions


def clean(outcome: bytes | Conflict) -> bytes | None:
    return outcome if isinstance(outcome, bytes) else None


def text(*words: str) -> bytes:
    """One line per letter: ``text("abc")`` has three."""
    return "".join(f"{letter}\n" for word in words for letter in word).encode()


def conflict(base: bytes, ours: bytes, theirs: bytes) -> Conflict:
    outcome = merge(base, ours, theirs)
    assert isinstance(outcome, Conflict)
    return outcome


# --- as git does it ---


def test_the_outcome_for_files_with_repeated_lines_is_that_of_git() -> None:
    needs_git()
    cases = [edited_by_two(seed) for seed in range(100)]
    outcomes = [clean(merge(*case)) for case in cases]
    assert outcomes == merged_by_git(cases)
    assert 10 < outcomes.count(None) < 90, "the examples should be of both kinds"


# --- what holds for all versions ---


@given(versions())
def test_what_only_one_side_changed_is_taken_as_it_is(case: Versions) -> None:
    base, changed, _ = case
    assert merge(base, base, changed) == changed
    assert merge(base, changed, base) == changed
    assert merge(base, changed, changed) == changed


@given(versions())
def test_it_does_not_matter_which_side_is_which(case: Versions) -> None:
    base, ours, theirs = case
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    if isinstance(one, bytes):
        assert one == other
    else:
        assert isinstance(other, Conflict)
        assert [(region.ours, region.theirs) for region in one.regions] == [
            (region.theirs, region.ours) for region in other.regions
        ]


@given(versions())
def test_no_line_that_a_side_added_is_lost(case: Versions) -> None:
    base, ours, theirs = (Counter(lines(data)) for data in case)
    merged = clean(merge(*case))
    if merged is None:
        return
    result = Counter(lines(merged))
    for line in (ours | theirs).keys() - base.keys():
        assert max(ours[line], theirs[line]) <= result[line] <= ours[line] + theirs[line]


@given(versions())
def test_the_regions_of_a_conflict_are_in_order_and_hold_what_differs(case: Versions) -> None:
    outcome = merge(*case)
    if isinstance(outcome, bytes):
        return
    assert outcome.regions
    base, ours, theirs = (lines(data) for data in case)
    for region in outcome.regions:
        (first, last), (other_first, other_last), (base_first, base_last) = region.ours, region.theirs, region.base
        assert 1 <= first <= last + 1 <= len(ours) + 1
        assert 1 <= other_first <= other_last + 1 <= len(theirs) + 1
        assert 1 <= base_first <= base_last + 1 <= len(base) + 1
        assert ours[first - 1 : last] != theirs[other_first - 1 : other_last]
    for one, next_one in pairwise(outcome.regions):
        assert one.base[1] + 1 < next_one.base[0]
        assert one.ours[1] + 1 < next_one.ours[0]
        assert one.theirs[1] + 1 < next_one.theirs[0]


# --- one of each shape ---

CLEAN: dict[str, tuple[bytes, bytes, bytes, bytes]] = {
    "changes apart": (text("abcde"), text("aXcde"), text("abcYe"), text("aXcYe")),
    "one line between": (text("abc"), text("Xbc"), text("abY"), text("XbY")),
    "insertions apart": (text("abc"), text("aXbc"), text("abYc"), text("aXbYc")),
    "same change": (text("abcde"), text("aXcde"), text("aXcdY"), text("aXcdY")),
    "same insertion": (text("ab"), text("aXb"), text("aXbY"), text("aXbY")),
    "same deletion": (text("abcd"), text("acd"), text("acY"), text("acY")),
    "both appended the same to nothing": (b"", text("a"), text("a"), text("a")),
    "deletion and insertion apart": (text("abcd"), text("bcd"), text("abcdY"), text("bcdY")),
    "all deleted but what the other left": (text("abc"), b"", text("abc"), b""),
    "windows line ends": (b"a\r\nb\r\nc\r\n", b"X\r\nb\r\nc\r\n", b"a\r\nb\r\nY\r\n", b"X\r\nb\r\nY\r\n"),
    "line ends of both kinds": (b"a\r\nb\nc\r\n", b"X\nb\nc\r\n", b"a\r\nb\nY\r\n", b"X\nb\nY\r\n"),
    "a carriage return does not end a line": (b"a\rb\nc\nd", b"A\rb\nc\nd", b"a\rb\nc\nD", b"A\rb\nc\nD"),
    "no final newline anywhere": (b"a\nb\nc", b"X\nb\nc", b"a\nb\nY", b"X\nb\nY"),
    "final newline removed by one": (b"a\nb\nc\n", b"X\nb\nc\n", b"a\nb\nc", b"X\nb\nc"),
    "final newline added by one": (b"a\nb\nc", b"X\nb\nc", b"a\nb\nc\n", b"X\nb\nc\n"),
    "final newline removed by both": (b"a\nb\nc\n", b"X\nb\nc", b"a\nb\nc", b"X\nb\nc"),
    "not of any encoding": (b"\xff\nb\n\xfe\n", b"\xfd\nb\n\xfe\n", b"\xff\nb\n\x80\n", b"\xfd\nb\n\x80\n"),
}

COLLIDING: dict[str, tuple[bytes, bytes, bytes, Region, str]] = {
    "same line": (
        text("abc"),
        text("aXc"),
        text("aYc"),
        Region((2, 2), (2, 2), (2, 2)),
        "line 2 was changed by both",
    ),
    "several lines": (
        text("abcd"),
        text("aXYd"),
        text("aUVWd"),
        Region((2, 3), (2, 4), (2, 3)),
        "lines 2-3 were changed by both",
    ),
    "lines that touch": (
        text("abcd"),
        text("aXcd"),
        text("abYd"),
        Region((2, 3), (2, 3), (2, 3)),
        "lines 2-3 were changed by both",
    ),
    "a chain of changes": (
        text("abcdef"),
        text("aXcdZf"),
        text("abUVef"),
        Region((2, 5), (2, 5), (2, 5)),
        "lines 2-5 were changed by both",
    ),
    "insertions at one place": (
        text("ab"),
        text("aXb"),
        text("aYb"),
        Region((2, 2), (2, 2), (2, 1)),
        "line 2 was inserted where the other side inserted other lines",
    ),
    "both appended to nothing": (
        b"",
        text("ab"),
        text("c"),
        Region((1, 2), (1, 1), (1, 0)),
        "lines 1-2 were inserted where the other side inserted other lines",
    ),
    "deleted here": (
        text("abc"),
        text("ac"),
        text("aYc"),
        Region((2, 1), (2, 2), (2, 2)),
        "lines deleted after line 1 were changed by the other side",
    ),
    "deleted here at the start": (
        text("abc"),
        text("bc"),
        text("Ybc"),
        Region((1, 0), (1, 1), (1, 1)),
        "lines deleted at the start were changed by the other side",
    ),
    "deleted there": (
        text("abc"),
        text("aXc"),
        text("ac"),
        Region((2, 2), (2, 1), (2, 2)),
        "line 2 was changed, and deleted by the other side",
    ),
    "emptied here": (
        text("abc"),
        b"",
        text("abY"),
        Region((1, 0), (1, 3), (1, 3)),
        "lines deleted at the start were changed by the other side",
    ),
    "insertion beside a deletion": (
        text("abc"),
        text("aXbc"),
        text("ac"),
        Region((2, 3), (2, 1), (2, 2)),
        "lines 2-3 were changed, and deleted by the other side",
    ),
    "only the line end": (
        b"a\nb\n",
        b"a\r\nb\n",
        b"A\nb\n",
        Region((1, 1), (1, 1), (1, 1)),
        "line 1 was changed by both",
    ),
    "final newline and the last line": (
        b"a\nb\n",
        b"a\nb",
        b"a\nY\n",
        Region((2, 2), (2, 2), (2, 2)),
        "line 2 was changed by both",
    ),
}


def test_changes_that_do_not_touch_merge() -> None:
    wrong = [
        shape
        for shape, (base, ours, theirs, both) in CLEAN.items()
        if not merge(base, ours, theirs) == merge(base, theirs, ours) == both
    ]
    assert not wrong


def test_changes_that_touch_collide_and_name_the_lines() -> None:
    wrong = {
        shape: outcome
        for shape, (base, ours, theirs, region, named) in COLLIDING.items()
        if (outcome := conflict(base, ours, theirs)) != Conflict((region,)) or outcome.text() != named
    }
    assert not wrong


def test_git_sees_every_shape_the_same_way() -> None:
    needs_git()
    cases = [case[:3] for case in (*CLEAN.values(), *COLLIDING.values())]
    assert merged_by_git(cases) == [case[3] for case in CLEAN.values()] + [None] * len(COLLIDING)


def test_each_collision_is_named_and_lines_are_counted_as_they_are_now() -> None:
    base, ours, theirs = text("abcdefg"), text("NaXcdefZ"), text("aYcdefW")
    outcome = conflict(base, ours, theirs)
    assert outcome.regions == (Region((3, 3), (2, 2), (2, 2)), Region((8, 8), (7, 7), (7, 7)))
    assert outcome.text() == "line 3 was changed by both; line 8 was changed by both"


def test_a_change_that_both_made_does_not_collide_beside_one_that_does() -> None:
    outcome = conflict(text("abcde"), text("SbcXe"), text("SbcYe"))
    assert outcome.regions == (Region((4, 4), (4, 4), (4, 4)),)


# --- what is not text ---


def test_binary_content_that_both_changed_is_never_merged() -> None:
    outcome = conflict(b"a\nb\nc\0\n", b"X\nb\nc\0\n", b"a\nb\nY\0\n")
    assert outcome == Conflict((), "both sides changed the file, and it is not text")
    assert outcome.text() == "both sides changed the file, and it is not text"


def test_one_binary_version_is_enough() -> None:
    for where in range(3):
        case = [text("abc"), text("Xbc"), text("abY")]
        case[where] += b"\0"
        assert not conflict(*case).regions, where


def test_binary_content_that_one_side_left_alone_is_taken_whole() -> None:
    assert merge(b"\0a", b"\0a", b"\0b") == b"\0b"
    assert merge(b"\0a", b"\0b", b"\0a") == b"\0b"
    assert merge(b"\0a", b"\0b", b"\0b") == b"\0b"


# --- how much work it is ---


def edited_here_and_there(count: int) -> Versions:
    base, ours, theirs = numbered(count), numbered(count), numbered(count)
    for at in range(0, count, 100):
        ours[at] = b"ours\n"
        theirs[at + 50] = b"theirs\n"
    return b"".join(base), b"".join(ours), b"".join(theirs)


def shuffled(count: int) -> Versions:
    base = numbered(count)
    ours = list(base)
    random.Random(count).shuffle(ours)
    return b"".join(base), b"".join(ours), b"".join([*base[:-1], b"theirs\n"])


def test_ten_thousand_lines_with_changes_here_and_there_merge() -> None:
    merged = clean(merge(*edited_here_and_there(10_000)))
    assert merged is not None
    assert merged.count(b"ours\n") == 100
    assert merged.count(b"theirs\n") == 100


def test_ten_thousand_lines_in_another_order_collide_and_do_not_hang() -> None:
    assert isinstance(merge(*shuffled(10_000)), Conflict)

"""Word by word: nothing is lost, and only what differs is marked."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.hunks import Mark, file_diff
from callgate.changes.word_diff import Piece, hunk_words, word_diff
from callgate.words.changes import FileChange

TEXTS = st.text("ab (=,\té\n", max_size=20)


def joined(pieces: list[Piece], *marks: Mark) -> str:
    return "".join(text for mark, text in pieces if mark in marks)


@given(TEXTS, TEXTS)
def test_the_pieces_are_both_texts(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert joined(pieces, "same", "removed") == before
    assert joined(pieces, "same", "added") == after
    assert all(text for _, text in pieces)
    assert all(one[0] != other[0] for one, other in pairwise(pieces))


@given(TEXTS, TEXTS)
def test_the_pieces_of_a_hunk_are_its_lines(before: str, after: str) -> None:
    for hunk in file_diff(FileChange("f", before.encode(), after.encode()), context=1).hunks:
        pieces = hunk_words(hunk)
        for mark in ("removed", "added"):
            lines = b"".join(line for kind, line in hunk.lines if kind in ("same", mark))
            assert joined(pieces, "same", mark) == lines.decode()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", []),
        ("a", "a", [("same", "a")]),
        ("total = a + b", "total = a - b", [("same", "total = a "), ("removed", "+"), ("added", "-"), ("same", " b")]),
        ("call(x)", "call(x, y)", [("same", "call(x"), ("added", ", y"), ("same", ")")]),
        ("old_name", "new_name", [("removed", "old_name"), ("added", "new_name")]),
        ("one two", "three four", [("removed", "one two"), ("added", "three four")]),
        (
            "one\ntwo",
            "three\nfour",
            [*[("removed", "one"), ("added", "three"), ("same", "\n")], ("removed", "two"), ("added", "four")],
        ),
    ],
    ids=["empty", "same", "sign", "more", "names-are-whole", "blanks-join", "lines-do-not"],
)
def test_what_is_marked(before: str, after: str, expected: list[Piece]) -> None:
    assert word_diff(before, after) == expected


def test_a_hunk_marks_words_only_where_lines_were_replaced() -> None:
    (hunk,) = file_diff(FileChange("f", b"a\nx = 1\nb\n", b"a\nx = 2\nb\nc\n")).hunks
    assert hunk_words(hunk) == [
        ("same", "a\nx = "),
        ("removed", "1"),
        ("added", "2"),
        ("same", "\nb\n"),
        ("added", "c\n"),
    ]

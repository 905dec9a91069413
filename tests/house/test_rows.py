"""The tables of tests: every row is run, and every bad one is named."""

import pytest

from tests.rows import rows


def test_every_bad_row_is_named_and_the_others_are_run() -> None:
    ran: list[tuple[str, int]] = []

    @rows("word, number", [("a", 1), ("b", 2), ("c", 3)])
    def table(word: str, number: int, more: int) -> None:
        ran.append((word, number))
        assert number * more != 4
        if word == "c":
            raise ValueError("odd")

    with pytest.raises(AssertionError, match=r"2 of 3 rows:\n.*'b'(?s:.*)'c'.*odd"):
        table(more=2)
    assert ran == [("a", 1), ("b", 2), ("c", 3)]


@rows("left", ["x", "y"])
@rows("right", ["z"])
def test_two_tables_are_crossed(left: str, right: str) -> None:
    assert left + right in ("xz", "yz")

"""What a rewrite makes of a match."""

import pytest

from callgate.tools.structural.source_text import indent_at, parse_template, variables_of
from callgate.words.errors import ToolFailure
from tests.rows import rows


def test_the_variables_of_a_pattern_are_named_in_order() -> None:
    assert variables_of("$F($A, $$$REST, $_, $$$_IGNORED, $$OP, $lower, $A)") == {
        "F": "one",
        "A": "one",
        "REST": "many",
        "OP": "one",
    }


@rows("rewrite", ["$B", "$$$A", "costs $100", "$_", "$A_"])
def test_a_variable_that_the_pattern_does_not_capture_is_refused(rewrite: str) -> None:
    with pytest.raises(ToolFailure, match=r"is not captured by the pattern, which captures \$A\."):
        parse_template(rewrite, "f($A)")


@rows("rewrite", ["$", "$ A", "$a", "a$", "$$", "${A}"])
def test_a_dollar_without_a_name_stands_for_itself(rewrite: str) -> None:
    assert parse_template(rewrite, "f($A)").fill("", 0, lambda name, kind: None) == rewrite


def test_an_empty_rewrite_deletes() -> None:
    assert parse_template("", "f($A)").fill("f(1)", 0, lambda name, kind: (2, 3)) == ""


@rows(
    ("text", "indent"),
    [
        ("", 0),
        ("  x", 2),
        ("a\n   x = ", 3),
        ("a\n\t  x", 0),
        ("a\n  \tx", 2),
        ("a\n" + " " * 511, 511),
        ("a\n" + " " * 512, 0),
        (" " * 512, 512),
        (" " * 513, 0),
        ("a\n  " + "ä" * 254, 2),
        ("a\n  " + "ä" * 255, 0),
    ],
)
def test_indentation_is_counted_in_blanks_and_not_far_into_a_line(text: str, indent: int) -> None:
    assert indent_at(text, len(text)) == indent

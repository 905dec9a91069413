"""Markdown that is still arriving is split only where the front cannot change any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tui import markdown_parts
from callgate.tui.markdown_parts import MOST_LINES, Opened, finished_length, parts_of
from callgate.tui.render.markdown import markdown_rows
from callgate.tui.render.spans import painted
from callgate.tui.theme import Theme
from tests.rows import rows

PIECES = (
    *("a", "b c", "**", "`", "```", "~~~~", "```py", "    ", "  ", " ", "\t", "\n", "\n", "\n\n", "\n\n", "\r\n"),
    *(
        "- ",
        "* ",
        "+ ",
        "1. ",
        "7) ",
        "# ",
        "===\n",
        "---\n",
        "> ",
        "| a | b |\n",
        "| c | d |\n",
        "|---|---|\n",
        "[x] ",
        "<br>",
        "&#x202e;",
    ),
    *(
        "- a\n- b\n",
        "1. a\n1. b\n",
        "- a\n\n  b\n",
        "1. a\n   ```\n   x\n   ```\n",
        "```py\nx = 1\n\ny = 2\n```\n",
        "> a\n> b\n",
    ),
)


@rows(
    "text, finished",
    [
        ("One.", ""),
        ("One.\n\n", ""),
        ("One.\n\nTwo.", ""),
        ("One.\n\nTwo.\n", "One.\n\n"),
        ("- a\n\n  more of a\n", ""),
        ("- a\n- b\n", "- a\n"),
        ("- a\n\n  ```\n  x\n\n  y\n- b\n", "- a\n\n  ```\n  x\n\n  y\n"),
        ("| a |\n|---|\n| b |\n", ""),
        ("| a |\n|---|\n| b |\n\nend\n", "| a |\n|---|\n| b |\n\n"),
        ("```py\na\n\nb\n", ""),
        ("````\n```\nx\n```\n\nend\n", ""),
        ("```py\na\n\nb\n```\n\nend\n", "```py\na\n\nb\n```\n\n"),
        ("a\r\n\r\nb\r", ""),
    ],
)
def test_whole_blocks_are_finished(text: str, finished: str) -> None:
    assert text[: finished_length(text)[0]] == finished


def test_items_of_a_list_keep_their_numbers() -> None:
    parts = parts_of("3. a\n3. b\n\n3. c\n\nend\n")
    assert [(each.text.strip(), each.opened.number, each.opened.gap) for each in parts] == [
        ("3. a", 3, False),
        ("3. b", 4, False),
        ("3. c", 5, True),
        ("end", None, True),
    ]


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.integers(1, 7), st.sampled_from((12, 60)))
def test_a_text_that_arrives_in_pieces_looks_as_it_does_whole(pieces: list[str], size: int, width: int) -> None:
    text = "".join(pieces)
    assert _streamed(text, size, width) == _lines(text, Opened(), width)


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.integers(1, 7))
def test_it_does_so_wherever_long_parts_are_cut(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    limits = {"MOST_LINES": 2, "LARGEST": 20}
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(markdown_parts, name, limit)
        assert _streamed(text, size, 60) == _lines(text, Opened(), 60)


def test_long_tables_leave_in_stretches_with_their_head() -> None:
    text = "| a | b |\n|---|---|\n" + "".join(f"| {number} | x |\n" for number in range(3 * MOST_LINES))
    lines = _lines(text, Opened(), 60)
    assert _streamed(text, 40, 60) == lines
    assert len(lines) == 3 * MOST_LINES + 3 * 2


@pytest.mark.parametrize("line", ["x = 1", "def f():", "    return 1", "", "`" * 3 + "py"])
def test_long_code_leaves_in_stretches(line: str) -> None:
    text = "```py\n" + f"{line}\n" * (2 * MOST_LINES + 5) + "```\n\nend\n"
    assert _streamed(text, 40, 60) == _lines(text, Opened(), 60)
    longest = max(part.text.count("\n") for part in parts_of(text))
    assert longest <= MOST_LINES + 3


def test_long_paragraphs_leave_in_stretches() -> None:
    text = "".join(f"{number}. is a line\nwith *more\n" for number in range(2, MOST_LINES)) + "==="
    assert _streamed("a\n" + text, 100, 60) == _lines("a\n" + text, Opened(), 60)
    assert len(parts_of("a\n" + "b\n" * MOST_LINES * 3)) >= 3


def _streamed(text: str, size: int, width: int) -> list[str]:
    """The lines that leave while the text arrives, and the ones that are left at its end."""
    lines: list[str] = []
    rest, opened = "", Opened()
    for at in range(0, len(text), size):
        rest += text[at : at + size]
        length, after = finished_length(rest, opened)
        if length:
            lines += _lines(rest[:length], opened, width)
            rest, opened = rest[length:], after
    return lines + _lines(rest, opened, width)


def _lines(text: str, opened: Opened, width: int) -> list[str]:
    theme = Theme("mono", colours=False)
    return [painted(theme, row) for row in markdown_rows(theme, text, width, opened)]

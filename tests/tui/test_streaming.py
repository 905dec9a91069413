"""Markdown that is still arriving is split only where the front cannot change any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tui.streaming import finished_length


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("One.", ""),
        ("One.\n\n", ""),
        ("One.\n\nTwo.", ""),
        ("One.\n\nTwo.\n", "One.\n\n"),
        ("- a\n\n  more of a\n", ""),
        ("```py\na\n\nb\n", ""),
        ("```py\na\n\nb\n```\n\nend\n", "```py\na\n\nb\n```\n\n"),
    ],
)
def test_whole_blocks_are_finished(text: str, finished: str) -> None:
    assert text[: finished_length(text)] == finished


@given(st.lists(st.sampled_from(("a", "\n", "\n\n", "```", "~~~~", "  ", "- ", "# ")), max_size=30))
def test_a_longer_text_never_takes_back_what_was_finished(pieces: list[str]) -> None:
    text, before = "", 0
    for piece in pieces:
        text += piece
        now = finished_length(text)
        assert now >= before
        before = now

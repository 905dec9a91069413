"""Queries that ask for several things: the tools of each of them come before more tools for the first one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.search.tool_index import ANSWERED, REORDERED, ToolText, spread
from tests.search.kit import index, names

SCORES = st.lists(st.floats(0, 10), max_size=REORDERED + 5)
PARTS = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 3), max_size=4)


@pytest.mark.spec("SRC-3")
def test_the_tool_of_another_sentence_comes_before_more_tools_for_the_first_one() -> None:
    hotels = [ToolText(f"hotel_room_{each}", "Books a hotel room in a city.") for each in "ab"]
    tools = index(*hotels, ToolText("money", "Gives exchange rates of currencies."), ToolText("other", "Plays music."))
    both = "Book a hotel room in the city. Give me the exchange rates."
    assert names(tools, both) == ["hotel_room_a", "money", "hotel_room_b"]
    assert names(tools, both.replace(". Give", " and give")) == ["hotel_room_a", "hotel_room_b", "money"]


@given(SCORES, st.lists(PARTS, min_size=REORDERED + 5, max_size=REORDERED + 5), st.integers(0, 40))
def test_the_best_stays_first_scores_fall_and_none_is_lost(
    given_scores: list[float], parts: list[dict[str, float]], k: int
) -> None:
    scores = dict(enumerate(sorted(given_scores, reverse=True)))
    made = spread([*scores], scores, lambda number: parts[number], k)
    assert [*made][:1] == [*scores][: min(k, 1)]
    assert len(made) == min(k, len(scores))
    assert [*made.values()] == sorted(made.values(), reverse=True)
    assert all(scores[number] * (1 - ANSWERED) <= score <= scores[number] for number, score in made.items())

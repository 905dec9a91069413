"""Vectors of meaning: tools that share no word with the query are found, and changes are followed."""

import pytest

from benchmarks.retrieval import read_sets
from callgate.search import vectors as vectors_module
from callgate.search.tool_index import ToolText
from callgate.search.vectors import ToolVectors, tool_vectors
from tests.search.kit import index, names

AQUARIUM = ToolText("aquarium_care", "Advice on keeping fish in a tank.")
INVOICES = ToolText("invoice_list", "Lists unpaid bills of customers.")
PAINTING = ToolText("mcp__studio__canvas", "Paints portraits.", {"properties": {"brushSize": {}}}, "studio")


@pytest.fixture
def vectors() -> ToolVectors:
    found = tool_vectors()
    if found is None:
        pytest.skip("callgate[embeddings] is not installed")
    return found


@pytest.mark.spec("SRC-9")
def test_a_tool_is_found_by_meaning_alone(vectors: ToolVectors) -> None:
    tools = index(AQUARIUM, INVOICES, PAINTING, vectors=vectors)
    assert names(tools, "my goldfish looks ill")[0] == "aquarium_care"
    assert names(tools, "artist")[0] == PAINTING.name


@pytest.mark.spec("SRC-9")
def test_vectors_follow_changes_and_required_terms(vectors: ToolVectors) -> None:
    tools = index(AQUARIUM, INVOICES, PAINTING, vectors=vectors)
    assert names(tools, "goldfish", "customers") == ["invoice_list"]
    tools.drop("aquarium_care")
    assert "aquarium_care" not in names(tools, "goldfish")
    tools.put(ToolText("invoice_list", "Feeds tropical fish."))
    assert names(tools, "goldfish")[0] == "invoice_list"
    for number in range(200):
        tools.put(ToolText(f"tool_{number}", "Sharpens knives."))
    assert names(tools, "goldfish")[0] == "invoice_list"


def test_other_scripts_and_texts_without_words_are_ranked_by_words_alone(vectors: ToolVectors) -> None:
    tools = index(AQUARIUM, ToolText("timer", "创建定时任务"), vectors=vectors)
    assert names(tools, "定时") == ["timer"]
    assert [query for query in ("", "  ", "?!", "\0", "\ud800") if names(tools, query)] == []


def test_half_a_character_in_a_query_or_a_tool_breaks_no_search(vectors: ToolVectors) -> None:
    tools = index(AQUARIUM, INVOICES, ToolText("odd", "Half \ud83d of a character."), vectors=vectors)
    assert names(tools, "my goldfish \udc20 looks ill")[0] == "aquarium_care"


def test_an_empty_index_finds_nothing(vectors: ToolVectors) -> None:
    assert names(index(vectors=vectors), "fish") == []


@pytest.mark.spec("SRC-9")
def test_without_the_extra_there_are_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert tool_vectors() is None


SHELF = (
    AQUARIUM,
    INVOICES,
    PAINTING,
    ToolText("car_rental", "Rents vehicles by the day."),
    ToolText("book_appointment", "Books a medical appointment."),
    ToolText("get_forecast", "Returns the forecast for a city: temperature, rain, wind."),
    ToolText("translate_text", "Translates text to another language."),
    ToolText("play_song", "Plays a song from the library."),
    ToolText("convert_currency", "Converts an amount between currencies."),
    ToolText("send_email", "Sends an email to a recipient."),
)
NOTHING = (
    "zzzqqq", "qwertyuiop", "xyzzy plugh", "blah blah", "asdfgh", "lorem ipsum", "banana", "quantum chromodynamics",
    "foobar", "abcdef", "supercalifragilistic", "wibble wobble", "dfjkslf sdlkfj", "1234567890", "hjkl zxcv", "xkcd",
)  # fmt: skip
MEANT = {
    "goldfish": "aquarium_care",
    "artist": PAINTING.name,
    "physician": "book_appointment",
    "weather": "get_forecast",
    "music": "play_song",
    "dollars to euros": "convert_currency",
}


@pytest.mark.spec("SRC-13")
def test_a_query_that_nothing_resembles_finds_nothing(vectors: ToolVectors) -> None:
    tools = index(*SHELF, vectors=vectors)
    assert {query: found for query in NOTHING if (found := names(tools, query))} == {}


@pytest.mark.spec("SRC-13")
def test_a_query_finds_the_tools_that_resemble_it_and_no_others(vectors: ToolVectors) -> None:
    tools = index(*SHELF, vectors=vectors)
    assert {query: names(tools, query) for query in MEANT} == {query: [name] for query, name in MEANT.items()}


@pytest.mark.spec("SRC-13")
def test_a_word_that_is_none_finds_nothing_among_many_tools(vectors: ToolVectors) -> None:
    subjects = [tool.description for each in read_sets() for tool in each.tools][:1_000]
    tools = index(*(ToolText(f"t{n}", text) for n, text in enumerate(subjects)), vectors=vectors)
    assert {
        query: found for query in ("zzzqqq", "hjkl zxcv", "xkcd", "9876543") if (found := names(tools, query))
    } == {}

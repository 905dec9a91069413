"""The index of tools: what is found, in which order, and that it follows changes."""

import subprocess
import sys
from collections.abc import Mapping

import pytest

from callgate.search.query import Asked
from callgate.search.tool_index import ToolIndex, ToolText
from tests.search.kit import index, names


@pytest.mark.spec("SRC-3")
def test_one_tool_in_the_index_is_found() -> None:
    assert names(index(ToolText("send_message", "Sends a text.")), "messages") == ["send_message"]


@pytest.mark.spec("SRC-3")
def test_a_term_that_all_tools_have_still_counts() -> None:
    tools = index(ToolText("a", "Reads mail."), ToolText("b", "Reads mail, and mail again."), ToolText("c", "Mail."))
    assert set(names(tools, "mail")) == {"a", "b", "c"}


@pytest.mark.spec("SRC-3")
def test_every_text_of_a_tool_counts() -> None:
    schema = {
        "properties": {
            "cityName": {"description": "a municipality", "enum": ["lisbon"]},
            "more": {"anyOf": [{"type": "object", "properties": {"humidity": {}}}]},
        }
    }
    tool = ToolText("mcp__meteo__getForecast", "Says whether it rains.", schema, "", "Clouds and wind.", "umbrella")
    tools = index(tool, ToolText("other", "Plays music."))
    for word in ["forecast", "meteo", "rain", "cloud", "umbrella", "city", "municipality", "lisbon", "humidity"]:
        assert names(tools, word) == [tool.name], word


@pytest.mark.spec("SRC-3")
def test_text_of_every_script_is_found_down_to_one_character() -> None:
    tools = {
        "定时": ToolText("timer", "创建定时任务"),
        "雨": ToolText("rain", "下雨提醒"),
        "天気": ToolText("tenki", "今日の天気を調べる"),
        "날씨": ToolText("nalssi", "오늘의 날씨를 알려줍니다"),
        "погода": ToolText("pogoda", "Погода сегодня"),
        "cafe": ToolText("cafe_fr", "Trouver un café"),
        "créer": ToolText("nouveau", "Creer un document"),
        "Müller": ToolText("de", "Sucht nach MÜLLER"),
    }
    made = index(*tools.values())
    assert {query: names(made, query)[:1] for query in tools} == {query: [tool.name] for query, tool in tools.items()}


@pytest.mark.spec("SRC-3")
def test_a_name_that_is_asked_for_word_by_word_comes_first() -> None:
    tools = index(
        ToolText("create_issue_comment", "Creates an issue comment. An issue has comments."),
        ToolText("create_issue", "Adds one."),
        ToolText("list_issues", "Lists each issue that someone did create."),
    )
    assert names(tools, "create an issue")[0] == "create_issue"


@pytest.mark.spec("SRC-3")
def test_words_that_are_neighbours_in_query_and_tool_count_more() -> None:
    tools = index(ToolText("a", "Rate of the exchange."), ToolText("b", "The exchange of rate."))
    assert names(tools, "which exchange rate is it") == ["b", "a"]
    assert names(tools, "rate for which exchange") == ["a", "b"]


@pytest.mark.spec("SRC-3")
def test_a_tool_for_one_sentence_comes_before_one_with_a_word_of_each() -> None:
    tools = index(ToolText("a", "Hotel with postcard."), ToolText("b", "Printer for postcard."))
    assert names(tools, "The hotel is lovely. Where does a printer make a postcard?") == ["b", "a"]
    assert names(tools, "postcard, hotel, printer") == ["a", "b"]


def test_a_query_of_common_words_alone_still_finds() -> None:
    assert names(index(ToolText("the_who", "About the who."), ToolText("other")), "the who") == ["the_who"]


@pytest.mark.spec("SRC-3")
def test_a_word_that_no_tool_has_finds_the_nearest_ones() -> None:
    tools = index(
        ToolText("post", "Posts a message."),
        ToolText("tracker", "Lists an issue."),
        ToolText("meteo", "Gibt die Wettervorhersage."),
        ToolText("bill", "Erstellt eine Rechnung."),
        ToolText("mail", "Надсилає листівку."),
    )
    near = {
        "mesage": ["post"],
        "the isue": ["tracker"],
        "vorhersage": ["meteo"],
        "Wettervorhersagen": ["meteo"],
        "Rechnungen": ["bill"],
        "Kundenrechnung": ["bill"],
        "листівками": ["mail"],
        "zebra": [],
        "qq": [],
        "雨": [],
    }
    assert {query: names(tools, query) for query in near} == near
    assert names(tools, "mesage about an issue") == ["tracker"]
    assert names(tools, "mesage", "mesage") == []


def test_near_words_are_looked_for_in_short_queries_alone() -> None:
    assert names(index(ToolText("post", "Posts a message.")), "mesage zebra giraffe lion") == []


def test_words_of_one_meaning_find_each_other_and_come_after_the_word_itself() -> None:
    tools = index(ToolText("a", "Finds a film."), ToolText("b", "Finds a movie."), ToolText("c", "Plays."))
    assert names(tools, "movie") == ["b", "a"]


def test_tools_of_a_server_that_fits_come_before_equal_ones_of_others() -> None:
    tools = index(
        ToolText("a", "Lists rooms.", server="Shop"),
        ToolText("z", "Lists rooms.", server="Inn"),
        ToolText("y", "Books a hotel room by date.", server="Inn"),
    )
    assert names(tools, "book a hotel by date, list rooms") == ["y", "z", "a"]


def test_equal_tools_come_in_the_order_of_their_names() -> None:
    tools = index(*(ToolText(name, "Same.") for name in ("c", "a", "d", "b")))
    assert names(tools, "same") == ["a", "b", "c", "d"]
    assert names(tools, "same", k=2) == ["a", "b"]


def test_of_thousands_of_equal_tools_few_are_looked_at_closely() -> None:
    looked: list[int] = []

    class Looked(ToolIndex):
        def _read_order(self, pool: dict[int, float], asked: Asked, rare: Mapping[str, float]) -> None:
            looked.append(len(pool))
            super()._read_order(pool, asked, rare)

    found = Looked()
    for number in reversed(range(2_000)):
        found.put(ToolText(f"tool{number:04}", "Send a letter."))
    assert [hit.name for hit in found.search("send a letter", 3)] == ["tool0000", "tool0001", "tool0002"]
    assert len(found.search("send a letter", 400)) == 400
    assert looked == [200, 400]


def test_a_required_term_is_enforced() -> None:
    tools = index(
        ToolText("mcp__slack__post", "Posts a message.", server="slack"), ToolText("send_mail", "Sends a message.")
    )
    assert names(tools, "send message", "slack") == ["mcp__slack__post"]
    assert names(tools, "", "slack") == ["mcp__slack__post"]
    assert names(tools, "send message", "slack", "send") == []
    assert names(tools, "send message", "teams") == []


@pytest.mark.spec("SRC-4")
def test_a_tool_is_replaced_and_dropped() -> None:
    tools = index(ToolText("one", "Reads the weather."), ToolText("two", "Reads the news."))
    tools.put(ToolText("one", "Plays music."))
    assert names(tools, "weather") == []
    assert names(tools, "music") == ["one"]
    tools.drop("one")
    tools.drop("one")
    assert (names(tools, "music"), len(tools), "one" in tools, "two" in tools) == ([], 1, False, True)


@pytest.mark.spec("SRC-9")
def test_a_small_index_imports_nothing_heavy() -> None:
    script = (
        "import sys; from callgate.search.tool_index import ToolIndex, ToolText;"
        "from callgate.search.vectors import tool_vectors; tool_vectors(); tools = ToolIndex();"
        "[tools.put(ToolText(f'tool_{n}')) for n in range(50)]; tools.search('tool');"
        "print(*({'numpy', 'tokenizers', 'wordllama'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""

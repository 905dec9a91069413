"""Names and texts become terms: split, without accents, plurals and verb forms together, in every script."""

import pytest

from callgate.search.query import spelled, stem, terms

SPLIT = {
    "getWeatherForecast": {"get", "weath", "forecast", "getweatherforecast"},
    "HTTPServer": {"http", "serv", "httpserv"},
    "send_message": {"send", "messag"},
    "list-issues": {"list", "issu"},
    "geo.location_search": {"geo", "locat", "search"},
    "files/read": {"fil", "read"},
    "base64decode": {"bas", "64", "decod", "base64decode"},
    "mcp__slack__post": {"mcp", "slack", "post"},
    "YouTube": {"you", "tub", "youtub"},
    "定时": {"定", "时", "定时"},
    "雨": {"雨"},
    "カメラ": {"カ", "メ", "ラ", "カメ", "メラ"},
    "ガ": {"ガ"},
    "날씨": {"날", "씨", "날씨"},
    "créer café": {"creer", "caf"},
    "погода": {"погод"},
    "Ёлка": {"елк"},
    "ПогодаСегодня": {"погодасегодн"},
    "ISPARTA Iğdır": {"isparta", "igdir"},
    "Straße": {"strass"},
    "ﬁle": {"fil"},
    "": set[str](),
    "!? …": set[str](),
}
TOGETHER = (
    "message messages",
    "create creates created creating",
    "database databases",
    "query queries",
    "stop stops stopped stopping",
    "address addresses",
    "translate translates translated translating translator translation",
    "convert converts converting converter",
    "box boxes",
    "search searches searched searching",
    "погода погоду погоды погодой погодами",
    "письмо письма письму письмами",
    "город города городов городах",
    "новый нового новому новым новые",
)
APART = ("news new", "form format", "status state", "bus buy", "thing the", "sing sed", "analysis analog", "user use")


@pytest.mark.spec("SRC-3")
def test_names_and_texts_are_split_into_terms() -> None:
    wrong = {text: terms(text) for text, wanted in SPLIT.items() if set(terms(text)) != wanted}
    assert not wrong


@pytest.mark.spec("SRC-3")
def test_plural_and_verb_forms_meet() -> None:
    wrong = {line: set(terms(line)) for line in TOGETHER}
    assert not {line: stems for line, stems in wrong.items() if len(stems) > 1}


def test_other_words_stay_apart() -> None:
    assert not [line for line in APART if len({stem(word) for word in line.split()}) == 1]


def test_a_name_is_spelled_as_words() -> None:
    assert spelled("mcp__getWeather_v2.天气") == "mcp get weather v 2 天气"

"""Anything into the parsers of OpenAI's APIs: an error as the last value at worst, and never an exception."""

from json import dumps, loads
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.conversation.intake import Intake
from callgate.conversation.ledger import Ledger
from callgate.conversation.message_reader import checked_event
from callgate.providers.family import Family, ServerEvent
from callgate.providers.openai_chat import OpenAIChat
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.errors import ModelError
from tests.profiles import fewer
from tests.providers.openai_kit import fixture, fold, names

FAMILIES: dict[str, Family] = {"openai": OpenAIResponses(), "openai-chat": OpenAIChat()}
STREAMS = [(family, name) for family in FAMILIES for name in names(family)]
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "stop",
    "message",
    "function_call",
    [],
    [1],
    {},
    {"a": 1},
    "\ud800",
]
_garbage = st.text(max_size=30) | st.binary(max_size=30).map(lambda data: data.decode("utf-8", "replace"))


def check(family: Family, events: list[ServerEvent]) -> None:
    """The stream keeps its promises, and what reads it finds nothing wrong with the order of its events."""
    parser = family.parser()
    out = [one for event in events for one in parser.feed(event)]
    told = fold([*out, *parser.end()])
    assert parser.end() == ()
    intake = Intake("m", Ledger())
    for event in out:
        if not isinstance(event, ModelError):
            intake.feed(checked_event(event))
    if told.error is not None or told.ended is not None:
        assert all(parser.feed(event) == () for event in events)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, list[ServerEvent]]:
    """The stream of a fixture with events lost, doubled, moved, or with one value in them changed or gone."""
    family, name = draw(st.sampled_from(STREAMS))
    events = fixture(family, name)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(events) - 1))
        match draw(st.sampled_from(["lose", "double", "move", "change", "change", "change", "cut"])):
            case "lose":
                events.pop(at)
            case "double":
                events.insert(at, events[at])
            case "move":
                events.insert(draw(st.integers(0, len(events))), events.pop(at))
            case "cut":
                events[at] = ServerEvent(events[at].event, events[at].data[: draw(st.integers(0, 60))])
            case _:
                events[at] = _changed(draw, events[at])
        if not events:
            break
    return family, events


def _changed(draw: st.DrawFn, event: ServerEvent) -> ServerEvent:
    if not event.data.startswith("{"):
        return event
    try:
        value = loads(event.data)
    except ValueError:
        return event
    place: Any = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and draw(st.booleans()):
            place = place[key]
            continue
        if draw(st.booleans()):
            place[key] = draw(st.sampled_from(ODD))
        else:
            del place[key]
        break
    return ServerEvent(event.event, dumps(value))


@fewer(250)
@given(mutated())
def test_streams_that_are_nearly_right_never_raise(stream: tuple[str, list[ServerEvent]]) -> None:
    check(FAMILIES[stream[0]], stream[1])


@fewer(60)
@given(
    st.sampled_from(STREAMS),
    st.lists(
        st.tuples(st.sampled_from(["", "error", "response.created", "message"]), _garbage), min_size=1, max_size=5
    ),
    st.integers(0, 8),
)
def test_garbage_ends_a_stream_with_an_error(stream: tuple[str, str], lines: list[tuple[str, str]], at: int) -> None:
    family, name = stream
    garbage = [ServerEvent(event, data) for event, data in lines]
    events = fixture(family, name)
    check(FAMILIES[family], [*events[:at], *garbage, *events[at:]])
    if any(line.data.strip() not in ("", "[DONE]") for line in garbage):
        parser = FAMILIES[family].parser()
        out = [one for line in garbage for one in parser.feed(line)]
        assert not out or isinstance(out[-1], ModelError) or all(line.data.startswith("{") for line in garbage)


@fewer(20)
@given(st.sampled_from(STREAMS), st.randoms(use_true_random=False))
def test_events_in_any_order_never_raise(stream: tuple[str, str], random: Any) -> None:
    events = fixture(*stream)
    random.shuffle(events)
    check(FAMILIES[stream[0]], events)


@pytest.mark.parametrize("family", FAMILIES)
def test_deep_and_long_data_do_no_harm(family: str) -> None:
    for data in (
        "[" * 200_000,
        '{"a":' * 100_000,
        '{"type":"' + "x" * 10**6 + '"}',
        '{"choices":' + "[" * 500 + "]" * 500 + "}",
    ):
        check(FAMILIES[family], [ServerEvent("", data)])

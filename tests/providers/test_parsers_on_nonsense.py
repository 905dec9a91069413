"""Whatever a server sends, a parser gives model events in their order and at most one error, which is the last."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.anthropic import Anthropic
from callgate.providers.family import ServerEvent, StreamParser
from callgate.providers.gemini import Gemini
from tests.providers.fixtures import DATA, parsed, streamed

PARSERS: dict[str, Callable[[], StreamParser]] = {"anthropic": Anthropic().parser, "gemini": Gemini().parser}
EVENTS = {
    family: [event for path in sorted((DATA / family).glob("*.sse")) for event in streamed(family, path.stem)]
    for family in PARSERS
}
TEXT = st.binary(max_size=8).map(lambda data: data.decode("latin-1"))
LEAVES = st.none() | st.booleans() | st.integers(-3, 5) | st.floats() | TEXT
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def changed(data: st.DataObject, value: Any) -> Any:
    """The value with one place in it changed to anything else, or taken away."""
    if isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        what = data.draw(st.sampled_from(["inside", "inside", "gone", "other"]))
        rest = {name: each for name, each in value.items() if name != key}
        if what == "gone":
            return rest
        return {**rest, key: changed(data, value[key]) if what == "inside" else data.draw(ANYTHING)}
    if isinstance(value, list) and value:
        return [changed(data, value[0]), *value[1:]]
    return data.draw(ANYTHING)


@pytest.mark.parametrize("family", PARSERS)
@given(
    events=st.lists(st.builds(ServerEvent, st.sampled_from(["", "error", "ping", "message_start"]), TEXT), max_size=4)
)
def test_random_text(family: str, events: list[ServerEvent]) -> None:
    parsed(PARSERS[family](), events)


@pytest.mark.parametrize("family", PARSERS)
@given(given=ANYTHING)
def test_random_json(family: str, given: Any) -> None:
    parsed(PARSERS[family](), [ServerEvent("", json.dumps(given))])


@pytest.mark.parametrize("family", PARSERS)
@given(data=st.data())
def test_events_of_the_right_shape_in_any_order_with_places_changed(family: str, data: st.DataObject) -> None:
    events = data.draw(st.lists(st.sampled_from(EVENTS[family]), max_size=12))
    if family == "anthropic":
        events = [EVENTS[family][0], *events]
    for at in data.draw(st.lists(st.integers(0, max(0, len(events) - 1)), max_size=3)) if events else ():
        given = json.loads(events[at].data)
        events[at] = ServerEvent(events[at].event, json.dumps(changed(data, given)))
    parsed(PARSERS[family](), events)


@pytest.mark.parametrize("family", PARSERS)
def test_every_beginning_of_every_fixture_is_a_legal_stream(family: str) -> None:
    for path in sorted((DATA / family).glob("*.sse")):
        events = streamed(family, path.stem)
        for length in range(len(events) + 1):
            parsed(PARSERS[family](), events[:length])

"""The part of the terminal that receives a key; keys that were pressed before a card appeared do not answer it."""

import pytest

from callgate.tui.keys import Context
from callgate.tui.port import Receiver
from callgate.tui.route import SETTLE, Card, InputGuard, route

STEP = SETTLE / 4


def _after(*pauses: float, writing: bool = False) -> list[bool]:
    """For keys that are pressed after these pauses, the first one counted from when a card was drawn: whether the card
    takes them."""
    guard, now = InputGuard(), 100.0
    guard.appeared()
    guard.drawn(now)
    found: list[bool] = []
    for pause in pauses:
        now += pause
        found.append(guard.takes_keys(now, writing=writing))
        if found[-1]:
            guard.reached()
        guard.pressed(now)
    return found


@pytest.mark.spec("TUI-4")
def test_a_card_takes_keys_after_it_was_on_the_screen_and_no_key_was_pressed_for_a_moment() -> None:
    assert _after(STEP) == [False]
    assert _after(SETTLE) == [True]
    assert _after(STEP, SETTLE - STEP) == [False, False]  # long enough on the screen, but typing goes on
    assert _after(STEP, SETTLE) == [False, True]
    assert _after(SETTLE, 0.0, 0.0) == [True, True, True]  # once armed, it stays so
    assert _after(*[STEP] * 20) == [False] * 20  # a key that is held down


@pytest.mark.spec("TUI-4")
def test_a_card_that_has_not_been_drawn_takes_no_keys() -> None:
    guard = InputGuard()
    guard.appeared()
    assert not guard.takes_keys(1000.0, writing=False)
    assert not guard.enter(1000.0)
    guard.drawn(1000.0)
    guard.drawn(1000.0 + STEP)  # a later frame changes nothing
    assert not guard.takes_keys(1000.0 + STEP, writing=False)
    assert guard.takes_keys(1000.0 + SETTLE, writing=False)


@pytest.mark.spec("TUI-4")
def test_a_person_who_writes_keeps_the_input_line_until_they_ask_for_the_card() -> None:
    guard = InputGuard()
    guard.appeared()
    guard.drawn(0.0)
    assert not guard.takes_keys(50.0, writing=True)
    assert guard.enter(50.0)
    assert guard.takes_keys(50.0, writing=True)
    guard.leave()
    assert not guard.takes_keys(99.0, writing=False)


def test_the_key_that_asks_for_a_card_does_nothing_to_one_that_has_just_appeared() -> None:
    guard = InputGuard()
    assert not guard.enter(1.0)
    guard.appeared()
    guard.drawn(1.0)
    assert not guard.enter(1.0 + STEP)
    assert not guard.takes_keys(1.0 + STEP, writing=True)


class _Panel:
    context: Context = "selector"

    def lines(self, width: int, height: int) -> list[str]:
        return []

    def act(self, action: str) -> None: ...

    def typed(self, text: str) -> None: ...


class _Card(_Panel, Card):
    pass


def test_a_text_that_is_asked_for_goes_before_panels_and_cards() -> None:
    card, panel = _Card(), _Panel()
    card.guard.appeared()
    card.guard.drawn(0.0)
    assert route(None, 1.0, asks=False, writing=True) == Receiver()
    assert route(card, 1.0, asks=True, writing=False) == Receiver()
    assert route(panel, 1.0, asks=True, writing=False) == Receiver()
    assert route(panel, 1.0, asks=False, writing=False) == Receiver("panel", panel, "selector")
    assert route(card, 1.0, asks=False, writing=False) == Receiver("card", card, "selector")
    assert route(card, 1.0, asks=False, writing=True) == Receiver(card_waits=True)
    assert route(card, 0.1, asks=False, writing=False) == Receiver()


def test_routing_changes_nothing() -> None:
    card = _Card()
    card.guard.appeared()
    card.guard.drawn(0.0)
    before = dict(vars(card.guard))
    for now in (0.1, 1.0, 9.0):
        for writing in (False, True):
            route(card, now, asks=False, writing=writing)
    assert vars(card.guard) == before

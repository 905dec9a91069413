"""The part of the terminal that receives a key; keys that were pressed before a card appeared do not answer it."""

import pytest

from callgate.tui.keys import Context
from callgate.tui.port import Receiver
from callgate.tui.route import SETTLE, InputGuard, route

STEP = SETTLE / 4


def _after(*pauses: float, writing: bool = False, answered: bool = False) -> list[str]:
    """The receivers of keys that are pressed after these pauses, the first one counted from when a card appeared."""
    guard, now = InputGuard(), 100.0
    guard.appeared(now, after_answer=answered)
    found: list[str] = []
    for pause in pauses:
        now += pause
        found.append(guard.receiver(now, writing=writing))
        if found[-1] == "card":
            guard.reached()
        guard.pressed(now)
    return found


@pytest.mark.spec("TUI-4")
def test_a_card_takes_keys_after_it_was_on_the_screen_and_no_key_was_pressed_for_a_moment() -> None:
    assert _after(STEP) == ["input"]
    assert _after(SETTLE) == ["card"]
    assert _after(STEP, SETTLE - STEP) == ["input", "input"]  # long enough on the screen, but typing goes on
    assert _after(STEP, SETTLE) == ["input", "card"]
    assert _after(SETTLE, 0.0, 0.0) == ["card", "card", "card"]  # once armed, it stays so


@pytest.mark.spec("TUI-4")
def test_a_key_right_before_the_card_keeps_it_from_taking_the_next_one() -> None:
    guard = InputGuard()
    guard.pressed(100.0)
    guard.appeared(100.0 + STEP)
    assert guard.receiver(100.0 + 2 * STEP, writing=False) == "input"
    assert guard.wait(100.0 + 2 * STEP) == pytest.approx(SETTLE - STEP)


@pytest.mark.spec("TUI-4")
def test_a_person_who_writes_keeps_the_input_line_until_they_ask_for_the_card() -> None:
    guard = InputGuard()
    guard.appeared(0.0)
    assert guard.receiver(50.0, writing=True) == "input"
    assert guard.enter(50.0)
    assert guard.receiver(50.0, writing=True) == "card"
    guard.leave()
    assert guard.receiver(99.0, writing=False) == "input"


def test_the_key_that_asks_for_a_card_does_nothing_to_one_that_has_just_appeared() -> None:
    guard = InputGuard()
    assert not guard.enter(1.0)
    guard.appeared(1.0)
    assert not guard.enter(1.0 + STEP)
    assert guard.receiver(1.0 + STEP, writing=True) == "input"


@pytest.mark.spec("TUI-4")
def test_a_key_that_is_held_down_answers_one_card() -> None:
    assert _after(*[STEP] * 20, answered=True) == ["nothing"] * 20
    assert _after(STEP, SETTLE, answered=True) == ["nothing", "card"]
    # Text that waits in the input line is no reason to leave the cards between two answers.
    assert _after(SETTLE, answered=True, writing=True) == ["card"]


def test_without_a_card_keys_go_to_the_input_line() -> None:
    assert InputGuard().receiver(5.0, writing=False) == "input"
    assert InputGuard().wait(5.0) == 0


class _Panel:
    context: Context = "selector"

    def lines(self, width: int, height: int) -> list[str]:
        return []

    def act(self, action: str) -> None: ...

    def typed(self, text: str) -> None: ...


def test_a_text_that_is_asked_for_goes_before_panels_and_these_before_the_card() -> None:
    card, lower, upper, guard = _Panel(), _Panel(), _Panel(), InputGuard()
    guard.appeared(0.0)
    for panels, asks, expected in (
        ((), True, Receiver()),
        ((lower, upper), True, Receiver()),
        ((lower, upper), False, Receiver("panel", upper, "selector")),
        ((), False, Receiver("card", card, "selector")),
    ):
        assert route(panels, card, guard, 1.0, asks=asks, writing=False) == expected
    assert route((), None, guard, 1.0, asks=False, writing=True) == Receiver()
    assert route((), card, guard, 1.0, asks=False, writing=True) == Receiver(card_waits=True)
    assert route((), card, guard, 0.1, asks=False, writing=False) == Receiver()


def test_routing_changes_nothing() -> None:
    guard, card = InputGuard(), _Panel()
    guard.appeared(0.0)
    before = dict(vars(guard))
    for now in (0.1, 1.0, 9.0):
        for writing in (False, True):
            route((), card, guard, now, asks=False, writing=writing)
    assert vars(guard) == before

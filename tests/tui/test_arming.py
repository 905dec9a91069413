"""Keys that were pressed before a card appeared do not answer it."""

import pytest

from callgate.tui.panels.arming import SETTLE, Arming, Receiver

STEP = SETTLE / 4


def _after(*pauses: float, writing: bool = False, answered: bool = False) -> list[Receiver]:
    """Where keys go that are pressed after these pauses, the first one counted from the appearance of a card."""
    arming, now = Arming(), 100.0
    arming.appeared(now, after_answer=answered)
    found: list[Receiver] = []
    for pause in pauses:
        now += pause
        found.append(arming.receiver(now, writing=writing))
        arming.pressed(now)
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
    arming = Arming()
    arming.pressed(100.0)
    arming.appeared(100.0 + STEP)
    assert arming.receiver(100.0 + 2 * STEP, writing=False) == "input"
    assert arming.wait(100.0 + 2 * STEP) == pytest.approx(SETTLE - STEP)


@pytest.mark.spec("TUI-4")
def test_a_person_who_writes_keeps_the_input_line_until_they_ask_for_the_card() -> None:
    arming = Arming()
    arming.appeared(0.0)
    assert arming.receiver(50.0, writing=True) == "input"
    assert arming.enter(50.0)
    assert arming.receiver(50.0, writing=True) == "card"
    arming.leave()
    assert arming.receiver(99.0, writing=False) == "input"


def test_the_key_that_asks_for_a_card_does_nothing_to_one_that_has_just_appeared() -> None:
    arming = Arming()
    assert not arming.enter(1.0)
    arming.appeared(1.0)
    assert not arming.enter(1.0 + STEP)
    assert arming.receiver(1.0 + STEP, writing=True) == "input"


@pytest.mark.spec("TUI-4")
def test_a_key_that_is_held_down_answers_one_card() -> None:
    assert _after(*[STEP] * 20, answered=True) == ["nothing"] * 20
    assert _after(STEP, SETTLE, answered=True) == ["nothing", "card"]
    # Text that waits in the input line is no reason to leave the cards between two answers.
    assert _after(SETTLE, answered=True, writing=True) == ["card"]


def test_without_a_card_keys_go_to_the_input_line() -> None:
    assert Arming().receiver(5.0, writing=False) == "input"
    assert Arming().wait(5.0) == 0

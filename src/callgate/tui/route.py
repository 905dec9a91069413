"""Decides which part of the screen receives a key.

``route`` has no side effects. The terminal calls it before each key and before each frame, and stores the result;
all key filters, the layout and the panels read the stored result. See decision 0036.
"""

from collections.abc import Sequence
from typing import Literal

from callgate.tui.port import Panel, Receiver

SETTLE = 0.4
"""Seconds without a key after which a shown card accepts keys. Users who read the card need longer; users who are
typing press keys faster."""


def route(
    panels: Sequence[Panel], card: Panel | None, guard: "InputGuard", now: float, *, asks: bool, writing: bool
) -> Receiver:
    """Return the receiver of a key that is pressed at the time ``now``.

    panels   the open panels; the last panel is on top
    card     the card of the open question
    asks     the input line is open for a text that a panel or a command asked for
    writing  the input line contains text
    """
    if asks:
        return Receiver()
    if panels:
        return Receiver("panel", panels[-1], panels[-1].context)
    if card is None:
        return Receiver()
    part = guard.receiver(now, writing=writing)
    if part == "input":
        return Receiver(card_waits=writing or guard.is_left)
    return Receiver(part, card, card.context)


class InputGuard:
    """Prevents a key that was meant for another part of the screen from answering a question that has just appeared
    (decision 0036).

    The state changes only in ``appeared``, ``reached``, ``pressed``, ``enter`` and ``leave``. All times are seconds
    of the same clock.
    """

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._pressed_at = float("-inf")
        self._armed = False
        self.is_left = False
        self._answering = False

    def receiver(self, now: float, *, writing: bool) -> Literal["input", "card", "nothing"]:
        """Return the part of the screen that receives a key while a card is shown.

        input    the user is writing, or the card is too new
        card     the card is armed
        nothing  a key answered the previous card a moment ago, so the key is dropped
        """
        if self._shown_at is None:
            return "input"
        settled = not self.is_left and self.wait(now) <= 0 and (self._answering or not writing)
        if self._armed or settled:
            return "card"
        return "nothing" if self._answering else "input"

    def wait(self, now: float) -> float:
        """Return the seconds until the card can be armed if no key is pressed."""
        if self._shown_at is None:
            return 0.0
        return max(self._shown_at, self._pressed_at) + SETTLE - now

    def appeared(self, now: float, *, after_answer: bool = False) -> None:
        """Record that a card appeared. ``after_answer`` is True if it replaces a card that a key has just answered."""
        self._shown_at = now
        self._armed = self.is_left = False
        self._answering = after_answer

    def reached(self) -> None:
        """Record that a key was routed to the card: the card receives the following keys too, without a delay."""
        self._armed, self._answering = True, False

    def pressed(self, now: float) -> None:
        """Record that a key was pressed, for any receiver."""
        self._pressed_at = now

    def enter(self, now: float) -> bool:
        """Arm the card because the user asked for it. Return False if the card has not been shown long enough."""
        if self._shown_at is None or now - self._shown_at < SETTLE:
            return False
        self._armed, self.is_left, self._answering = True, False, False
        return True

    def leave(self) -> None:
        """Give the keys to the input line until the user selects the card."""
        self._armed, self.is_left, self._answering = False, True, False

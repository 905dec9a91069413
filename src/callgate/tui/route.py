"""Decides which part of the screen receives a key.

``route`` has no side effects. The terminal calls it before each key and before each frame, and stores the result;
all key filters, the layout and the panels read the stored result. See decision 0036.
"""

from __future__ import annotations

from collections.abc import Callable

from callgate.tui.keys import Context
from callgate.tui.port import Panel, Receiver

SETTLE = 0.4
"""Seconds without a key after which a shown card accepts keys. Users who read the card need longer; users who are
typing press keys faster."""


class Card(Panel):
    """A panel that asks the user a question. Text that is not a key of the card goes to the input line.

    guard  decides whether the card receives the keys
    """

    context: Context = "selector"

    def __init__(self, guard: InputGuard | None = None) -> None:
        self.guard = guard or InputGuard()

    @property
    def takes_text(self) -> bool:
        """True while the cursor is in a text field of the card."""
        return False

    def binds(self, text: str) -> bool:
        """Return True for a key of the card that is not in the table of keys."""
        return False

    def marks(self, text: str) -> bool:
        """Return True for a key that only moves the cursor or changes marks."""
        return False

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the cursor and the marks."""
        return lambda: None


def as_card(panel: Panel | None) -> Card | None:
    """Return the panel if it asks the user a question, otherwise None."""
    return panel if isinstance(panel, Card) else None


def route(panel: Panel | None, now: float, *, asks: bool, writing: bool) -> Receiver:
    """Return the receiver of a key that is pressed at the time ``now``.

    panel    the panel on the screen: the top panel, or the card of the open question
    asks     the input line is open for a text that a panel or a command asked for
    writing  the input line contains text
    """
    if asks or panel is None:
        return Receiver()
    card = as_card(panel)
    if card is None:
        return Receiver("panel", panel, panel.context)
    if card.guard.takes_keys(now, writing=writing):
        return Receiver("card", card, card.context)
    return Receiver(card_waits=writing or card.guard.is_left)


class InputGuard:
    """Prevents a key that was meant for another part of the screen from answering a question that has just appeared
    (decision 0036).

    The state changes only in ``appeared``, ``drawn``, ``reached``, ``pressed``, ``enter`` and ``leave``. All times are
    seconds of the same clock.
    """

    def __init__(self) -> None:
        self._shown_at = float("inf")
        self._pressed_at = float("-inf")
        self._armed = False
        self.is_left = False

    def takes_keys(self, now: float, *, writing: bool) -> bool:
        """Return True if the card receives a key, False if the input line receives it, because the user is writing or
        the card is too new."""
        return self._armed or not (self.is_left or writing or self.wait(now) > 0)

    def wait(self, now: float) -> float:
        """Return the seconds until the card can be armed if no key is pressed; infinity if it has not been drawn."""
        return max(self._shown_at, self._pressed_at) + SETTLE - now

    def appeared(self) -> None:
        """Record that a card will be drawn."""
        self._shown_at = float("inf")
        self._armed = self.is_left = False

    def drawn(self, now: float) -> None:
        """Record that a frame with the card was written to the terminal. Later frames change nothing."""
        self._shown_at = min(self._shown_at, now)

    def reached(self) -> None:
        """Record that a key was routed to the card: the card receives the following keys too, without a delay."""
        self._armed = True

    def pressed(self, now: float) -> None:
        """Record that a key was pressed, for any receiver."""
        self._pressed_at = now

    def enter(self, now: float) -> bool:
        """Arm the card because the user asked for it. Return False if the card has not been shown long enough."""
        if now - self._shown_at < SETTLE:
            return False
        self._armed, self.is_left = True, False
        return True

    def leave(self) -> None:
        """Give the keys to the input line until the user selects the card."""
        self._armed, self.is_left = False, True

"""The rule by which a card takes keys, as a state machine without a terminal. Times are seconds of any one clock.

A key that was meant for something else must not answer a question that appeared meanwhile. See decision 0042.
"""

from typing import Literal

SETTLE = 0.4
"""Seconds that a card is on the screen, and that no key is pressed, before it takes keys. A person who reads a card and
answers needs longer; a person who types presses keys faster."""

Receiver = Literal["input", "card", "nothing"]


class Arming:
    """Says where a key goes while a card is shown.

    ``input``: the input line, because the person is writing, or has not had the time to see the card. ``card``: the
    card is armed. ``nothing``: the card before this one was answered with a key, so this key belongs to no text.
    """

    def __init__(self) -> None:
        self._shown_at: float | None = None
        self._pressed_at = float("-inf")
        self._armed = False
        self._left = False
        self._answering = False

    def appeared(self, now: float, *, after_answer: bool = False) -> None:
        """A card is on the screen from now on. ``after_answer``: in place of one that a key has just answered."""
        self._shown_at = now
        self._armed = self._left = False
        self._answering = after_answer

    def pressed(self, now: float) -> None:
        """A key was pressed, for whichever part."""
        self._pressed_at = now

    def receiver(self, now: float, *, writing: bool) -> Receiver:
        """``writing``: there is text in the input line. Called before ``pressed`` with the same key."""
        if self._shown_at is None:
            return "input"
        if not self._armed and not self._left and self.wait(now) <= 0 and (self._answering or not writing):
            self._armed, self._answering = True, False
        if self._armed:
            return "card"
        return "nothing" if self._answering else "input"

    @property
    def was_left(self) -> bool:
        """True after the person went back to the input line."""
        return self._left

    def wait(self, now: float) -> float:
        """Seconds until the card can be armed, if no key is pressed."""
        if self._shown_at is None:
            return 0.0
        return max(self._shown_at, self._pressed_at) + SETTLE - now

    def enter(self, now: float) -> bool:
        """The person asks for the card by a key of its own. False if the card has not been there long enough."""
        if self._shown_at is None or now - self._shown_at < SETTLE:
            return False
        self._armed, self._left, self._answering = True, False, False
        return True

    def leave(self) -> None:
        """The person goes back to the input line: the card waits until it is asked for."""
        self._armed, self._left, self._answering = False, True, False

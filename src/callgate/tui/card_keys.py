"""Text that is typed while a card receives the keys: the keys of the card, or the beginning of a message.

A key of the card takes effect only if no text follows it within ``PAUSE`` seconds; otherwise it goes to the input line
together with the text. A paste, and keys that arrive in one read, always go to the input line. See decision 0036.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prompt_toolkit.keys import Keys

from callgate.tui.screen import typed_text

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from callgate.tui.inner_port import InnerTerminal
    from callgate.tui.keys import KeyAction
    from callgate.tui.route import Card

PAUSE = 0.5
"""Seconds without text after which a key of a card takes effect. Users who type a sentence press the second letter
earlier."""


@dataclass
class _Held:
    """Text that was typed at a card and whose effect is delayed or can be undone.

    run   performs the action of the key; None if the keys only changed marks, which happens without a delay
    undo  restores the marks
    """

    card: Card
    text: str
    timer: asyncio.TimerHandle
    run: Callable[[], None] | None = None
    undo: Callable[[], None] | None = None


class CardKeys:
    """Decides whether typed text is a key of the card or text for the input line."""

    def __init__(self, app: InnerTerminal) -> None:
        self._app = app
        self._held: _Held | None = None

    @property
    def waiting(self) -> str:
        """The key whose action is delayed, or an empty string."""
        return "" if self._held is None or self._held.run is None else self._held.text.rstrip() or " "

    def pressed(self, card: Card, keys: Sequence[KeyPress], row: KeyAction | None) -> None:
        """Handle keys at the card. ``row`` is the action of the keys in the table of keys."""
        text, enter = typed_text(keys), [each.key for each in keys] == [Keys.Enter]
        burst = self._app.application.is_burst
        if card.takes_text and (text or (enter and burst)):
            card.typed(text or " ")
        elif text and not burst:
            self._typed(card, text, row)
        elif text or self.waiting or burst:
            self._leave(card, keys, text, enter=enter)
        else:
            self._drop()
            if row is not None:
                self._app.act(row.action, row.context)

    def _leave(self, card: Card, keys: Sequence[KeyPress], text: str, *, enter: bool) -> None:
        held = self._held
        if enter and held is not None and held.run is not None and not self._app.application.is_burst:
            held.text = held.text.rstrip() + "\n"  # "y" and Enter mean "y"
            return
        self.write(text)
        for each in () if text else reversed(keys):
            self._app.application.key_processor.feed(each, first=True)

    def _typed(self, card: Card, text: str, row: KeyAction | None) -> None:
        marks = row is None and card.marks(text)
        if row is not None and self._held is None:
            self._hold(_Held(card, text, self._later(), lambda: self._app.act(row.action, row.context)))
        elif row is None and not marks and card.binds(text) and self._held is None:
            self._hold(_Held(card, text, self._later(), lambda: card.typed(text)))
        elif marks and not self.waiting:
            before, undo = ("", card.snapshot()) if self._held is None else (self._held.text, self._held.undo)
            self._hold(_Held(card, before + text, self._later(), None, undo))
            card.typed(text)
        else:
            self.write(text)

    def _later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(PAUSE, self._take_effect)

    def _hold(self, held: _Held) -> None:
        self._drop()
        self._held = held

    def _drop(self) -> _Held | None:
        held, self._held = self._held, None
        if held is not None:
            held.timer.cancel()
        return held

    def write(self, text: str = "") -> None:
        """Leave the card, and insert the held keys and the text into the input line."""
        held = self._drop()
        if held is not None:
            if held.undo is not None:
                held.undo()
            text = held.text + text
        self._app.leave_card()
        self._app.composer.insert(text)

    def update(self) -> None:
        """Insert the delayed key into the input line if the card that it was typed at no longer receives keys."""
        held, receiver = self._held, self._app.receiver
        if held is None or (receiver.part == "card" and receiver.panel is held.card):
            return
        self._drop()
        if held.run is not None:
            self._app.composer.insert(held.text)

    def _take_effect(self) -> None:
        self._app.update_receiver()
        self.update()
        held = self._drop()
        if held is not None and held.run is not None:
            held.run()
        self._app.redraw()

"""The queue of question cards: one card is shown, and the next card appears after the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from callgate.tui.fold_state import CallKey
from callgate.tui.route import InputGuard
from callgate.words.decisions import Question
from callgate.words.events import Event, InputRefused

if TYPE_CHECKING:
    from callgate.tui.panels.question_card import QuestionPanel
    from callgate.tui.port import Terminal


class QuestionQueue:
    """The queue of question cards. ``card`` is on the screen. ``number`` and ``total`` count the questions from the
    last time the queue was empty."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float]) -> None:
        self._terminal = terminal
        self._clock = clock
        self._key: CallKey = ((), "")
        self._gone = 0
        self.guard = InputGuard()
        self.card: QuestionPanel | None = None
        self.total = 0

    @property
    def number(self) -> int:
        return self._gone + 1

    def follow(self, questions: Mapping[CallKey, Question], event: Event | None = None) -> None:
        """Update the queue to the open questions after an event. The card of a closed question is removed."""
        if isinstance(event, InputRefused) and event.input == "Answer" and self.card is not None:
            self.card.refused(event.reason)
        current = questions.get(self._key)
        by_key = False
        if self.card is not None and current != self.card.question:
            by_key = self.card.sent
            self.card.withdraw()
            self.card = None
            self._gone += 1
        if not questions:
            self._gone = self.total = 0
            return
        self.total = self._gone + len(questions)
        if self.card is None:
            from callgate.tui.panels.question_card import QuestionPanel  # costly, and not needed for the first prompt

            self._key, question = next(iter(questions.items()))
            self.card = QuestionPanel(self._terminal, question, self)
            self.guard.appeared(self._clock(), after_answer=by_key)

    def uncovered(self, panel: object) -> None:
        """Restart the input guard after a panel above the card was closed, unless the panel was a view of the card."""
        if self.card is not None and self.card.view is not panel:
            self.guard.appeared(self._clock())

    @property
    def expires(self) -> bool:
        """True if the card shows the remaining time for an answer."""
        return self.card is not None and self.card.question.deadline is not None

    @property
    def wait(self) -> float:
        """The seconds until the card can be armed; 0 if there is no card or the card is armed."""
        return 0.0 if self.card is None else max(self.guard.wait(self._clock()), 0.0)

    def pressed(self) -> None:
        self.guard.pressed(self._clock())

    def enter(self) -> bool:
        """Give the keys to the card. Return False if the card has not been shown long enough."""
        return self.card is not None and self.guard.enter(self._clock())

    def leave(self) -> None:
        self.guard.leave()

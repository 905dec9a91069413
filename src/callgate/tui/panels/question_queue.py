"""The queue of question cards. One card is shown; the next card is shown after the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from callgate.tui.fold_state import CallKey
from callgate.tui.route import InputGuard
from callgate.words.decisions import Question
from callgate.words.events import Event, InputRefused

if TYPE_CHECKING:
    from callgate.tui.panels.question_card import QuestionPanel
    from callgate.tui.port import Terminal


class QuestionQueue:
    """The queue of question cards. ``card`` is the card on the screen."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._key: CallKey = ((), "")
        self._gone = self._total = 0  # answered questions and all questions since the queue was last empty
        self.guard = InputGuard()
        self.card: QuestionPanel | None = None

    def counter(self) -> str:
        """Return the position of the card in the queue, such as ``1 of 3``; an empty string for a single question."""
        return f"{self._gone + 1} of {self._total}" if self._total > 1 else ""

    def follow(self, questions: Mapping[CallKey, Question], event: Event | None = None) -> None:
        """Update the queue to the open questions after an event. The card of a closed question is removed."""
        if isinstance(event, InputRefused) and event.input == "Answer" and self.card is not None:
            self.card.refused(event.reason)
        current = questions.get(self._key)
        if self.card is not None and current != self.card.question:
            self.card.withdraw()
            self.card = None
            self._gone += 1
        if not questions:
            self._gone = self._total = 0
            return
        self._total = self._gone + len(questions)
        if self.card is None:
            from callgate.tui.panels.question_card import QuestionPanel  # costly, and not needed for the first prompt

            self._key, question = next(iter(questions.items()))
            self.card = QuestionPanel(self._terminal, question, self.guard, self.counter)
            self.guard.appeared()

    def uncovered(self, panel: object) -> None:
        """Restart the input guard after a panel above the card was closed, unless the panel was a view of the card."""
        if self.card is not None and self.card.view is not panel:
            self.guard.appeared()

    @property
    def expires(self) -> bool:
        """True if the card shows the remaining time for an answer."""
        return self.card is not None and self.card.question.deadline is not None

"""The card of an open question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.formats.display import visible
from callgate.tui.keys import Context
from callgate.words.decisions import Question
from callgate.words.inputs import Answer

if TYPE_CHECKING:
    from callgate.tui.port import Terminal

DOOR = "terminal"


class QuestionPanel:
    """Asks a person about one call."""

    context: Context = "question"

    def __init__(self, terminal: Terminal, question: Question) -> None:
        self._terminal = terminal
        self.question = question

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme, question = self._terminal.theme, self.question
        text = visible(f"{question.tool} {dict(question.arguments)}")[: width - 2]
        return [
            theme.paint(f"? {text}", "bold yellow"),
            theme.paint(f"  {visible(question.reason)[: width - 4]}", "grey"),
            "  y yes  a always  n no  Esc stop",
        ]

    def act(self, action: str) -> None:
        question = self.question
        match action:
            case "yes":
                self._terminal.post(Answer(question.yes(door=DOOR)))
            case "always":
                choice = question.choices[0] if question.choices else None
                self._terminal.post(Answer(question.always(choice, door=DOOR)))
            case "no":
                self._terminal.post(Answer(question.no(door=DOOR)))
            case "cancel":
                self._terminal.post(Answer(question.no(stop=True, door=DOOR)))
            case _:
                return

    def typed(self, text: str) -> None:
        pass

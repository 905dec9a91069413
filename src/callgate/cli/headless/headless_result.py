"""The result of a headless run: the output of ``json``, and the last line of ``stream-json``."""

from typing import Any, Literal

from callgate.words.decisions import Question
from callgate.words.endings import ENDINGS, RunReason
from callgate.words.messages import Usage
from callgate.words.noun import noun

SCHEMA_VERSION = 1
"""Of the lines ``start`` and ``result``. A new field does not change it; a field that goes or means another thing does.
"""

FAILED, USAGE, ASKS, INTERRUPTED = 1, 2, 3, 130

Reason = RunReason | Literal["question", "refused", "misfit", "error"]
"""That of RunEnded; or a question is open, an input was refused, the answer does not fit the schema, or the program
could not go on."""


def can_go_on(result: "HeadlessResult") -> bool:
    """Return True if ``--resume`` alone continues the run: a limit or an interrupt ended it, and the session is
    stored."""
    continues = {reason for reason, ending in ENDINGS.items() if ending.continues and ending.exit_code != FAILED}
    return result.reason in continues and bool(result.session_id)


@noun
class HeadlessResult:
    """The result of a headless run.

    text           the text of the model since its last tool call; incomplete unless ``reason`` is ``done``
    structured     the JSON value of the text, if a schema was given
    usage, cost    tokens and dollars of this run; None if a price is unknown
    turns          the number of requests
    changed_files  files changed by file tools; changes by commands are not listed
    errors         the reasons why the run did not finish
    """

    reason: Reason
    session_id: str
    text: str = ""
    structured: Any = None
    usage: Usage = Usage()
    cost: float | None = None
    turns: int = 0
    duration: float = 0.0
    changed_files: tuple[str, ...] = ()
    open_questions: tuple[Question, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """One of ``EXIT_CODES`` in ``words/endings.py``."""
        if self.reason == "question":
            return ASKS
        return FAILED if self.reason in ("refused", "misfit", "error") else ENDINGS[self.reason].exit_code

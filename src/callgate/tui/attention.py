"""Calls a person: the title of the terminal says session and state, the bell rings when a person is needed."""

from callgate.formats.display import visible
from callgate.tui.fold import ConversationFold
from callgate.words.events import Event, QuestionAsked, RunEnded

LONG = 10.0
"""Seconds: after a run of this length a person may have looked away."""
_STATES = {
    "working": "working",
    "waiting_confirmation": "waits for you",
    "paused": "paused",
}


def title_of(fold: ConversationFold, folder: str) -> str:
    """The title of the terminal: the session, and its state if it is not at rest."""
    name = visible(fold.title or folder or "callgate")[:60]
    state = _STATES.get(fold.status)
    return name if state is None else f"{name}: {state}"


def rings(event: Event, run_began: float | None) -> bool:
    """True if the event needs a person: a question, or the end of a run that took a while."""
    if isinstance(event, QuestionAsked):
        return True
    return isinstance(event, RunEnded) and run_began is not None and event.at - run_began >= LONG

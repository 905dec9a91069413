"""Calls a person: the title of the terminal says session and state, the bell rings when a person is needed, and one who
comes back after a while is told how to see where things stand."""

from callgate.formats.display import visible
from callgate.tui.fold import ConversationFold
from callgate.tui.render.measures import seconds_text
from callgate.words.events import Event, QuestionAsked, RunEnded

AWAY = 20 * 60.0
"""Seconds without a key after which a person has been away."""
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


def rings(event: Event, run_began: float | None, *, asked: bool = False) -> bool:
    """True if the event needs a person: a question, unless another one waits already (``asked``), or the end of a run
    that took a while."""
    if isinstance(event, QuestionAsked):
        return not asked
    return isinstance(event, RunEnded) and run_began is not None and event.at - run_began >= LONG


class Absence:
    """Notices that a person comes back: a key, after a long time without one."""

    def __init__(self) -> None:
        self._last: float | None = None

    def ended(self, now: float) -> str:
        """A key is pressed now. Gives the line for a person who comes back; empty for all others."""
        last, self._last = self._last, now
        return "" if last is None else recap_offer(now - last)


def recap_offer(away: float) -> str:
    """The line for a person who was away for so many seconds; empty if that is not long."""
    return f"You were away for {seconds_text(away)}: /recap says where things stand." if away >= AWAY else ""

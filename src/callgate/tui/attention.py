"""The terminal title, the bell, and the hint about ``/recap`` after an absence of the user."""

from callgate.formats.display import visible
from callgate.tui.fold import ConversationFold
from callgate.tui.render.measures import seconds_text
from callgate.words.events import Event, QuestionAsked, RunEnded

AWAY = 20 * 60.0
"""The seconds without a key press after which the user is treated as away."""
LONG = 10.0
"""The bell rings at the end of a run that took at least this many seconds."""
LONGEST = 60
"""The maximum number of characters of the session's name in the title."""
_STATES = {"working": "working", "waiting_confirmation": "waits for you", "paused": "paused"}


def title_of(fold: ConversationFold, folder: str) -> str:
    """Return the terminal title: the name of the session and, unless the session is idle, its status."""
    name = visible(fold.title or folder or "callgate")
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"
    state = _STATES.get(fold.status)
    return name if state is None else f"{name}: {state}"


def rings(event: Event, run_began: float | None, *, asked: bool = False) -> bool:
    """Return True if the event rings the bell: a question while no other question is open, or the end of a run of over
    ``LONG`` seconds.

    asked  another question is open already
    """
    if isinstance(event, QuestionAsked):
        return not asked
    return isinstance(event, RunEnded) and run_began is not None and event.at - run_began >= LONG


class Absence:
    """Detects that the user has returned: the first key press after a long time without a key press."""

    def __init__(self) -> None:
        self._last: float | None = None

    def ended(self, now: float) -> str:
        """Record a key press and return the hint about ``/recap`` if the user returns, otherwise an empty string."""
        last, self._last = self._last, now
        return "" if last is None else recap_offer(now - last)


def recap_offer(away: float) -> str:
    """Return the hint about ``/recap`` after an absence of ``away`` seconds, or an empty string if the absence was
    short."""
    return f"You were away for {seconds_text(away)}: /recap summarizes the session." if away >= AWAY else ""

"""Phases of a session's work that no call and no turn shows: hooks, and the summary of a compaction."""

from typing import Literal

from callgate.words.noun import noun

PhaseKind = Literal["hook", "summary"]


@noun
class PhaseStarted:
    """The session waits for something that is neither the model's answer nor a call. ``name`` is the hook with its
    moment, or the model that writes the summary; ``call_id`` is the call that a hook is about. ``id`` is the same in
    its PhaseEnded."""

    at: float
    id: str
    kind: PhaseKind
    name: str
    call_id: str | None = None


@noun
class PhaseEnded:
    """The wait is over, after these ``seconds``."""

    at: float
    id: str
    kind: PhaseKind
    name: str
    seconds: float
    call_id: str | None = None

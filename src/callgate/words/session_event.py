"""An event with the path of its session."""

from typing import NamedTuple

from callgate.words.events import Event

AgentPath = tuple[str, ...]
"""Names of agents from the root session to a nested session; empty for the root."""


class SessionEvent(NamedTuple):
    """An event of a session or of a nested session.

    path    the names of the agents from the root to the session that wrote the event
    number  the number of the event in the record of that session, from 1; 0 if the event is not recorded
    """

    path: AgentPath
    number: int
    event: Event

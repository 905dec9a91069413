"""An event with the path of its session."""

from typing import NamedTuple

from callgate.words.events import Event

AgentPath = tuple[str, ...]
"""Names of agents from the root session to a nested session; empty for the root."""


class SessionEvent(NamedTuple):
    """An event of a session or of a session inside it.

    path    the names of the agents from the root to the session that wrote the event
    number  its number in the record of that session, from 1; 0 if it is not on record
    """

    path: AgentPath
    number: int
    event: Event

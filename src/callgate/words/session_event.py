"""An event together with the session that wrote it."""

from typing import NamedTuple

from callgate.words.events import Event

AgentPath = tuple[str, ...]
"""The names of the agents from the root session to a nested one; empty for the root."""


class SessionEvent(NamedTuple):
    """An event of a session or of a session inside it.

    path    the names of the agents from the root to the session that wrote the event
    number  its number in the record of that session, from 1; 0 if it is not on record
    """

    path: AgentPath
    number: int
    event: Event

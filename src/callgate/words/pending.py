"""Actions that were staged and wait to be applied or discarded."""

from typing import Any, Literal

from callgate.words.noun import noun

RESOLVE = "resolve"
"""The tool that finishes a pending action."""

ResolveAction = Literal["apply", "discard"]

Ended = Literal["applied", "discarded", "lost"]
"""Ends of a pending action. ``lost``: with the program that had staged it."""

_LONGEST = 16


@noun
class Staged:
    """A pending action as it is on record. ``source`` is the tool its author names, ``tool`` with its ``aliases`` the
    one that was running: its rules judge callbacks. ``message_id`` and ``call_id`` say where it was staged. ``paths``
    are the files it would change, if that is all it does, with the lines ``added`` and ``removed``; ``change`` is
    its number among the changes of the session, without which only the program that staged it can finish it.
    ``careful``: a person is asked each time."""

    id: str
    label: str
    source: str
    tool: str = ""
    message_id: str = ""
    call_id: str = ""
    summary: str = ""
    paths: tuple[str, ...] = ()
    details: Any = None
    change: int | None = None
    aliases: tuple[str, ...] = ()
    careful: bool = False
    added: int = 0
    removed: int = 0

    @property
    def number(self) -> int:
        """The last part of its id, which no other action of the session has."""
        number = self.id.rpartition(":")[2]
        return int(number) if number.isdecimal() and len(number) < _LONGEST else 0

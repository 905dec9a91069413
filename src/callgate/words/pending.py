"""Staged actions, which are applied or discarded later."""

from typing import Any, Literal

from callgate.words.noun import noun

RESOLVE = "resolve"
"""The name of the tool that applies or discards a pending action."""

ResolveAction = Literal["apply", "discard"]

Ended = Literal["applied", "discarded", "lost"]
"""Ends of a pending action. ``lost``: the program that staged it ended."""

_LONGEST = 16


@noun
class Staged:
    """A pending action on record.

    source   the tool that the action is shown as
    tool     the tool that staged it, with its ``aliases``: its rules judge callbacks
    paths    the files it would change, if it does nothing else, with the lines ``added`` and ``removed``
    change   its number among the changes of the session; without one only the program that staged it can apply it
    careful  a person is asked each time
    """

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
        """The number at the end of its id, unique in the session."""
        number = self.id.rpartition(":")[2]
        return int(number) if number.isdecimal() and len(number) < _LONGEST else 0

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
    """A recorded staged action.

    source   the name of the tool that the user sees for the action
    tool     the tool that staged the action; its rules judge callbacks
    aliases  the aliases of the tool
    paths    the files that the action would change, if it does nothing else
    added    the number of added lines in these files; ``removed`` is the number of removed lines
    change   the number of the change in the session; if None, only the program that staged the action can apply it
    careful  the user is asked each time
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
        """The number at the end of the id, unique in the session."""
        number = self.id.rpartition(":")[2]
        return int(number) if number.isdecimal() and len(number) < _LONGEST else 0

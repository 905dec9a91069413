"""What was staged and waits for somebody's word: applied or discarded, and until then neither."""

from typing import Any, Literal

from callgate.words.noun import noun

RESOLVE = "resolve"
"""The tool that finishes what is pending."""

Word = Literal["apply", "discard"]
"""What a ``resolve`` may say."""

Ended = Literal["applied", "discarded", "lost"]
"""What becomes of a pending action. ``lost``: it ended with the program that had staged it."""


_LONGEST = 16


@noun
class Staged:
    """A pending action as it is on record. ``source`` is the tool its author names, ``tool`` with its ``aliases`` the
    one that was running: by its rules callbacks are judged. ``message_id`` and ``call_id`` say where it was staged.
    ``paths`` are the files it would change, if that is all it does; ``change`` is its number among the changes of the
    session, without which only the program that staged it can finish it. ``careful``: a person is asked, whatever
    rules and modes say."""

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

    @property
    def number(self) -> int:
        """The last part of its id, which no other action of the session has."""
        number = self.id.rpartition(":")[2]
        return int(number) if number.isdecimal() and len(number) < _LONGEST else 0

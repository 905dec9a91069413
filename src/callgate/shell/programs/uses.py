"""What a program would do with the words it is given: one ``Use`` for everything that matters to a rule."""

from collections.abc import Callable, Sequence
from typing import Literal

from callgate.shell.command import Word
from callgate.words.noun import noun

Role = Literal["read", "write", "move", "remove", "argv", "run", "code", "load", "enter", "send", "alter", "odd"]
"""``read``, ``write``, ``move`` (away from there), ``remove``: ``text`` is a path, or empty when it is not named.
``argv``: another command starts at word ``on``; past the last word when nobody can say where. ``run``: ``text`` is
shell text that is run; empty when it is not in sight. ``code``: ``text`` is a program in another language; empty when
it is not in sight. ``load``: code or settings from elsewhere. ``enter``: it works in the folder ``text``. ``send``:
data leaves, or comes from, another place than the rule is about. ``alter``: a state that is no path. ``odd``: not
known, so not covered."""

Words = Sequence[Word]


@noun
class Use:
    """``at`` is the word that asks for it, ``on`` the one that says with what. ``meant``: it is what the program is
    for, so whoever grants the program grants it. ``target``: ``text`` is a file that is written like the target of a
    redirection, and nothing else happens: a grant for that file is enough. ``guess``: ``text`` may be a path, or any
    other text."""

    role: Role
    text: str = ""
    at: int = 0
    on: int = 0
    why: str = ""
    meant: bool = False
    target: bool = False
    guess: bool = False


Reader = Callable[[Words], list[Use]]
"""The words of a simple command, its program first, to what it would do with them."""


@noun
class Program:
    """``quiet``: without any rule it may do what no use of it objects to; ``unasked`` says so. ``tame``: it has no
    option or operand that could do more, so words that are not known do not matter."""

    read: Reader
    quiet: bool = False
    tame: bool = False


WHY: dict[str, str] = {
    "write": "writes a file",
    "move": "moves files",
    "remove": "removes files",
    "argv": "runs another command",
    "run": "runs another command",
    "code": "runs code that is not in sight",
    "load": "loads code or settings from elsewhere",
    "enter": "works in another folder",
    "send": "reaches another place",
    "alter": "changes something",
    "odd": "is not known to be harmless",
    "read": "reads a file",
}


def said(word: Word) -> str:
    """The word as text; what is not known is a NUL, which no word of a command can be."""
    return "\0" if word.value is None else word.value


def unsure(word: Word) -> bool:
    """Nobody can say what this word will be, or how many words."""
    return word.value is None or word.globs

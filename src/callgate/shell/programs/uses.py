"""The effects of a command. A ``Use`` is one effect of a word that rules check."""

import re
from collections.abc import Sequence
from typing import Literal

from callgate.shell.command import Word
from callgate.words.noun import noun

Role = Literal["read", "write", "move", "remove", "argv", "run", "code", "load", "enter", "send", "alter", "unknown"]
"""The kind of a use.

read, write, remove  accesses the path ``text``; empty if the path is unknown
move                 moves the file ``text`` away, which is checked like ``remove``
argv                 runs the inner command that starts at word ``on``; after the last word if its start is unknown
run                  runs the shell text ``text``; empty if unknown
code                 runs ``text``, a program in another language; empty if unknown
load                 loads code or settings from a place that the rule does not name
enter                changes the working folder to ``text``
send                 sends data to, or receives data from, a place that the rule does not name
alter                changes a state other than files
unknown              the row does not describe the word, so no rule for the program covers the command
"""

Words = Sequence[Word]
_JOINT = re.compile(r"[,;=@<:]")


@noun
class Use:
    """An effect of a command.

    at       the index of the word that causes the effect
    on       the index of the word with the value
    granted  a rule for the program also allows the effect (``rm:*`` allows that ``rm build`` removes files)
    target   the file ``text`` is only written, like the target of a redirection, so an Edit rule is sufficient (``sort
             -o out``)
    guess    ``text`` may be a path or any other text (``pytest tests``)
    flat     the path must not be a folder, because links in the folder would be followed (``diff a b``) or hooks in
             it would run (``git push name``)
    """

    role: Role
    text: str = ""
    at: int = 0
    on: int = 0
    why: str = ""
    granted: bool = False
    target: bool = False
    guess: bool = False
    flat: bool = False


WHY: dict[str, str] = {
    "write": "writes a file",
    "move": "moves files",
    "remove": "removes files",
    "argv": "runs another command",
    "run": "runs another command",
    "code": "runs unknown code",
    "load": "loads other code or settings",
    "enter": "works in another folder",
    "send": "contacts another target",
    "alter": "changes something",
    "unknown": "is not known to be harmless",
    "read": "reads a file",
}


def text_of(word: Word) -> str:
    """Return the text of the word. For a word with an expansion return a NUL character, which no word can contain."""
    return "\0" if word.value is None else word.value


def unsure(word: Word) -> bool:
    """Return True if the shell expands the word to unknown text or an unknown number of words."""
    return word.value is None or word.globs


def pieces(text: str) -> list[str]:
    """Return the paths that a word may contain: ``name=@file``, ``file:/there``, ``type=bind,source=folder``."""
    if not _JOINT.search(text):
        return [text] if text else []
    parts = [part.rpartition("=")[2].rpartition("@")[2].lstrip("<") for part in re.split("[,;]", text)]
    return [each for each in dict.fromkeys((text, *parts, *(part.partition(":")[0] for part in parts))) if each]

"""The effect of a program's words: one ``Use`` for everything that matters to a rule."""

import re
from collections.abc import Sequence
from typing import Literal

from callgate.shell.command import Word
from callgate.words.noun import noun

Role = Literal["read", "write", "move", "remove", "argv", "run", "code", "load", "enter", "send", "alter", "unknown"]
"""``read``, ``write``, ``move`` (away from there), ``remove``: ``text`` is a path, or empty when it is not named.
``argv``: another command starts at word ``on``; past the last word when its place cannot be told. ``run``: ``text`` is
shell text that is run; empty when it is not in sight. ``code``: ``text`` is a program in another language; empty when
it is not in sight. ``load``: code or settings from elsewhere. ``enter``: it works in the folder ``text``. ``send``:
data leaves, or comes from, another place than the rule names. ``alter``: a state that is no path. ``unknown``: the
table does not say what the word does, so no rule for the program covers it."""

Words = Sequence[Word]
_JOINT = re.compile(r"[,;=@<:]")


@noun
class Use:
    """``at`` is the word that asks for it, ``on`` the one that says with what.

    ``granted``: a rule for the program includes it (``rm:*`` includes the removal of ``rm build``). ``target``:
    ``text`` is a file that is written like the target of a redirection and nothing else happens, so an Edit rule for
    that file is enough (``sort -o out``). ``guess``: ``text`` may be a path, or any other text (``pytest tests``).
    ``flat``: links in a folder would be followed, so the path must not be a folder (``diff a b``)."""

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
    "code": "runs code that is not in sight",
    "load": "loads code or settings from elsewhere",
    "enter": "works in another folder",
    "send": "reaches another place",
    "alter": "changes something",
    "unknown": "is not known to be harmless",
    "read": "reads a file",
}


def text_of(word: Word) -> str:
    """The word as text; a word with an expansion in it is a NUL, which no word of a command can be."""
    return "\0" if word.value is None else word.value


def unsure(word: Word) -> bool:
    """Only the shell will know what this word becomes, or how many words."""
    return word.value is None or word.globs


def pieces(text: str) -> list[str]:
    """The paths that may be in a word: ``name=@file``, ``file:/there``, ``type=bind,source=folder``."""
    if not _JOINT.search(text):
        return [text] if text else []
    parts = [part.rpartition("=")[2].rpartition("@")[2].lstrip("<") for part in re.split("[,;]", text)]
    return [each for each in dict.fromkeys((text, *parts, *(part.partition(":")[0] for part in parts))) if each]

"""The value types of both parsers: words, redirections, simple commands, scripts.

The two parsers (tree-sitter, and a strict lexer of our own) share only these types and ``spelling``. Both must return
the same script before a rule may allow anything.
"""

from dataclasses import dataclass, field
from typing import Literal

from callgate.words.noun import noun

Within = Literal["plain", "pipe", "subshell", "group", "control", "function", "substitution", "background"]
"""The forms that contain a simple command, innermost first; ``control`` is an if, for, while, case or select."""


@noun
class Word:
    """A word of a command.

    value   the text after quotes and escapes are resolved; None if it contains an expansion of a parameter, command,
    process or arithmetic
    globs   it contains an unquoted ``*``, ``?`` or ``[``, which is literal in ``value``
    braces  it was expanded from a brace form of literals, which gives one Word for each result
    tilde   it begins with an unquoted ``~``, or has one after ``=`` or ``:``; not resolved in ``value``
    raw     the text as written, for people; the parsers may differ on it
    """

    value: str | None
    raw: str = ""
    globs: bool = False
    braces: bool = False
    tilde: bool = False


@noun
class Redirect:
    """A redirection.

    operator  as written, without its number
    target    of a here-document the delimiter
    body      the text of a here-document
    """

    operator: str
    target: Word
    fd: int | None = None
    body: str | None = None


@noun
class Simple:
    """A simple command: ``NAME=value`` prefixes, words, redirections. ``words`` may be empty.

    The redirections of a compound command (``{ …; } > f``) are a simple command without words after the commands in it.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    within: tuple[Within, ...] = ()


@dataclass(slots=True)
class CommandDraft:
    """A simple command while it is parsed."""

    within: tuple[Within, ...] = ()
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    redirects: list[Redirect] = field(default_factory=list[Redirect])

    def finished(self) -> Simple:
        return Simple(tuple(self.words), tuple(self.assignments), tuple(self.redirects), self.within)


@noun
class Script:
    """All simple commands in the order of the text, also those in substitutions, bodies and branches.

    operators  the operators between them: ``&&``, ``||``, ``;``, ``|``, ``|&``, ``&``, a newline as ``;``
    expands    there is an expansion other than globs, braces and tildes of literals
    """

    commands: tuple[Simple, ...]
    operators: tuple[str, ...] = ()
    expands: bool = False


@noun
class Unread:
    """A parser failed at ``at``."""

    reason: str
    at: int = 0


@noun
class Analysis:
    """The result of both parsers.

    fault   why no rule may allow the command: the parsers disagree, one failed, an invisible character, too long
    script  the widest result, for deny rules; incomplete if there is a fault, so deny rules also search the text
    whole   all commands are in ``script``: there is no fault, or only forms that the strict parser refuses
    """

    text: str
    script: Script
    fault: str | None = None
    whole: bool = True


def names(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())

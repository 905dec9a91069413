"""The value types of both parsers: words, redirections, simple commands, scripts.

The two parsers (tree-sitter and the strict parser of this package) share only these types and the module
``spelling``. A rule may allow a command only if both parsers return the same script.
"""

from dataclasses import dataclass, field
from typing import Literal

from callgate.words.noun import noun

Within = Literal["plain", "pipe", "subshell", "group", "control", "function", "substitution", "background"]
"""The forms that enclose a simple command, innermost first. ``control`` is an if, for, while, case or select."""


@noun
class Word:
    """A word of a command.

    value   the text without quotes and escapes; None if the word contains an expansion of a parameter, command, process
            or arithmetic
    globs   the word contains an unquoted ``*``, ``?`` or ``[``, which is literal in ``value``
    braces  the word was expanded from a brace form, which gives one Word for each result
    tilde   the word begins with an unquoted ``~`` or has one after ``=`` or ``:``; ``value`` contains the ``~``
    raw     the text as written, for messages; the parsers may return different texts
    """

    value: str | None
    raw: str = ""
    globs: bool = False
    braces: bool = False
    tilde: bool = False


@noun
class Redirect:
    """A redirection.

    operator  the operator as written, without its number
    target    the word after the operator; for a here-document its delimiter
    body      the text of a here-document
    """

    operator: str
    target: Word
    fd: int | None = None
    body: str | None = None


@noun
class Simple:
    """A simple command: ``NAME=value`` prefixes, words, redirections.

    ``words`` may be empty. The redirections of a compound command (``{ …; } > f``) become a simple command without
    words, which follows the commands of the compound command.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    within: tuple[Within, ...] = ()


@dataclass(slots=True)
class CommandDraft:
    """A simple command that is still being parsed."""

    within: tuple[Within, ...] = ()
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    redirects: list[Redirect] = field(default_factory=list[Redirect])

    def finished(self) -> Simple:
        return Simple(tuple(self.words), tuple(self.assignments), tuple(self.redirects), self.within)


@noun
class Script:
    """All simple commands in the order of the text, including commands in substitutions, bodies and branches.

    operators  the operators between the commands: ``&&``, ``||``, ``;``, ``|``, ``|&``, ``&``; a newline is stored as
               ``;``
    expands    the text contains an expansion other than globs, braces and tildes in literal words
    """

    commands: tuple[Simple, ...]
    operators: tuple[str, ...] = ()
    expands: bool = False


@noun
class Unread:
    """The position ``at`` where a parser failed, and the reason."""

    reason: str
    at: int = 0


@noun
class Analysis:
    """The result of both parsers for one command.

    fault   why no rule may allow the command: the parsers disagree, a parser failed, the text is too long or contains
            an invisible character
    script  the most complete result, for deny rules; incomplete if there is a fault, in which case deny rules also
            search the text
    whole   ``script`` contains all commands: there is no fault, or the only fault is a form that the strict parser
            refuses
    """

    text: str
    script: Script
    fault: str | None = None
    whole: bool = True


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())

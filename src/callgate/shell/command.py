"""The nouns both readers of a shell command speak: words, redirections, simple commands, a script.

Two readers (tree-sitter, and a strict lexer of our own) share only these nouns and the values of a word's pieces. Both
must read the same script before a rule may allow anything.
"""

from dataclasses import dataclass, field
from typing import Literal

from callgate.words.noun import noun

Within = Literal["plain", "pipe", "subshell", "group", "control", "function", "substitution", "background"]
"""The forms that a simple command stands in, innermost first; ``control`` is an if, for, while, case or select."""


@noun
class Word:
    """``value`` is what the shell would make of it, known without running anything: quotes and escapes resolved. It is
    None as soon as a parameter, command, process or arithmetic expansion has a part in it.

    ``globs``: an unquoted ``*``, ``?`` or ``[`` is in it, and ``value`` is its literal spelling. ``braces``: it was
    made from a brace form of literals; then one Word for every word that comes out. ``tilde``: an unquoted ``~`` leads,
    or follows an unquoted ``=`` or ``:``; it is not resolved in ``value``. ``raw`` is the text as written, for people;
    two readers need not agree on it.
    """

    value: str | None
    raw: str = ""
    globs: bool = False
    braces: bool = False
    tilde: bool = False


@noun
class Redirect:
    """``operator`` as written without its number: ``>``, ``>>``, ``<``, ``>|``, ``<>``, ``&>``, ``&>>``, ``>&``,
    ``<&``, ``<<``, ``<<-``, ``<<<``. ``target`` of a here-document is its delimiter; ``body`` its text."""

    operator: str
    target: Word
    fd: int | None = None
    body: str | None = None


@noun
class Simple:
    """One simple command: ``NAME=value`` prefixes, words, redirections. ``words`` may be empty.

    The redirections of a compound command (``{ …; } > f``) are a simple command without words, behind those in it.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    within: tuple[Within, ...] = ()


@dataclass(slots=True)
class CommandDraft:
    """A simple command while a reader puts it together."""

    within: tuple[Within, ...] = ()
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    redirects: list[Redirect] = field(default_factory=list[Redirect])

    def finished(self) -> Simple:
        return Simple(tuple(self.words), tuple(self.assignments), tuple(self.redirects), self.within)


@noun
class Script:
    """Every simple command in the order of the text, those in substitutions, bodies and branches included.

    ``operators`` are those between them in the order of the text: ``&&``, ``||``, ``;``, ``|``, ``|&``, ``&``, and a
    newline as ``;``. ``expands``: somewhere there is an expansion other than globs, braces and tilde of literals.
    """

    commands: tuple[Simple, ...]
    operators: tuple[str, ...] = ()
    expands: bool = False


@noun
class Unread:
    """A reader could not, or would not, understand it; ``at`` is where."""

    reason: str
    at: int = 0


@noun
class Analysis:
    """Both readings of a command. ``fault`` is why no rule may allow it: the readers disagree, one of them gave up,
    a character that is not to be seen, too long. ``script`` is the widest reading there is, for deny rules; with a
    fault it may be incomplete, and the text itself then counts.

    ``whole``: the wide reader got through the text, and nothing contradicts it; so all commands are in ``script``.
    Always true without a fault; true with one when the text has only forms that the strict reader does not take, such
    as expansions and loops."""

    text: str
    script: Script
    fault: str | None = None
    whole: bool = True


def names(text: str) -> frozenset[str]:
    """The words of a text, for a table."""
    return frozenset(text.split())

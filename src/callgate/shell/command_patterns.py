"""Parses and matches the content of a shell rule: ``git status``, ``git log:*``, ``npm run *``.

A pattern matches the unquoted words of one simple command, never an operator. A ``*`` between blanks matches one or
more words; a ``*`` inside a word matches any text within that word.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from callgate.words.noun import noun

Piece = tuple[str, ...]
"""One word of a pattern, split at its stars: ``("git",)`` is literal, ``("", "")`` is a single star."""

Kind = Literal["exact", "prefix", "wildcard"]

LONE: Piece = ("", "")
_LIMIT = 2_000
_FORBIDDEN = {
    **dict.fromkeys(";&|<>", "is an operator of the shell"),
    **dict.fromkeys("()", "groups commands"),
    **dict.fromkeys("$`", "starts an expansion"),
    "\\": "escapes",
}
# Text that a star inside a word may not match: it could lead out of the place that the word names, or be expanded
# by the program (curl expands braces and brackets).
_NOT_UNDER_STAR = frozenset("{}[]\\@")
_VARIABLE = re.compile(r"[A-Za-z_]\w*\+?=")


@noun
class ShellPattern:
    """A parsed pattern. ``content`` is its text; ``kind`` has these values:

    exact     the command has these words and no others
    prefix    the command begins with these words
    wildcard  the words contain stars
    """

    content: str
    kind: Kind
    pieces: tuple[Piece, ...]

    @property
    def program(self) -> str | None:
        """The program that the pattern names; None if the first word contains a star."""
        first = self.pieces[0]
        return first[0] if len(first) == 1 else None

    @property
    def everything(self) -> bool:
        """True if the pattern is a single star, which matches every command."""
        return self.pieces == (LONE,)

    def spelled(self, words: Sequence[str]) -> frozenset[int] | None:
        """Return the indices of the words that the pattern contains literally; None if the pattern does not match. A
        pattern that begins with a star never matches here, because it would allow every program."""
        if self.pieces[0] != tuple(words[:1]):
            return None
        if self.kind == "wildcard":
            return _spelled_around_stars(self.pieces, words)
        count = len(self.pieces)
        if len(words) < count or (self.kind == "exact" and len(words) != count):
            return None
        if any(piece[0] != word for piece, word in zip(self.pieces, words, strict=False)):
            return None
        return frozenset(range(count))


def matches(piece: Piece, word: str) -> bool:
    """Return True if the piece of a pattern matches the word. The time is linear."""
    if len(piece) == 1:
        return piece[0] == word
    head, *middle, tail = piece
    if len(word) < len(head) + len(tail) or not (word.startswith(head) and word.endswith(tail)):
        return False
    at, end = len(head), len(word) - len(tail)
    for part in middle:
        at = word.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def stretch(pieces: Sequence[Piece], words: Sequence[str], *, least: int = 1) -> dict[int, int] | None:
    """Return the index of the word that each piece matches; None if the pieces do not match the words. A star
    between blanks matches at least ``least`` words."""
    tokens: list[Piece | None] = []
    for piece in pieces:
        tokens += [LONE] * least + [None] if piece == LONE else [piece]
    found: dict[int, int] = {}
    at = token = 0
    back: tuple[int, int] | None = None
    while at < len(words):
        wanted = tokens[token] if token < len(tokens) else ()
        if wanted is None:
            back = (token, at)
            token += 1
        elif wanted and matches(wanted, words[at]):
            found[token] = at
            at, token = at + 1, token + 1
        elif back:
            back = (back[0], back[1] + 1)
            token, at = back[0] + 1, back[1]
        else:
            return None
    while token < len(tokens) and tokens[token] is None:
        token += 1
    return found if token == len(tokens) else None


def _spelled_around_stars(pieces: tuple[Piece, ...], words: Sequence[str]) -> frozenset[int] | None:
    found = stretch(pieces, words)
    if found is None:
        return None
    tokens = [piece for piece in pieces for piece in ([LONE, LONE] if piece == LONE else [piece])]
    spelled: set[int] = set()
    for token, at in found.items():
        piece = tokens[token]
        if len(piece) == 1:
            spelled.add(at)
        elif piece != LONE:
            if not _keeps_place(piece, words[at]):
                return None
            if _names_what(piece[0]):
                spelled.add(at)
    return frozenset(spelled)


def _keeps_place(piece: Piece, word: str) -> bool:
    """Return True if the text that the stars match does not lead out of the folder that the literal text names."""
    hidden = word[len(piece[0]) : len(word) - len(piece[-1])]
    return not _NOT_UNDER_STAR & set(hidden) and ".." not in word.split("/")


def _names_what(head: str) -> bool:
    """Return True if the literal beginning names an object: ``/srv/data/*`` and ``--output=*`` do; ``-*`` and ``a*``
    do not."""
    return "=" in head if head.startswith("-") else "/" in head


def parse_pattern(content: str) -> ShellPattern:
    """Parse the content of a rule. Raise ValueError with the position if the content is invalid."""
    if not content.strip():
        raise ValueError("the pattern is empty, at character 1")
    if content[0].isspace() or content[-1].isspace():
        at = 1 if content[0].isspace() else len(content)
        raise ValueError(f"remove the blank at the beginning or end of the pattern, at character {at}")
    if len(content) > _LIMIT:
        raise ValueError(f"the pattern is longer than {_LIMIT} characters, at character {_LIMIT + 1}")
    if content.endswith(":**"):
        raise ValueError(f"':*' has only one star: remove the other star, at character {len(content)}")
    prefix = content.endswith(":*")
    text = content[:-2] if prefix else content
    if not text:
        raise ValueError("there is no word before ':*', at character 1")
    if text[-1].isspace():
        raise ValueError(f"remove the blank before ':*', at character {len(text)}")
    pieces, starred = _pieces(text)
    if prefix and starred is not None:
        raise ValueError(f"'*' and ':*' cannot be combined, at character {starred}")
    if pieces[0] == ("",):
        raise ValueError("the name of the program is empty, at character 1")
    _check_program(pieces[0][0])
    return ShellPattern(content, "prefix" if prefix else "exact" if starred is None else "wildcard", pieces)


def _check_program(program: str) -> None:
    if found := _VARIABLE.match(program):
        raise ValueError(f"a rule must begin with the program: remove the variable {found[0]}, at character 1")
    if " " in program and "/" not in program:
        raise ValueError("the name of a program has no blanks: remove the quotes, at character 1")


def _pieces(text: str) -> tuple[tuple[Piece, ...], int | None]:
    """Return the unquoted words, each split at its stars, and the position of the first star or None."""
    pieces: list[Piece] = []
    parts: list[str] | None = None  # the word that is being parsed; None between words
    quote, opened, starred = "", 0, None
    for at, char in enumerate(text, start=1):
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp") and char != " ":
            raise ValueError(f"U+{ord(char):04X} is not allowed in a pattern, at character {at}")
        if quote and char == quote:
            quote = ""
        elif quote == "'" or (quote and char not in "$`\\"):
            assert parts is not None
            parts[-1] += char
        elif char in _FORBIDDEN:
            raise ValueError(f"{char!r} {_FORBIDDEN[char]}; a pattern covers one command, at character {at}")
        elif char == " ":
            if parts is not None:
                pieces.append(tuple(parts))
            parts = None
        else:
            parts = [""] if parts is None else parts
            if char in "'\"":
                quote, opened = char, at
            elif char == "#" and parts == [""]:
                raise ValueError(f"'#' starts a comment, at character {at}")
            elif char == "*":
                starred = at if starred is None else starred
                parts.append("")
            elif char == ":" and text[at : at + 2] == "* ":
                raise ValueError(f"':*' is allowed only at the end, at character {at}")
            else:
                parts[-1] += char
    if quote:
        raise ValueError(f"the quote is not closed, at character {opened}")
    assert parts is not None
    pieces.append(tuple(parts))
    return tuple(pieces), starred

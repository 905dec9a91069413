"""Expands globs, tildes and brace forms in a word.

A word is given as pieces ``(text, bare)``. The text of a piece is bare if it is neither quoted nor escaped. This
module is the only code that both parsers use.
"""

import re
from collections.abc import Iterable
from itertools import product
from math import prod

from callgate.shell.command import Word
from callgate.words.noun import noun

Piece = tuple[str, bool]

MOST_WORDS = 256
"""The maximum number of words to which one word may expand."""
MOST_LETTERS = 32_768
"""The maximum total length of the words to which one word expands."""
DEEPEST = 8

GLOB = re.compile(r"[*?\[]")
TILDE = re.compile(r"(?:^|[=:])~")
NUMBERS = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.([1-9][0-9]{0,8}))?")
LETTERS = re.compile(r"([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z])")


class Doubtful(Exception):
    """Shells interpret the form in different ways."""


def spelled(pieces: list[Piece], raw: str) -> tuple[Word, ...]:
    """Return the words to which the pieces expand. Raise Doubtful for a form that shells interpret differently."""
    if any(bare and ("{" in text or "}" in text) for text, bare in pieces):
        made = expanded(pieces)
        if made is not None:
            return tuple(plainly(each, raw, came_from_braces=True) for each in made)
    return (plainly(pieces, raw),)


def plainly(pieces: Iterable[Piece], raw: str, *, came_from_braces: bool = False) -> Word:
    """Return the pieces as one word, without brace expansion."""
    value = ""
    # The value, with a letter in place of every quoted character.
    outline = ""
    for text, bare in pieces:
        value += text
        outline += text if bare else "\0" * max(len(text), 1)
    globs = GLOB.search(outline) is not None and value != "["
    return Word(value, raw, globs, braces=came_from_braces, tilde=TILDE.search(outline) is not None)


def expanded(pieces: list[Piece]) -> list[list[Piece]] | None:
    """Return the words of a brace form; None if every brace is literal (``stash@{0}``, ``{}``). Raise Doubtful for a
    form that shells interpret differently."""
    if any(not text and not bare for text, bare in pieces):
        raise Doubtful("an empty string next to a brace expansion")
    marks = [(letter, bare) for text, bare in pieces for letter in text]
    parts, end = Form(marks).parts(0, 0)
    if end < len(marks):
        raise Doubtful("an unmatched }")
    made = combined(parts, min(MOST_WORDS, MOST_LETTERS // len(marks)))
    if made == [marks]:
        return None
    # an empty word without quotes is dropped
    made = [each for each in made if each]
    if not made:
        raise Doubtful("a brace expansion without words")
    return made


def combined(parts: list[list[list[Piece]]], most: int) -> list[list[Piece]]:
    """Return a word for every combination of choices. Raise Doubtful if there are more than ``most``."""
    if prod(map(len, parts)) > most:
        raise Doubtful("a brace expansion with too many words")
    return [[mark for part in chosen for mark in part] for chosen in product(*parts)]


@noun
class Form:
    """The characters of a word. The methods parse brace forms."""

    marks: list[Piece]

    def parts(self, at: int, depth: int) -> tuple[list[list[list[Piece]]], int]:
        """Return a list of choices for each part of the word from ``at`` on, and the index of the end: the end of
        the word, a ``}``, or a comma inside braces."""
        found: list[list[list[Piece]]] = []
        while at < len(self.marks):
            mark = self.marks[at]
            if mark == ("}", True) or (depth and mark == (",", True)):
                break
            if mark == ("{", True):
                choices, at = self.choices(at + 1, depth + 1)
                found.append(choices)
            else:
                found.append([[mark]])
                at += 1
        return found, at

    def choices(self, start: int, depth: int) -> tuple[list[list[Piece]], int]:
        """Return the alternatives of the brace expansion whose content begins at ``start``, and the index after its
        ``}``."""
        if depth > DEEPEST:
            raise Doubtful("braces nested too deeply")
        made: list[list[Piece]] = []
        alternatives = 0
        at = start
        while True:
            parts, at = self.parts(at, depth)
            if at == len(self.marks):
                raise Doubtful("an unmatched {")
            alternatives += 1
            made += combined(parts, MOST_WORDS - len(made))
            at += 1
            if self.marks[at - 1] == ("}", True):
                break
        if alternatives > 1:
            return made, at
        return alone(self.marks[start : at - 1], depth), at


def alone(inside: list[Piece], depth: int) -> list[list[Piece]]:
    """Return the words of braces without a comma: the members of a sequence, or the literal text."""
    text = "".join(letter for letter, _ in inside)
    if ".." in text and all(bare for _, bare in inside):
        return [[(member, True)] for member in sequence(text)]
    if depth > 1 or "{" in text or "}" in text or ".." in text:
        raise Doubtful("an invalid brace expansion")
    return [[("{", True), *inside, ("}", True)]]


def sequence(text: str) -> list[str]:
    """Return the members of ``1..3``, ``01..10``, ``1..9..2`` or ``a..e``. Raise Doubtful for any other text."""
    if letters := LETTERS.fullmatch(text):
        first, last = (ord(each) for each in letters.groups() if each)
        step = 1 if first <= last else -1
        return [chr(code) for code in range(first, last + step, step)]
    numbers = NUMBERS.fullmatch(text)
    if not numbers:
        raise Doubtful("an invalid sequence in braces")
    written, (first, last) = numbers.groups()[:2], (int(numbers[1]), int(numbers[2]))
    width = 0
    if any(len(each.lstrip("-")) > 1 and each.lstrip("-").startswith("0") for each in written):
        if first < 0 or last < 0:
            raise Doubtful("a zero-padded sequence with negative numbers")
        width = max(len(each) for each in written)
    by = int(numbers[3] or 1)
    if abs(last - first) // by >= MOST_WORDS:
        raise Doubtful("a brace expansion with too many words")
    step = by if first <= last else -by
    return [str(each).zfill(width) for each in range(first, last + (1 if step > 0 else -1), step)]

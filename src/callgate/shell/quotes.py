"""Parses quoted text strictly: single quotes, double quotes, ``$'…'`` and backslashes."""

import re

from callgate.shell.command import Redirect
from callgate.shell.spelling import Piece
from callgate.words.noun import noun

IN_DOUBLE = re.compile(r'[^"\\$`]+')
IN_ANSI = re.compile(r"[^'\\]+")

# Before these a $ is literal in every shell; before others zsh may expand where bash does not.
AFTER_DOLLAR = frozenset(("", *" \t\n;|&)/.,%"))
AFTER_DOLLAR_IN_DOUBLE = frozenset(' \t\n|)/.,;%]\\"')

ESCAPES = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
CODE = re.compile(r"([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})")


class NotUnderstood(Exception):
    """The text is not accepted by the strict parser."""


@noun
class Document:
    """A here-document whose body follows; it then replaces the redirection at ``index``."""

    redirects: list[Redirect]
    index: int
    literal: bool


class Quotes:
    """A text and a position in it. Every method advances over what it parses, or raises NotUnderstood."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.announced: list[Document] = []

    def peek(self, ahead: int = 0) -> str:
        """Return the next character, or "" at the end."""
        return self.text[self.at + ahead : self.at + ahead + 1]

    def taken(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found[0]

    def up_to_quote(self) -> str:
        end = self.text.find("'", self.at)
        if end < 0:
            raise NotUnderstood("a quote without an end")
        inside = self.text[self.at : end]
        self.at = end + 1
        return self.one_line_if_announced(inside)

    def escaped(self) -> str:
        letter = self.peek()
        if letter in ("", "\n"):
            raise NotUnderstood("a line continuation")
        self.at += 1
        return letter

    def dollar(self) -> Piece:
        following = self.peek()
        if following == "'":
            self.at += 1
            return self.ansi(), False
        if following in AFTER_DOLLAR:
            return "$", True
        raise NotUnderstood("an expansion")

    def double(self) -> str:
        """Parse up to the closing quote."""
        inside = ""
        while True:
            inside += self.taken(IN_DOUBLE)
            mark = self.peek()
            self.at += 1
            if mark == '"':
                return self.one_line_if_announced(inside)
            if mark == "\\":
                letter = self.escaped()
                inside += letter if letter in '$`"\\' else "\\" + letter
            elif mark == "$" and self.peek() in AFTER_DOLLAR_IN_DOUBLE:
                inside += mark
            elif not mark:
                raise NotUnderstood("a quote without an end")
            else:
                raise NotUnderstood("an expansion")

    def ansi(self) -> str:
        """Parse up to the closing quote of ``$'…'``."""
        inside = ""
        while True:
            inside += self.taken(IN_ANSI)
            mark = self.peek()
            self.at += 1
            if mark == "'":
                return self.one_line_if_announced(inside)
            if not mark:
                raise NotUnderstood("a quote without an end")
            inside += self.ansi_escape()

    def ansi_escape(self) -> str:
        code = CODE.match(self.text, self.at)
        if not code:
            letter = ESCAPES.get(self.peek())
            if letter is None:
                raise NotUnderstood("an escape that shells take differently")
            self.at += 1
            return letter
        self.at = code.end()
        number = int(code[1], 8) if code[1] else int(code[2] or code[3] or code[4], 16)
        # Larger values are bytes or characters, depending on the locale; and no argument contains a NUL.
        if not 0 < number < 0x80:
            raise NotUnderstood("an escape that shells take differently")
        return chr(number)

    def one_line_if_announced(self, inside: str) -> str:
        if self.announced and "\n" in inside:
            raise NotUnderstood("a newline in quotes before a here-document has begun")
        return inside

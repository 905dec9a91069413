"""Scans words with their quotes, redirections, here-documents, blanks and comments for the strict parser."""

import re
import unicodedata

from callgate.shell.command import Redirect, Word
from callgate.shell.spelling import Piece, plainly, spelled
from callgate.words.noun import noun

MOST_PIECES = 500
# The maximum number of brackets, unquoted $, and ? and @ in long words. The other parser takes quadratic time in their
# number.
MOST_BRACKETS = 300

ENDS_WORD = frozenset(" \t\n;&|<>)")
# A word without quotes and special characters. The expression matches most words and is a fast path.
SIMPLEST = re.compile(r"[A-Za-z0-9_./:,@%+\-][A-Za-z0-9_./:,@%+=\-]{0,250}(?=[ \t\n;&|<>)]|\Z)")
BLANKS = re.compile(r"[ \t]*")
ORDINARY = re.compile(r"[A-Za-z0-9_./:,@%+\-*?\[\]{}~=^#]+")
BRACKET = re.compile(r"[\[\]{}?@]")
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TOKEN = re.compile(r"[^ \t\n;&|<>()]+")
OPERATOR = re.compile(r"([0-9]*)(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|()(&>>|&>)")
NUMBERS_OF_ZSH = re.compile(r"<[0-9]*-[0-9]*>")
DESCRIPTOR = re.compile(r"[0-9]|-")
DELIMITER = re.compile(r"""(['"]|\\|)([A-Za-z0-9_][A-Za-z0-9_.\-]*)(['"]|)(?=[ \t\n;&|<>)])""")
IN_DOUBLE = re.compile(r'[^"\\$`]+')
IN_ANSI = re.compile(r"[^'\\]+")

# Before these a $ is literal in every shell; before others zsh may expand where bash does not.
AFTER_DOLLAR = frozenset(("", *" \t\n;|&)/.,%"))
AFTER_DOLLAR_IN_DOUBLE = frozenset(' \t\n|)/.,;%]\\"')

ESCAPES = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
CODE = re.compile(r"([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})")


class NotUnderstood(Exception):
    """The strict parser does not accept the text."""


@noun
class Document:
    """A here-document whose body has not been scanned yet. The body is stored in the redirection at ``index``."""

    redirects: list[Redirect]
    index: int
    literal: bool


class Scanner:
    """A text and a position in the text. Each scanning method advances the position, or raises NotUnderstood."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.announced: list[Document] = []
        self.brackets = 0

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def taken(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found[0]

    # Between words

    def skip_blanks(self) -> None:
        """Skip blanks and a comment. May only be called where a word could begin."""
        self.taken(BLANKS)
        if self.peek() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
            if self.text[self.at - 1] == "\\":
                raise NotUnderstood("a comment that ends like a line continuation")

    def skip_lines(self) -> None:
        """Skip blanks, comments, newlines, and the bodies of here-documents after a newline."""
        self.skip_blanks()
        while self.peek() == "\n":
            announced, self.announced = self.announced, []
            for document in announced:
                self.body(document)
            self.at = min(self.at + 1, len(self.text))
            self.skip_blanks()

    def ends(self) -> bool:
        """Return True at the end of a word: at the end of the text or at a character that cannot be in a word."""
        following = self.peek()
        return not following or following in ENDS_WORD

    # Words

    def word(self) -> tuple[Word, ...]:
        """Scan the next word and return the words to which it expands."""
        if simplest := self.taken(SIMPLEST):
            return (Word(simplest, simplest),)
        begun = self.at
        pieces = self.pieces()
        words = spelled(pieces, self.text[begun : self.at])
        if any(word.value not in ("=", "==") and (word.value or "").startswith("=") for word in words) and pieces[0][1]:
            raise NotUnderstood("a word that begins with =")
        if words[0].raw.endswith("}") and self.peek() in ("<", ">"):
            raise NotUnderstood("a brace in front of a redirection, which may name a descriptor")
        return words

    def single(self) -> Word:
        """Scan and return the next word. Raise NotUnderstood for a brace form."""
        begun = self.at
        pieces = self.pieces()
        if not pieces:
            raise NotUnderstood("a word is missing")
        return self.unbraced(pieces, begun)

    def unbraced(self, pieces: list[Piece], begun: int) -> Word:
        if any(bare and ("{" in text or "}" in text) for text, bare in pieces):
            raise NotUnderstood("a brace that shells parse differently")
        return plainly(pieces, self.text[begun : self.at])

    def assignment(self) -> tuple[str, Word] | None:
        """Scan ``NAME=value`` and return the name and value; None if the next word is not an assignment."""
        name = NAME.match(self.text, self.at)
        if not name:
            return None
        following = self.text[name.end() : name.end() + 2]
        if following.startswith("[") or following == "+=":
            raise NotUnderstood("an assignment to an array, or one that appends")
        if not following.startswith("="):
            return None
        self.at = name.end() + 1
        begun = self.at
        return name[0], self.unbraced(self.pieces(), begun)

    def reserved(self, words: frozenset[str]) -> str | None:
        found = TOKEN.match(self.text, self.at)
        return found[0] if found and found[0] in words else None

    def pieces(self) -> list[Piece]:
        """Scan to the end of the word and return its pieces."""
        pieces: list[Piece] = []
        while not self.ends():
            if len(pieces) == MOST_PIECES:
                raise NotUnderstood("a word with too many parts")
            if plain := self.taken(ORDINARY):
                self.count(len(BRACKET.findall(plain)))
                pieces.append((plain, True))
            elif foreign := self.taken(BEYOND_ASCII):
                if not all(letter.isalnum() or unicodedata.category(letter) in ("Mn", "Mc") for letter in foreign):
                    raise NotUnderstood("a character outside quotes that looks like another character")
                pieces.append((foreign, True))
            else:
                pieces.append(self.marked())
        return pieces

    def count(self, brackets: int) -> None:
        self.brackets += brackets
        if self.brackets > MOST_BRACKETS:
            raise NotUnderstood(f"more than {MOST_BRACKETS} brackets")

    def marked(self) -> Piece:
        """Scan and return a piece that begins with a special character."""
        mark = self.peek()
        self.at += 1
        match mark:
            case "'":
                return self.up_to_quote(), False
            case '"':
                return self.double(), False
            case "\\":
                return self.escaped(), False
            case "$":
                self.count(1)
                return self.dollar()
            case "!":
                if not (self.ends() or self.peek() == "=" or self.text[self.at - 2 : self.at - 1] == "["):
                    raise NotUnderstood("a ! that may be a history expansion")
                return "!", True
            case "(":
                raise NotUnderstood("a parenthesis in a word")
            case "`":
                raise NotUnderstood("a command substitution")
            case _:
                raise NotUnderstood("an invisible character")

    # Quotes

    def up_to_quote(self) -> str:
        end = self.text.find("'", self.at)
        if end < 0:
            raise NotUnderstood("an unterminated quote")
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
                raise NotUnderstood("an unterminated quote")
            else:
                raise NotUnderstood("an expansion")

    def ansi(self) -> str:
        """Scan to the closing quote of ``$'…'`` and return the decoded text."""
        inside = ""
        while True:
            inside += self.taken(IN_ANSI)
            mark = self.peek()
            self.at += 1
            if mark == "'":
                return self.one_line_if_announced(inside)
            if not mark:
                raise NotUnderstood("an unterminated quote")
            inside += self.ansi_escape()

    def ansi_escape(self) -> str:
        code = CODE.match(self.text, self.at)
        if not code:
            letter = ESCAPES.get(self.peek())
            if letter is None:
                raise NotUnderstood("an escape that shells parse differently")
            self.at += 1
            return letter
        self.at = code.end()
        number = int(code[1], 8) if code[1] else int(code[2] or code[3] or code[4], 16)
        # Larger values are bytes or characters, depending on the locale; and no argument contains a NUL.
        if not 0 < number < 0x80:
            raise NotUnderstood("an escape that shells parse differently")
        return chr(number)

    def one_line_if_announced(self, inside: str) -> str:
        if self.announced and "\n" in inside:
            raise NotUnderstood("a newline in quotes before a here-document has begun")
        return inside

    # Redirections

    def redirect(self, redirects: list[Redirect]) -> bool:
        """Scan a redirection and append it to ``redirects``. Return False if no redirection begins at the current
        position."""
        found = OPERATOR.match(self.text, self.at)
        if not found:
            return False
        fd, operator = found[1] or "", found[2] or found[4]
        following = self.text[found.end() : found.end() + 1]
        numbers = operator == "<" and NUMBERS_OF_ZSH.match(self.text, found.start(2))
        if len(fd) > 1 or numbers or following in ("!", "|", "&", "(", "<", ">"):
            raise NotUnderstood("a redirection that shells parse differently")
        self.at = found.end()
        number = int(fd) if fd else None
        if operator in ("<<", "<<-"):
            self.announce(operator, number, redirects)
            return True
        self.skip_blanks()
        target = self.single()
        if target.raw.isdecimal() and self.peek() in ("<", ">"):
            raise NotUnderstood("a number that may be a target or a descriptor")
        if operator in (">&", "<&"):
            as_file = operator == ">&" and not fd and target.raw[0] not in "0123456789-"
            if not as_file and not DESCRIPTOR.fullmatch(target.raw):
                raise NotUnderstood("a redirection whose target may be a descriptor or a file")
        redirects.append(Redirect(operator, target, number))
        return True

    def announce(self, operator: str, number: int | None, redirects: list[Redirect]) -> None:
        self.taken(BLANKS)
        found = DELIMITER.match(self.text, self.at)
        if not found or found[3] != (found[1] if found[1] != "\\" else ""):
            raise NotUnderstood("a here-document with an unclear end")
        self.at = found.end()
        self.announced.append(Document(redirects, len(redirects), bool(found[1])))
        redirects.append(Redirect(operator, Word(found[2], found[0]), number))

    def body(self, document: Document) -> None:
        """Scan the body of a here-document from the newline before its first line to the newline after its
        delimiter."""
        redirect = document.redirects[document.index]
        lines: list[str] = []
        while self.at < len(self.text):
            begun = self.at + 1
            end = self.text.find("\n", begun)
            self.at = len(self.text) if end < 0 else end
            line = self.text[begun : self.at]
            if redirect.operator == "<<-":
                line = line.lstrip("\t")
            if line == redirect.target.value:
                text = "".join(lines)
                if not document.literal and any(mark in text for mark in "$`\\"):
                    raise NotUnderstood("a here-document with an expansion")
                document.redirects[document.index] = Redirect(redirect.operator, redirect.target, redirect.fd, text)
                return
            lines.append(line + "\n")
        raise NotUnderstood("an unterminated here-document")

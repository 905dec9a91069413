"""Parses a command with two parsers and compares the results.

Three forms look like expansions, but their value is known. They are rewritten as plain commands before the command
is parsed: ``for f in a b; do cat $f; done`` becomes ``cat a; cat b``, ``"$(cat <<'END' …)"`` becomes the text of the
here-document, and ``$?`` becomes a number if it is only printed. A form is rewritten only if every shell interprets
it in the same way.
"""

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache

from callgate.shell.command import Analysis, Script, Simple, Unread, Word
from callgate.shell.lexer import parse_strictly
from callgate.shell.tree import parse_widely

LONGEST = 10_000
"""The maximum length of a command, in characters, that a rule may allow."""
REMEMBERED = 512

# Characters that are blank or invisible, although Unicode classifies them as letters, marks or symbols.
UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@lru_cache(maxsize=REMEMBERED)
def analyse(text: str) -> Analysis:
    """Parse a command with both parsers. The run time is limited for any text, and no exception is raised."""
    if len(text) > LONGEST:
        return Analysis(text, parse_widely(text[:LONGEST])[0], f"longer than {LONGEST:,} characters", whole=False)
    if fault := hidden(text):
        return Analysis(text, parse_widely(text)[0], fault, whole=False)
    strict = parse_strictly(text)
    if isinstance(strict, Unread):
        plain = rewritten(text)
        if plain is not None and len(plain) <= LONGEST and (same := analyse(plain)).fault is None:
            return replace(same, text=text)
        script, unread = parse_widely(text)
        # The grammar skips line continuations, not always as bash does.
        return Analysis(text, script, reason_of(strict), whole=unread is None and "\\\n" not in text)
    script, unread = parse_widely(text, signs=LONGEST)
    if unread:
        return Analysis(text, script, reason_of(unread), whole=False)
    if difference := disagreement(strict, script):
        return Analysis(text, script, f"the command can be parsed in two ways: {difference}", whole=False)
    return Analysis(text, script)


def reason_of(unread: Unread) -> str:
    return f"{unread.reason} (at character {unread.at + 1})"


def hidden(text: str) -> str | None:
    """Return a description of the first character that is invisible or looks like a blank; None if there is none."""
    if text.replace("\n", " ").replace("\t", " ").isprintable() and (text.isascii() or not UNSEEN.search(text)):
        return None
    before = ""
    for letter in text:
        if letter not in "\n\t" and (not letter.isprintable() or UNSEEN.match(letter)) and not at_home(letter, before):
            return f"the character U+{ord(letter):04X}, which is invisible"
        before = letter
    return None


def at_home(letter: str, before: str) -> bool:
    """Return True for a variation selector after a pictograph, where it is harmless."""
    return letter == "\ufe0f" and unicodedata.category(before or " ") == "So"


def disagreement(one: Script, other: Script) -> str | None:
    if other.expands:
        return "with and without an expansion"
    if len(one.commands) != len(other.commands):
        return f"as {len(one.commands)} and as {len(other.commands)} commands"
    if one.operators != other.operators:
        return "with different operators"
    for mine, theirs in zip(one.commands, other.commands, strict=True):
        others = aspects(theirs)
        for what, read in aspects(mine).items():
            if read != others[what]:
                return f"with different {what}"
    return None


def plain(word: Word) -> tuple[object, ...]:
    return word.value, word.globs, word.braces, word.tilde


def aspects(simple: Simple) -> dict[str, object]:
    return {
        "words": [plain(word) for word in simple.words],
        "assignments": [(name, plain(word)) for name, word in simple.assignments],
        "redirections": [(each.operator, each.fd, plain(each.target), each.body) for each in simple.redirects],
        "surroundings": simple.within,
    }


_MOST_WORDS = 20
# Names that no program and no shell uses as a setting.
_NAME = r"[a-z][0-9]?|file|name|dir|item|each|pkg|mod"
_LOOP = re.compile(
    rf"\s*for[ ]+({_NAME})[ ]+in((?:[ ]+[\w.,:@%+/*?=-]+)+)[ ]*[;\n]\s*do\s+([^'\\`#(){{}}<\n]*?)[ ]*[;\n]\s*done\s*"
)
_KEYWORDS = re.compile(
    r"(?:^|[;&|\s])(?:for|while|until|do|done|if|then|else|fi|case|esac|select|function|read)(?:$|[;\s])"
)
_GLOB = re.compile(r"[*?\[]")
# Text that cannot contain the start of a document: no quotes except double quotes without an expansion.
_BEFORE = r"""[^'"\\`#<$()\n]*(?:"[^"\\$`\n]*"[^'"\\`#<$()\n]*)*"""
_DOCUMENT = re.compile(
    rf"""({_BEFORE})"\$\(cat[ ]<<-?[ ]?'([A-Z]{{1,10}})'\n((?:.*\n)*?)\2\n[ ]*\)"(.*)""",
)
_QUOTES = re.compile(r"""['"`()\\]""")
# Text without an expansion except the status, and without anything that may contain one.
_WITH_STATUS = re.compile(r"[^'\\`#$<(){}]*(?:\$\?[^'\\`#$<(){}]*)+")
_PRINTED = re.compile(r"(?:^|[;&|\n])[ ]*(?:echo|printf)[ ][^;&|\n>]*")


def rewritten(text: str) -> str | None:
    """Return the command with its loop, here-document or ``$?`` rewritten; None if it contains no such form."""
    if "<<" in text:
        return _document(text)
    if "$?" in text:
        return _status(text)
    return _loop(text) if "for " in text else None


def _document(text: str) -> str | None:
    """Return the command with ``"$(cat <<'END' …)"`` replaced by a quoted word without trailing newlines."""
    found = _DOCUMENT.fullmatch(text)
    if found is None:
        return None
    before, end, body, after = found.groups()
    if end in (line.lstrip("\t") for line in body.splitlines()):
        return None  # the document ends there
    # Old shells parse quotes and brackets in the document too, so none may follow the document.
    if _QUOTES.search(body) and _QUOTES.search(after):
        return None
    quoted = body.rstrip("\n").replace("'", "'\\''")
    return f"{before}'{quoted}'{after}"


def _status(text: str) -> str | None:
    """Return the command with ``0`` instead of each ``$?``. Return None if a program other than ``echo`` and
    ``printf`` gets the status, because the program may use the number as a file name."""
    if _WITH_STATUS.fullmatch(text) is None:
        return None
    printed = [each for each in _PRINTED.finditer(text) if text[: each.start()].count('"') % 2 == 0]
    if sum(each[0].count("$?") for each in printed) != text.count("$?"):
        return None
    return text.replace("$?", "0")


def _loop(text: str) -> str | None:
    """Return the body of the loop once for each word; None if the loop cannot be rewritten. If the words contain a
    glob, a variable in the body must be quoted: a matched file name with blanks would become several words."""
    found = _LOOP.fullmatch(text)
    if found is None:
        return None
    name, words, body = found[1], found[2].split(), found[3]
    variable = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
    if len(words) > _MOST_WORDS or _KEYWORDS.search(body) or re.search(rf"\b{name}\+?=", body):
        return None
    if "$" in variable.sub("", body) or any(word[0] == "-" for word in words):
        return None
    bodies: list[str] = []
    for word in words:
        if not _GLOB.search(word):
            bodies.append(variable.sub(word, body))
            continue
        alone = re.sub(rf'(?<![^\s;|&])"\$(?:{name}|\{{{name}\}})"(?![^\s;|&])', word, body)
        if "$" in alone:
            return None
        bodies.append(alone)
    return "; ".join(bodies)

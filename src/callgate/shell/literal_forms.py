"""Forms that are literal although they look like expansions, written as plain commands for both readers.

``for f in a b; do cat $f; done`` is ``cat a; cat b``, ``"$(cat <<'END' …)"`` is the text of the document, and ``$?`` is
a number where it is printed. Each form is taken only where it can be read in one way by every shell; anything else
stays as it is, and no rule covers it.
"""

import re

_MOST_WORDS = 20
# Names that no program and no shell reads as a setting.
_NAME = r"[a-z][0-9]?|file|name|dir|item|each|pkg|mod"
_LOOP = re.compile(
    rf"\s*for[ ]+({_NAME})[ ]+in((?:[ ]+[\w.,:@%+/*?=-]+)+)[ ]*[;\n]\s*do\s+([^'\\`#(){{}}<\n]*?)[ ]*[;\n]\s*done\s*"
)
_KEYWORDS = re.compile(
    r"(?:^|[;&|\s])(?:for|while|until|do|done|if|then|else|fi|case|esac|select|function|read)(?:$|[;\s])"
)
_GLOB = re.compile(r"[*?\[]")
# Text that cannot hide the beginning of a document: no quotes but whole double ones without an expansion.
_BEFORE = r"""[^'"\\`#<$()\n]*(?:"[^"\\$`\n]*"[^'"\\`#<$()\n]*)*"""
_DOCUMENT = re.compile(
    rf"""({_BEFORE})"\$\(cat[ ]<<-?[ ]?'([A-Z]{{1,10}})'\n((?:.*\n)*?)\2\n[ ]*\)"(.*)""",
)
_QUOTES = re.compile(r"""['"`()\\]""")
# Text without an expansion but the status of the command before, and without anything that may hide one.
_WITH_STATUS = re.compile(r"[^'\\`#$<(){}]*(?:\$\?[^'\\`#$<(){}]*)+")
_PRINTED = re.compile(r"(?:^|[;&|\n])[ ]*(?:echo|printf)[ ][^;&|\n>]*")


def rewritten(text: str) -> str | None:
    """The same command without these forms; None if there is none in it."""
    if "<<" in text:
        return _document(text)
    if "$?" in text:
        return _status(text)
    return _loop(text) if "for " in text else None


def _document(text: str) -> str | None:
    """A document in a substitution becomes a quoted word; the shell takes the line ends away behind it."""
    found = _DOCUMENT.fullmatch(text)
    if found is None:
        return None
    before, end, body, after = found.groups()
    if end in (line.lstrip("\t") for line in body.splitlines()):
        return None  # it ends there already
    # Old shells look for quotes and brackets in the document, too: then none may follow it.
    if _QUOTES.search(body) and _QUOTES.search(after):
        return None
    quoted = body.rstrip("\n").replace("'", "'\\''")
    return f"{before}'{quoted}'{after}"


def _status(text: str) -> str | None:
    """A number in place of the status, where only ``echo`` and ``printf`` get it: any other program may take it for the
    name of a file."""
    if _WITH_STATUS.fullmatch(text) is None:
        return None
    printed = [each for each in _PRINTED.finditer(text) if text[: each.start()].count('"') % 2 == 0]
    if sum(each[0].count("$?") for each in printed) != text.count("$?"):
        return None
    return text.replace("$?", "0")


def _loop(text: str) -> str | None:
    """The body once for each word. A pattern is filled in by the shell and must be quoted in the body: a name with a
    blank in it would be several words there."""
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

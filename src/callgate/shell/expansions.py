"""Expands variables and substitutions with known values: home, the working folder, variables that the command sets.

Deny rules and the hard safety checks are also applied to the expanded commands. Allow rules never use them.
"""

import re

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis
from callgate.shell.programs.inner_commands import find_inner_commands
from callgate.shell.programs.uses import text_of

_MOST_WORDS = 8
"""The maximum number of words of a loop."""
_ROUNDS = 3
"""The maximum depth of values that refer to other variables."""
_LONGEST = 20_000

_OR_ELSE = r"(?:%%?/|:?[?=-][^{}]*)?"
_HOME = re.compile(rf"\$(?:HOME\b|\{{HOME{_OR_ELSE}\}})")
_PRINTS_FOLDER = r"\s*(?:pwd(?:\s+-[PL])?|git\s+rev-parse\s+--show-toplevel)\s*"
_HERE = re.compile(
    rf"\$(?:PWD\b|\{{PWD{_OR_ELSE}\}})|\$\({_PRINTS_FOLDER}\)|`{_PRINTS_FOLDER}`|(?<![^\s=:;|&(\"])~\+(?![^\s/;|&)\"])"
)
_PRINTED = re.compile(r"(?:\$\(|`)\s*(?:echo|printf)\s+(?:-n\s+|['\"]?%s(?:\\n)?['\"]?\s+)?([^()$`|;&<>\n]{1,400})[)`]")
_VARIABLE = re.compile(rf"\$(?:([A-Za-z_]\w*)|\{{([A-Za-z_]\w*){_OR_ELSE}\}})")
_LOOP = re.compile(r"\bfor\s+([A-Za-z_]\w*)\s+in\s+([^;\n]{1,4000})")
_DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset"))
_DECLARED = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)
_PLAIN = re.compile(r"[\w./~@+*?:,= -]{1,400}")
_EXPANDS = re.compile(r"[$`]|~\+")


def known_expansions(analysis: Analysis) -> tuple[Analysis, ...]:
    """Return the other commands to which the command may expand; empty if no value is known."""
    text = analysis.text
    if len(text) > _LONGEST or not _EXPANDS.search(text) or _is_literal(analysis):
        return ()
    plain = _PRINTED.sub(r"\1", _HERE.sub(".", _HOME.sub("~", text)))
    texts: list[str] = []
    for number in range(_MOST_WORDS):
        each = _assigned(plain, number)
        if each in texts:
            break
        texts.append(each)
    return tuple(analyse(each) for each in texts if each != text)


def _is_literal(analysis: Analysis) -> bool:
    """Return True if the shell expands nothing in the command and the command runs no text in another shell."""
    script = analysis.script
    tilde = any(word.tilde for each in script.commands for word in each.words)
    if analysis.fault is not None or script.expands or tilde:
        return False
    return not any(use.role == "run" for run in find_inner_commands(analysis).runs for use in run.uses)


def _assigned(text: str, number: int) -> str:
    """Return the text with each variable replaced by its value at index ``number``, or by its last value if it has
    fewer values."""
    for _ in range(_ROUNDS):
        values = _values(text)
        after = _VARIABLE.sub(lambda found, values=values: _value(found, values, number), text)
        if after == text or len(after) > _LONGEST:
            break
        text = after
    return text


def _value(found: re.Match[str], values: dict[str, list[str]], number: int) -> str:
    known = values.get(found[1] or found[2])
    return found[0] if known is None else known[min(number, len(known) - 1)]


def _values(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for command in analyse(text).script.commands:
        assigned = [(name, text_of(value)) for name, value in command.assignments]
        if command.words and text_of(command.words[0]) in _DECLARING:
            assigned += [each.groups() for word in command.words[1:] if (each := _DECLARED.fullmatch(text_of(word)))]
        for name, value in assigned:
            if _PLAIN.fullmatch(value):
                found.setdefault(name, []).append(value)
    for name, words in _LOOP.findall(text):
        each = [word.strip("'\"") for word in words.split()]
        plain = [word for word in each if _PLAIN.fullmatch(word)]
        if plain:
            found.setdefault(name, []).extend(plain)
    return found

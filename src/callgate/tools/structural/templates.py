"""Inserts the captured metavariables in a rewrite, and indents its lines like the command line of ast-grep.

The lines of a metavariable are re-indented from their indentation in the source to its indentation in the rewrite. Then
all lines except the first get the indentation of the line on which the match begins. Only spaces are treated as
indentation.
"""

import re
from collections.abc import Callable
from typing import Literal

from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_IN_PATTERN = re.compile(r"(\$\$\$)([A-Z0-9_]+)|(?<!\$)\$\$?([A-Z_][A-Z0-9_]*)")
_IN_REWRITE = re.compile(r"\$\$\$([A-Z0-9_]+)|\$\$?([A-Z0-9_]+)")
_LOOK_BACK = 512  # bytes; a match further into its line than this has no indentation

VariableKind = Literal["one", "many"]
Captures = Callable[[str, VariableKind], tuple[int, int] | None]
"""Returns the span of a metavariable in the source, or None."""


@noun
class _Variable:
    name: str
    kind: VariableKind
    indent: int


@noun
class Template:
    """A parsed rewrite. The ``fragments`` are the texts around the ``variables``; there is one fragment more than
    variables."""

    fragments: tuple[str, ...]
    variables: tuple[_Variable, ...]

    def fill(self, source: str, start: int, captures: Captures) -> str:
        parts = [self.fragments[0]]
        for variable, fragment in zip(self.variables, self.fragments[1:], strict=True):
            span = captures(variable.name, variable.kind)
            if span is not None:
                parts.append(_moved(source, span, variable.indent))
            parts.append(fragment)
        return _reindented("".join(parts), 0, indent_at(source, start))


def variables_of(pattern: str) -> dict[str, VariableKind]:
    """Return the metavariables that a pattern captures, in order. A name that begins with an underscore captures
    nothing."""
    found: dict[str, VariableKind] = {}
    for each in _IN_PATTERN.finditer(pattern):
        name = each[2] or each[3]
        if not name.startswith("_"):
            found.setdefault(name, "many" if each[1] else "one")
    return found


def parse_template(rewrite: str, pattern: str) -> Template:
    """Parse a rewrite. Raise ToolFailure for a metavariable that the pattern does not capture; the engine would replace
    it by an empty text."""
    known = variables_of(pattern)
    fragments, variables, end = list[str](), list[_Variable](), 0
    for each in _IN_REWRITE.finditer(rewrite):
        name, kind = (each[1], "many") if each[1] else (each[2], "one")
        if known.get(name) != kind:
            raise ToolFailure(_unknown(each[0], rewrite, known))
        fragments.append(rewrite[end : each.start()])
        variables.append(_Variable(name, kind, indent_at(rewrite, each.start())))
        end = each.end()
    return Template((*fragments, rewrite[end:]), tuple(variables))


def indent_at(text: str, at: int) -> int:
    """Return the number of spaces at the beginning of the line that contains the position ``at``."""
    begin = text.rfind("\n", 0, at) + 1
    before = text[begin:at]
    room = _LOOK_BACK - (1 if begin else 0)
    if len(before) > room or (not before.isascii() and len(before.encode("utf-8", "surrogatepass")) > room):
        return 0
    return len(before) - len(before.lstrip(" "))


def _moved(source: str, span: tuple[int, int], indent: int) -> str:
    text = source[span[0] : span[1]]
    return _reindented(text, indent_at(source, span[0]), indent) if "\n" in text else text


def _reindented(text: str, now: int, then: int) -> str:
    if then > now:
        return text.replace("\n", "\n" + " " * (then - now))
    if then < now:
        taken = " " * (now - then)
        return "\n".join(line.removeprefix(taken) for line in text.split("\n"))
    return text


def _unknown(variable: str, rewrite: str, known: dict[str, VariableKind]) -> str:
    captured = ", ".join(("$$$" if kind == "many" else "$") + name for name, kind in known.items()) or "nothing"
    return f"{variable} in the rewrite {rewrite!r} is not captured by the pattern, which captures {captured}."

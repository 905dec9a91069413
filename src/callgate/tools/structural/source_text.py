"""The text of one file: positions, replacements with captured metavariables, and the scripts and styles inside HTML.

The lines of a metavariable are re-indented like on the command line of ast-grep: from their indentation in the source
to its indentation in the rewrite. Then all lines except the first get the indentation of the line on which the match
begins. Only spaces are treated as indentation.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

from callgate.tools.structural.scan_types import Match, Overlap
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

if TYPE_CHECKING:
    from ast_grep_py import SgNode


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


@cache
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


@noun
class SpanEdit:
    """A replacement of the characters from ``start`` to ``end``. ``op`` is the index of the op that makes it."""

    start: int
    end: int
    after: str
    op: int


class SourceText:
    """The text of one file. ``most`` is the number of characters shown of a match."""

    def __init__(self, path: str, text: str, most: int) -> None:
        self.text = text
        self._path = path
        self._most = most
        self._ends = [found.start() for found in re.finditer("\n", text)]

    def spot(self, at: int) -> tuple[int, int]:
        line = bisect_left(self._ends, at)
        return line + 1, at - (self._ends[line - 1] + 1 if line else 0) + 1

    def match(self, start: int, end: int, after: str = "", op: int = 0) -> Match:
        line, column = self.spot(start)
        text = self._shown(self.text[start:end])
        return Match(path=self._path, line=line, column=column, text=text, after=self._shown(after), op=op)

    def edit(self, node: "SgNode", template: Template, op: int) -> SpanEdit:
        start, end = span(node)
        after = template.fill(self.text, start, lambda name, kind: captured_span(node, name, kind))
        return SpanEdit(start, end, after, op)

    def replacement(self, edit: SpanEdit) -> Match:
        return self.match(edit.start, edit.end, edit.after, edit.op)

    def overlap(self, first: SpanEdit, second: SpanEdit, *, held: bool) -> Overlap:
        return Overlap(self._path, self.replacement(first), self.replacement(second), held)

    def applied(self, edits: Sequence[SpanEdit]) -> str:
        """Return the text after the edits, which must be ordered and must not overlap."""
        parts: list[str] = []
        end = 0
        for edit in edits:
            parts += (self.text[end : edit.start], edit.after)
            end = edit.end
        return "".join((*parts, self.text[end:]))

    def _shown(self, text: str) -> str:
        more = len(text) - self._most
        return text if more <= 0 else f"{text[: self._most]}… ({more} more characters)"


def apart(edits: Sequence[SpanEdit]) -> tuple[list[SpanEdit], list[tuple[SpanEdit, SpanEdit]], bool]:
    """Return the edits that do not overlap, the pairs of overlapping edits, and True if edits of different ops overlap,
    so that the file must not be changed.

    Of nested matches of one op the outer match is replaced, as on the command line of ast-grep. The edits must be
    ordered, outer edits before inner edits.
    """
    kept: list[SpanEdit] = []
    pairs: list[tuple[SpanEdit, SpanEdit]] = []
    held = False
    for edit in edits:
        if kept and edit.start < kept[-1].end:
            pairs.append((kept[-1], edit))
            held = held or kept[-1].op != edit.op
        else:
            kept.append(edit)
    return kept, pairs, held


def span(node: "SgNode") -> tuple[int, int]:
    # An edit has both positions; the range would count columns, which is slower.
    edit = node.replace("")
    return edit.start_pos, edit.end_pos


def captured_span(node: "SgNode", name: str, kind: VariableKind) -> tuple[int, int] | None:
    if kind == "one":
        found = node.get_match(name)
        return None if found is None else span(found)
    several = node.get_multiple_matches(name)
    return (span(several[0])[0], span(several[-1])[1]) if several else None


HOST = "html"
_NAMES = {
    **dict.fromkeys(("javascript", "js", "jsx"), "javascript"),
    **dict.fromkeys(("typescript", "ts"), "typescript"),
    "tsx": "tsx",
    "css": "css",
}
GUESTS = frozenset(_NAMES.values())
"""The languages that HTML can contain."""

_ELEMENTS = (("script_element", "javascript"), ("style_element", "css"))


def embedded(root: "SgNode", text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each script and style in an HTML file. Spaces before the text preserve its
    position in the file."""
    for kind, usual in _ELEMENTS:
        for element in root.find_all(kind=kind):
            language = _NAMES.get(_said(element).lower() or usual)
            content = next((child for child in element.children() if child.kind() == "raw_text"), None)
            if language is not None and content is not None:
                start, end = span(content)
                yield language, re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def _said(element: "SgNode") -> str:
    for attribute in element.find_all(kind="attribute"):
        name, value = attribute.find(kind="attribute_name"), attribute.find(kind="attribute_value")
        if name is not None and value is not None and name.text() == "lang":
            return value.text()
    return ""

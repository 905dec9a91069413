"""The text of one file: places in it as people count them, and what is replaced in it."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from callgate.tools.structural.templates import Template, VariableKind
from callgate.tools.structural.terms import Match, Overlap, Replacement
from callgate.words.noun import noun

if TYPE_CHECKING:
    from ast_grep_py import SgNode


@noun
class Edit:
    """``start`` and ``end`` are characters of the source; ``op`` is the number of the op it comes from."""

    start: int
    end: int
    after: str
    op: int


class Source:
    """``most`` is how many characters are shown of anything."""

    def __init__(self, path: str, text: str, most: int) -> None:
        self.text = text
        self._path = path
        self._most = most
        self._ends = _line_ends(text)

    def spot(self, at: int) -> tuple[int, int]:
        """Line and column of a character."""
        line = bisect_left(self._ends, at)
        return line + 1, at - (self._ends[line - 1] + 1 if line else 0) + 1

    def match(self, node: "SgNode", variables: Mapping[str, VariableKind]) -> Match:
        start, end = span(node)
        captured: dict[str, str] = {}
        for name, kind in variables.items():
            found = captured_span(node, name, kind)
            if found is not None:
                captured[name] = self._shown(self.text[found[0] : found[1]])
        return Match(self._path, *self.spot(start), *self.spot(end), self._shown(self.text[start:end]), captured)

    def edit(self, node: "SgNode", template: Template, op: int) -> Edit:
        start, end = span(node)
        after = template.fill(self.text, start, lambda name, kind: captured_span(node, name, kind))
        return Edit(start, end, after, op)

    def replacement(self, edit: Edit) -> Replacement:
        before = self._shown(self.text[edit.start : edit.end])
        return Replacement(*self.spot(edit.start), *self.spot(edit.end), before, self._shown(edit.after), edit.op)

    def overlap(self, first: Edit, second: Edit, *, held: bool) -> Overlap:
        return Overlap(self._path, self.replacement(first), self.replacement(second), held)

    def applied(self, edits: Sequence[Edit]) -> str:
        """The text afterwards; the edits are in order and apart."""
        parts: list[str] = []
        end = 0
        for edit in edits:
            parts += (self.text[end : edit.start], edit.after)
            end = edit.end
        return "".join((*parts, self.text[end:]))

    def _shown(self, text: str) -> str:
        more = len(text) - self._most
        return text if more <= 0 else f"{text[: self._most]}… ({more} more characters)"


def apart(edits: Sequence[Edit]) -> tuple[list[Edit], list[tuple[Edit, Edit]], bool]:
    """The edits that can all be made, the pairs that overlap, and whether an overlap keeps the whole file from being
    changed: two ops for the same code do; of nested matches of one op the outer one is made, as by ast-grep's command
    line. The edits are in order, outer ones before inner ones."""
    kept: list[Edit] = []
    pairs: list[tuple[Edit, Edit]] = []
    held = False
    for edit in edits:
        if kept and edit.start < kept[-1].end:
            pairs.append((kept[-1], edit))
            held = held or kept[-1].op != edit.op
        else:
            kept.append(edit)
    return kept, pairs, held


def span(node: "SgNode") -> tuple[int, int]:
    # An edit knows the two places; asking for the range would count columns from the beginning of the line.
    edit = node.replace("")
    return edit.start_pos, edit.end_pos


def captured_span(node: "SgNode", name: str, kind: VariableKind) -> tuple[int, int] | None:
    if kind == "one":
        found = node.get_match(name)
        return None if found is None else span(found)
    several = node.get_multiple_matches(name)
    return (span(several[0])[0], span(several[-1])[1]) if several else None


def _line_ends(text: str) -> list[int]:
    found: list[int] = []
    at = text.find("\n")
    while at >= 0:
        found.append(at)
        at = text.find("\n", at + 1)
    return found

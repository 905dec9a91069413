"""Paints a diff with line numbers, signs, syntax colours, and backgrounds for changed lines and changed words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from callgate.formats.columns import clipped
from callgate.formats.columns import width as width_of
from callgate.formats.display import visible_page
from callgate.tui.render.changed_words import Range, changed_middles, changed_words
from callgate.tui.render.code import coloured
from callgate.tui.render.spans import Span, cut, one_row
from callgate.tui.theme import Theme
from callgate.words.noun import noun

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@(.*)")
_SKIPPED = ("index ", "--- ", "+++ ")
_HEADS = ("--- ", "+++ ")
_GROUNDS = {"+": "added", "-": "removed"}
"""The background of a changed line; see ``theme.GROUNDS``."""


LONG = 60
"""The columns beyond which lines without equal words are compared by their beginning and end, because the edge of the
screen may hide the change."""
SHOWN_BEFORE = 10
"""The columns of a cut-off line in which a changed word may not begin."""
CARETS = "carets"
"""The style of a row that marks the words of the row above. Only terminals without colours have such rows."""


@noun
class _Line:
    """A line of a diff.

    sign    the first character of the line, ``@`` between two hunks, or empty for a line about a file
    number  the line number in the new file or, for a removed line, in the old file
    spans   the text with syntax colours
    marks   the ranges of changed words
    """

    sign: str
    number: int
    text: str
    spans: Sequence[Span] = ()
    marks: Sequence[Range] = ()


def diff_rows(
    theme: Theme, body: str, width: int, name: str = "", *, exact: bool = False, wrap: bool = False
) -> list[list[Span]]:
    """Return the rows of a diff in git's format. The background of a changed line reaches to the edge.

    width  the maximum width of a row
    name   the file name, if the diff has no header
    exact  show invisible characters, including joiners inside an emoji
    wrap   continue long lines in further rows; by default they are cut off
    """
    rows: list[list[Span]] = []
    body = _without_returns(body)
    sections = _sections(visible_page(body) if exact else theme.page(body))
    for head, lines in sections:
        if head and len(sections) > 1:
            rows.append([(clipped(head, width, theme.sign("…", "...")), "bold")])
        layout = _Layout(theme, width, wrap, len(str(max((line.number for line in lines), default=0) or "")))
        for line in _highlighted(lines, head or name):
            rows += layout.rows(line)
    return rows


def _without_returns(body: str) -> str:
    """Return the diff without carriage returns if every line of the old and the new file ends with a carriage
    return. Otherwise the change of the line ends is shown."""
    lines = body.split("\n")
    inside = {at for at, line in enumerate(lines) if line[:1] in ("+", "-", " ") and not line.startswith(_HEADS)}
    ends = {at for at in inside if not (at + 1 < len(lines) and lines[at + 1].startswith("\\ "))}
    if not ends or not all(lines[at].endswith("\r") for at in ends) or not any(lines[at][0] != "+" for at in ends):
        return body
    return "\n".join(line.removesuffix("\r") if at in ends else line for at, line in enumerate(lines))


def _sections(body: str) -> list[tuple[str, list[_Line]]]:
    """Return the lines of each file. In a body without hunks, lines with a sign are changed lines without numbers."""
    found: list[tuple[str, list[_Line]]] = []
    old = new = 0
    is_plain = not any(map(_HUNK.match, body.split("\n")))
    inside = False
    for line in body.expandtabs(4).rstrip("\n").split("\n"):
        hunk = _HUNK.match(line)
        if line.startswith("diff --git "):
            found.append((line.rpartition(" b/")[2].strip('"'), []))
            inside = False
            continue
        if not found:
            found.append(("", []))
        lines = found[-1][1]
        if hunk is not None:
            if inside:
                lines.append(_Line("@", 0, ""))
            old, new, inside = int(hunk[1]), int(hunk[2]), True
        elif inside and line[:1] in ("+", "-", " "):
            sign = line[0]
            lines.append(_Line(sign, old if sign == "-" else new, line[1:]))
            old += sign != "+"
            new += sign != "-"
        elif is_plain and line[:1] in ("+", "-", " ") and not line.startswith(_SKIPPED):
            lines.append(_Line(line[0], 0, line[1:]))
        elif not line.startswith(_SKIPPED):
            lines.append(_Line("", 0, line))
    return found


def _highlighted(lines: list[_Line], name: str) -> Iterator[_Line]:
    """Yield the lines with syntax colours and marks."""
    language = name.rpartition("/")[2]
    sides = {sign: [line.text for line in lines if line.sign in (sign, " ")] for sign in "-+"}
    spans = {sign: iter(coloured("\n".join(side), language) if side else ()) for sign, side in sides.items()}
    marks = _marks(lines)
    for number, line in enumerate(lines):
        pieces: Sequence[Span] = ()
        for sign in "-+":
            if line.sign in (sign, " "):
                pieces = next(spans[sign])
        yield replace(line, spans=pieces, marks=marks.get(number, ()))


def _marks(lines: list[_Line]) -> dict[int, Sequence[Range]]:
    """Return the changed words by the index of the line. Each group of removed lines is compared with the group of
    added lines after it."""
    found: dict[int, Sequence[Range]] = {}
    kept = [(at, line) for at, line in enumerate(lines) if line.sign or not line.text.startswith("\\ ")]
    groups = [(sign, [at for at, _ in group]) for sign, group in groupby(kept, lambda item: item[1].sign)]
    for (sign, removed), (then, added) in pairwise(groups):
        if (sign, then) == ("-", "+"):
            gone, new = changed_words([lines[at].text for at in removed], [lines[at].text for at in added])
            for number, (at, to) in enumerate(zip(removed, added, strict=False)):
                old, text = lines[at].text, lines[to].text
                if not gone[number] and not new[number] and min(width_of(old), width_of(text)) > LONG:
                    gone[number], new[number] = changed_middles(old, text)
            found |= zip((*removed, *added), (*gone, *new), strict=True)
    return found


@noun
class _Layout:
    """Formats the lines of a diff as rows. ``digits`` is the width of the line numbers."""

    theme: Theme
    width: int
    wrap: bool
    digits: int

    def rows(self, line: _Line) -> list[list[Span]]:
        more = self.theme.sign("…", "...")
        if line.sign == "@":
            return [[(f"{' ' * self.digits} {more}", "grey")]]
        if line.sign == "":
            parts = cut([(line.text, "grey")], self.width)
            return parts if self.wrap else [[(clipped(line.text, self.width, more), "grey")]]
        ground = _GROUNDS.get(line.sign, "")
        head = f"{line.number or '':>{self.digits}} {line.sign} ".removeprefix("" if self.digits else " ")
        spans = [*_marked(line.spans, line.marks, ground)]
        signs = "" if self.theme.colours else _carets(line.text, line.marks)
        if self.wrap and self.width > len(head) + 2:
            bodies = cut(spans, self.width - len(head))
        else:
            room = self.width - len(head)
            hidden = self._hidden(line, room)
            if hidden:
                spans, signs = (
                    [(more, "grey"), *_after(spans, hidden)],
                    " " * len(more) + signs[width_of(line.text[:hidden]) :],
                )
            bodies = [one_row(spans, room, more)]
        rows: list[list[Span]] = []
        for number, body in enumerate(bodies):
            first = head if number == 0 else " " * len(head)
            row: list[Span] = [(first, ground or "grey"), *body]
            used = sum(width_of(text) for text, _ in row)
            rows.append([*row, (" " * (self.width - used), ground)] if ground and self.theme.colours else row)
            below = signs[: self.width - len(head)].rstrip()
            signs = signs[self.width - len(head) :]
            rows += [[(" " * len(head) + below, CARETS)]] if below else []
        return rows

    def _hidden(self, line: _Line, room: int) -> int:
        """Return the number of characters to leave out at the beginning of a line that is cut off, so that the first
        changed word is on the screen."""
        begin = min((first for first, _ in line.marks), default=0)
        if room < 2 * SHOWN_BEFORE or width_of(line.text) <= room or width_of(line.text[:begin]) < room - SHOWN_BEFORE:
            return 0
        return max(begin - room // 3, 0)


def _after(spans: Sequence[Span], begin: int) -> Iterator[Span]:
    """Yield the spans without their first characters."""
    for text, style in spans:
        if begin < len(text):
            yield text[begin:], style
        begin = max(begin - len(text), 0)


def _marked(spans: Sequence[Span], marks: Sequence[Range], ground: str) -> Iterator[Span]:
    """Yield the spans with the background of the line. Marked text has a stronger background, and no syntax colour."""
    edges = sorted({edge for mark in marks for edge in mark})
    at = 0
    for text, style in spans:
        inside = [at, *(edge for edge in edges if at < edge < at + len(text)), at + len(text)]
        for begin, end in pairwise(inside):
            changed = any(first <= begin < last for first, last in marks)
            yield text[begin - at : end - at], f"{ground}-word" if changed else f"{style} {ground}".strip()
        at += len(text)


def _carets(text: str, marks: Sequence[Range]) -> str:
    """Return a line with ``^`` under each marked character, for terminals without colours."""
    marked = {at for begin, end in marks for at in range(begin, end)}
    return "".join(("^" if at in marked else " ") * width_of(sign) for at, sign in enumerate(text)) if marked else ""

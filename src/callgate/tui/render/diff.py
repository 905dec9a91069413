"""Paints a diff with line numbers, signs, syntax colours, and backgrounds for changed lines and changed words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise

from callgate.formats.columns import clipped
from callgate.formats.columns import width as width_of
from callgate.formats.display import visible_page
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
MOST_LINES, MOST_WORDS, MOST_REPEATS = 40, 200, 30
"""The maximum number of added lines, of words in a line, and of the same word in a line, that are compared.
The time of a comparison grows with the square of the repetitions."""
LEAST_ALIKE = 0.4
"""The minimum share of equal words in two lines that are compared as versions of one line."""
MOST_MARKED = 0.7
"""The maximum share of marked letters in a line. A line with more changes has no marks."""

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)

Range = tuple[int, int]
Marks = list[Sequence[Range]]


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
            rows.append([(clipped(head, width, theme.more), "bold")])
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
        more = self.theme.more
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


def changed_words(removed: Sequence[str], added: Sequence[str]) -> tuple[Marks, Marks]:
    """Return the ranges of changed characters in each removed line and in each added line. A line without a similar
    line on the other side has no ranges."""
    gone: Marks = [()] * len(removed)
    new: Marks = [()] * len(added)
    before, after = [*map(_WORDS.findall, removed)], [*map(_WORDS.findall, added)]
    for at, to in _similar_lines(before, after):
        gone[at], new[to] = _changed(before[at], after[to])
    return gone, new


def changed_middles(old: str, new: str) -> tuple[Sequence[Range], Sequence[Range]]:
    """Return the ranges of two lines between their common beginning and end, or nothing if most of a line is
    changed. The run time is linear in the length of the lines."""
    begin = _equal(old, new)
    end = min(_equal(old[::-1], new[::-1]), min(len(old), len(new)) - begin)
    if max(len(old), len(new)) - begin - end > MOST_MARKED * min(len(old.strip()), len(new.strip())):
        return (), ()
    gone, added = [[(begin, len(line) - end)] if begin < len(line) - end else [] for line in (old, new)]
    return gone, added


def _equal(one: str, other: str) -> int:
    """Return the number of equal characters at the beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _similar_lines(before: Sequence[list[str]], after: Sequence[list[str]]) -> Iterator[Range]:
    """Yield pairs of similar lines, in order. A removed line is compared with the next ``MOST_LINES`` added lines."""
    news = [*map(_counted, after)]
    begin = 0
    for at, old in enumerate(map(_counted, before)):
        alike = [_alike(old, new) for new in news[begin : begin + MOST_LINES]]
        if any(alike):
            begin += alike.index(max(alike)) + 1
            yield at, begin - 1


def _counted(words: list[str]) -> Counter[str]:
    """Return the number of occurrences of each word in a line. For a line that is not compared, return an empty
    counter."""
    if len(words) > MOST_WORDS:
        return Counter()
    found = Counter(word for word in words if not word.isspace())
    return found if max(found.values(), default=0) <= MOST_REPEATS else Counter()


def _alike(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of equal words, or 0.0 for lines that are not similar."""
    share = 2 * (old & new).total() / max(old.total() + new.total(), 1)
    return share if share >= LEAST_ALIKE else 0.0


def _changed(before: list[str], after: list[str]) -> tuple[Sequence[Range], Sequence[Range]]:
    found: tuple[list[Range], list[Range]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            _add(found[0], before, a, b)
            _add(found[1], after, c, d)
    return _letters(found[0], before), _letters(found[1], after)


def _add(ranges: list[Range], words: list[str], begin: int, end: int) -> None:
    """Add a range of words. Ranges with only blanks between them become one range."""
    if begin == end:
        return
    if ranges and "".join(words[ranges[-1][1] : begin]).isspace():
        begin = ranges.pop()[0]
    ranges.append((begin, end))


def _letters(ranges: Sequence[Range], words: list[str]) -> Sequence[Range]:
    """Return ranges of words as ranges of characters, or nothing if most of the line is changed."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    letters = sum(not sign.isspace() for begin, end in ranges for sign in "".join(words[begin:end]))
    if letters > MOST_MARKED * sum(not sign.isspace() for sign in "".join(words)):
        return ()
    return [(ends[begin], ends[end]) for begin, end in ranges]

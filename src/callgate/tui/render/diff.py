"""Paints a diff with line numbers, signs and syntax highlighting."""

import re
from collections.abc import Iterator

from callgate.formats.display import visible_page
from callgate.tui.render.code import coloured
from callgate.tui.render.spans import Span
from callgate.tui.theme import Theme
from callgate.words.noun import noun

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@(.*)")
_SKIPPED = ("index ", "--- ", "+++ ")


@noun
class _Line:
    """A line of a diff. ``sign`` is empty for lines about a file. ``number`` is the line number in the new file or,
    for a removed line, in the old file."""

    sign: str
    number: int
    text: str


def diff_rows(theme: Theme, body: str, name: str = "", *, exact: bool = False) -> list[list[Span]]:
    """Return one row of any width for each line of a diff in git's format.

    name   the file name, if the diff has no header
    exact  show invisible characters, including joiners inside an emoji
    """
    rows: list[list[Span]] = []
    sections = _sections(visible_page(body) if exact else theme.page(body))
    for head, lines in sections:
        if head and len(sections) > 1:
            rows.append([(head, "bold")])
        rows += _painted(theme, lines, head or name)
    return rows


def _sections(body: str) -> list[tuple[str, list[_Line]]]:
    found: list[tuple[str, list[_Line]]] = []
    old = new = 0
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
        elif not line.startswith(_SKIPPED):
            lines.append(_Line("", 0, line))
    return found


def _painted(theme: Theme, lines: list[_Line], name: str) -> Iterator[list[Span]]:
    size = len(str(max((line.number for line in lines), default=0)))
    kept = [line.text for line in lines if line.sign in ("+", " ")]
    after = iter(coloured("\n".join(kept), name.rpartition("/")[2]) if kept else ())
    for line in lines:
        if line.sign == "":
            yield [(line.text, "grey")]
        elif line.sign == "@":
            yield [(f"{' ' * size} {theme.sign('…', '...')}", "grey")]
        elif line.sign == "-":
            yield [(f"{line.number:>{size}} - ", "red"), (line.text, "red")]
        else:
            number = f"{line.number:>{size}} {line.sign} "
            yield [(number, "green" if line.sign == "+" else "grey"), *next(after)]

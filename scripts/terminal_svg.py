"""Draws rows of a terminal as SVG: text in a fixed grid, with colours, in a plain frame.

Each run of characters of one style is one element with its width given, so that the picture is the same in any font.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from pyte.screens import Char

# A palette that is readable on its background; the names are those of pyte, where yellow is called brown.
COLOURS = {
    "black": "#484f58",
    "red": "#ff7b72",
    "green": "#56d364",
    "brown": "#e3b341",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#56d4dd",
    "white": "#e6edf3",
    "brightblack": "#8b949e",
    "brightred": "#ffa198",
    "brightgreen": "#7ee787",
    "brightbrown": "#f2cc60",
    "brightyellow": "#f2cc60",
    "brightblue": "#a5d6ff",
    "brightmagenta": "#e2c5ff",
    "brightcyan": "#b3f0ff",
    "brightwhite": "#ffffff",
}
INK, PAPER, EDGE = "#e6edf3", "#0d1117", "#30363d"
FONTS = "ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace"
WIDE, HIGH, SIZE, MARGIN, BAR = 8.4, 18, 14, 14, 30


def drawn(rows: Sequence[Sequence[Char]], title: str, cursor: tuple[int, int] | None = None) -> str:
    """One picture of these rows; the title stands in the bar of the window."""
    columns = max(map(len, rows))
    width, height = columns * WIDE + 2 * MARGIN, len(rows) * HIGH + BAR + 2 * MARGIN - 6
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="15" r="5" fill="{EDGE}"/>' for n in range(3))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">',
        f"<title>{escape(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8" fill="{PAPER}" stroke="{EDGE}"/>',
        dots,
        f'<text x="{width / 2:g}" y="20" text-anchor="middle" font-family="sans-serif" font-size="12" '
        f'fill="{COLOURS["brightblack"]}">{escape(title)}</text>',
        f'<g font-family="{FONTS}" font-size="{SIZE}" fill="{INK}">',
    ]
    if cursor is not None:
        x, y = MARGIN + cursor[0] * WIDE, BAR + MARGIN + cursor[1] * HIGH - 14
        lines.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDE:g}" height="{HIGH}" fill="{COLOURS["brightblack"]}"/>')
    for number, row in enumerate(rows):
        lines += _row(row, BAR + MARGIN + number * HIGH)
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _row(row: Sequence[Char], base: float) -> Iterable[str]:
    """A wide character is followed by an empty cell, which belongs to its run."""
    column = 0
    for style, group in groupby(row, key=_style):
        cells = list(group)
        text = "".join(cell.data for cell in cells)
        x, width = MARGIN + column * WIDE, len(cells) * WIDE
        column += len(cells)
        ink, paper, weight = style
        if paper:
            yield f'<rect x="{x:g}" y="{base - 14:g}" width="{width:g}" height="{HIGH}" fill="{paper}"/>'
        if not text.strip():
            continue
        stripped = text.lstrip()
        x += (len(text) - len(stripped)) * WIDE
        shown = stripped.rstrip()
        length = (len(cells) - (len(text) - len(stripped)) - (len(stripped) - len(shown))) * WIDE
        colour = f' fill="{ink}"' if ink != INK else ""
        yield (
            f'<text x="{x:g}" y="{base:g}" textLength="{length:g}" lengthAdjust="spacingAndGlyphs" '
            f'xml:space="preserve"{colour}{weight}>{escape(shown, quote=False)}</text>'
        )


def _style(cell: Char) -> tuple[str, str, str]:
    ink = INK if cell.fg == "default" else COLOURS.get(cell.fg, f"#{cell.fg}")
    paper = "" if cell.bg == "default" else COLOURS.get(cell.bg, f"#{cell.bg}")
    if cell.reverse:
        ink, paper = paper or PAPER, ink
    weight = ' font-weight="bold"' if cell.bold else ""
    weight += ' font-style="italic"' if cell.italics else ""
    weight += ' text-decoration="underline"' if cell.underscore else ""
    return ink, paper, weight

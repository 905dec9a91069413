"""Draws the Mermaid state diagrams of the docs as SVG, so that the site needs no script and no network for them.

Only what our diagrams use is read: `a --> b`, with `[*]` for the start and the ends. States that go on stand in one
row, in the order in which they are named, ends in a row below. An end that every state of the row can reach hangs on
one line under the row.
"""

import re
from html import escape

WIDE, HIGH, GAP = 136, 34, 44
_FENCE = re.compile(r"^```mermaid\n(stateDiagram-v2\n.*?)```$", re.MULTILINE | re.DOTALL)
_EDGE = re.compile(r"^ *(\S+) --> (\S+)$", re.MULTILINE)
_HEAD = '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
_HEAD += '<path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>'


def drawn(text: str) -> str:
    """The page with each diagram as SVG in place of its source; ValueError for a kind that is not known."""
    replaced = _FENCE.sub(lambda match: f"<div>\n{state_diagram(match[1])}\n</div>", text)
    if "```mermaid" in replaced:
        raise ValueError("only state diagrams can be drawn")
    return replaced


def state_diagram(source: str) -> str:
    """The diagram as one line of SVG in the colour of the text around it."""
    edges = [(before, after) for before, after in _EDGE.findall(source) if "[*]" not in (before, after)]
    going = list(dict.fromkeys(before for before, _ in edges))
    ends = list(dict.fromkeys(after for _, after in edges if after not in going))
    shared = [end for end in ends if all((state, end) in edges for state in going)]
    top, below = 3 * HIGH, 6 * HIGH
    at = {state: (_left(index), top) for index, state in enumerate(going)}
    # Ends that hang on the line from the left, the others below the state that they come from.
    at |= {end: (_left(index), below) for index, end in enumerate(shared)}
    at |= {end: (at[before][0], below) for before, end in edges if end in ends and end not in shared}
    line = top + HIGH + HIGH
    paths = [_arrow(at, before, after) for before, after in edges if after not in shared]
    paths += [_path(_middle(at[state]), top + HIGH, f"V{line}", tip=False) for state in going if shared]
    if shared:
        paths.append(_path(_middle(at[going[0]]), line, f"H{_middle(at[going[-1]])}", tip=False))
        paths += [_path(_middle(at[end]), line, f"V{below}") for end in shared]
    paths.append(_path(-GAP // 2, top + HIGH // 2, "H0"))
    boxes = [_box(name, place, rounded=name in ends) for name, place in at.items()]
    size = f'viewBox="{-GAP} {HIGH} {_left(len(going)) + GAP} {below + 2}"'
    label = escape("; ".join(f"{before} to {after}" for before, after in edges))
    style = 'style="max-width:100%;font:14px sans-serif" fill="none" stroke="currentColor"'
    return f'<svg role="img" aria-label="{label}" {size} {style}>{_HEAD}{"".join((*paths, *boxes))}</svg>'


def _left(index: int) -> int:
    return index * (WIDE + GAP)


def _middle(place: tuple[int, int]) -> int:
    return place[0] + WIDE // 2


def _path(x: int, y: int, moves: str, *, tip: bool = True) -> str:
    end = ' marker-end="url(#tip)"' if tip else ""
    return f'<path d="M{x} {y}{moves}"{end}/>'


def _arrow(at: dict[str, tuple[int, int]], before: str, after: str) -> str:
    """Straight to the neighbour and to the end below, else an arc above the row; back, an arc below it."""
    (x, y), (to, down) = at[before], at[after]
    if down > y:
        return _path(x + WIDE * 3 // 4, y + HIGH, f"V{down}")
    if to == x + WIDE + GAP:
        return _path(x + WIDE, y + HIGH // 2, f"H{to}")
    if to > x:
        near, far = _middle((x, y)), _middle((to, y))
        return _path(near, y, f"C{near} {y - 50} {far} {y - 50} {far} {y}")
    near, far = x + WIDE // 4, to + WIDE * 3 // 4
    return _path(near, y + HIGH, f"C{near} {y + HIGH + 28} {far} {y + HIGH + 28} {far} {y + HIGH}")


def _box(name: str, place: tuple[int, int], *, rounded: bool) -> str:
    x, y = place
    corner = HIGH // 2 if rounded else 4
    text = f'<text x="{x + WIDE // 2}" y="{y + 22}" text-anchor="middle" fill="currentColor" stroke="none">'
    shape = f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="{corner}"/>'
    return f"{shape}{text}{escape(name.replace('_', ' '))}</text>"

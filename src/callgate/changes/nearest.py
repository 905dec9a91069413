"""Finds the place that comes nearest to a text that was not found, for the errors of Edit and ApplyPatch."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from heapq import nlargest

from callgate.changes.text import shown

LINE_END = re.compile(r"\r\n|\r|\n")

_CANDIDATES = 30
_ALIKE = 0.4
_LONGEST = 200
_ENOUGH = 50
"""As many lines tell one place from another; comparing all of a long text at each would take too long."""


def nearest(text: str, wanted: str) -> str:
    """One sentence that names the line to look at."""
    lines, asked = LINE_END.split(text), LINE_END.split(wanted)
    if not text.strip():
        return "The file is empty." if not text else "The file has only blanks."
    if not wanted.strip():
        return "It consists only of blanks and line ends."
    return (
        _but_for_blanks(lines, asked)
        or _begun(lines, asked)
        or _similar(lines, next(line.strip() for line in asked if line.strip()))
        or "No line of the file is like its first line."
    )


def line_number(text: str, at: int) -> int:
    return len(LINE_END.findall(text, 0, at)) + 1


def _begun(lines: Sequence[str], asked: Sequence[str]) -> str | None:
    """The place with the most of its lines in a row, and the line at which it parts."""
    if len(asked) == 1:
        return None
    best, longest = 0, 0
    for start, line in enumerate(lines):
        if line.endswith(asked[0]) and longest < (count := _in_a_row(lines, start, asked[:_ENOUGH])):
            best, longest = start, count
    if not any(line.strip() for line in asked[:longest]):
        return None
    longest = _in_a_row(lines, best, asked)
    many = "Its first line stands" if longest == 1 else f"Its first {longest} lines stand"
    place, other = f"{many} at line {best + 1}", best + longest
    if other >= len(lines):
        return f"{place}, but the file ends there."
    return f"{place}, but line {other + 1} is {_quoted(lines[other])}"


def _in_a_row(lines: Sequence[str], start: int, asked: Sequence[str]) -> int:
    """The number of asked lines that follow from ``start`` on; the first is known to be there."""
    count = 1
    while count < len(asked) and start + count < len(lines) and lines[start + count] == asked[count]:
        count += 1
    return count


def _but_for_blanks(lines: Sequence[str], asked: Sequence[str]) -> str | None:
    if len(asked) > _ENOUGH:
        return None
    bare = [_bare(line) for line in asked]
    stripped = [_bare(line) for line in lines]
    for start in range(len(lines) - len(asked) + 1):
        if stripped[start : start + len(bare)] == bare:
            differs = next((at for at, line in enumerate(asked, start) if lines[at] != line), start)
            return f"It stands at line {start + 1} but for blanks: line {differs + 1} is {_quoted(lines[differs])}"
    return None


def _bare(line: str) -> str:
    return "".join(line.split())


def _similar(lines: Sequence[str], wanted: str) -> str | None:
    words = set(re.findall(r"\w+", wanted[:_LONGEST]))
    likely = nlargest(_CANDIDATES, range(len(lines)), key=lambda at: sum(word in lines[at] for word in words))
    ratios = {at: SequenceMatcher(None, lines[at].strip()[:_LONGEST], wanted[:_LONGEST]).ratio() for at in likely}
    best = max(ratios, key=lambda at: ratios[at])
    return f"The nearest line is {best + 1}: {_quoted(lines[best])}" if ratios[best] >= _ALIKE else None


def _quoted(line: str) -> str:
    return f"`{shown(line if len(line) <= _LONGEST else f'{line[:_LONGEST]}…')}`"

"""Finds the place most similar to a text that was not found, for error messages of Edit and ApplyPatch."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher, ndiff
from heapq import nlargest

from callgate.changes.text import shown

_Found = tuple[str, int] | None
LINE_END = re.compile(r"\r\n|\r|\n")

_CANDIDATES = 30
_MANY_LINES = 20_000
_ALIKE = 0.4
_LONGEST = 200
_SHOWN = 12
"""The maximum number of lines of the searched text that a diff shows."""
_ENOUGH = 50
"""The most lines that are compared at each place, which is enough to distinguish places."""


def nearest(text: str, wanted: str) -> str:
    """Return one sentence that names the most similar line."""
    return _nearest(LINE_END.split(text), LINE_END.split(wanted))[0]


def compared(text: str, wanted: str) -> str:
    """Return one sentence that names the most similar line, and a diff of the searched lines against the lines
    there."""
    lines, asked = LINE_END.split(text), LINE_END.split(wanted)
    told, at = _nearest(lines, asked)
    if at is None:
        return told
    asked = asked[:_SHOWN]
    there = lines[at : at + len(asked)]
    blanks = [_bare(line) for line in asked] == [_bare(line) for line in there]
    rows = ndiff([_row(line, blanks=blanks) for line in asked], [_row(line, blanks=blanks) for line in there])
    head = f"{told}\nYour text (-) compared with the file from line {at + 1} (+):"
    return "\n".join([head, *(row for row in rows if not row.startswith("?"))])


def _nearest(lines: Sequence[str], asked: Sequence[str]) -> tuple[str, int | None]:
    """Return the sentence, and the index of the line where the most similar place begins; None if no line is
    similar."""
    if not any(map(str.strip, lines)):
        return "The file is empty." if lines == [""] else "The file has only blanks.", None
    if not any(map(str.strip, asked)):
        return "The text to replace consists only of blanks and line endings.", None
    return (
        _but_for_blanks(lines, asked)
        or _begun(lines, asked)
        or _similar(lines, asked)
        or ("No line of the file resembles the first line of the text to replace.", None)
    )


def _row(line: str, *, blanks: bool) -> str:
    line = line.replace("\t", "\\t") if blanks else line
    return shown(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")


def line_number(text: str, at: int) -> int:
    return len(LINE_END.findall(text, 0, at)) + 1


def _begun(lines: Sequence[str], asked: Sequence[str]) -> _Found:
    """Return the place with the longest run of matching lines, and the first line that differs."""
    if len(asked) == 1:
        return None
    best, longest = 0, 0
    for start, line in enumerate(lines):
        if line.endswith(asked[0]) and longest < (count := _in_a_row(lines, start, asked[:_ENOUGH])):
            best, longest = start, count
    if not any(line.strip() for line in asked[:longest]):
        return None
    longest = _in_a_row(lines, best, asked)
    many = "Its first line is" if longest == 1 else f"Its first {longest} lines are"
    place, other = f"{many} at line {best + 1}", best + longest
    if other >= len(lines):
        return f"{place}, but the file ends there.", best
    return f"{place}, but line {other + 1} is {_quoted(lines[other])}", best


def _in_a_row(lines: Sequence[str], start: int, asked: Sequence[str]) -> int:
    count = 1
    while count < len(asked) and start + count < len(lines) and lines[start + count] == asked[count]:
        count += 1
    return count


def _but_for_blanks(lines: Sequence[str], asked: Sequence[str]) -> _Found:
    if len(asked) > _ENOUGH:
        return None
    bare = [_bare(line) for line in asked]
    first = next(number for number, line in enumerate(bare) if line)
    # A substring test skips most lines before they are stripped; in a large file it uses a whole word.
    words = re.findall(r"\w+", asked[first]) if len(lines) > _MANY_LINES else []
    telling = max(words, key=len, default=bare[first][0])
    for start in range(len(lines) - len(asked) + 1):
        if telling not in lines[start + first] or _bare(lines[start + first]) != bare[first]:
            continue
        if [_bare(line) for line in lines[start : start + len(bare)]] == bare:
            differs = next((at for at, line in enumerate(asked, start) if lines[at] != line), start)
            there = f"line {differs + 1} is {_quoted(lines[differs])}"
            return f"The text matches at line {start + 1} except for blanks: {there}", start
    return None


def _bare(line: str) -> str:
    return "".join(line.split())


def _similar(lines: Sequence[str], asked: Sequence[str]) -> _Found:
    first = next(number for number, line in enumerate(asked) if line.strip())
    wanted = asked[first].strip()
    words = set(re.findall(r"\w+", wanted[:_LONGEST]))
    looked: Sequence[int] = range(len(lines))
    if len(lines) > _MANY_LINES:  # only lines with its longest word that occurs
        by_length = sorted(words, key=len, reverse=True)
        having = ([at for at, line in enumerate(lines) if word in line] for word in by_length)
        looked = next((found for found in having if found), list[int]())[:_MANY_LINES]
    likely = nlargest(_CANDIDATES, looked, key=lambda at: sum(word in lines[at] for word in words))
    if not likely:
        return None
    ratios = {at: SequenceMatcher(None, lines[at].strip()[:_LONGEST], wanted[:_LONGEST]).ratio() for at in likely}
    best = max(ratios, key=lambda at: ratios[at])
    if ratios[best] < _ALIKE:
        return None
    return f"The nearest line is {best + 1}: {_quoted(lines[best])}", max(best - first, 0)


def _quoted(line: str) -> str:
    return f"`{shown(line if len(line) <= _LONGEST else f'{line[:_LONGEST]}…')}`"

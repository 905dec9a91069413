"""Finds a text that differs from the file only in the style of quotes or in blanks at line ends, for the tool Edit."""

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

from callgate.changes.matching import matches
from callgate.words.noun import noun

_QUOTES = str.maketrans("“”„‟‘’‚‛", "\"\"\"\"''''")
# Begins only where blanks begin: else a long row of them that ends no line would be gone through from each of them.
_TRAILING = re.compile(r"(?<![ \t])[ \t]+(?=\n|\Z)")


@noun
class Fit:
    """One place that fits: ``new`` is the text to put there, ``differs`` says in which way it did not fit exactly."""

    start: int
    end: int
    new: str
    differs: str


def fits(text: str, old: str, new: str) -> list[Fit]:
    """The places, at most two: more than one is not clear. The texts have "\\n" at the end of each line.

    Lines of ``new`` that stand in ``old`` too keep the spelling they have in the file.
    """
    wanted = _TRAILING.sub("", old.translate(_QUOTES))
    if not wanted.strip():
        return []
    runs = [(found.start(), len(found[0])) for found in _TRAILING.finditer(text)]
    plain = _TRAILING.sub("", text.translate(_QUOTES))
    # Where a run was taken out of the plain text, and how much was taken out up to there.
    taken = [0, *accumulate(length for _, length in runs)]
    places = [start - before for (start, _), before in zip(runs, taken, strict=False)]
    blanks_end = old[-1] in " \t"
    found: list[Fit] = []
    at = plain.find(wanted)
    while at >= 0 and len(found) < 2:
        end = at + len(wanted)
        if not blanks_end or end == len(plain) or plain[end] == "\n":
            start = at + taken[bisect_right(places, at)]
            stop = end + taken[(bisect_right if blanks_end else bisect_left)(places, end)]
            there = text[start:stop]
            found.append(Fit(start, stop, _kept(there, old, new), _difference(there, old)))
        at = plain.find(wanted, at + 1)
    return found


def _kept(there: str, old: str, new: str) -> str:
    """The new text, where lines that the edit leaves alone are those of the file."""
    real, asked, lines = there.split("\n"), old.split("\n"), new.split("\n")
    for start, begin, length in matches(asked, lines):
        lines[begin : begin + length] = real[start : start + length]
    return "\n".join(lines)


def _difference(there: str, old: str) -> str:
    ways: list[str] = []
    if _TRAILING.sub("", there) != _TRAILING.sub("", old):
        ways.append("the style of quotes")
    if there.translate(_QUOTES) != old.translate(_QUOTES):
        ways.append("blanks at line ends")
    return " and ".join(ways)

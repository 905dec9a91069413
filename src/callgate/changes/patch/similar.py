"""What a patch was looking for, and what in the file comes closest to it: for those who write the next one."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import get_close_matches
from heapq import nlargest

from callgate.changes.patch.spot import quoted

# An error is no place to search for long: enough to find what a person would have found.
MOST_WANTED = 50
MOST_PLACES = 50
MOST_LIKENED = 50
LONGEST_LIKENED = 120
QUOTED = 3
WORD = re.compile(r"\w+")


def sought(wanted: Sequence[bytes]) -> str:
    """The first of the wanted lines, for an error."""
    more = len(wanted) - QUOTED
    lines = "\n".join(f"  {quoted(line)}" for line in wanted[:QUOTED])
    return f"{lines}\n  … and {more} more" if more > 0 else lines


def closest(lines: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    """A sentence about where the file comes closest to the wanted lines, and how it differs there."""
    places: defaultdict[bytes, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        places[line.strip()].append(at)
    votes: Counter[int] = Counter()
    for index, line in enumerate(wanted[:MOST_WANTED]):
        text = line.strip()
        if text and len(places.get(text, ())) <= MOST_PLACES:
            votes.update(place - index for place in places.get(text, ()))
    if votes:
        start, same = max(votes.items(), key=lambda each: (each[1], -each[0]))
        return _compared(lines, wanted, start, same)
    return _likened(lines, wanted)


def _compared(lines: Sequence[bytes], wanted: Sequence[bytes], start: int, same: int) -> str:
    of = f"{same} of {min(len(wanted), MOST_WANTED)} lines are the same"
    told = f"Most like it: line {max(start, 0) + 1} of the file ({of})"
    pairs = [(start + index, line) for index, line in enumerate(wanted) if 0 <= start + index < len(lines)]
    differing = [(at, line) for at, line in pairs if lines[at] != line]
    # White space is often forgiven, so that it is told only where nothing else is wrong.
    worse = [(at, line) for at, line in differing if lines[at].split() != line.split()] or differing
    if not worse:
        return f"{told}."
    at, line = worse[0]
    return f"{told}; {_difference(at, lines[at], line)}."


def _difference(at: int, there: bytes, line: bytes) -> str:
    if there.rstrip(b"\r\n") == line.rstrip(b"\r\n"):
        if not there.endswith(b"\n"):
            return f"line {at + 1} is the last one and has no newline, the patch wants one"
        if not line.endswith(b"\n"):
            return f"line {at + 1} ends with a newline, the patch wants none"
        ends = r"`\r\n`, in the patch with `\n`" if there.endswith(b"\r\n") else r"`\n`, in the patch with `\r\n`"
        return f"line {at + 1} ends with {ends}"
    spaces = " (only the white space differs)" if there.split() == line.split() else ""
    return f"line {at + 1} reads {quoted(there)} where the patch has {quoted(line)}{spaces}"


def _likened(lines: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    """By the first line alone: those that share a word with it are compared letter by letter."""
    first = next((text for line in wanted if (text := _likenable(line))), "")
    words = set(WORD.findall(first))
    first_at: dict[str, int] = {}
    for at, line in enumerate(lines):
        first_at.setdefault(_likenable(line), at)
    shared = {text: len(words.intersection(WORD.findall(text))) for text in first_at}
    likely = nlargest(MOST_LIKENED, filter(shared.__getitem__, shared), key=shared.__getitem__)
    close = get_close_matches(first, likely, n=1)
    if not close:
        return "Nothing in the file looks like it."
    at = first_at[close[0]]
    return f"Most like its first line: line {at + 1} of the file, {quoted(lines[at])}."


def _likenable(line: bytes) -> str:
    return line.strip()[:LONGEST_LIKENED].decode("utf-8", "replace")

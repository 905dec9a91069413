"""Differences within lines, word by word, for the diffs of the terminal."""

import re
from collections.abc import Iterator

from callgate.changes.hunks import Hunk, Mark
from callgate.changes.matching import matches

Piece = tuple[Mark, str]

_WORDS = re.compile(r"\w+|\n|[^\S\n]+|[^\w\s]")


def word_diff(before: str, after: str) -> list[Piece]:
    """Pieces in reading order. What is same or removed is the text before, what is same or added the text after."""
    return _joined(_pieces(before, after))


def hunk_words(hunk: Hunk) -> list[Piece]:
    """The same for a whole hunk: where lines were replaced, only the words that differ are removed and added."""
    pieces: list[Piece] = []
    removed, added = "", ""
    for mark, line in [*hunk.lines, ("same", b"")]:
        text = line.decode("utf-8", "surrogateescape")
        if mark == "removed":
            removed += text
        elif mark == "added":
            added += text
        else:
            pieces += _pieces(removed, added)
            pieces.append(("same", text))
            removed = added = ""
    return _joined(iter(pieces))


def _pieces(before: str, after: str) -> Iterator[Piece]:
    ours: list[str] = _WORDS.findall(before)
    theirs: list[str] = _WORDS.findall(after)
    at = to = 0
    for start, begin, length in matches(ours, theirs):
        same = "".join(ours[start : start + length])
        inside = at < start and to < begin and start + length < len(ours) and begin + length < len(theirs)
        # Blanks between two replaced words are replaced with them: it reads as one change.
        if inside and same.isspace() and "\n" not in same:
            continue
        yield "removed", "".join(ours[at:start])
        yield "added", "".join(theirs[to:begin])
        yield "same", same
        at, to = start + length, begin + length


def _joined(pieces: Iterator[Piece]) -> list[Piece]:
    """Without empty ones, and neighbours of one kind as one."""
    found: list[Piece] = []
    for mark, text in pieces:
        if found and found[-1][0] == mark:
            found[-1] = (mark, found[-1][1] + text)
        elif text:
            found.append((mark, text))
    return found

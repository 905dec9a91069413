"""The differences in the files of a ChangeSet as data: hunks of lines, or a note that a file is binary or large."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from callgate.changes.matching import EFFORT, matches
from callgate.changes.text import read_text, write_text
from callgate.words.changes import ChangeKind, ChangeSet, FileChange, Stored, digest
from callgate.words.noun import noun

Mark = Literal["same", "removed", "added"]
Line = tuple[Mark, bytes]
Shown = Literal["lines", "binary", "large"]

_LEAST_EFFORT = 2_000


@noun
class Hunk:
    """The lines around one changed place, with line numbers from 1. Each line includes its line ending, except perhaps
    the last line of a file. If the hunk has no lines on one side, the line number of that side is the number of the
    line before the hunk."""

    before_at: int
    before_count: int
    after_at: int
    after_count: int
    lines: tuple[Line, ...]


@noun
class FileDiff:
    """The differences in one file. Hunks and line counts are set only if ``shown`` is "lines".

    encodings  the encodings before and after the change if one of them is UTF-16; the hunks contain the text as UTF-8
    """

    change: FileChange
    kind: ChangeKind
    shown: Shown = "lines"
    hunks: tuple[Hunk, ...] = ()
    added: int = 0
    removed: int = 0
    encodings: tuple[str, ...] = ()


def diffs(changes: ChangeSet, context: int = 3) -> Iterator[FileDiff]:
    """Yield the differences of each changed file, in order. One limit on the search for equal lines applies to all
    files together."""
    effort = max(EFFORT // max(len(changes.files), 1), _LEAST_EFFORT)
    found = (file_diff(change, context, effort=effort) for change in changes.files)
    return (each for each in found if each.kind != "nothing")


def file_diff(change: FileChange, context: int = 3, *, effort: int = EFFORT) -> FileDiff:
    kind = change.kind  # computed once, because it hashes the contents
    before, after = change.before, change.after
    is_plain = isinstance(before, bytes) and isinstance(after, bytes)
    if kind in ("nothing", "mode") or (before == after if is_plain else digest(before) == digest(after)):
        return FileDiff(change, kind)
    if isinstance(before, Stored) or isinstance(after, Stored):
        return FileDiff(change, kind, "large")
    one, other = _readable(before, change), _readable(after, change)
    if one is None or other is None:
        return FileDiff(change, kind, "binary")
    encodings: tuple[str, ...] = ()
    if one[1].startswith("utf-16") or other[1].startswith("utf-16"):
        encodings = tuple(dict.fromkeys(name for side, name in ((before, one[1]), (after, other[1])) if side))
    ours, theirs = lines_of(one[0]), lines_of(other[0])
    spans = _spans(ours, theirs, effort)
    hunks = tuple(_hunk(ours, theirs, group, context) for group in _grouped(spans, context))
    added, removed = sum(until - to for _, _, to, until in spans), sum(end - at for at, end, _, _ in spans)
    return FileDiff(
        change=change, kind=kind, shown="lines", hunks=hunks, added=added, removed=removed, encodings=encodings
    )


def lines_of(data: bytes) -> list[bytes]:
    """Split bytes into lines like git: each line ends with a line feed, except perhaps the last line."""
    *whole, last = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, last] if last else lines


def _readable(data: bytes | None, change: FileChange) -> tuple[bytes, str] | None:
    """Return a content as UTF-8 text, with its encoding; None if it is binary."""
    if not data or change.link:
        return data or b"", "utf-8"
    read = read_text(data)
    if read is None:
        return None
    text, form = read
    if form.encoding == "utf-8":
        return data, str(form)
    return write_text(text, replace(form, encoding="utf-8", bom=False)), str(form)


_Span = tuple[int, int, int, int]
"""A changed place: start and end before, start and end after."""


def _spans(before: Sequence[bytes], after: Sequence[bytes], effort: int) -> list[_Span]:
    spans: list[_Span] = []
    at = to = 0
    for start, begin, length in matches(before, after, effort=effort):
        if (at, to) != (start, begin):
            spans.append((at, start, to, begin))
        at, to = start + length, begin + length
    return spans


def _grouped(spans: Sequence[_Span], context: int) -> Iterator[list[_Span]]:
    group: list[_Span] = []
    for span in spans:
        if group and span[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _hunk(before: Sequence[bytes], after: Sequence[bytes], group: Sequence[_Span], context: int) -> Hunk:
    above = min(context, group[0][0])
    below = min(context, len(before) - group[-1][1])
    start, begin = group[0][0] - above, group[0][2] - above
    count, others = group[-1][1] + below - start, group[-1][3] + below - begin
    lines: list[Line] = []
    at = start
    for first, last, to, until in group:
        lines.extend(("same", line) for line in before[at:first])
        lines.extend(("removed", line) for line in before[first:last])
        lines.extend(("added", line) for line in after[to:until])
        at = last
    lines.extend(("same", line) for line in before[at : at + below])
    return Hunk(start + (count > 0), count, begin + (others > 0), others, tuple(lines))

"""Formats a text file for Read: numbered lines within limits, with notes on omitted lines and unusual encodings."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from callgate.changes.text import TextLines, shown
from callgate.tools.files.read_marks import Span, joined
from callgate.words.noun import noun

LINES = 2_000
WIDTH = 2_000
CHARACTERS = 100_000
"""The most characters of one result, and of a single line that is requested alone."""

_LONG_LINES_NAMED = 5


@noun
class NumberedText:
    """The numbered lines of a file as text. ``known`` are the ranges of lines that are shown completely."""

    text: str
    first: int
    last: int
    total: int
    known: tuple[Span, ...]


def numbered(lines: TextLines, offset: int, limit: int) -> NumberedText:
    """Return at most ``limit`` lines of the text from line ``offset`` (from 1), each with its number."""
    wanted = lines.some(offset, limit)
    width = WIDTH if limit > 1 else CHARACTERS
    long: list[int] = []
    if max(map(len, wanted), default=0) > width:
        long = [number for number, line in enumerate(wanted, offset) if len(line) > width]
        wanted = [_cut(line, width) for line in wanted]
    rows = [f"{number}\t{line}" for number, line in enumerate(wanted, offset)]
    text = "\n".join(rows)
    if len(text) > CHARACTERS and len(rows) > 1:
        rows = rows[: _fitting(rows)]
        text = "\n".join(rows)
    last = offset + len(rows) - 1
    long = [number for number in long if number <= last]
    # A line that is too long even alone counts as known, because no more of it can be shown.
    edges = [offset - 1, *(long if limit > 1 else ()), last + 1]
    known = joined([(low + 1, high - 1) for low, high in pairwise(edges) if low + 1 <= high - 1])
    notes = list(_notes(lines.total, offset, last, long, width))
    return NumberedText(
        text=shown("\n".join([text, *notes]) if text else "\n".join(notes)),
        first=offset,
        last=last,
        total=lines.total,
        known=known,
    )


def _fitting(rows: Sequence[str]) -> int:
    room = CHARACTERS
    for count, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            return max(count, 1)
    return len(rows)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[:width]}… ({len(line) - width:,} more characters)"


def _notes(total: int, first: int, last: int, long: Sequence[int], width: int) -> Iterator[str]:
    if last < total:
        yield f"[Lines {first}-{last} of {total:,} are shown. Read on with offset={last + 1}.]"
    elif first > 1:
        yield f"[Lines {first}-{last} of {total:,}: this is the end of the file.]"
    if long:
        named = ", ".join(map(str, long[:_LONG_LINES_NAMED])) + (
            f" and {len(long) - _LONG_LINES_NAMED} more" if len(long) > _LONG_LINES_NAMED else ""
        )
        alone = f" offset={long[0]} with limit=1 shows the whole line." if width < CHARACTERS else ""
        yield f"[Cut after {width:,} characters: line {named}.{alone}]"


def encoding_note(lines: TextLines) -> str:
    """Return a note on an unusual encoding or unusual line endings; empty for plain UTF-8 with one kind of line
    ending."""
    notes: list[str] = []
    form = lines.form
    if form.encoding == "latin-1":
        notes.append("the file is not UTF-8 and was read as Latin-1")
    elif form.encoding != "utf-8" or form.bom:
        notes.append(f"the encoding is {form}")
    elif lines.has_stray_bytes:
        notes.append("bytes that are not UTF-8 are shown as \\x..")
    if form.newline == "mixed":
        notes.append("the line endings are mixed")
    elif form.newline in ("\r\n", "\r"):
        notes.append(f"the lines end with {'CRLF' if form.newline == chr(13) + chr(10) else 'CR'}")
    return f"[Note: {'; '.join(notes)}. Edits preserve this.]" if notes else ""

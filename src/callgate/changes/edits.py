"""Makes a ChangeSet from text edits, for the tools Edit and NotebookEdit."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from callgate.changes.matching import matches
from callgate.changes.nearest import LINE_END, compared, line_number
from callgate.changes.text import TextForm, read_guessed, shown, write_text
from callgate.words.changes import ChangeSet, Content, FileChange, Stored
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_LINES_NAMED, _MOST_COUNTED = 5, 100


@noun
class TextReplacement:
    """A replacement of a text in a file. The text must occur once; with ``all`` every occurrence is replaced."""

    old: str
    new: str
    all: bool = False


def from_edits(path: str, before: Content | None, edits: Sequence[TextReplacement], label: str, tool: str) -> ChangeSet:
    """Return the change of a file by these edits. They are applied in order, each to the result of the previous edit.
    The encoding and the line endings of the file are preserved.

    In the edits, "\\n" and "\\r\\n" match the file's own line ending. An edit with an empty ``old`` writes an empty or
    missing file. If ``old`` does not occur but matches exactly one place except for the style of quotes or trailing
    white space, that place is replaced, and the label contains a note. Raise ToolFailure with the reason if any edit
    cannot be applied.
    """
    if isinstance(before, Stored):
        raise ToolFailure(f"{path}: the file is too large to edit ({before.size} bytes)")
    read = read_guessed(before or b"")
    if read is None:
        raise ToolFailure(f"{path}: this is not a text file, so it cannot be edited as text")
    text, form = read
    count = 0
    loose: list[str] = []
    for number, edit in enumerate(edits, start=1):
        where = f"{path}, edit {number} of {len(edits)}" if len(edits) > 1 else path
        text, made, differs = _edited(text, edit, form, where)
        count += made
        if differs:
            loose.append(f"edit {number} matched except for {differs}")
    label = f"{label} ({'; '.join(loose)})" if loose else label
    after = encoded(text, form, path)
    if after == before:
        raise ToolFailure(f"{path}: the edits do not change the file")
    return ChangeSet(label, (FileChange(path, before, after),), tool, count=count)


def encoded(text: str, form: TextForm, path: str) -> bytes:
    """Return the text as bytes in the encoding of its file. Raise ToolFailure if a character cannot be encoded."""
    try:
        return write_text(text, form)
    except UnicodeEncodeError as error:
        char = shown(text[error.start])
        what = char if form.encoding == "latin-1" else f"{char} is half of a character (a lone surrogate) and"
        raise ToolFailure(f"{path}: {what} cannot be written as {form.encoding}") from error


def _edited(text: str, edit: TextReplacement, form: TextForm, where: str) -> tuple[str, int, str]:
    """Return the text after one edit, the number of replacements, and the difference of an inexact match."""
    mixed = form.newline == "mixed"
    old, new = (_plain(part, form) for part in (edit.old, edit.new))
    if old == new:
        raise ToolFailure(f"{where}: the old and the new text are equal, so no change is needed")
    if not old:
        if text:
            raise ToolFailure(f"{where}: the old text is empty, but the file is not; add the text to replace")
        return new, 1, ""
    # Without ``all`` places that overlap are several; with it each character is replaced once.
    found = (_mixed_places if mixed else _places)(text, old, len(old) if edit.all else 1)
    places = list(found if edit.all else islice(found, _MOST_COUNTED + 1))
    if not places:
        near = [] if mixed else fits(text, old, new)
        if len(near) != 1:
            told = " It occurs at several places if the style of quotes and blanks at line ends are ignored."
            several = told if near else ""
            raise ToolFailure(f"{where}: the text to replace was not found.{several} {compared(text, old)}")
        (fit,) = near
        return text[: fit.start] + fit.new + text[fit.end :], 1, fit.differs
    if len(places) > 1 and not edit.all:
        raise ToolFailure(f"{where}: {_several(text, [start for start, _ in places])}")
    usual = _usual_end(text) if mixed else ""
    pieces: list[str] = []
    at = 0
    for start, end in places:
        pieces += [text[at:start], _with_ends(text[start:end], edit.new, usual) if mixed else new]
        at = end
    return "".join([*pieces, text[at:]]), len(places), ""


def _several(text: str, starts: Sequence[int]) -> str:
    lines = ", ".join(str(line_number(text, start)) for start in starts[:_LINES_NAMED])
    more = ", …" if len(starts) > _LINES_NAMED else ""
    many = f"more than {_MOST_COUNTED}" if len(starts) > _MOST_COUNTED else f"{len(starts)}"
    return (
        f"the text to replace occurs at {many} places (lines {lines}{more}); include more of the surrounding text, "
        "or replace all occurrences"
    )


def _plain(text: str, form: TextForm) -> str:
    if form.newline in ("mixed", "\r"):
        return LINE_END.sub("\n", text)
    return text.replace("\r\n", "\n") if form.newline else text


def _places(text: str, old: str, step: int) -> Iterator[tuple[int, int]]:
    at = text.find(old)
    while at >= 0:
        yield at, at + len(old)
        at = text.find(old, at + step)


def _mixed_places(text: str, old: str, step: int) -> Iterator[tuple[int, int]]:
    """Yield the places of ``old`` in the text, ignoring line endings. The positions are positions in the original
    text."""
    # Each "\r\n" is one character in the plain text, so what follows it stands one further in the real one.
    doubles = [found.start() - number for number, found in enumerate(re.finditer("\r\n", text))]
    for start, end in _places(LINE_END.sub("\n", text), old, step):
        yield start + bisect_left(doubles, start), end + bisect_left(doubles, end)


def _with_ends(old: str, new: str, usual: str) -> str:
    """Return the new text with the line endings of the old text on all unchanged lines."""
    lines, others = LINE_END.split(new), LINE_END.split(old)
    ends = LINE_END.findall(old)
    # A lone "\r" is kept; everything else is a line end.
    chosen = [end if end == "\r" else (ends or [usual])[0] for end in LINE_END.findall(new)]
    first = min(_alike(lines, others), len(chosen), len(ends))
    rest = min(_alike(lines[::-1], others[::-1]), len(chosen) - first, len(ends) - first)
    chosen[:first] = ends[:first]
    chosen[len(chosen) - rest :] = ends[len(ends) - rest :]
    return "".join(line + end for line, end in zip(lines, [*chosen, ""], strict=True))


def _alike(lines: Sequence[str], others: Sequence[str]) -> int:
    short = min(len(lines), len(others))
    return next((at for at in range(short) if lines[at] != others[at]), short)


def _usual_end(text: str) -> str:
    ends = Counter(LINE_END.findall(text))
    return ends.most_common(1)[0][0] if ends else "\n"


_QUOTES = str.maketrans("“”„‟‘’‚‛", "\"\"\"\"''''")
# Begins only where blanks begin: else a long row of them that ends no line would be gone through from each of them.
_TRAILING = re.compile(r"(?<![ \t])[ \t]+(?=\n|\Z)")


@noun
class Fit:
    """A place that matches except for quotes or white space. ``new`` is its replacement, ``differs`` names the
    difference."""

    start: int
    end: int
    new: str
    differs: str


def fits(text: str, old: str, new: str) -> list[Fit]:
    """Return the inexact matches of ``old``. At most two are returned, because two are ambiguous already. All texts
    must use "\\n" as the line ending.

    Lines of ``new`` that are also in ``old`` keep the quotes and white space of the file.
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
    """Return the new text, with unchanged lines as written in the file."""
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

"""Formats files for Read: numbered lines of text within limits, folders, images, PDF files and notebooks."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import accumulate, pairwise
from typing import Any, cast

from callgate.changes.diff import quoted
from callgate.changes.text import TextLines, shown
from callgate.host.ports import FolderEntry
from callgate.tools.files.read_marks import Span, joined
from callgate.tools.values import image_type
from callgate.words.calls import Display, Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Content, Image, Text

LINES = 2_000
WIDTH = 2_000
CHARACTERS = 100_000
"""The most characters of one result, and of a single line that is requested alone."""

_LONG_LINES_NAMED = 5


def numbered(lines: TextLines, offset: int, limit: int) -> tuple[str, int, tuple[Span, ...]]:
    """Return a text of at most ``limit`` numbered lines from line ``offset`` (from 1) on, the last line, and the ranges
    of lines that are shown completely."""
    wanted = lines.some(offset, limit)
    width = WIDTH if limit > 1 else CHARACTERS
    long: list[int] = []
    if max(map(len, wanted), default=0) > width:
        long = [number for number, line in enumerate(wanted, offset) if len(line) > width]
        wanted = [_cut(line, width) for line in wanted]
    rows = [f"{number}\t{line}" for number, line in enumerate(wanted, offset)]
    ends = list(accumulate(len(row) + 1 for row in rows))
    rows = rows[: max(bisect_right(ends, CHARACTERS + 1), 1)]
    last = offset + len(rows) - 1
    long = [number for number in long if number <= last]
    # A line that is too long even alone counts as known, because no more of it can be shown.
    edges = [offset - 1, *(long if limit > 1 else ()), last + 1]
    known = joined([(low + 1, high - 1) for low, high in pairwise(edges) if low + 1 <= high - 1])
    text = "\n".join([*rows, *_notes(lines.total, offset, last, long, width)])
    return shown(text), last, known


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


MOST_IMAGE = 5_000_000
"""The largest image that models accept, in bytes."""
_PAGES = 20
_ENTRIES = 500
_OUTPUT = 5_000
"""The most characters of one output of a notebook."""


def special(path: str, data: bytes, pages: str | None) -> Result | None:
    """Return an image or a PDF file as a result, or None for any other file."""
    media_type = image_type(data)
    if media_type is not None:
        return _image(path, data, media_type)
    return _pdf(path, data, pages) if data.startswith(b"%PDF-") else None


def _image(path: str, data: bytes, media_type: str) -> Result:
    if len(data) > MOST_IMAGE:
        told = f"{path} is an image of {len(data):,} bytes, but models accept at most {MOST_IMAGE:,}"
        raise ToolFailure(f"{told}: make a smaller copy and read that.")
    display = Display("image", {"media_type": media_type, "path": path})
    return Result((Text(f"[{path}: {media_type}, {len(data):,} bytes]"), Image(media_type, data)), (display,))


# ---- folders ------------------------------------------------------------------------------------------------------


def folder_text(entries: Sequence[FolderEntry], path: str) -> str:
    if not entries:
        return f"[{path} is an empty folder.]"
    marks = {"folder": "/", "other": "@", "device": "|"}
    lines = [
        f"{quoted(each.name)}{marks.get(each.kind, '')}" + (f"  {each.size:,}" if each.kind == "file" else "")
        for each in entries[:_ENTRIES]
    ]
    more = f"[{len(entries) - _ENTRIES:,} more entries are not shown: use Glob.]" if len(entries) > _ENTRIES else ""
    head = f"[{path} is a folder; names with / are folders, names with @ are links, numbers are sizes in bytes.]"
    return "\n".join([head, *lines, *([more] if more else [])])


# ---- PDF ----------------------------------------------------------------------------------------------------------


def _pdf(path: str, data: bytes, pages: str | None) -> Result:
    try:
        from pypdf import PdfReader
    except ImportError:
        told = f"{path} is a PDF file, and the package that reads PDF files is not installed"
        raise ToolFailure(f"{told}: pip install 'callgate[pdf]', or convert it with a command.") from None
    try:
        reader = PdfReader(BytesIO(data))
        total = len(reader.pages)
        first, last = _page_span(pages, total)
        texts = [(number, reader.pages[number - 1].extract_text()) for number in range(first, last + 1)]
    except ToolFailure:
        raise
    except Exception as error:  # the library may raise anything for an invalid file
        raise ToolFailure(f"{path} is an invalid PDF file: {error}") from error
    parts: list[str] = []
    room = CHARACTERS
    for number, text in texts:
        parts.append(f"--- page {number} of {total} ---\n{text.strip() or '[no text on this page]'}"[: max(room, 0)])
        room -= len(parts[-1])
        if room <= 0:
            last = number
            parts.append(f"[Page {number} is cut off: ask for fewer pages.]")
            break
    if last < total:
        parts.append(f"[Pages {first}-{last} of {total} are shown. Read on with pages={last + 1}-{total}.]")
    return Result((Text("\n".join(parts)),), details={"pages": [first, last], "of": total})


def _page_span(pages: str | None, total: int) -> tuple[int, int]:
    if pages is None:
        return 1, min(total, _PAGES)
    found = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", pages)
    first = int(found[1]) if found else 0
    last = int(found[2] or found[1]) if found else 0
    if not 1 <= first <= last or first > total:
        raise ToolFailure(f"pages={pages!r} matches none of the {total} pages: write a range such as 3 or 1-5.")
    return first, min(last, total, first + _PAGES - 1)


# ---- notebooks ----------------------------------------------------------------------------------------------------


def cell_id(cell: Mapping[str, Any], number: int) -> str:
    """Return the id of a cell, or its index if the notebook is too old to have ids."""
    found = cell.get("id")
    return found if isinstance(found, str) and found else f"cell-{number}"


def cells_of(data: bytes) -> list[dict[str, Any]] | None:
    """Return the cells of a notebook, or None if the file is not a notebook."""
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = cast(dict[str, Any], found).get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cast(list[Any], cells)):
        return None
    return cast(list[dict[str, Any]], cells)


def joined_source(value: object) -> str:
    """Return a text of a notebook as one string; the file may contain a list of lines instead."""
    return "".join(map(str, cast(list[object], value))) if isinstance(value, list) else str(value or "")


def shown_cells(cells: Sequence[Mapping[str, Any]], offset: int, limit: int) -> tuple[list[Content], int]:
    """Return the cells from number ``offset`` (from 1) with their outputs, up to the size limit, and the number of the
    last cell. At least one cell is returned, shortened if necessary."""
    parts: list[Content] = []
    room = CHARACTERS
    last = offset - 1
    for number, cell in enumerate(cells[offset - 1 : offset - 1 + limit], offset):
        source = joined_source(cell.get("source"))
        text = f'<cell id="{cell_id(cell, number - 1)}" type="{cell.get("cell_type", "code")}">\n{source}\n</cell>\n'
        if len(text) > room:
            break
        outputs = cell.get("outputs")
        found = list(_outputs(cast(list[Any], outputs))) if isinstance(outputs, list) else []
        parts += [Text(text), *found]
        room -= len(text) + sum(len(part.text) for part in found if isinstance(part, Text))
        last = number
    if last < offset:
        cut = joined_source(cells[offset - 1].get("source"))[:CHARACTERS]
        parts.append(Text(f"{cut}\n[Cell {offset} is too large to show completely.]\n"))
    if last < len(cells):
        following = max(last, offset) + 1
        more = f" Read on with offset={following}." if following <= len(cells) else ""
        parts.append(Text(f"[Cells {offset}-{last} of {len(cells)} are shown.{more}]"))
    return parts, last


def _outputs(outputs: Sequence[Any]) -> Iterator[Content]:
    for each in outputs:
        if not isinstance(each, dict):
            continue
        output = cast(dict[str, Any], each)
        held = output.get("data")
        data = cast(dict[str, Any], held) if isinstance(held, dict) else {}
        text = joined_source(output.get("text") or data.get("text/plain") or output.get("traceback"))
        if text:
            cut = f"{text[:_OUTPUT]}… ({len(text) - _OUTPUT:,} more characters)" if len(text) > _OUTPUT else text
            yield Text(f"<output>\n{_ESCAPE.sub('', cut)}\n</output>\n")
        yield from _pictures(data)


_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def _pictures(data: Mapping[str, Any]) -> Iterator[Content]:
    from base64 import b64decode

    for media_type in ("image/png", "image/jpeg"):
        if media_type in data:
            try:
                picture = b64decode(joined_source(data[media_type]))
            except ValueError:
                continue
            if len(picture) <= MOST_IMAGE and image_type(picture) == media_type:
                yield Image(media_type, picture)

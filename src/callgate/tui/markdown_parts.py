"""Splits Markdown into parts that are painted one by one, so that finished parts can be printed while more text
arrives.

A part is a block of Markdown, an item of a list, or a section of a long code block, table or paragraph. A part does
not depend on later text, and ``Opened`` has the state of the earlier text. Painting a streamed text part by part
therefore gives the same lines as painting the whole text.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from callgate.words.noun import noun

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


MOST_LINES = 60
"""The maximum number of lines in a section of a code block, table or paragraph. The next section of a code block or
table repeats the head."""
LARGEST = 4_000
"""Characters after which a part ends with the line, which limits the time to paint the rest of a text."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_DEEP = re.compile(r" {4}| {0,3}\t")
_LISTS = ("bullet_list_open", "ordered_list_open")
_CUT = ("fence", "table_open", "paragraph_open", "heading_open")


@noun
class Opened:
    """The Markdown state before a part.

    gap     an empty line separates the part from the part before
    number  the number of the part in an ordered list
    head    the first lines of the code block or table that the part continues
    """

    gap: bool = False
    number: int | None = None
    head: str = ""


@noun
class MarkdownPart:
    """One or more lines of a text, and the Markdown state before them."""

    text: str
    opened: Opened


@noun
class _Start:
    """The first line of a part.

    head  the first lines of the block, repeated if the part is cut
    own   the number of lines of ``head`` that are in the part itself
    cuts  the part is cut after ``MOST_LINES`` lines
    """

    line: int
    opened: Opened
    head: str = ""
    own: int = 0
    cuts: bool = False


def parts_of(text: str, opened: Opened | None = None) -> list[MarkdownPart]:
    """Split a text into parts. The last part is unfinished while more text may arrive."""
    parts: list[MarkdownPart] = []
    lines, before = lines_of(text), opened or Opened()
    while lines:
        starts = list(_starts(lines, before))
        ends = [start.line for start in starts[1:]] + [len(lines)]
        for start, end in zip(starts, ends, strict=True):
            cut = _cut(lines, start, end)
            parts.append(MarkdownPart("".join(lines[start.line : cut]), start.opened))
            if cut < end:
                lines, before = lines[cut:], Opened(head=start.head)
                break
        else:
            break
    return parts


def finished_length(text: str, opened: Opened | None = None) -> tuple[int, Opened]:
    """Return the length of the finished parts at the start of an incomplete text, and the Markdown state after them.
    An incomplete last line is ignored."""
    end = text.rfind("\n") + 1
    parts = parts_of(text[:end], opened)
    if len(parts) < 2:
        return 0, opened or Opened()
    return sum(len(part.text) for part in parts[:-1]), parts[-1].opened


def lines_of(text: str) -> list[str]:
    """Split a text into lines by the rules of Markdown, with their line endings."""
    return _LINE.findall(text)


def closes(line: str, markup: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(markup) and not bare.strip(markup[0]) and not _DEEP.match(line)


# ---- where parts begin --------------------------------------------------------------------------------------------


def _cut(lines: list[str], start: _Start, end: int) -> int:
    """Return the line before which a part that is too long is cut, or ``end`` for other parts."""
    size = 0
    for at in range(start.line, end):
        own = at - start.line - start.own
        if (size > LARGEST and own >= 0) or (start.cuts and own >= MOST_LINES):
            return at
        size += len(lines[at])
    return end


def _starts(lines: list[str], opened: Opened) -> Iterator[_Start]:
    ahead = lines_of(opened.head)
    first = True
    for token, children in _top(ahead + lines):
        begin, end = token.map or (0, 0)
        begin, end = max(begin - len(ahead), 0), end - len(ahead)
        here = opened if first else Opened(gap=_blank(lines, begin - 1))
        head = opened.head if first else ""
        begin = 0 if first else begin
        first = False
        if token.type in _LISTS:
            places = [(item.map or (0, 0))[0] - len(ahead) for item in children if item.type == "list_item_open"]
            yield from _items(lines, token, [begin, *places[1:]], here)
            continue
        content = begin
        if token.type in ("fence", "table_open") and not head:
            content = begin + next(number for number, line in enumerate(lines[begin:]) if line.strip())
            content += 1 if token.type == "fence" else 2
            head = "".join(lines[begin:content])
        yield _Start(begin, here, head, content - begin, cuts=token.type in _CUT)
    if first and lines:
        yield _Start(0, opened)


def _items(lines: list[str], token: "Token", places: list[int], here: Opened) -> Iterator[_Start]:
    number = int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None
    if number is not None and here.number is not None:
        number = here.number
    for count, at in enumerate(places):
        if count and _DEEP.match(lines[at]):
            continue  # on its own it would be a code block
        gap = _blank(lines, at - 1) if count else here.gap
        yield _Start(at, Opened(gap=gap, number=None if number is None else number + count))


def _blank(lines: list[str], at: int) -> bool:
    return at >= 0 and not lines[at].strip(" \t\r\n")


def _top(lines: list[str]) -> Iterator[tuple["Token", list["Token"]]]:
    tokens = block_reader().parse("".join(lines))
    block: Token | None = None
    inside: list[Token] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            if block is not None:
                yield block, inside
            block, inside = token, []
        elif token.level == 1 and token.nesting >= 0:
            inside.append(token)
    if block is not None:
        yield block, inside


@cache
def block_reader() -> "MarkdownIt":
    """Return a parser for the blocks of Markdown that skips inline Markdown."""
    reader = markdown_reader()
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader


def markdown_reader() -> "MarkdownIt":
    """Return a parser for CommonMark with tables and strikethrough.

    HTML is parsed as text. Link definitions are parsed as text too, because a definition at the end of an answer
    would change links that have been printed already.
    """
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    return reader.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])

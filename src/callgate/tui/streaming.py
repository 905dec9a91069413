"""Markdown in parts that are painted one by one, so that the finished ones of a text can leave while more arrives.

A part is a block of Markdown; an item of a list; a stretch of a long code block or paragraph. The parts of a text do
not depend on what follows them, and what a part needs of those before it is in ``Opened``: painting the parts of a text
that arrived in pieces gives the same lines as painting the whole text.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from callgate.words.noun import noun

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_LINES = 120
"""A stretch of a code block has at most so many lines."""
FEWEST_LINES = 30
"""After so many a stretch ends at the next empty line that is followed by a line without indent."""
LONGEST_PARAGRAPH = 50
"""A stretch of a paragraph has at most so many lines. Each is a row of its own on the screen."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_DEEP = re.compile(r" {4}| {0,3}\t")
_LISTS = ("bullet_list_open", "ordered_list_open")


@noun
class Opened:
    """The state before a part. ``gap``: an empty line stands between it and the part before. ``number``: it is the
    item of an ordered list with this number. ``fence``: it is inside the code block that this line opened."""

    gap: bool = False
    number: int | None = None
    fence: str = ""


@noun
class MarkdownPart:
    """Some whole lines of a text, and the state before them."""

    text: str
    opened: Opened


def parts_of(text: str, opened: Opened | None = None) -> list[MarkdownPart]:
    """All parts of a text; the last one is not finished while more text may come."""
    parts: list[MarkdownPart] = []
    before = opened or Opened()
    while True:
        lines = lines_of(text)
        starts = list(_starts(lines, before))
        forced = next((at for at, (_line, _opened, again) in enumerate(starts) if again), len(starts))
        ends = [line for line, _opened, _again in starts[1:]] + [len(lines)]
        for (line, state, _again), end in zip(starts[:forced], ends, strict=False):
            parts.append(MarkdownPart("".join(lines[line:end]), state))
        if forced == len(starts):
            return parts
        text, before = "".join(lines[starts[forced][0] :]), starts[forced][1]


def finished_length(text: str, opened: Opened | None = None) -> tuple[int, Opened]:
    """The length of the finished parts at the front of a text that still arrives, and the state behind them. A line
    counts when its end has arrived."""
    end = text.rfind("\n") + 1
    parts = parts_of(text[:end], opened)
    if len(parts) < 2:
        return 0, opened or Opened()
    return sum(len(part.text) for part in parts[:-1]), parts[-1].opened


def lines_of(text: str) -> list[str]:
    """The lines as Markdown knows them, each with its end."""
    return _LINE.findall(text)


def closes(line: str, markup: str) -> bool:
    """True if the line ends a code block that began with this fence."""
    bare = line.strip()
    return len(bare) >= len(markup) and not bare.strip(markup[0]) and not _DEEP.match(line)


# ---- where parts begin --------------------------------------------------------------------------------------------


def _starts(lines: list[str], opened: Opened) -> Iterator[tuple[int, Opened, bool]]:
    """The line and the state of each part. True: the lines from here on have to be read anew, because they mean
    something else as the beginning of a text."""
    ahead = [opened.fence + "\n"] if opened.fence else []
    skipped = len(ahead)
    first = True
    for token, children in _top(ahead + lines):
        begin, end = token.map or (0, 0)
        begin = max(begin - skipped, 0)
        here = opened if first else Opened(gap=_blank(lines, begin - 1))
        begin = 0 if first else begin
        first = False
        if token.type in _LISTS:
            yield from _items(lines, token, children, begin, here)
            continue
        yield begin, here, False
        if token.type == "fence":
            fence = opened.fence or lines[begin].rstrip("\r\n")
            yield from ((at, Opened(fence=fence), False) for at in _stretches(lines, token, end - skipped, begin, here))
        elif token.type in ("paragraph_open", "heading_open"):
            content = end - (1 if token.type == "heading_open" and token.markup in ("=", "-") else 0)
            if content - begin > LONGEST_PARAGRAPH:
                yield begin + LONGEST_PARAGRAPH, Opened(), True
                return
    if first and lines:
        yield 0, opened, False


def _items(
    lines: list[str], token: "Token", children: list["Token"], begin: int, here: Opened
) -> Iterator[tuple[int, Opened, bool]]:
    number = int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None
    if number is not None and here.number is not None:
        number = here.number
    for count, item in enumerate(each for each in children if each.type == "list_item_open"):
        at = (item.map or (0, 0))[0] if count else begin
        if count and _DEEP.match(lines[at]):
            continue  # alone it would be code
        gap = _blank(lines, at - 1) if count else here.gap
        yield at, Opened(gap=gap, number=None if number is None else number + count), False


def _stretches(lines: list[str], token: "Token", end: int, begin: int, here: Opened) -> Iterator[int]:
    """The lines in a code block at which its next stretch begins."""
    start = begin if here.fence else begin + 1
    last = end - 1 if end - 1 > begin and closes(lines[end - 1], token.markup) else end
    for at in range(start, last):
        long = at - start
        new = not lines[at][:1].isspace() and _blank(lines, at - 1)
        if long >= MOST_LINES or (long >= FEWEST_LINES and new):
            yield at
            start = at


def _blank(lines: list[str], at: int) -> bool:
    return at >= 0 and not lines[at].strip(" \t\r\n")


def _top(lines: list[str]) -> Iterator[tuple["Token", list["Token"]]]:
    """The blocks of a text, each with the blocks right inside it."""
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
    """Reads blocks and leaves the text inside them alone."""
    reader = markdown_reader()
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader


def markdown_reader() -> "MarkdownIt":
    """CommonMark with tables and strikethrough. HTML is text. Definitions of links stay text too: a definition at the
    end of an answer would change links that have left the screen."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    return reader.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])

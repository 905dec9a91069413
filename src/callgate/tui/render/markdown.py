"""Paints Markdown as rows of styled text. Unknown syntax is shown as written, so no text is lost.

An empty line separates two blocks if the source has an empty line there, so that the rows of a block do not depend
on later blocks. See ``tui.markdown_parts``.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from callgate.formats.columns import width as width_of
from callgate.tui.markdown_parts import Opened, closes, lines_of, markdown_reader, parts_of
from callgate.tui.render.code import coloured
from callgate.tui.render.spans import Span, cut, wrapped
from callgate.tui.render.tables import table_rows
from callgate.tui.theme import Theme

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

Row = list[Span]
NARROWEST = 10
"""The minimum width of a text; in narrower nested blocks the indentation is dropped."""
RULE = 24

_BREAK = re.compile(" *<br ?/?> *")
_MARKS = {"strong": ("bold", "**"), "em": ("italic", "_"), "s": ("strike", "~~")}
"""The style of inline Markdown, and the mark shown instead in terminals without styles."""


@cache
def _reader() -> "MarkdownIt":
    return markdown_reader()


def markdown_rows(
    theme: Theme, text: str, width: int, opened: Opened | None = None, *, unbroken: bool = False
) -> list[Row]:
    """Return the rows of a Markdown text.

    opened    the Markdown state before the text
    unbroken  do not wrap lines of code, so that users can copy them from the terminal unchanged
    """
    rows: list[Row] = []
    for part in parts_of(text, opened):
        found = _Part(theme, part.text, part.opened, unbroken).rows(width)
        if part.opened.gap and found:
            rows.append([])
        rows += found
    return rows


class _Part:
    def __init__(self, theme: Theme, text: str, opened: Opened, unbroken: bool) -> None:
        self._theme = theme
        self._opened = opened
        self._unbroken = unbroken
        self._text = opened.head + text
        self._source = lines_of(self._text)

    def rows(self, width: int) -> list[Row]:
        from markdown_it.tree import SyntaxTreeNode

        root = SyntaxTreeNode(_reader().parse(self._text))
        return self._blocks(root.children, width, top=True)

    # ---- blocks ------------------------------------------------------------------------------------------------

    def _blocks(self, nodes: Sequence["SyntaxTreeNode"], width: int, *, top: bool = False) -> list[Row]:
        rows: list[Row] = []
        for number, node in enumerate(nodes):
            if number and self._gap_before(node, top):
                rows.append([])
            rows += self._block(node, width, top)
        return rows

    def _block(self, node: "SyntaxTreeNode", width: int, top: bool) -> list[Row]:
        match node.type:
            case "paragraph":
                task = node.previous_sibling is None and node.parent is not None and _task(node.parent) is not None
                spans = self._inline(node)
                return wrapped(_without(spans, 4) if task else spans, width)
            case "heading":
                return self._heading(node, width)
            case "fence" | "code_block":
                return self._code(node, width, top)
            case "bullet_list" | "ordered_list":
                return self._list(node, width, top)
            case "blockquote":
                return self._indented(node, width, (self._theme.sign("│ ", "| "), "grey"))
            case "table":
                return self._table(node, width)
            case "hr":
                return [[(self._theme.sign("─", "-") * min(RULE, width), "grey")]]
            case _:
                return wrapped([(self._safe(node.content), "")], width)

    def _heading(self, node: "SyntaxTreeNode", width: int) -> list[Row]:
        level = int(node.tag[1:])
        style = "bold" if level > 2 else "bold blue"
        mark = [] if self._theme.colours else [(f"{'#' * level} ", "")]
        return wrapped([*mark, *self._inline(node, style)], width)

    def _code(self, node: "SyntaxTreeNode", width: int, top: bool) -> list[Row]:
        theme = self._theme
        begin, end = node.map or (0, 0)
        info = node.info.strip().split() if node.type == "fence" else []
        rule = theme.sign("───", "---")
        rows: list[Row] = []
        if not (top and self._opened.head):
            rows.append([(f"{rule} {self._safe(info[0])}" if info else rule, "grey")])
        code = self._safe_code(node.content.removesuffix("\n"))
        language = info[0].strip("{}.").partition(":")[0].lower() if info else ""
        if code or end - begin > 2:
            for line in coloured(code, language):
                rows += [list(line)] if top and self._unbroken else cut(line, width)
        ended = node.type == "code_block" or (
            end - begin > 1 and closes(self._source[end - 1].lstrip(" >"), node.markup)
        )
        return [*rows, [(rule, "grey")]] if ended else rows

    def _list(self, node: "SyntaxTreeNode", width: int, top: bool) -> list[Row]:
        number = None if node.type == "bullet_list" else int(node.attrs.get("start", 1))
        if number is not None and top and self._opened.number is not None:
            number = self._opened.number
        rows: list[Row] = []
        for count, item in enumerate(node.children):
            if count and self._gap_before(item, top):
                rows.append([])
            mark = f"{self._theme.sign('•', '-')} " if number is None else f"{number + count}. "
            rows += self._item(item, width, mark)
        return rows

    def _item(self, item: "SyntaxTreeNode", width: int, mark: str) -> list[Row]:
        done = _task(item)
        style = "" if done is None else "green" if done else "grey"
        if done is not None:
            mark = self._theme.sign("☑ " if done else "☐ ", "[x] " if done else "[ ] ")
        return self._indented(item, width, (mark, style or "blue"), (" " * width_of(mark), ""))

    def _indented(self, node: "SyntaxTreeNode", width: int, first: Span, rest: Span | None = None) -> list[Row]:
        room = width - width_of(first[0])
        if room < NARROWEST:
            return [[first], *self._blocks(node.children, width)] if width_of(first[0]) <= width else []
        rows = self._blocks(node.children, room) or [[]]
        behind = rest or first
        return [
            [first, *row] if number == 0 else [behind, *row] if row or behind[0].strip() else []
            for number, row in enumerate(rows)
        ]

    def _table(self, node: "SyntaxTreeNode", width: int) -> list[Row]:
        cells: list[list[list[Span]]] = []
        right: list[bool] = []
        for row in (row for part in node.children for row in part.children):
            cells.append([self._inline(cell, "bold" if cell.type == "th" else "") for cell in row.children])
            if not right:
                right = ["right" in str(cell.attrs.get("style", "")) for cell in row.children]
        return table_rows(self._theme, cells, right, width)

    def _gap_before(self, node: "SyntaxTreeNode", top: bool) -> bool:
        """Return True if an empty line precedes the block. Inside a quote, an empty line consists of the quote
        character."""
        begin = (node.map or (0, 0))[0]
        return begin > 0 and not self._source[begin - 1].strip(" \t\r\n" if top else " \t\r\n>")

    # ---- inside of a block ---------------------------------------------------------------------------------------

    def _inline(self, node: "SyntaxTreeNode", style: str = "") -> list[Span]:
        return [span for child in node.children for span in self._spans(child, style)]

    def _spans(self, node: "SyntaxTreeNode", style: str) -> Iterator[Span]:
        match node.type:
            case "inline":
                for child in node.children:
                    yield from self._spans(child, style)
            case "text" | "text_special":
                yield _BREAK.sub("\n", self._safe(node.content)), style
            case "softbreak" | "hardbreak":
                yield "\n", ""
            case "code_inline":
                mark = "" if self._theme.colours else "`"
                yield f"{mark}{self._safe(node.content)}{mark}", _joined(style, "cyan")
            case "strong" | "em" | "s":
                more, mark = _MARKS[node.type]
                mark = "" if self._theme.colours else mark
                inside = self._inline(node, _joined(style, more))
                yield from ((mark, ""), *inside, (mark, "")) if mark else inside
            case "link":
                yield from self._link(node, style)
            case "image":
                yield f"[image: {self._safe(node.content)}]", style
                yield f" ({self._safe(str(node.attrs.get('src', '')))})", "grey"
            case _:
                yield self._safe(node.content), style

    def _link(self, node: "SyntaxTreeNode", style: str) -> Iterator[Span]:
        """Yield the text of a link, and its address if it differs, so that the text cannot hide the address."""
        address = self._safe(str(node.attrs.get("href", "")))
        inside = self._inline(node, _joined(style, "underline"))
        yield from inside
        if "".join(text for text, _ in inside) not in (address, address.removeprefix("mailto:")):
            yield f" ({address})", "grey"

    def _safe(self, text: str) -> str:
        return self._theme.page(text.replace("\t", " "))

    def _safe_code(self, text: str) -> str:
        return self._theme.page(text).expandtabs(4)


def _task(item: "SyntaxTreeNode") -> bool | None:
    first = item.children[0] if item.type == "list_item" and item.children else None
    if first is None or first.type != "paragraph":
        return None
    inline = first.children[0]
    begin = inline.children[0].content[:4] if inline.children and inline.children[0].type == "text" else ""
    return {"[ ] ": False, "[x] ": True, "[X] ": True}.get(begin)


def _without(row: Row, letters: int) -> Row:
    left: Row = []
    for text, style in row:
        left.append((text[letters:], style))
        letters = max(letters - len(text), 0)
    return left


def _joined(style: str, more: str) -> str:
    return f"{style} {more}" if style else more

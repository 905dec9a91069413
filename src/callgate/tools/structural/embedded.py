"""Scripts and styles inside HTML, which are searched in their own language, as ast-grep's command line does it."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from callgate.tools.structural.source import span

if TYPE_CHECKING:
    from ast_grep_py import SgNode

HOST = "html"
_NAMES = {
    **dict.fromkeys(("javascript", "js", "jsx"), "javascript"),
    **dict.fromkeys(("typescript", "ts"), "typescript"),
    "tsx": "tsx",
    "css": "css",
}
GUESTS = frozenset(_NAMES.values())
"""The languages that can be inside."""

_ELEMENTS = (("script_element", "javascript"), ("style_element", "css"))


def embedded(root: "SgNode", text: str) -> Iterator[tuple[str, str]]:
    """The language and the text of each embedded part; blanks before it keep its position in the file."""
    for kind, usual in _ELEMENTS:
        for element in root.find_all(kind=kind):
            language = _NAMES.get(_said(element).lower() or usual)
            content = next((child for child in element.children() if child.kind() == "raw_text"), None)
            if language is not None and content is not None:
                start, end = span(content)
                yield language, re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def _said(element: "SgNode") -> str:
    """The value of its attribute ``lang``."""
    for attribute in element.find_all(kind="attribute"):
        name, value = attribute.find(kind="attribute_name"), attribute.find(kind="attribute_value")
        if name is not None and value is not None and name.text() == "lang":
            return value.text()
    return ""

"""The wide reader: tree-sitter's grammar of bash, which knows every form of the language.

What it cannot read it still gives in parts, so that deny rules have something to look at.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from itertools import islice
from typing import Protocol, cast

from callgate.shell.command import Script, Unread
from callgate.shell.tree_commands import Enough
from callgate.shell.tree_walk import TreeWalk
from callgate.shell.tree_words import SyntaxNode

NOT_INSTALLED = Unread("tree-sitter is not installed: pip install callgate")
NOTHING = Script(())

SIGN = re.compile(r"[()\[\]{}<>|&;$`'\"=!\\?@\n]")
STRANGE = re.compile(r"[^\t\n\x20-\x7e]")
MOST_SIGNS = 400
"""The grammar takes time by the square of the signs in a text that is wrong."""


class SyntaxTree(Protocol):
    @property
    def root_node(self) -> SyntaxNode: ...


class BashParser(Protocol):
    def parse(self, source: bytes, /) -> SyntaxTree: ...


def read_widely(text: str, signs: int = MOST_SIGNS) -> tuple[Script, Unread | None]:
    """The script as far as the grammar reads it, and why that is not all. Nothing is read behind so many ``signs``."""
    new_parser = bash_parsers()
    if new_parser is None:
        return NOTHING, NOT_INSTALLED
    cut = next(islice(SIGN.finditer(text), signs, None), None)
    source = text[: cut.start()] if cut else text
    root = new_parser().parse(shadow(source)).root_node
    unread = Unread("too many signs to look at", cut.start()) if cut else None
    if root.has_error and not unread:
        unread = error_in(root)
    walk = TreeWalk(source)
    try:
        walk.sequence(root.children, ())
    except Enough as enough:
        unread = unread or Unread(str(enough))
    if walk.missed:
        unread = unread or Unread("something that the grammar jumps over")
    return walk.script(), unread


def shadow(text: str) -> bytes:
    """The text as the grammar may see it, a byte for a character. It looks up some characters in a table for ASCII
    without a check, and can take the process down with others; to bash they are all letters without a meaning."""
    return STRANGE.sub("%", text).encode("ascii")


@cache
def bash_parsers() -> Callable[[], BashParser] | None:
    """Makes parsers; one for each text, since two threads must not share one and it costs next to nothing."""
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        return None
    return cast(
        Callable[[], BashParser], partial(tree_sitter.Parser, tree_sitter.Language(tree_sitter_bash.language()))
    )


def error_in(node: SyntaxNode) -> Unread:
    """The first place at which the grammar met something it does not know."""
    while True:
        broken = next((child for child in node.children if child.has_error), None)
        if broken is None or broken.is_error or broken.is_missing:
            return Unread("not a form the grammar of bash knows", (broken or node).start_byte)
        node = broken

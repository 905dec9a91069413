"""The wide reader: tree-sitter's grammar of bash, which knows every form of the language.

What it cannot read it still gives in parts, so that deny rules have something to look at.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import islice
from typing import Protocol, cast

from callgate.shell.command import CommandDraft, Script, Unread, Within, Word
from callgate.shell.tree_commands import KINDS, REDIRECTS, SIMPLE, STATEMENTS, CommandCollector, Enough
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


DEEPEST = 40

PIPES = ("|", "|&")
BETWEEN = frozenset((";", "&", "\n", ";;", ";&", ";;&"))


class TreeWalk(CommandCollector):
    """Goes through all statements, those in substitutions, bodies and branches included."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.depth = 0

    def sequence(self, nodes: Iterable[SyntaxNode], within: tuple[Within, ...]) -> None:
        """Statements one after the other, and whatever else stands between them."""
        nodes = list(nodes)
        first = True
        for index, node in enumerate(nodes):
            kind = node.type
            if kind in STATEMENTS or kind in REDIRECTS or kind == "ERROR":
                if not first:
                    self.operator = self.operator or ";"
                first = False
                behind = nodes[index + 1].type if index + 1 < len(nodes) else ""
                self.joined(node, ("background", *within) if behind == "&" else within)
            elif kind in BETWEEN:
                self.operator = "" if first else "&" if kind == "&" else ";"
            elif node.is_named and kind != "comment":
                self.inside(node, within)
        self.operator = ""

    def joined(self, node: SyntaxNode, within: tuple[Within, ...]) -> None:
        """A statement, and which of its commands stand in a pipe. The grammar takes ``a && b >f | c`` for a list piped
        into a command; the operators say what bash makes of it."""
        units, self.units = self.units, []
        self.statement(node, within)
        begins = [begun for begun, _ in self.units] + [len(self.drafts)]
        # Whatever stands before the first does not join it to anything.
        pipes = [False, *(operator in PIPES for _, operator in self.units[1:]), False]
        for index in range(len(self.units)):
            if pipes[index] or pipes[index + 1]:
                for draft in self.drafts[begins[index] : begins[index + 1]]:
                    inner = draft.within[: len(draft.within) - len(within)]
                    draft.within = (*inner, "pipe", *within)
        self.units = units

    def statement(self, node: SyntaxNode, within: tuple[Within, ...]) -> CommandDraft | None:
        self.count()
        self.depth += 1
        if self.depth > DEEPEST:
            raise Enough("commands nested too deep")
        try:
            kind = node.type
            if kind in SIMPLE:
                return self.simple(node, within)
            if kind == "redirected_statement":
                return self.redirected(node, within)
            if kind == "list":
                return self.chain(node, within)
            if kind in ("pipeline", "negated_command"):
                return self.last_of(node.children, within)
            if kind in REDIRECTS:
                self.redirect(node, self.started(within))
                return None
            self.units.append((len(self.drafts), self.operator))
            inner = KINDS.get(kind)
            if inner == "substitution":
                self.expands = True
                self.substitutions += 1
            self.sequence(node.children, (inner, *within) if inner else within)
            return None
        finally:
            self.depth -= 1

    def last_of(self, nodes: Iterable[SyntaxNode], within: tuple[Within, ...]) -> CommandDraft | None:
        """The statements among these, which are joined by operators."""
        last: CommandDraft | None = None
        for node in nodes:
            if node.type in STATEMENTS:
                last = self.statement(node, within)
            elif node.type in ("&&", "||", *PIPES):
                self.operator = node.type
            elif node.is_named:
                self.inside(node, within)
        return last

    def chain(self, node: SyntaxNode, within: tuple[Within, ...]) -> CommandDraft | None:
        """Lists lean to the left, as deep as they are long."""
        rest: list[SyntaxNode] = []
        while True:
            children = node.children
            if children[0].type != "list":
                break
            rest.extend(reversed(children[1:]))
            node = children[0]
        return self.last_of([*children, *reversed(rest)], within)

    def redirected(self, node: SyntaxNode, within: tuple[Within, ...]) -> CommandDraft | None:
        children = node.children
        redirects = [child for child in children if child.type in REDIRECTS]
        body = next((child for child in children if child.type not in REDIRECTS), None)
        draft = self.statement(body, within) if body else self.started(within)
        if draft is None:
            # The redirections of a compound command stand for themselves.
            self.drafts.append(draft := CommandDraft(within))
        if body and redirects and self.source[body.end_byte : redirects[0].start_byte].strip() == "-":
            # The grammar loses a lone - in front of a here-document.
            draft.words.append(Word("-", "-"))
        for redirect in redirects:
            self.redirect(redirect, draft)
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                self.behind(redirect, within)
        return draft

    def behind(self, node: SyntaxNode, within: tuple[Within, ...]) -> None:
        """The rest of the line behind the announcement of a here-document."""
        for child in node.children:
            if child.type in ("&&", "||"):
                self.operator = child.type
            elif child.type in STATEMENTS:
                self.statement(child, within)

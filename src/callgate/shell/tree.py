"""The wide parser: uses tree-sitter's grammar of bash, which accepts every form of the language.

A text with errors is parsed partly, so that deny rules can match the parsed commands.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from callgate.shell.command import CommandDraft, Script, Unread, Within, Word
from callgate.shell.tree_commands import KINDS, REDIRECTS, SIMPLE, STATEMENTS, CommandCollector, Enough

if TYPE_CHECKING:
    from tree_sitter import Node as SyntaxNode
    from tree_sitter import Parser

NOT_INSTALLED = Unread("tree-sitter is not installed: pip install callgate")
NOTHING = Script(())

SIGN = re.compile(r"[()\[\]{}<>|&;$`'\"=!\\?@\n]")
STRANGE = re.compile(r"[^\t\n\x20-\x7e]")
MOST_SIGNS = 400
"""The maximum number of special characters. For a text with errors the grammar takes quadratic time."""


def parse_widely(text: str, signs: int = MOST_SIGNS) -> tuple[Script, Unread | None]:
    """Return the parsed script, and the first parse error or None. Text after ``signs`` special characters is not
    parsed."""
    new_parser = bash_parsers()
    if new_parser is None:
        return NOTHING, NOT_INSTALLED
    cut = next(islice(SIGN.finditer(text), signs, None), None)
    source = text[: cut.start()] if cut else text
    root = new_parser().parse(shadow(source)).root_node
    unread = Unread("too many special characters", cut.start()) if cut else None
    if root.has_error and not unread:
        unread = error_in(root)
    walk = TreeWalk(source)
    try:
        walk.sequence(root.children, ())
    except Enough as enough:
        unread = unread or Unread(str(enough))
    if walk.missed:
        unread = unread or Unread("text that the parser skipped")
    return walk.script(), unread


def shadow(text: str) -> bytes:
    """Return the text as bytes for the grammar, with one ASCII byte for each character. The grammar can crash on
    other bytes; bash treats other characters as ordinary letters."""
    return STRANGE.sub("%", text).encode("ascii")


@cache
def bash_parsers() -> "Callable[[], Parser] | None":
    """Return a function that creates a parser; None if tree-sitter is not installed. Each text needs its own parser,
    because threads must not share a parser."""
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        return None
    return partial(tree_sitter.Parser, tree_sitter.Language(tree_sitter_bash.language()))


def error_in(node: "SyntaxNode") -> Unread:
    """Return the position of the first text that the grammar cannot parse."""
    while True:
        broken = next((child for child in node.children if child.has_error), None)
        if broken is None or broken.is_error or broken.is_missing:
            return Unread("syntax that the grammar of bash does not contain", (broken or node).start_byte)
        node = broken


DEEPEST = 40

PIPES = ("|", "|&")
BETWEEN = frozenset((";", "&", "\n", ";;", ";&", ";;&"))


class TreeWalk(CommandCollector):
    """Walks a syntax tree and visits all statements, including statements in substitutions, bodies and branches."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.depth = 0

    def sequence(self, nodes: "Iterable[SyntaxNode]", within: tuple[Within, ...]) -> None:
        """Visit consecutive statements and the nodes between them."""
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

    def joined(self, node: "SyntaxNode", within: tuple[Within, ...]) -> None:
        """Visit a statement, and mark the commands that are in a pipeline. The grammar parses ``a && b >f | c`` as a
        list that is piped into a command; the operators show how bash groups the commands."""
        units, self.units = self.units, []
        self.statement(node, within)
        begins = [begun for begun, _ in self.units] + [len(self.drafts)]
        # the operator before the first statement does not join statements
        pipes = [False, *(operator in PIPES for _, operator in self.units[1:]), False]
        for index in range(len(self.units)):
            if pipes[index] or pipes[index + 1]:
                for draft in self.drafts[begins[index] : begins[index + 1]]:
                    inner = draft.within[: len(draft.within) - len(within)]
                    draft.within = (*inner, "pipe", *within)
        self.units = units

    def statement(self, node: "SyntaxNode", within: tuple[Within, ...]) -> CommandDraft | None:
        self.count()
        self.depth += 1
        if self.depth > DEEPEST:
            raise Enough("commands nested too deeply")
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

    def last_of(self, nodes: "Iterable[SyntaxNode]", within: tuple[Within, ...]) -> CommandDraft | None:
        """Visit the statements among the nodes and store the operators between them. Return the last simple command,
        or None."""
        last: CommandDraft | None = None
        for node in nodes:
            if node.type in STATEMENTS:
                last = self.statement(node, within)
            elif node.type in ("&&", "||", *PIPES):
                self.operator = node.type
            elif node.is_named:
                self.inside(node, within)
        return last

    def chain(self, node: "SyntaxNode", within: tuple[Within, ...]) -> CommandDraft | None:
        rest: list[SyntaxNode] = []
        while True:
            children = node.children
            if children[0].type != "list":
                break
            rest.extend(reversed(children[1:]))
            node = children[0]
        return self.last_of([*children, *reversed(rest)], within)

    def redirected(self, node: "SyntaxNode", within: tuple[Within, ...]) -> CommandDraft | None:
        children = node.children
        redirects = [child for child in children if child.type in REDIRECTS]
        body = next((child for child in children if child.type not in REDIRECTS), None)
        draft = self.statement(body, within) if body else self.started(within)
        if draft is None:
            # the redirections of a compound command are a command of their own
            self.drafts.append(draft := CommandDraft(within))
        if body and redirects and self.source[body.end_byte : redirects[0].start_byte].strip() == "-":
            # the grammar drops a single - before a here-document
            draft.words.append(Word("-", "-"))
        for redirect in redirects:
            self.redirect(redirect, draft)
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                self.behind(redirect, within)
        return draft

    def behind(self, node: "SyntaxNode", within: tuple[Within, ...]) -> None:
        for child in node.children:
            if child.type in ("&&", "||"):
                self.operator = child.type
            elif child.type in STATEMENTS:
                self.statement(child, within)

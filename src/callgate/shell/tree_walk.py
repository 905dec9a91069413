"""Walks a syntax tree: its statements, and the operators between them."""

from collections.abc import Iterable

from callgate.shell.command import CommandDraft, Within, Word
from callgate.shell.tree_commands import KINDS, REDIRECTS, SIMPLE, STATEMENTS, CommandCollector, Enough
from callgate.shell.tree_words import SyntaxNode

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

"""Collects the simple commands of a syntax tree: words, assignments and redirections in the order of the text."""

import re
from typing import TYPE_CHECKING

from callgate.shell.command import CommandDraft, Redirect, Script, Within, Word, names
from callgate.shell.spelling import Doubtful, Piece, plainly, spelled
from callgate.words.noun import noun

if TYPE_CHECKING:
    from tree_sitter import Node as SyntaxNode

PLAIN = names("word number variable_name special_variable_name test_operator brace_expression")
# Leaves of the grammar that may contain expansions.
PATTERNS = frozenset(("extglob_pattern", "regex"))
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
ESCAPED_IN_DOUBLE = re.compile(r'\\([$`"\\])')
ANSI = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,8})|(.))", re.DOTALL)
NAMED = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


def text_of(node: "SyntaxNode", text: str) -> str:
    """Return the text of the node. Its byte offsets are character offsets, because ``tree.shadow`` encodes each
    character as one byte."""
    return text[node.start_byte : node.end_byte]


def pieces_of(node: "SyntaxNode", source: str) -> list[Piece] | None:
    """Return the pieces of a word; None if the word contains an expansion."""
    kind = node.type
    text = text_of(node, source)
    if kind == "concatenation":
        return joined(node, source)
    if kind in PATTERNS and ("$" in text or "`" in text):
        return None
    if kind in PLAIN or kind in PATTERNS:
        return unescaped(text)
    if kind == "raw_string":
        return [(text[1:-1], False)]
    if kind == "ansi_c_string":
        return [(ANSI.sub(ansi, text[2:-1]), False)]
    if kind == "string":
        if any(child.type not in ('"', "string_content", "$") for child in node.children):
            return None
        return [(ESCAPED_IN_DOUBLE.sub(r"\1", text[1:-1]), False)]
    if not node.is_named:
        return [(text, True)]
    return None


def joined(node: "SyntaxNode", source: str) -> list[Piece] | None:
    pieces: list[Piece] = []
    at = node.start_byte
    for child in node.children:
        inner = pieces_of(child, source)
        # A gap is text that the grammar skipped; $"…" is a text to be translated.
        if inner is None or child.start_byte != at or (child.type == "string" and pieces[-1:] == [("$", True)]):
            return None
        pieces.extend(inner)
        at = child.end_byte
    return pieces


def unescaped(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for escape in ESCAPED.finditer(text):
        if escape.start() > at:
            pieces.append((text[at : escape.start()], True))
        pieces.append((escape[1], False))
        at = escape.end()
    if at < len(text):
        pieces.append((text[at:], True))
    return pieces


def ansi(escape: re.Match[str]) -> str:
    octal, hexadecimal, code, letter = escape.groups()
    if letter:
        return NAMED.get(letter, escape[0])
    number = int(octal, 8) if octal else int(hexadecimal or code, 16)
    return chr(number) if number < 0x110000 else escape[0]


def assigned_name(node: "SyntaxNode", source: str) -> str:
    name = node.child_by_field_name("name")
    operator = next((child.type for child in node.children if child.type in ("=", "+=")), "=")
    return (text_of(name, source) if name else "") + operator


MOST_NODES = 3_000

REDIRECTS = names("file_redirect herestring_redirect heredoc_redirect")
SIMPLE = names("command declaration_command unset_command test_command variable_assignment variable_assignments")
CONTROL = names("if_statement while_statement for_statement c_style_for_statement case_statement")
SUBSTITUTIONS = names("command_substitution process_substitution")
KINDS: dict[str, Within | None] = {
    "subshell": "subshell",
    "compound_statement": "group",
    "function_definition": "function",
    **dict.fromkeys(CONTROL, "control"),
    **dict.fromkeys(SUBSTITUTIONS, "substitution"),
    **dict.fromkeys(names("elif_clause else_clause do_group case_item")),
}
STATEMENTS = SIMPLE | KINDS.keys() | names("redirected_statement pipeline list negated_command")
UNQUOTED = re.compile(r"['\"\\]")
TABS = re.compile(r"^\t+", re.MULTILINE)


class Enough(Exception):
    """The syntax tree has more nodes or levels than the limits allow."""


@noun
class LastWord:
    """The word that was collected last, with its index in the command and its end in the text."""

    draft: CommandDraft
    index: int
    pieces: list[Piece] | None
    raw: str
    end: int


class CommandCollector:
    """Collects simple commands into ``drafts``. A subclass walks the syntax tree and separates statements.

    units  for each command that operators join to the current statement: the index of its first draft, and the operator
           before it
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.drafts: list[CommandDraft] = []
        self.operators: list[str] = []
        self.expands = False
        self.operator = ""
        self.units: list[tuple[int, str]] = []
        self.written: LastWord | None = None
        self.substitutions = 0
        self.missed = False
        self.nodes = 0

    def statement(self, node: "SyntaxNode", within: tuple[Within, ...]) -> CommandDraft | None:
        """Parse a statement. Return the simple command to which a following redirection belongs, or None."""
        raise NotImplementedError

    def script(self) -> Script:
        return Script(tuple(draft.finished() for draft in self.drafts), tuple(self.operators), self.expands)

    def count(self, nodes: int = 1) -> None:
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise Enough("too many parts to check")

    def started(self, within: tuple[Within, ...]) -> CommandDraft:
        self.units.append((len(self.drafts), self.operator))
        if self.drafts and self.operator:
            self.operators.append(self.operator)
        self.operator = ""
        self.drafts.append(draft := CommandDraft(within))
        return draft

    def simple(self, node: "SyntaxNode", within: tuple[Within, ...]) -> CommandDraft:
        draft = self.started(within)
        kind = node.type
        if kind == "variable_assignment":
            self.assign(node, draft)
        elif kind == "test_command":
            self.flat(node, draft)
        elif kind in ("declaration_command", "unset_command"):
            for child in node.children:
                self.declare(child, draft)
        else:
            at = node.start_byte
            for child in node.children:
                # before a backslash the grammar parses a newline as a blank
                self.missed = self.missed or "\n" in self.source[at : child.start_byte]
                at = child.end_byte
                self.part(child, draft)
        return draft

    def part(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        kind = node.type
        if kind == "variable_assignment":
            self.assign(node, draft)
        elif kind in REDIRECTS:
            self.redirect(node, draft)
        elif kind == "command_name":
            for child in node.children:
                self.word(child, draft)
        else:
            self.word(node, draft)

    def declare(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        if node.type != "variable_assignment":
            self.part(node, draft)
            return
        name, value = assigned_name(node, self.source), node.child_by_field_name("value")
        pieces = self.pieces(value, draft) if value else []
        raw = text_of(node, self.source)
        draft.words.append(plainly([(name, True), *pieces], raw) if pieces is not None else Word(None, raw))

    def flat(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        stack = [node]
        while stack:
            each = stack.pop()
            self.count()
            if each.type.endswith(("_expression", "_command")) and each.type != "brace_expression":
                stack.extend(reversed(each.children))
            else:
                self.word(each, draft)

    def assign(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        self.count()
        value = node.child_by_field_name("value")
        pieces = self.pieces(value, draft) if value else []
        raw = text_of(value, self.source) if value else ""
        target = node.child_by_field_name("name")
        if target and target.type != "variable_name":
            self.inside(target, draft.within)
        name = assigned_name(node, self.source).rstrip("+=")
        draft.assignments.append((name, Word(None, raw) if pieces is None else plainly(pieces, raw)))

    def word(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        pieces = self.pieces(node, draft)
        raw = text_of(node, self.source)
        last = self.written
        if last and last.draft is draft and last.end == node.start_byte:
            # The grammar splits some words, such as "r"\\m, where there is no blank.
            del draft.words[last.index :]
            pieces = together(last.pieces, pieces)
            raw = last.raw + raw
            self.count(len(pieces or ()))
            self.expands = self.expands or pieces is None
            made = (Word(None, raw) if pieces is None else plainly(pieces, raw),)
        else:
            made = words_of(pieces, raw)
        self.written = LastWord(draft, len(draft.words), pieces, raw, node.end_byte)
        self.count(len(made))
        draft.words.extend(made)

    def pieces(self, node: "SyntaxNode", draft: CommandDraft) -> list[Piece] | None:
        """Return the pieces of a word; None if it contains an expansion. The commands in an expansion are collected
        too."""
        pieces = pieces_of(node, self.source)
        self.count(len(pieces or ()))
        if pieces is None:
            self.expands = True
            self.inside(node, draft.within)
        return pieces

    def inside(self, node: "SyntaxNode", within: tuple[Within, ...]) -> None:
        """Collect the commands in a node that is not a statement: a word, a test, arithmetic, or the body of a
        here-document."""
        operator, self.operator = self.operator, ""
        units, self.units = self.units, []
        before = self.substitutions
        stack = [node]
        while stack:
            each = stack.pop()
            self.count()
            if each.type in STATEMENTS:
                self.statement(each, within)
            else:
                stack.extend(reversed(each.children))
        self.operator, self.units = operator, units
        if self.substitutions - before < substitutions_in(text_of(node, self.source)):
            self.missed = True

    # Redirections

    def redirect(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        self.count()
        if node.type == "heredoc_redirect":
            self.document(node, draft)
            return
        operator, fd, target = "", None, None
        for child in node.children:
            if child.type == "file_descriptor":
                fd = number_in(text_of(child, self.source))
            elif not target and not child.is_named and child.type[0] in "<>&":
                operator = child.type
                if operator.endswith("-"):
                    operator, target = operator[:-1], Word("-", "-")
            elif target:
                # the grammar parses the words after a redirection as further targets of it
                self.word(child, draft)
            else:
                pieces = self.pieces(child, draft)
                raw = text_of(child, self.source)
                target = Word(None, raw) if pieces is None else plainly(pieces, raw)
        draft.redirects.append(Redirect(operator, target or Word(None), fd))

    def document(self, node: "SyntaxNode", draft: CommandDraft) -> None:
        """Parse a here-document. The grammar puts the rest of the line between its delimiter and its body."""
        operator, fd, start = "<<", None, ""
        body: SyntaxNode | None = None
        end: SyntaxNode | None = None
        announced = node.start_byte
        at = len(draft.redirects)
        for child in node.children:
            kind = child.type
            if kind == "heredoc_body":
                body = child
                continue
            if kind == "heredoc_end":
                end = child
                continue
            announced = child.end_byte
            if kind in ("<<", "<<-"):
                operator = kind
            elif kind == "file_descriptor":
                fd = number_in(text_of(child, self.source))
            elif kind == "heredoc_start":
                start = text_of(child, self.source)
            elif kind in REDIRECTS:
                self.redirect(child, draft)
            elif child.type not in STATEMENTS and kind not in ("&&", "||", "comment"):
                self.word(child, draft)
        text = self.body_text(announced, end.start_byte, operator) if end else None
        target = Word(UNQUOTED.sub("", start), start)
        draft.redirects.insert(at, Redirect(operator, target, fd, text))
        if body and target.value == start:
            if any(child.is_named and child.type != "heredoc_content" for child in body.children):
                self.expands = True
            self.inside(body, draft.within)

    def body_text(self, announced: int, end: int, operator: str) -> str:
        """Return the body of a here-document from the source text. The body node of the grammar lacks leading
        blanks."""
        begun = self.source.find("\n", announced, end) + 1
        text = self.source[begun:end]
        return TABS.sub("", text) if operator == "<<-" else text


def words_of(pieces: list[Piece] | None, raw: str) -> tuple[Word, ...]:
    if pieces is None:
        return (Word(None, raw),)
    try:
        return spelled(pieces, raw)
    except Doubtful:
        return (plainly(pieces, raw),)


def together(first: list[Piece] | None, second: list[Piece] | None) -> list[Piece] | None:
    if first is None or second is None or first[-1:] == [("$", True)]:
        return None
    return first + second


def substitutions_in(text: str) -> int:
    """Return the minimum number of command substitutions in the text, counted by their opening characters."""
    opened = text.count("$(") - text.count("$((") + text.count("<(") + text.count(">(")
    return opened + (text.count("`") + 1) // 2


def number_in(text: str) -> int | None:
    return int(text) if text.isdecimal() else None

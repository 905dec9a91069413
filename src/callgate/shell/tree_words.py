"""Converts the words of a syntax tree to unquoted pieces.

``SyntaxNode`` declares the attributes of tree-sitter nodes that are used. Only the module ``tree`` imports
tree-sitter.
"""

import re
from collections.abc import Sequence
from typing import Protocol

from callgate.shell.command import names
from callgate.shell.spelling import Piece

PLAIN = names("word number variable_name special_variable_name test_operator brace_expression")
# Leaves of the grammar that may contain expansions.
PATTERNS = frozenset(("extglob_pattern", "regex"))
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
ESCAPED_IN_DOUBLE = re.compile(r'\\([$`"\\])')
ANSI = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,8})|(.))", re.DOTALL)
NAMED = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


class SyntaxNode(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def children(self) -> Sequence["SyntaxNode"]: ...
    @property
    def start_byte(self) -> int: ...
    @property
    def end_byte(self) -> int: ...
    @property
    def is_named(self) -> bool: ...
    @property
    def is_error(self) -> bool: ...
    @property
    def is_missing(self) -> bool: ...
    @property
    def has_error(self) -> bool: ...
    def child_by_field_name(self, name: str, /) -> "SyntaxNode | None": ...


def text_of(node: SyntaxNode, text: str) -> str:
    """Return the text of the node. Its byte offsets are character offsets, because ``tree.shadow`` encodes each
    character as one byte."""
    return text[node.start_byte : node.end_byte]


def pieces_of(node: SyntaxNode, source: str) -> list[Piece] | None:
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


def joined(node: SyntaxNode, source: str) -> list[Piece] | None:
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


def assigned_name(node: SyntaxNode, source: str) -> str:
    name = node.child_by_field_name("name")
    operator = next((child.type for child in node.children if child.type in ("=", "+=")), "=")
    return (text_of(name, source) if name else "") + operator

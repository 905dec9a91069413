"""The part of tree-sitter's nodes that is used here, so that only one module needs the packages."""

from collections.abc import Sequence
from typing import Protocol


class SyntaxNode(Protocol):
    """A node as tree-sitter gives it."""

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
    """The part of the text that the node was made from. A byte was a character there: see ``tree.shadow``."""
    return text[node.start_byte : node.end_byte]

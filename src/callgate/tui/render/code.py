"""Highlights the syntax of code."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from callgate.tui.render.spans import Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST = 20_000
"""Longer code is shown without colours, because some lexers are slow on long lines."""

_KINDS = {
    "grey": "Comment Generic.Prompt",
    "magenta": "Comment.Preproc Keyword Operator.Word",
    "yellow": "Keyword.Constant Literal.String.Escape Literal.Number",
    "cyan": "Keyword.Type Name.Decorator Name.Builtin Name.Exception Name.Attribute Name.Variable Generic.Subheading",
    "blue": "Name.Function Name.Tag",
    "blue bold": "Name.Class",
    "green": "Literal.String Generic.Inserted",
    "bold": "Generic.Heading",
    "red": "Generic.Deleted",
}
_STYLES = {f"Token.{kind}": style for style, kinds in _KINDS.items() for kind in kinds.split()}
"""Styles of Pygments token types; an unlisted type has the style of its parent."""


@lru_cache(maxsize=32)
def coloured(code: str, language: str) -> tuple[tuple[Span, ...], ...]:
    """Return the lines of escaped code as styled pieces. ``language`` is a language or file name; code in an unknown
    language has no colours."""
    plain = tuple(((line, ""),) for line in code.split("\n"))
    if not language or len(code) > LONGEST:
        return plain
    lexer = _lexer(language)
    if lexer is None:
        return plain
    lines: list[list[Span]] = [[]]
    for kind, text in lexer.get_tokens(code):
        style = _style(str(kind))
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append((piece, style))
    # Use the lexer's output only if it has exactly the same text.
    found = tuple(map(tuple, lines))
    return found if "\n".join("".join(text for text, _ in line) for line in found) == code else plain


@lru_cache(maxsize=32)
def _lexer(language: str) -> "Lexer | None":
    from pygments import lexers
    from pygments.util import ClassNotFound

    found: Any = lexers
    find = found.get_lexer_for_filename if "." in language else found.get_lexer_by_name
    try:
        return find(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _style(kind: str) -> str:
    while kind:
        if kind in _STYLES:
            return _STYLES[kind]
        kind = kind.rpartition(".")[0]
    return ""

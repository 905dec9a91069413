"""The regular expressions of JSON Schema, without catastrophic backtracking.

Patterns are in ECMA-262 syntax and match anywhere in the text. The linear-time engine of pydantic_core accepts nearly
all of them. Other patterns (look-around, back-references) run on Python's ``re``, which may backtrack: the length of
the text is limited so that the worst case is about a million steps, and a longer text is rejected with a fault that
names the limit.
"""

import re
from collections.abc import Callable

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

STEPS = 1_000_000
# Repeats inside repeats can cost 3^n and more.
NESTED_LIMIT = 12

_TOKEN = late_pattern(r"\\u\{[0-9a-fA-F]+\}|\\.|\[\^?(?:\\.|[^\]\\])*\]|\(\?<(?![=!])|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_ASCII = {"d": "0-9", "w": "0-9A-Za-z_"}


@noun
class TextPattern:
    """A compiled pattern. ``longest`` is the limit on the length of a text (None: no limit); a longer text never
    matches."""

    source: str
    search: Callable[[str], bool]
    longest: int | None = None

    @property
    def fits(self) -> Callable[[str], bool]:
        search, longest = self.search, self.longest
        return search if longest is None else lambda text: len(text) <= longest and search(text)


def compile_pattern(source: str) -> TextPattern:
    """Compile a pattern. Raise ``ValueError`` if no engine accepts it."""
    # Imported here: pydantic_core costs 25 ms, and many tools have no pattern at all.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        schema = core_schema.str_schema(pattern=_portable(source), regex_engine="rust-regex", strict=True)
        return TextPattern(source, SchemaValidator(schema).isinstance_python)
    except SchemaError:
        pass
    try:
        backtracking = re.compile(_portable(source, python=True))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return TextPattern(source, lambda text: backtracking.search(text) is not None, _longest(source))


def _portable(source: str, *, python: bool = False) -> str:
    """Return the ECMA pattern in the syntax of both engines: digits and word characters are ASCII, ``$`` matches only
    at the end of the text, and set operations in classes are escaped."""
    out: list[str] = []
    for token in _TOKEN.findall(source):
        if token[0] == "[" and len(token) > 1:
            body = re.sub(r"\\.|[\[&~|]|(?<=-)-", _in_class, token[1:], flags=re.DOTALL)
            out.append("[" + body)
        elif token[0] == "\\" and token[1:] in _ASCII:
            out.append(f"[{_ASCII[token[1:]]}]")
        elif token[0] == "\\" and token[1:].lower() in _ASCII:
            out.append(f"[^{_ASCII[token[1:].lower()]}]")
        elif python and token == "$":
            out.append(r"\Z")
        elif python and token == "(?<":
            out.append("(?P<")
        else:
            out.append(token)
    return "".join(out)


def _in_class(found: re.Match[str]) -> str:
    text = found[0]
    return _ASCII.get(text[1:], text) if text[0] == "\\" else "\\" + text


def _longest(source: str) -> int:
    """Return the allowed length of a text. With k consecutive repeats, a text of n characters takes about n^(k + 1)
    steps at worst."""
    repeats = 1
    groups = [False]  # for each open group: does it hold a repeat or an alternative?
    closed = False  # did a group that does just close?
    for token in _TOKEN.findall(source):
        if token in ("*", "+") or (token[0] == "{" and len(token) > 1):
            if closed:
                return NESTED_LIMIT
            repeats += 1
            groups = [True] * len(groups)
        closed = False
        if token == "|":
            groups[-1] = True
        elif token.startswith("("):
            groups.append(False)
        elif token == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1] = groups[-1] or closed
    return max(NESTED_LIMIT, min(10_000, int(STEPS ** (1 / repeats))))

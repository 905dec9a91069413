"""Finds the line of each value in a TOML text, because ``tomllib`` does not report lines.

Headers and keys are found at the beginning of lines. Elements of an array are found by searching their text from the
line of the key. If a value is not found, the line of its parent is used.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value: ``("permissions", "deny", 2)``."""

_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*"
_STATEMENT = late_pattern(rf"^[ \t]*(?:(\[\[?)[ \t]*({_KEY})[ \t]*\]|({_KEY})[ \t]*=)", re.MULTILINE)
_LONG_TEXT = late_pattern(r"""("{3}|'{3}).*?\1""", re.DOTALL)


@noun
class Positions:
    lines: Mapping[Path, int]

    def line_of(self, path: Path) -> int:
        """Return the line of the key, array element or table header. For a missing path return the line of its
        nearest existing parent."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def locate(text: str, tables: Mapping[str, Any]) -> Positions:
    """Return the positions of the values in a text. ``tables`` is the result of ``tomllib`` for the text."""
    text = _LONG_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    lines: dict[Path, int] = {(): 1}
    lengths: Counter[Path] = Counter()
    table: Path = ()
    for found in _STATEMENT.finditer(text):
        line = bisect_right(starts, found.start())
        path: Path = () if found[1] else table
        for name in re.findall(_NAME, found[2] or found[3]):
            path = (*path, name.strip("\"'"))
            lines.setdefault(path, line)
        if found[1] == "[[":
            path = (*path, lengths[path])
            lengths[path[:-1]] += 1
        if found[1]:
            table = path
            lines[path] = line
    for path, values in _arrays(tables, ()):
        if path in lines and path not in lengths:
            at = starts[lines[path] - 1]
            for index, value in enumerate(values):
                at = max(at, text.find(_shown_text(value), at))
                lines[*path, index] = bisect_right(starts, at)
    return Positions(lines)


def _arrays(value: object, path: Path) -> Iterator[tuple[Path, list[object]]]:
    """Return every array in the tables, except arrays inside arrays."""
    if isinstance(value, list):
        yield path, cast(list[object], value)
    elif isinstance(value, dict):
        for name, inner in cast(dict[str, object], value).items():
            yield from _arrays(inner, (*path, name))


def _shown_text(value: object) -> str:
    """Return the first text in the value, in the form in which it probably appears in the file."""
    if isinstance(value, dict):
        inner = cast(dict[str, object], value)
        return _shown_text(inner.get("rule", next(iter(inner.values()), "")))
    return str(value).split("\n")[0]

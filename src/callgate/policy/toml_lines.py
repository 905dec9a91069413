"""The line of each value in a TOML text, as far as people write settings.

``tomllib`` does not say where values came from. Headers and keys are found at the beginning of lines, elements of an
array by their text, in order, from the line of its key on. A value that is not found has the line of what contains it.
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
        """The line, from 1, where the value begins: that of its key, of its own for an element of an array, of its
        header for a table. A path that is not there has the line of what would contain it."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def locate(text: str, tables: Mapping[str, Any]) -> Positions:
    """The positions of the values in a text of which ``tomllib`` made these tables."""
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
    """Every array in the tables; those inside other arrays are left out."""
    if isinstance(value, list):
        yield path, cast(list[object], value)
    elif isinstance(value, dict):
        for name, inner in cast(dict[str, object], value).items():
            yield from _arrays(inner, (*path, name))


def _shown_text(value: object) -> str:
    """The first text in the value, as it probably stands in the file."""
    if isinstance(value, dict):
        inner = cast(dict[str, object], value)
        return _shown_text(inner.get("rule", next(iter(inner.values()), "")))
    return str(value).split("\n")[0]

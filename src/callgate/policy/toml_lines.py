"""The line of each value in a TOML text.

``tomllib`` reads the text and says what is wrong with it; it does not say where values came from. The scanner here
reads the same text a second time, knows that it is valid, and only keeps lines.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping

from callgate.words.noun import noun

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value: ``("permissions", "deny", 2)``."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_STRING = re.compile(
    r"""
    \"{3} (?:\\.|[^\\])*? \"{3} \"{0,2}     # up to two quotes may stand before the closing three
    | '{3} .*? '{3} '{0,2}
    | \" (?:\\.|[^"\\])* \"
    | ' [^']* '
    """,
    re.VERBOSE | re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")
_DOT = re.compile(r"[ \t]*(\.)?[ \t]*")


@noun
class Positions:
    lines: Mapping[Path, int]

    def line_of(self, path: Path) -> int:
        """The line, from 1, where the value begins: that of its key, of its own for an element of an array, of its
        header for a table. A path that is not there has the line of what would contain it."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def locate(text: str) -> Positions:
    """The positions of every value of a text that ``tomllib`` accepts. RecursionError for what is nested as deep as
    ``tomllib`` only just manages."""
    return Positions(_Scanner(text).scan())


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._starts = [0, *(match.end() for match in re.finditer("\n", self._text))]
        self._lines: dict[Path, int] = {(): 1}
        self._lengths: dict[Path, int] = {}
        """The number of tables that each array of tables has so far."""

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        while self._next():
            table = self._header() if self._text[self._at] == "[" else self._pair(table)
        return self._lines

    def _next(self) -> bool:
        """Go to what comes next, over blanks, lines and comments; is there anything?"""
        self._at = _end(_BLANK, self._text, self._at)
        return self._at < len(self._text)

    def _line(self) -> int:
        return bisect_right(self._starts, self._at)

    def _header(self) -> Path:
        line, is_array = self._line(), self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        self._next()
        *above, last = self._key()
        path = (*self._inside((), above, line), last)
        if is_array:
            self._lines.setdefault(path, line)
            index = self._lengths.get(path, 0)
            self._lengths[path] = index + 1
            path = (*path, index)
        self._lines[path] = line
        self._next()
        self._at += 2 if is_array else 1
        return path

    def _inside(self, path: Path, keys: list[str], line: int) -> Path:
        """Walk into tables, and into the latest one of an array of tables; those not yet seen begin here."""
        for key in keys:
            path = (*path, key)
            self._lines.setdefault(path, line)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        return path

    def _pair(self, table: Path) -> Path:
        """``key = value`` in the table, which is given back."""
        line = self._line()
        *above, last = self._key()
        path = (*self._inside(table, above, line), last)
        self._lines[path] = line
        self._next()
        self._at += 1  # the =
        self._next()
        self._value(path)
        return table

    def _key(self) -> list[str]:
        keys: list[str] = []
        while True:
            start = self._at
            if self._text[start] in "\"'":
                self._at = _end(_STRING, self._text, start)
                keys.append(tomllib.loads(f"it = {self._text[start : self._at]}")["it"])
            else:
                self._at = _end(_BARE_KEY, self._text, start)
                keys.append(self._text[start : self._at])
            dot = _DOT.match(self._text, self._at)
            assert dot is not None
            self._at = dot.end()
            if dot[1] is None:
                return keys

    def _value(self, path: Path) -> None:
        opening = self._text[self._at]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline_table(path)
        else:
            self._at = _end(_STRING if opening in "\"'" else _BARE_VALUE, self._text, self._at)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while not self._closes("]"):
            element = (*path, index)
            self._lines[element] = self._line()
            self._value(element)
            index += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while not self._closes("}"):
            self._pair(path)

    def _closes(self, bracket: str) -> bool:
        """Go to the next element, over the comma, or out of the brackets."""
        self._next()
        if self._text[self._at] == ",":
            self._at += 1
            self._next()
        if self._text[self._at] != bracket:
            return False
        self._at += 1
        return True


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    assert match is not None, "tomllib would have refused this text"
    return match.end()

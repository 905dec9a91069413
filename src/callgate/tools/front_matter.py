"""Parses the front matter of a Markdown file: a simple subset of YAML.

The subset contains strings (plain, quoted, or blocks after ``|`` and ``>``), true and false, lists of strings, and maps
of strings one level deep. Anything that a YAML parser might parse differently is a fault with its line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

MOST_LINES = 200
Value = str | bool | tuple[str, ...] | Mapping[str, str]

_KEY = late_pattern(r"([A-Za-z][A-Za-z0-9_-]{0,63}):(?:[ ]+(.*))?")
_BLOCK = late_pattern(r"([|>])([+-]?)")
_QUOTED = late_pattern(r'"((?:[^"\\]|\\["\\/nt])*)"|\'((?:[^\']|\'\')*)\'')
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\n": "\n", "\\t": "\t"}
# A plain text that matches this has another meaning in YAML.
_NOT_PLAIN = late_pattern(r"[\[\]{},#&*!|>'\"%@`]|[-?:](?: |$)|.*(?:: |:$| #)")


class FrontMatterFault(ValueError):
    """A fault in the front matter. ``line`` is its line number in the whole file, from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line = line


@noun
class MarkdownFile:
    """A Markdown text and the values of its front matter."""

    values: Mapping[str, Value]
    body: str


def read_markdown(text: str) -> MarkdownFile:
    """Parse a file. Raise FrontMatterFault if the file has no front matter, or the front matter uses unsupported
    YAML."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterFault(1, "the file must begin with --- and a front matter")
    end = next((at for at, line in enumerate(lines[1 : MOST_LINES + 2], start=1) if line.rstrip() == "---"), None)
    if end is None:
        raise FrontMatterFault(1, f"the front matter has no end: --- is missing in the first {MOST_LINES} lines")
    return MarkdownFile(_Reader(lines[1:end]).values(), "\n".join(lines[end + 1 :]).strip("\n"))


class _Reader:
    """Parses the entries of the front matter in order. ``_at`` is the index of the next line; the first line is line 2
    of the file."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [line.rstrip() for line in lines]
        self._at = 0

    def values(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line or line.startswith("#"):
                self._at += 1
                continue
            key, rest = self._entry(line)
            if key in found:
                raise self._fault(f"{key} occurs twice")
            found[key] = self._value(rest)
        return found

    def _entry(self, line: str) -> tuple[str, str]:
        match = _KEY.fullmatch(line)
        if match is None or "\t" in line[: len(line) - len(line.lstrip())]:
            raise self._fault(f"expected a line such as name: value, found {line[:60]!r}")
        return match[1], (match[2] or "").strip()

    def _value(self, rest: str) -> Value:
        block = _BLOCK.fullmatch(rest)
        if block is not None:
            self._at += 1
            return self._block(folded=block[1] == ">")
        if rest and not rest.startswith("#"):
            value = self._inline(rest)
            self._at += 1
            if self._at < len(self._lines) and self._lines[self._at].startswith((" ", "\t")):
                raise self._fault("a text of several lines must begin with | or >, or be in quotes on one line")
            return value
        self._at += 1
        inner = list(self._indented())
        if not inner:
            return ""
        if all(line.startswith("- ") for _, line in inner):
            return tuple(self._scalar(line[2:].strip(), at) for at, line in inner)
        return self._map(inner)

    def _map(self, inner: Sequence[tuple[int, str]]) -> dict[str, str]:
        found: dict[str, str] = {}
        for at, line in inner:
            match = _KEY.fullmatch(line)
            if match is None or line.startswith(" "):
                raise self._fault(f"expected name: value or a list, found {line[:60]!r}", at)
            found[match[1]] = self._scalar((match[2] or "").strip(), at)
        return found

    def _indented(self) -> Iterator[tuple[int, str]]:
        """Yield the lines below a key without their common indentation. The items of a list need no indentation."""
        first: int | None = None
        while self._at < len(self._lines):
            line = self._lines[self._at]
            indent = len(line) - len(line.lstrip(" "))
            if line and indent == 0 and not line.startswith("- "):
                return
            if line and not line.lstrip().startswith("#"):
                first = indent if first is None else first
                yield self._at, line[first:] if indent >= first else line
            self._at += 1

    def _block(self, *, folded: bool) -> str:
        kept: list[str] = []
        while self._at < len(self._lines) and (not self._lines[self._at] or self._lines[self._at].startswith(" ")):
            kept.append(self._lines[self._at])
            self._at += 1
        indent = min((len(line) - len(line.lstrip(" ")) for line in kept if line), default=0)
        text = "\n".join(line[indent:] for line in kept).strip("\n")
        return re.sub(r"(?<!\n)\n(?!\n)", " ", text) if folded else text

    def _inline(self, text: str) -> str | bool | tuple[str, ...]:
        if text in ("true", "false"):
            return text == "true"
        if text.startswith("[") and text.endswith("]"):
            inner = text[1:-1].strip()
            return tuple(self._scalar(part.strip(), self._at) for part in inner.split(",")) if inner else ()
        return self._scalar(text, self._at)

    def _scalar(self, text: str, at: int) -> str:
        quoted = _QUOTED.fullmatch(text)
        if quoted is not None:
            double, single = quoted.groups()
            if double is not None:
                return re.sub(r"\\.", lambda match: _ESCAPES[match[0]], double)
            return single.replace("''", "'")
        if _NOT_PLAIN.match(text):
            raise self._fault(f"put this text in quotes: {text[:60]!r}", at)
        return text

    def _fault(self, text: str, at: int | None = None) -> FrontMatterFault:
        return FrontMatterFault((self._at if at is None else at) + 2, text)

"""Rules on the arguments of a tool: ``mcp__db__query(table=users, mode=read*)``.

A rule compares top-level arguments by name, never the JSON text or keys inside a value. Several fields are separated
by commas and must all match. ``*`` matches any text within a value; a backslash escapes ``*``, ``,`` and itself.
Blanks around names and values are ignored.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from callgate import shell
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

_NAME = late_pattern(r"[^\s=,*\\()]+")
_TOKEN = late_pattern(r"\\(.?)|[*,]|\s+|[^\\*,\s]+", re.DOTALL)


@noun
class Wild:
    """A pattern in which ``*`` matches any text. ``parts`` are the texts between the stars."""

    parts: tuple[str, ...]

    def fits(self, text: str) -> bool:
        return shell.matches(self.parts, text)

    def __str__(self) -> str:
        return "*".join(self.parts)


@noun
class FieldPattern:
    name: str
    value: Wild

    def covers(self, arguments: Mapping[str, Any]) -> bool:
        """Return True if an allow rule with the field covers the arguments. The argument must be a text, number or
        boolean that matches."""
        return self._fits(arguments.get(self.name))

    def may_match(self, arguments: Mapping[str, Any]) -> bool:
        """Return True if a deny or ask rule with the field applies to the arguments. If the argument is a list, one
        matching value is sufficient."""
        value = arguments.get(self.name)
        if isinstance(value, list | tuple):
            return any(self._fits(each) for each in cast("list[object]", value))
        return self._fits(value)

    def _fits(self, value: object) -> bool:
        return any(self.value.fits(text) for text in _spellings(value))


def parse_fields(content: str) -> tuple[FieldPattern, ...]:
    """Parse the fields of a rule. Raise ValueError with the position if a field is invalid."""
    return tuple(FieldPattern(name, value) for name, value in _parts(content))


def example(content: str) -> dict[str, str]:
    """Return the arguments of a self-test, which is written as ``a=1, b=x``."""
    return {name: str(value) for name, value in _parts(content)}


def _parts(content: str) -> Iterator[tuple[str, Wild]]:
    seen: set[str] = set()
    at = 0
    while at <= len(content):
        while content[at : at + 1].isspace():
            at += 1
        name = _NAME.match(content, at)
        if name is None or content[name.end() :].lstrip()[:1] != "=":
            raise ValueError(f"expected a field and its value, name=value, at character {at + 1}")
        if name[0] in seen:
            raise ValueError(f"the field {name[0]} appears twice, again at character {at + 1}")
        seen.add(name[0])
        value, end = _value(content, content.index("=", name.end()) + 1)
        if value.parts == ("",):
            raise ValueError(f"the field {name[0]} has no value at character {end + 1}; write {name[0]}=* for any")
        yield name[0], value
        at = end + 1


def _value(content: str, at: int) -> tuple[Wild, int]:
    """Return the value that starts at this position, and the position after it."""
    parts = [""]
    blanks = ""  # not part of the value until other text follows
    for token in _TOKEN.finditer(content, at):
        text, escaped = token[0], token[1]
        if text == ",":
            return Wild(tuple(parts)), token.start()
        if text.isspace():
            blanks += text if parts != [""] else ""
            continue
        parts[-1] += blanks
        blanks = ""
        if escaped is not None and escaped not in ("*", ",", "\\"):
            raise ValueError(f"a backslash may only escape *, a comma or a backslash, at character {token.start() + 1}")
        if text == "*":
            parts.append("")
        else:
            parts[-1] += escaped or text
    return Wild(tuple(parts)), len(content)


def written(value: object) -> str | None:
    """Return the value as written in a rule, without escapes; None if a field rule cannot cover the value."""
    text = next(iter(_spellings(value)), None)
    return text if text and text.isprintable() and text == text.strip() else None


def _spellings(value: object) -> tuple[str, ...]:
    """Return the texts that match a value in rules; empty for null, objects and lists."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, int):
        return (str(value),)
    if isinstance(value, float):
        return (repr(value), str(int(value))) if value.is_integer() else (repr(value),)
    return ()

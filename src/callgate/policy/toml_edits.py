"""Changes one value in a TOML text and leaves every other character as it is: comments, order and blank lines.

``tomllib`` reads, and cannot write. Here it judges both ends of an edit: a statement ends where its lines parse for the
first time, and a new text counts only if it parses to the old tables with the one value changed. What cannot be
edited in this way, such as a value in an inline table, is refused and left to an editor.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from json import dumps
from typing import Any, cast

from callgate.words.errors import UsageError
from callgate.words.noun import noun

TablePath = tuple[str, ...]
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*"
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_KEY})[ \t]*\]\]?")
_VALUE = re.compile(rf"[ \t]*({_KEY})[ \t]*=[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CLOSING = ("]", "}", '"""', "'''")
_BOM = "\ufeff"
_BY_HAND = "change it in the file: callgate config edit"


@noun
class _Statement:
    """A header or an assignment: offsets of its beginning, its value and its end, which is that of its last line."""

    path: TablePath
    kind: str
    start: int
    value: int
    end: int


def with_value(text: str, path: TablePath, value: object) -> str:
    """The text with this value: in place of the old one, or as a new line of its table. UsageError if the text is no
    TOML, or the value stands where it cannot be changed alone."""
    mark, text = _parted(text)
    wanted = deepcopy(_tables(text))
    _put(wanted, path, value)
    statements = list(_statements(text))
    found = next((each for each in statements if each.kind == "=" and each.path == path), None)
    if found is not None:
        end = _value_end(text, found)
        changed = text[: found.value] + toml_value(value) + text[end:]
    else:
        changed = _inserted(text, statements, path, value)
    return mark + _checked(changed, wanted, path)


def without_value(text: str, path: TablePath) -> str:
    """The text without the line of this value; the text itself if it has none."""
    mark, text = _parted(text)
    wanted = deepcopy(_tables(text))
    if not _drop(wanted, path):
        return mark + text
    found = next((each for each in _statements(text) if each.kind == "=" and each.path == path), None)
    changed = text if found is None else text[: found.start] + text[found.end :]
    return mark + _checked(changed, wanted, path)


def toml_value(value: object) -> str:
    """A value as TOML writes it. UsageError for what it has no form for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(each) for each in cast(Sequence[object], value))}]"
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, object], value).items()
        return f"{{ {', '.join(f'{_key(name)} = {toml_value(each)}' for name, each in pairs)} }}" if pairs else "{}"
    raise UsageError(f"a {type(value).__name__} cannot be written here; {_BY_HAND}")


def _parted(text: str) -> tuple[str, str]:
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _tables(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"this file is no TOML: {error}; {_BY_HAND}") from None


def _checked(changed: str, wanted: dict[str, Any], path: TablePath) -> str:
    try:
        if tomllib.loads(changed) == wanted:
            return changed
    except ValueError:
        pass
    raise UsageError(f"{'.'.join(path)} is written in a form that cannot be changed alone; {_BY_HAND}")


def _put(tables: dict[str, Any], path: TablePath, value: object) -> None:
    at: object = tables
    for name in path[:-1]:
        at = cast(dict[str, object], at).setdefault(name, {})
        if not isinstance(at, dict):
            raise UsageError(f"{name} is no table in this file; {_BY_HAND}")
    cast(dict[str, object], at)[path[-1]] = _plain(value)


def _plain(value: object) -> object:
    return [*cast(Sequence[object], value)] if isinstance(value, tuple) else value


def _drop(tables: dict[str, Any], path: TablePath) -> bool:
    """Removes the value, and no table that it leaves empty."""
    at: object = tables
    for name in path[:-1]:
        at = cast(dict[str, object], at).get(name)
        if not isinstance(at, dict):
            return False
    return cast(dict[str, object], at).pop(path[-1], None) is not None


def _statements(text: str) -> Iterator[_Statement]:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # str.splitlines would break at signs that TOML allows in texts
    table: TablePath = ()
    number = offset = 0
    while number < len(lines):
        line, start = lines[number], offset
        header = _HEADER.match(line)
        if header is not None:
            table = _names(header[2])
            yield _Statement(table, header[1], start, start, start + len(line))
        assigned = None if header else _VALUE.match(line)
        if assigned is None:
            offset += len(line)
            number += 1
            continue
        many = _many_lines(lines, number)
        offset += sum(map(len, lines[number : number + many]))
        number += many
        yield _Statement((*table, *_names(assigned[1])), "=", start, start + assigned.end(), offset)


def _many_lines(lines: Sequence[str], first: int) -> int:
    """The number of lines of the statement: it ends where they parse. A value of several lines ends in a bracket
    or in quotes."""
    for last in range(first, len(lines)):
        line = lines[last].rstrip()
        may_end = line.endswith(_CLOSING) or ("#" in line and any(sign in line for sign in _CLOSING))
        if last > first and not may_end:
            continue
        if _parses("".join(lines[first : last + 1])):
            return last - first + 1
    return len(lines) - first


def _value_end(text: str, statement: _Statement) -> int:
    """The end of the value: before a comment in its last line, if there is one."""
    at = text.find("#", statement.value, statement.end)
    while at != -1:
        if _parses(f"x = {text[statement.value : at]}"):
            return statement.value + len(text[statement.value : at].rstrip())
        at = text.find("#", at + 1, statement.end)
    return statement.value + len(text[statement.value : statement.end].rstrip())


def _inserted(text: str, statements: Sequence[_Statement], path: TablePath, value: object) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"{_key(path[-1])} = {toml_value(value)}{newline}"
    section = path[:-1]
    place = _place(text, statements, section)
    if place is None:
        header = f"[{'.'.join(map(_key, section))}]{newline}"
        gap = "" if not text.strip() else newline
        return f"{_whole(text, newline)}{gap}{header}{line}"
    before = _whole(text[:place], newline) if place == len(text) else text[:place]
    gap = newline if not section and text[place : place + 1] == "[" else ""
    return f"{before}{line}{gap}{text[place:]}"


def _place(text: str, statements: Sequence[_Statement], section: TablePath) -> int | None:
    """The place for a new line of a table: below its last one. None if the table has no header yet."""
    place = None
    inside = not section
    for each in statements:
        if each.kind != "=":
            inside = each.kind == "[" and each.path == section
        if inside:
            place = each.end
    if place is None and not section:  # above the first table, and the comments that belong to it
        if not statements:
            return len(text)
        first = statements[0].start
        above = text[:first].splitlines(keepends=True)
        while above and above[-1].startswith("#"):
            first -= len(above.pop())
        return first
    return place


def _whole(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _names(key: str) -> TablePath:
    at: Any = tomllib.loads(f"{key} = 0")
    names: list[str] = []
    while isinstance(at, dict):
        ((name, at),) = cast(dict[str, Any], at).items()
        names.append(name)
    return tuple(names)


def _parses(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)

"""Reads a page of steps: console blocks with their claims, files to write, and tables of keys to press.

A block after `<!-- not run: why -->` is left out. `<!-- file: PATH -->` before a block makes it a file. In a console
block a line with `$ ` is a command, lines with `> ` continue it, and the others are its output; `…` stands for any text
of a line, and alone on a line for any lines. In a table "| you | you see |" the code after "type" and "press" is what
a row does, and the code in its second cell is on the screen afterwards.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

_BLOCK = re.compile(
    r"(?:^<!-- (not run|file): (.*?) -->\n+)?^```(\w+)\n(.*?)^```$"
    r"|^\| you \| you see \|\n\|---\|---\|\n((?:^\|[^\n]*\n)+)",
    re.MULTILINE | re.DOTALL,
)
_ACT = re.compile(r"(type|press) `([^`]+)`")
_NAMES = {"↓": "down", "↑": "up", "Enter": "enter", "Tab": "tab", "Esc": "esc"}


@dataclass
class Step:
    """Something that the page tells its reader to do. ``expected`` are the lines that it shows after a command, or the
    texts on the screen after keys. ``keys`` are what to type (``type``) or press, as the driver names it."""

    kind: Literal["command", "file", "keys"]
    text: str
    path: str = ""
    line: int = 0
    expected: list[str] = field(default_factory=list[str])
    keys: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    for match in _BLOCK.finditer(page):
        mark, about, language, body, table = match.groups()
        line = page.count("\n", 0, match.start(5 if table else 4)) + 1
        if table:
            found += [_keys(row, number) for number, row in enumerate(table.splitlines(), line)]
            continue
        if mark == "not run":
            continue
        if mark == "file":
            found.append(Step("file", body, about, line))
        elif language == "console":
            found += _commands(body, line)
    return found


def _keys(row: str, line: int) -> Step:
    does, sees = row.strip("| ").split(" | ", 1)
    keys = [(act, _key(name) if act == "press" else name) for act, name in _ACT.findall(does)]
    return Step("keys", does, line=line, expected=re.findall(r"`([^`]+)`", sees), keys=keys)


def _key(name: str) -> str:
    return f"ctrl-{name[-1].lower()}" if name.startswith("Ctrl+") else _NAMES.get(name, name)


def _commands(body: str, first: int) -> list[Step]:
    found: list[Step] = []
    for number, line in enumerate(body.splitlines(), first):
        if line.startswith("$ "):
            found.append(Step("command", line[2:], line=number))
        elif line.startswith("> ") and found and not found[-1].expected:
            found[-1].text += "\n" + line[2:]
        elif found:
            found[-1].expected.append(line)
    return found


def agrees(expected: list[str], printed: str) -> bool:
    """Whether the output is what the page shows."""
    parts = [r"(?:.*\n)*" if line.strip() == "…" else _line(line) for line in expected]
    return (
        re.fullmatch("".join(parts), printed if printed.endswith("\n") or not printed else printed + "\n") is not None
    )


def _line(line: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ ]*\n"

"""Reads a page of steps: console blocks with their claims, and files to write.

A block after `<!-- not run: why -->` is left out. `<!-- file: PATH -->` before a block makes it a file. In a console
block a line with `$ ` is a command, lines with `> ` continue it, and the others are its output; `…` stands for any text
of a line, and alone on a line for any lines.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

_BLOCK = re.compile(r"(?:^<!-- (not run|file): (.*?) -->\n+)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """Something that the page tells its reader to do. ``expected`` are the lines that it shows after a command."""

    kind: Literal["command", "file"]
    text: str
    path: str = ""
    line: int = 0
    expected: list[str] = field(default_factory=list[str])


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    for match in _BLOCK.finditer(page):
        mark, about, language, body = match.groups()
        line = page.count("\n", 0, match.start(4)) + 1
        if mark == "not run":
            continue
        if mark == "file":
            found.append(Step("file", body, about, line))
        elif language == "console":
            found += _commands(body, line)
    return found


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

"""Reads the examples out of a document."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^(.*)\n```py.*$", re.MULTILINE)
_MARK = re.compile(r"<!-- (example:\w+|not run: .+|file: .+) -->")
_EXAMPLE = re.compile(r"<!-- example:(\w+) -->\n```python\n(.*?)```\n<!-- /example -->", re.DOTALL)


def examples(document: Path) -> dict[str, str]:
    text = document.read_text(encoding="utf-8")
    found = {match[1]: match[2] for match in _EXAMPLE.finditer(text)}
    assert len(found) == text.count("<!-- example:"), f"{document.name}: an example has no end, or the name of another"
    return found


def unmarked(document: Path) -> list[int]:
    """The lines of Python blocks that are neither run as an example or a file nor say why not."""
    text = document.read_text(encoding="utf-8")
    return [text.count("\n", 0, each.end()) + 1 for each in _BLOCK.finditer(text) if not _MARK.fullmatch(each[1])]


def promised_output(code: str) -> list[str]:
    """What the comments behind ``print`` say."""
    return [line.split("# ", 1)[1].strip() for line in code.splitlines() if "print(" in line and "# " in line]

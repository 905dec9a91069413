"""Reads the examples out of a document."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLE = re.compile(r"<!-- example:(\w+) -->\n```python\n(.*?)```\n<!-- /example -->", re.DOTALL)


def examples(document: Path) -> dict[str, str]:
    return {match[1]: match[2] for match in _EXAMPLE.finditer(document.read_text(encoding="utf-8"))}


def promised_output(code: str) -> list[str]:
    """What the comments behind ``print`` say."""
    return [line.split("# ", 1)[1].strip() for line in code.splitlines() if "print(" in line and "# " in line]

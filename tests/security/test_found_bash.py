"""Commands that the execution oracle, or a person, found to be allowed and to do more than a rule means."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.grants import Granted, grant
from callgate.shell.patterns import parse_pattern

CORPUS = Path(__file__).parents[1] / "data" / "security" / "found_bash.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_what_was_found_is_no_longer_allowed(row: dict[str, Any]) -> None:
    content = row["rule"].removeprefix("Bash(").removesuffix(")")
    answer = grant(analyse(row["command"]), [parse_pattern(content)], lambda _: False)
    assert isinstance(answer, Granted) == ("allow" in row["accept"])

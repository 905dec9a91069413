"""Every row of the corpus on the level of the shell: allow rows against grants, deny and ask rows against reaches."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.grants import Granted, grant
from callgate.shell.patterns import ShellPattern, parse_pattern
from callgate.shell.reach import doubt, reaches

CORPUS = Path(__file__).parents[1] / "data" / "security" / "bash_bypass.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def rules_of(row: dict[str, Any]) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {"allow": [], "deny": [], "ask": []} | dict(row.get("extra") or {})
    if row["rule"] not in rules[row["list"]]:
        rules[row["list"]] = [*rules[row["list"]], row["rule"]]
    return rules


def patterns(rules: list[str]) -> list[ShellPattern]:
    """Those with brackets; a bare ``Bash`` has no pattern."""
    return [parse_pattern(found.group(1)) for rule in rules if (found := re.fullmatch(r"Bash\((.*)\)", rule, re.S))]


def outcome(row: dict[str, Any]) -> str:
    """What the shell part alone comes to: no hard safety, no modes, no Edit rules."""
    rules = rules_of(row)
    analysis = analyse(row["command"])
    if any(reaches(analysis, pattern) for pattern in patterns(rules["deny"])):
        return "deny"
    if any(reaches(analysis, pattern) for pattern in patterns(rules["ask"])):
        return "ask"
    if isinstance(grant(analysis, patterns(rules["allow"]), lambda path: False), Granted):
        return "allow"
    whole = "Bash" in rules["allow"] and not (rules["deny"] and doubt(analysis))
    return "allow" if whole else "ask"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']}-{row['class']}")
def test_a_row_comes_to_an_outcome_that_it_accepts(row: dict[str, Any]) -> None:
    assert outcome(row) in row["accept"], row["why"]


def test_nothing_that_must_be_allowed_asks() -> None:
    must = [row for row in ROWS if row["accept"] == ["allow"]]
    assert [row["id"] for row in must if outcome(row) != "allow"] == []

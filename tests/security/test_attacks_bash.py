"""Attacks on the shell part of the gate, each judged by the whole gate, in a workspace of its own.

A row is one of the corpus of commands, and may say more: ``mode``, and ``links``, places in the workspace that lead to
a folder outside. A row without a rule is about what is decided when there are none: reading needs none.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.admin.policy import Asked, Bench
from tests.security.test_bash_bypass_shell import rules_of

CORPUS = Path(__file__).parents[1] / "data" / "security" / "attacks_bash.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def judged(row: dict[str, Any], folder: Path) -> str:
    root, outside = folder / "ws", folder / "outside"
    for place in (root, outside, folder / "home"):
        place.mkdir()
    (outside / "kept.txt").write_text("kept")
    for link in row.get("links", ()):
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(outside)
    rules = {effect: tuple(filter(None, listed)) for effect, listed in rules_of(row).items()}
    bench = Bench(home=str(folder / "home"))
    command, mode = {"command": row["command"]}, row.get("mode")
    return bench.judge(Asked("Bash", command, rules["allow"], rules["ask"], rules["deny"], mode, str(root))).decision


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']}-{row['class']}")
def test_an_attack_is_decided_as_its_row_accepts(row: dict[str, Any], tmp_path: Path) -> None:
    assert judged(row, tmp_path) in row["accept"], f"{row['command']!r}: {row['why']}"

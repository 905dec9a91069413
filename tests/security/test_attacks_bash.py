"""Attacks on the shell part of the gate, each judged by the whole gate, in a workspace of its own.

A row is one of the corpus of commands, and may say more: ``mode``, and ``links``, places in the workspace that lead to
a folder outside. A row without a rule is about what is decided when there are none: reading needs none.
"""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from callgate.judging import Asked, Bench
from tests.security.test_bash_bypass_shell import rules_of

CORPUS = Path(__file__).parents[1] / "data" / "security" / "attacks_bash.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
LONG = 0.5
"""Seconds of work that no command may take, with much room for a slow machine: the promise is a tenth of it."""
TIRING = {
    "brackets-in-awk": "awk '/" + "[^]" * 18 + "' a",
    "more-brackets-in-awk": "awk '/" + "[]" * 34 + "' a",
    "braces": "echo " + "{a,b}" * 1_500,
    "wrappers": "sudo " * 1_900 + "rm x",
    "folders": "cd a;cd b;cd c;cat " + " ".join(f"f{number}" for number in range(980)),
    "names": "frob " + " ".join(f"f{number}" for number in range(990)),
    "patterns": "rm " + " ".join(f".gi{number}*/x?" for number in range(900)),
    "deep-patterns": "cat " + " ".join("s*/" * 20 + str(number) for number in range(150)),
    "loops": "for f in " + " ".join(f"f{number}" for number in range(980)) + "; do cat $f; done",
    "variables": ";".join(f"a{number}=$a{number - 1}/x" for number in range(1, 300)) + "; cat $a5",
    "texts": "frob " + " ".join(f"'git x{number}'" for number in range(800)),
    "fed": "echo " + " ".join(f"f{number}" for number in range(980)) + " | xargs git",
    "substitutions": "echo " + "$(" * 3_000 + ")" * 3_000,
}


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


@pytest.mark.parametrize("name", TIRING)
def test_no_command_tires_the_gate(name: str, tmp_path: Path) -> None:
    bench = Bench(home=str(tmp_path))
    begun = process_time()
    bench.judge(Asked("Bash", {"command": TIRING[name]}, deny=("Bash(rm:*)",), root=str(tmp_path)))
    assert process_time() - begun < LONG

"""The corpora of commands, and the whole gate that judges their rows.

A row has the rule, the list it stands in (allow, ask, deny) with others in ``extra``, the command, and the decisions
it accepts. ``links`` are places in the workspace that lead to a folder outside; ``world: fuzz`` rows are judged in a
workspace with such links.
"""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from callgate.admin.workspace_policy import CallJudge, CallToJudge

Row = dict[str, Any]

DATA = Path(__file__).parents[1] / "data" / "security"
_FILES = """
    a.txt b.txt x.txt README.md list0 src/a.py src/app.py d1/x d1/env d1/secret.txt d2/x evil/.envrc evil/.git/config
    evil/.vscode/settings.json build/out.js
"""
_LINKS = ("link", "lin2", "d2/env", "d2/secret.txt", "src/zlink")


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def rules_of(row: Row) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {"allow": [], "deny": [], "ask": []} | dict(row.get("extra") or {})
    if row["rule"] not in rules[row["list"]]:
        rules[row["list"]] = [*rules[row["list"]], row["rule"]]
    return rules


def wrong(rows: Iterable[Row], outcome: Callable[[Row], str]) -> list[str]:
    """Every row with an outcome that it does not accept, in words."""
    found = ((row, outcome(row)) for row in rows)
    return [
        f"{row['id']}: {row['rule']} on {row['command']!r}: {came}, {row['why']}"
        for row, came in found
        if came not in row["accept"]
    ]


class Workspace:
    """Folders below ``folder`` in which the whole gate judges commands."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._made = 0

    def judged(self, row: Row) -> str:
        """Each row that needs links of its own has a workspace of its own."""
        own = bool(row.get("links")) or row["class"] == "hard-safety"
        self._made += own
        place = self._folder / (str(self._made) if own else row.get("world", "plain"))
        root, outside, home = place / "ws", place / "outside", place / "home"
        if not outside.exists():
            for each in (root, outside, home):
                each.mkdir(parents=True)
            (outside / "kept.txt").write_text("kept")
        if row.get("world") == "fuzz" or row["id"].startswith("t"):
            self._fill(root, outside)
        for link in row.get("links", ()):
            (root / link).parent.mkdir(parents=True, exist_ok=True)
            (root / link).symlink_to(outside)
        rules = {effect: tuple(filter(None, listed)) for effect, listed in rules_of(row).items()}
        call = CallToJudge(
            "Bash",
            row.get("arguments") or {"command": row["command"]},
            rules["allow"],
            rules["ask"],
            rules["deny"],
            row.get("mode"),
            str(root),
        )
        return CallJudge(home=str(home)).judge(call).decision

    def _fill(self, root: Path, outside: Path) -> None:
        if (root / "a.txt").exists():
            return
        for name in _FILES.split():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("x")
        for name in _LINKS:
            (root / name).symlink_to(outside / "kept.txt")
        (root / "away").symlink_to(outside)

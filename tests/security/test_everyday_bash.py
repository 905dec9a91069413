"""What agents run all day, with the rule a person would have written for it: a needless question is a fault, too."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from tests.security.corpora import rows_of, wrong

ROWS = rows_of("everyday_bash")
FILES = """
    .env.example .eslintrc.json .github/workflows/ci.yml .gitignore CHANGELOG.md Dockerfile Makefile README.md a.csv
    a.txt b.txt backup/keep build/out.js crates/core/Cargo.toml data.txt docs/index.md fix.patch logs/app.log
    package.json packages/web/package.json pyproject.toml script.js script.py scripts/build.js scripts/gen.py
    scripts/run.sh src/__init__.py src/a.py src/app.py src/app.ts src/b.py sub/x tests/test_app.py web/package.json
    x.txt
"""
LEAST = 0.75
"""Of the commands that only read so many pass without a rule."""


class World:
    """A workspace as it may be, and a gate that knows no rules but those of a row."""

    def __init__(self, folder: Path) -> None:
        self.root = os.path.realpath(folder / "workspace")
        for name in FILES.split():
            path = Path(self.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        self._bench = CallJudge(home=str(folder / "home"))

    def outcome(self, row: dict[str, Any]) -> str:
        rules: str | list[str] = row["rule"]
        allow = (rules,) if isinstance(rules, str) else tuple(rules)
        command = row["command"].replace("{root}", self.root)
        return self._bench.judge(CallToJudge("Bash", {"command": command}, allow, root=self.root)).decision


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("everyday"))


def test_every_command_is_decided_as_the_person_who_wrote_the_rule_expects(
    world: World, record_property: Callable[[str, object], None]
) -> None:
    """What asks of the rows that leave it open is reported: no promise, but worth knowing."""
    found = {row["id"]: world.outcome(row) for row in ROWS}
    bad = wrong(ROWS, lambda row: found[row["id"]])
    assert not bad, "\n".join(bad)
    left_open = [row["id"] for row in ROWS if "allow" in row["accept"] and len(row["accept"]) > 1]
    asked = [each for each in left_open if found[each] != "allow"]
    record_property("report", f"everyday commands: {len(asked)} of {len(left_open)} ask: {' '.join(asked)}")


@pytest.mark.spec("GATE-14")
def test_the_share_of_read_only_commands_that_need_no_rule(
    world: World, record_property: Callable[[str, object], None]
) -> None:
    rows = rows_of("read_only_bash")
    reading = [row for row in rows if row["kind"] == "read-only"]
    asked = [row["command"] for row in reading if world.outcome(row | {"rule": []}) != "allow"]
    share = 1 - len(asked) / len(reading)
    record_property("report", f"read-only commands without a rule: {share:.0%} pass; these ask: {asked}")
    assert share >= LEAST
    changing = [row["command"] for row in rows if row["kind"] != "read-only"]
    assert [command for command in changing if world.outcome({"command": command, "rule": []}) != "ask"] == []

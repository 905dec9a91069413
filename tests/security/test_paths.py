"""Every row of the corpus of paths, by its id, on a real tree.

A row's ``setup`` is run in a temporary workspace that stands for its ``root``; then the path is judged in the order of
the gate: deny rules, hard safety, allow rules, and what needs no rule. What is done with the rows that go further:

    after-check      judged, then the swap, then the change is applied: a refusal counts as a deny
    after-preview    the same with a preview taken first
    after-approval   the arguments become others, and those are judged again
    read+edit        judged for both; a row that allows is then really read and edited, byte for byte
"""

import json
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate.host.applying.apply import apply_changes
from callgate.host.beneath import OpenFolder
from callgate.host.paths import Resolver
from callgate.policy.path_patterns import parse_path_pattern
from callgate.policy.protected import What, danger
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

CORPUS = Path(__file__).parents[1] / "data/security/paths.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
RULE = re.compile(r"(Edit|Read)\((.*)\)", re.DOTALL)
NOBODY = 65534


class World:
    """A workspace with a little in it, a home, and the outside."""

    def __init__(self, folder: Path, row: dict[str, Any]) -> None:
        self.folder = folder
        self.row = row
        self.root = folder / "srv" / "proj"
        self.home = folder / "home"
        (self.root / "src").mkdir(parents=True)
        self.home.mkdir()
        (self.root / "src/b.py").write_text("b")

    def text(self, text: str) -> str:
        return text.replace(self.row["root"], str(self.root)).replace("/link-root", f"{self.folder}/link-root")

    def run(self, script: str) -> None:
        subprocess.run(["sh", "-c", self.text(script)], cwd=self.root, check=True, timeout=30)

    @property
    def path(self) -> str:
        return self.text(self.row["path"])

    def covers(self, rule: str, what: What, path: str) -> bool:
        """For an allow rule: Edit is for what writes, Read for what reads."""
        kind, content = self._rule(rule)
        pattern = parse_path_pattern(content, root=str(self.root), home=str(self.home))
        return (kind == "Read") == (what == "read") and pattern.covers(Resolver(self.root).resolve_path(path))

    def denies(self, rule: str, path: str) -> bool:
        pattern = parse_path_pattern(self._rule(rule)[1], root=str(self.root), home=str(self.home))
        return pattern.may_match(Resolver(self.root).resolve_path(path))

    def _rule(self, rule: str) -> tuple[str, str]:
        found = RULE.fullmatch(self.text(rule))
        assert found is not None
        return found[1], found[2]

    def judged(self, what: What, path: str) -> str:
        if any(self.denies(rule, path) for rule in self.row.get("deny", ())):
            return "deny"
        place = Resolver(self.root).resolve_path(path)
        if danger(place, what, root=str(self.root), home=str(self.home)) is not None:
            return "ask"
        if self.covers(self.row["rule"], what, path) or (what == "read" and place.inside):
            return "allow"
        return "ask"


@contextmanager
def as_nobody(*folders: Path) -> Iterator[None]:
    """Without the rights of an administrator, to whom nothing is unreadable."""
    if os.geteuid() != 0:
        yield
        return
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def applied(world: World, change: FileChange) -> str:
    try:
        with as_nobody(world.root):
            apply_changes(ChangeSet("edit", (change,)), world.root)
    except ToolFailure:
        return "deny"
    return "allow"


def outcome_of_a_swap(world: World, when: str, script: str) -> str:
    """The file is there before, unless the row is about creating one."""
    path = world.path
    creates = path == "new.txt"
    target = world.root / path
    target.parent.mkdir(exist_ok=True)
    if not creates:
        target.write_text("mine")
    assert world.judged("write", path) == "allow"
    if when == "after-approval":
        return world.judged("write", ".git/hooks/pre-commit")
    outside = sorted(Path("/etc").iterdir()), Path("/etc/passwd").read_bytes()
    world.run(script)
    said = applied(world, FileChange(path, None if creates else b"mine", b"changed"))
    assert (sorted(Path("/etc").iterdir()), Path("/etc/passwd").read_bytes()) == outside
    return said


def outcome_of_reading(world: World) -> str:
    """Read what the gate lets be read, then change the last byte and look at everything else."""
    said = world.judged("read", world.path)
    if said != "allow":
        return said
    target = world.root / world.path
    real = Path(Resolver(world.root).walk(world.path).resolved)
    try:
        parts = real.parent.relative_to(world.root).parts
        with OpenFolder.held(str(world.root)) as top, as_nobody(world.root), top.below(parts) as folder:
            file = open(folder.opened(real.name), "rb")  # noqa: SIM115
    except PermissionError:
        return "error"
    with file:
        before = file.read(1_000)
    if target.stat().st_size > 1_000:
        return said
    mode = target.stat().st_mode
    assert applied(world, FileChange(world.path, before, before + b"!")) == "allow"
    assert target.read_bytes() == before + b"!"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(mode)
    return said


def outcome(world: World) -> str:
    row = world.row
    when, colon, script = row["setup"].partition(": ")
    if colon and when.startswith("after-"):
        return outcome_of_a_swap(world, when, script)
    world.run(row["setup"])
    if row["op"] == "read+edit":
        return outcome_of_reading(world)
    return world.judged(row["op"], world.path)


def judged(row: dict[str, Any], world: type[World] = World) -> str:
    """The outcome of one row, in a folder that unlike those of pytest can be entered by everybody."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        return outcome(world(Path(os.path.realpath(name)), row))


@pytest.mark.spec("GATE-3a")
def test_every_row_has_an_outcome_that_it_accepts_and_most_are_as_expected(record_property: Any) -> None:
    """Which of the choices are ours differently is to be seen in the report."""
    found = [(row, judged(row)) for row in ROWS]
    bad = [
        f"{row['id']}: {row['rule']} on {row['path']!r}: {row['why']}" for row, it in found if it not in row["accept"]
    ]
    assert not bad, "\n".join(bad)
    other = [f"{row['id']} {it}, not {row['expect']}" for row, it in found if it != row["expect"]]
    record_property("report", f"paths: {len(ROWS) - len(other)} of {len(ROWS)} as expected; else {'; '.join(other)}")
    assert len(other) < len(ROWS) / 10

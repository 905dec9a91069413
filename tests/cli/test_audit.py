"""``callgate audit``: every decision that was ever made."""

import csv
import json
import stat
from io import StringIO
from pathlib import Path

import pytest

from callgate.cli.terminal import width
from callgate.testing import say, turn
from tests.cli.session_kit import BAD, Desk

pytestmark = pytest.mark.spec("GATE-11", "TRS-12")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


def rows(desk: Desk, *words: str) -> list[dict[str, object]]:
    return json.loads(desk.good("audit", "--format", "json", *words).out)


def test_the_table_has_a_line_for_each_call(desk: Desk) -> None:
    desk.session()
    header, *lines = desk.good("audit").lines
    assert {"time", "call", "decision", "by", "outcome"} <= set(header.split())
    found = [line for line in lines if any(name in line for name in ("read", "write", "gone"))]
    assert len(found) == 3
    assert "read(a.py)" in found[0]
    assert "denied" in found[1]


def test_programs_get_call_hash_decision_person_and_time(desk: Desk) -> None:
    log = desk.session()
    found = rows(desk, log.stem)
    assert [row["tool"] for row in found] == ["read", "write", "gone"]
    assert [row["outcome"] for row in found] == ["ok", "denied", "unknown_tool"]
    write = found[1]
    assert write["question"] == "no"
    assert len(str(write["arguments_hash"])) == 64
    numbers = {json.loads(line)["n"]: json.loads(line) for line in log.read_bytes().splitlines()}
    assert all(numbers[row["n"]]["type"] == "call_arrived" for row in found)


def test_spreadsheets_get_a_line_for_each_call(desk: Desk) -> None:
    desk.session()
    found = list(csv.DictReader(StringIO(desk.good("audit", "--format", "csv").out)))
    assert [row["tool"] for row in found] == ["read", "write", "gone"]


def test_what_was_rewound_is_audited_all_the_same(desk: Desk) -> None:
    desk.rewound()
    assert [row["tool"] for row in rows(desk)] == ["read", "write", "gone"]
    assert "gone" not in desk.good("session", "show").out


def test_a_session_without_calls_has_nothing_to_audit(desk: Desk) -> None:
    desk.session(scene=turn(say("Hello.")))
    assert desk.good("audit").out == "Nothing was decided yet.\n"
    assert rows(desk) == []


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_fits_the_terminal_and_cannot_steer_it(columns: int, desk: Desk) -> None:
    desk.session()
    desk.wide(columns)
    ran = desk.good("audit")
    assert max(map(width, ran.lines)) <= columns
    assert all(outcome in ran.out for outcome in ("ok", "denied", "unknown_tool")), "not cut off"
    assert not BAD.search(ran.out)


def test_it_goes_to_a_file_for_its_owner_alone(desk: Desk) -> None:
    desk.session()
    assert desk.good("audit", "--format", "json", "-o", "audit.json").out == ""
    file = desk.work / "audit.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == rows(desk)
    again = desk.run("audit", "--format", "json", "-o", "audit.json")
    assert again == (1, "", "callgate: audit.json already exists: add --force to replace it\n")
    desk.good("audit", "--format", "csv", "-o", "audit.json", "--force")
    assert file.read_text().startswith("at,n,")


def test_an_audit_of_a_log_that_was_changed_says_so_and_is_1(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    kept = [line for line in lines if b'"call_decided"' not in line]
    assert len(kept) < len(lines)
    log.write_bytes(b"".join(kept))
    ran = desk.run("audit", "--format", "json")
    assert ran.code == 1
    assert len(json.loads(ran.out)) == 3
    assert ran.err == (
        f"callgate: the log of session {log.stem} was modified, in 3 places, so events may be missing "
        f"here; see `callgate session verify {log.stem}`\n"
    )

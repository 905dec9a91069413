"""``callgate undo`` names the calls that changed something in ways that cannot be undone."""

from pathlib import Path

import pytest

from callgate.words.calls import Result
from callgate.words.changes import FileChange
from callgate.words.decisions import Allow
from callgate.words.events import CallDecided, Forked
from tests.cli.changes_kit import AT, Works, ran
from tests.cli.session_kit import Desk


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Works:
    return Works(Desk(tmp_path, monkeypatch, capsys), monkeypatch)


@pytest.fixture
def desk(works: Works) -> Desk:
    return works.desk


def others(desk: Desk, *words: str) -> list[str]:
    lines = desk.run("undo", *words, "--dry-run").lines
    return [line.removeprefix("cannot undo: ") for line in lines if line.startswith("cannot undo: ")]


def test_calls_that_changed_something_in_other_ways_are_named(works: Works, desk: Desk) -> None:
    nothing = Result.failed("tool_error", "no", effects="none")
    log = works.session(
        ran("a1", "call_1", "Bash", command="make"),
        ran("a2", "call_2", "Edit", path="a"),
        ran("a2", "call_3", "Bash", command="ls -l"),
        ran("a2", "call_4", "Read", file_path="a"),
        ran("a2", "call_5", "look", decision=Allow("default"), path="a"),
        ran("a2", "call_6", "TodoWrite", todos=[]),
        ran("a2", "call_7", "Bash", command="npm install"),
        ran("a2", "call_8", "send", nothing, to="x"),
        ran("a2", "call_9", "mcp__mail__send", Result.failed("timed_out", "?", effects="unknown"), n=1, to="bob"),
        ran("a2", "call_10", "paint"),
        ran("a2", "call_11", "resolve", Result(details={"action": "discard"}), action="discard"),
        ran("a2", "call_12", "Bash", command="crash")[:3],
        ran("a2", "call_13", "Bash", command="asked only")[:2],
        [
            *ran("a3", "call_14", "Bash", command="first")[:1],
            CallDecided(AT, "call_14", Allow(by="person", arguments={"command": "edited"}), "h"),
            *ran("a3", "call_14", "Bash", command="first")[2:],
        ],
    )
    works.apply(log, FileChange("a", None, b"1"), by="a2/call_2")
    turn = [
        "Bash npm install (call_7)",
        "mcp__mail__send bob (call_9)",
        "paint (call_10)",
        "Bash crash (call_12)",
    ]
    assert others(desk) == turn
    assert others(desk, "session") == ["Bash make (call_1)", *turn, "Bash edited (call_14)"]
    assert others(desk, "call") == others(desk, "--change", "1") == []


def test_a_call_whose_change_was_taken_back_is_no_other_call(works: Works, desk: Desk) -> None:
    log = works.session(ran("a1", "c1", "Write", path="a"))
    works.apply(log, FileChange("a", None, b"1"))
    desk.good("undo", "--yes")
    assert others(desk, "session") == []


def test_where_nothing_was_changed_the_last_turns_other_calls_are_named_still(works: Works, desk: Desk) -> None:
    log = works.session(ran("a1", "c1", "Bash", command="rm x"), ran("a2", "c2", "Bash", command="rm y"))
    ran_ = desk.run("undo", "--yes")
    nothing = f"callgate: there is nothing to undo in session {log.stem}"
    assert (ran_.code, ran_.out) == (1, "cannot undo: Bash rm y (c2)\n")
    assert ran_.err == f"{nothing}; `callgate changes --all` lists the changes of all sessions\n"


def test_what_was_done_before_a_fork_is_for_the_other_session(works: Works, desk: Desk) -> None:
    works.session(ran("a1", "c1", "Bash", command="make"), [Forked(AT, "s0")], ran("a2", "c2", "Bash", command="rm x"))
    assert others(desk, "session") == ["Bash rm x (c2)"]


def test_many_other_calls_are_counted_and_long_ones_cut(works: Works, desk: Desk) -> None:
    works.session(*(ran("a1", f"c{number}", "Bash", command=f"make {'x' * 200}") for number in range(25)))
    found = others(desk, "session")
    assert found[0] == f"Bash make {'x' * 75}… (c0)"
    assert found[-1] == "5 more calls"
    assert len(found) == 21

"""``callgate undo``: what calls did to files is taken back, after it was shown and somebody said yes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from callgate.changes.history import ChangeHistory
from callgate.cli.terminal import width
from callgate.host.applying.apply import apply_changes
from callgate.words.changes import ChangeSet, FileChange
from tests.cli.changes_kit import AT, HOSTILE, LINES, Works, ran
from tests.cli.session_kit import BAD, Desk, Ran
from tests.crash.dying import dies_after
from tests.transcript.asking import Program


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Works:
    return Works(Desk(tmp_path, monkeypatch, capsys), monkeypatch)


@pytest.fixture
def desk(works: Works) -> Desk:
    return works.desk


@pytest.fixture
def log(works: Works) -> Path:
    """Two turns: in the first ``a`` was edited, in the second ``b`` and then ``c`` was made."""
    works.put("a", LINES)
    works.put("b", LINES)
    found = works.session()
    works.edit(found, "a", b"line 3", b"LINE 3", by="a1/c1", label="shout")
    works.edit(found, "b", b"line 5", b"LINE 5", by="a2/c2", label="shout again")
    works.apply(found, FileChange("c", None, b"1\n2\n"), by="a2/c3", label="new", tool="Write")
    return found


def told(ran: Ran) -> Any:
    (line,) = ran.lines
    return json.loads(line)


def states(desk: Desk) -> dict[int, str]:
    return {row["number"]: row["state"] for row in map(json.loads, desk.run("changes", "--json").lines)}


# ---- how far ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("log")
def test_the_last_turn_is_taken_back_unless_told_otherwise(works: Works, desk: Desk) -> None:
    done = desk.good("undo", "--yes")
    assert sorted(works.files()) == ["a", "b"]
    assert works.get("b") == LINES
    assert b"LINE 3" in works.get("a")
    assert done.lines[1:] == [
        "  3  Write: new",
        "  2  Edit: shout again",
        "  delete  c  +0 −2",
        "  replace b  +1 −1",
        "undone: 2 changes, 2 files; `callgate undo --change 4` redoes it",
    ]
    assert states(desk) == {4: "applied", 3: "reverted", 2: "reverted", 1: "applied"}


@pytest.mark.parametrize(("scope", "left"), [("call", "ab"), ("turn", "a"), ("session", "")], ids=str)
@pytest.mark.usefixtures("log")
def test_a_scope_says_how_far(scope: str, left: str, works: Works, desk: Desk) -> None:
    desk.good("undo", scope, "--yes")
    assert not (works.root / "c").exists()
    assert "".join(name for name, data in works.files().items() if data != LINES) == left


@pytest.mark.usefixtures("log")
def test_undo_after_undo_goes_further_back_and_never_undoes_itself(works: Works, desk: Desk) -> None:
    for _ in range(3):
        desk.good("undo", "call", "--yes")
    assert works.files() == {"a": LINES, "b": LINES}
    last = desk.run("undo", "call", "--yes")
    assert (last.code, last.out) == (1, "")
    assert last.err.startswith("callgate: there is nothing to undo in session ")


@pytest.mark.usefixtures("log")
def test_one_change_is_named_by_its_number_and_that_of_an_undo_is_a_redo(works: Works, desk: Desk) -> None:
    after = works.files()
    desk.good("undo", "--change", "1", "--yes")
    assert works.get("a") == LINES
    assert works.get("b") == after["b"]
    desk.good("undo", "--change", "4", "--yes")
    assert works.files() == after
    desk.good("undo", "--change", "5", "--yes")
    assert works.get("a") == LINES


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("9", "there is no change 9 in session {}; there are 1 to 4"),
        ("3", "change 3 (new) was reverted, so there is nothing to undo"),
    ],
    ids=["none", "reverted"],
)
def test_a_number_that_cannot_be_taken_back_says_why(number: str, why: str, log: Path, desk: Desk) -> None:
    desk.good("undo", "call", "--yes")
    assert desk.run("undo", "--change", number, "--yes") == (1, "", f"callgate: {why.format(log.stem)}\n")


def test_another_session_can_be_named(works: Works, desk: Desk, log: Path) -> None:
    works.session()
    assert desk.run("undo", "--yes").code == 1
    done = desk.good("undo", "session", "--session", log.stem, "--yes")
    assert done.lines[-1].endswith(f"`callgate undo --change 4 --session {log.stem}` redoes it")
    assert works.files() == {"a": LINES, "b": LINES}


def test_the_files_are_those_of_the_sessions_own_folder(works: Works, desk: Desk, log: Path) -> None:
    desk.go("elsewhere")
    (desk.work / "a").write_bytes(b"another a")
    done = desk.good("undo", "session", "--session", log.stem, "--yes")
    assert done.lines[0] == f"undo 3 changes of session {log.stem} in {works.root}"
    assert (desk.work / "a").read_bytes() == b"another a"
    assert works.files() == {"a": LINES, "b": LINES}


def test_a_session_that_another_program_has_open_can_be_undone(works: Works, desk: Desk, log: Path) -> None:
    with Program() as other:
        other.ask(do="hold", log=str(log))
        desk.good("undo", "session", "--yes")
    assert works.files() == {"a": LINES, "b": LINES}


def test_a_folder_that_is_gone_is_a_failure(works: Works, desk: Desk) -> None:
    gone = works.root.parent / "gone"
    log = works.session(workspace=gone)
    said = f"callgate: the folder of session {log.stem} is gone: {gone}\n"
    assert desk.run("undo", "--yes") == (1, "", said)


# ---- kinds --------------------------------------------------------------------------------------------------------


def test_created_deleted_renamed_and_executable_files_come_back_as_they_were(works: Works, desk: Desk) -> None:
    works.put("old", b"old\n")
    works.put("from", b"moved\n")
    works.put("tool", b"#!\n")
    os.chmod(works.root / "tool", 0o644)
    git = works.root / ".git"
    git.mkdir()
    (git / "index").write_bytes(b"mine")
    log = works.session()
    works.apply(
        log,
        FileChange("new", None, b"1\n"),
        FileChange("old", b"old\n", None),
        FileChange("to", b"moved\n", b"moved\n", source="from"),
        FileChange("tool", b"#!\n", b"#!\n", mode=0o755),
    )
    done = desk.good("undo", "--yes")
    (git / "index").unlink()
    git.rmdir()
    assert works.files() == {"from": b"moved\n", "old": b"old\n", "tool": b"#!\n"}
    assert (works.root / "tool").stat().st_mode & 0o777 == 0o644
    assert {line.strip() for line in done.lines if line.startswith(("  create", "  delete", "  mode"))} == {
        "delete  new  +0 −1",
        "create  old  +1 −0",
        "delete  to  +0 −1",
        "create  from  +1 −0",
        "mode    tool  permissions",
    }


def test_a_renamed_file_moves_back_with_what_others_wrote_into_it(works: Works, desk: Desk) -> None:
    works.put("from", LINES)
    log = works.session()
    works.apply(log, FileChange("to", LINES, LINES.replace(b"line 3", b"LINE 3"), source="from"))
    works.put("to", works.get("to").replace(b"line 15", b"mine"))
    desk.good("undo", "--yes")
    assert works.files() == {"from": LINES.replace(b"line 15", b"mine")}


def test_files_that_are_no_text_are_named_as_what_they_are(works: Works, desk: Desk) -> None:
    log = works.session()
    works.apply(log, FileChange("pixels", None, b"\0\1"), FileChange("huge", None, b"x" * 1_000_001))
    shown = desk.good("undo", "--yes")
    assert {"  delete  pixels  binary", "  delete  huge  large"} <= set(shown.lines)
    assert works.files() == {}


# ---- what others did ----------------------------------------------------------------------------------------------


def test_later_edits_of_others_are_kept(works: Works, desk: Desk, log: Path) -> None:
    works.put("b", works.get("b").replace(b"line 15", b"mine"))
    desk.good("undo", "--yes")
    assert works.get("b") == LINES.replace(b"line 15", b"mine")


@pytest.mark.usefixtures("log")
def test_with_a_conflict_nothing_is_undone_and_its_lines_are_named(works: Works, desk: Desk) -> None:
    works.put("b", LINES.replace(b"line 5", b"mine"))
    before = works.files()
    ran = desk.run("undo", "--yes")
    assert ran.code == 1
    assert "cannot undo: b: line 5 was changed by both" in ran.lines
    assert ran.err == "callgate: nothing was undone: add --partly to undo the changes without conflicts\n"
    assert works.files() == before
    assert states(desk) == {3: "applied", 2: "applied", 1: "applied"}


@pytest.mark.usefixtures("log")
def test_partly_leaves_what_conflicts_and_undoes_the_rest(works: Works, desk: Desk) -> None:
    mine = LINES.replace(b"line 5", b"mine")
    works.put("b", mine)
    done = desk.good("undo", "--partly", "--yes")
    assert "cannot undo: b: line 5 was changed by both" in done.lines
    assert works.get("b") == mine
    assert not (works.root / "c").exists()


@pytest.mark.usefixtures("log")
def test_partly_is_of_no_use_where_all_of_it_conflicts(works: Works, desk: Desk) -> None:
    works.put("c", b"mine")
    ran = desk.run("undo", "call", "--partly", "--yes")
    assert (ran.code, works.get("c")) == (1, b"mine")
    assert ran.err == "callgate: nothing was undone: every change has a conflict\n"
    assert states(desk)[3] == "applied"


@pytest.mark.usefixtures("log")
def test_what_somebody_took_back_by_hand_is_only_marked(works: Works, desk: Desk) -> None:
    (works.root / "c").unlink()
    done = desk.good("undo", "call", "--yes")
    assert done.lines[-2:] == ["  the files are already as they were before", "undone: 1 change, 0 files"]
    assert states(desk) == {3: "reverted", 2: "applied", 1: "applied"}


# ---- asked first --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "done"), [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("", False)])
@pytest.mark.usefixtures("log")
def test_a_terminal_is_asked_and_only_yes_does_it(said: str, done: bool, works: Works, desk: Desk) -> None:
    before = works.files()
    works.answers(said)
    ran = desk.run("undo")
    assert "undo? [y/N] " in ran.out
    assert ran.code == (0 if done else 1)
    assert (works.files() == before) is not done
    assert ran.err == ("" if done else "callgate: nothing was undone\n")


@pytest.mark.usefixtures("log")
def test_an_interrupt_at_the_question_changes_nothing(
    works: Works, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(prompt: str = "") -> str:
        raise KeyboardInterrupt

    before = works.files()
    works.answers("")
    monkeypatch.setattr("builtins.input", interrupted)
    assert desk.run("undo").code == 130
    assert works.files() == before
    assert states(desk) == {3: "applied", 2: "applied", 1: "applied"}


@pytest.mark.usefixtures("log")
def test_what_changes_between_the_question_and_the_answer_is_noticed(
    works: Works, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(prompt: str = "") -> str:
        works.put("c", b"mine")
        return "y"

    works.answers("")
    monkeypatch.setattr("builtins.input", meanwhile)
    ran = desk.run("undo")
    assert ran.code == 1
    assert "Nothing was changed, because files have changed since the preview: c" in ran.err
    assert works.get("c") == b"mine"
    assert b"LINE 5" in works.get("b")


@pytest.mark.usefixtures("log")
def test_a_dry_run_shows_the_diff_and_does_nothing(works: Works, desk: Desk) -> None:
    before = works.files()
    lines = desk.good("undo", "--dry-run").lines
    assert {"-LINE 5", "+line 5", "deleted file mode 100644", "-1", "-2"} <= set(lines)
    assert works.files() == before
    assert states(desk) == {3: "applied", 2: "applied", 1: "applied"}


# ---- for programs -------------------------------------------------------------------------------------------------


def test_programs_hear_what_was_done_and_what_could_not_be(works: Works, desk: Desk) -> None:
    log = works.session(ran("a1", "c1", "Write", path="a"), ran("a1", "c2", "Bash", command="make"))
    works.apply(log, FileChange("a", None, b"1\n"))
    dry = told(desk.good("undo", "--dry-run", "--json"))
    assert dry.pop("patch").startswith("diff --git a/a b/a\ndeleted file mode")
    wanted: dict[str, Any] = {
        "session": log.stem,
        "root": str(works.root),
        "done": False,
        "why": "",
        "change": None,
        "undone": [1],
        "files": [{"path": "a", "source": None, "kind": "delete", "shown": "lines", "added": 0, "removed": 1}],
        "conflicts": [],
        "cannot_undo": [{"id": "c2", "message": "a1", "tool": "Bash", "what": "make"}],
        "recovered": [],
    }
    assert dry == wanted
    assert told(desk.good("undo", "--yes", "--json")) == wanted | {"done": True, "change": 2}
    again = desk.run("undo", "--yes", "--json")
    assert (again.code, told(again)["done"], again.err) == (1, False, "")
    assert told(again)["why"].startswith("there is nothing to undo")


@pytest.mark.usefixtures("log")
def test_programs_hear_of_conflicts(works: Works, desk: Desk) -> None:
    works.put("c", b"mine")
    ran = desk.run("undo", "--yes", "--json")
    assert ran.code == 1
    assert told(ran)["conflicts"] == ["c: the file was created by this change, and has changed since then"]


# ---- after a crash ------------------------------------------------------------------------------------------------


def crash(works: Works, log: Path, *files: FileChange, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program dies when the first file is in its place."""
    changes = ChangeSet("half", files, "Edit", "a9/c9")
    kept = ChangeHistory(log.parent).save(changes, log.stem, now=AT + 1e9, state="applying")
    with dies_after(1, monkeypatch):
        apply_changes(changes, works.root, log.parent / "applying", kept.name)


def test_what_a_crash_cut_short_is_finished_first_and_then_undone(
    works: Works, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    works.put("a", b"1")
    works.put("b", b"1")
    log = works.session()
    crash(works, log, FileChange("a", b"1", b"2"), FileChange("b", b"1", b"2"), monkeypatch=monkeypatch)
    assert (works.get("a"), works.get("b")) == (b"2", b"1")
    done = desk.good("undo", "--yes")
    assert done.lines[0] == "half was interrupted when Callgate ended and is now finished"
    assert done.lines[-1].startswith("undone: 1 change, 2 files")
    assert works.files() == {"a": b"1", "b": b"1"}


def test_what_a_crash_cut_short_and_others_changed_since_is_not_finished(
    works: Works, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    works.put("a", b"1")
    works.put("b", b"1")
    log = works.session()
    crash(works, log, FileChange("a", b"1", b"2"), FileChange("b", b"1", b"2"), monkeypatch=monkeypatch)
    (works.root / "b").unlink()
    works.put("b", b"mine")
    said = told(desk.run("undo", "--yes", "--json"))
    assert (said["done"], said["recovered"][0]["outcome"]) == (False, "undone")
    assert said["recovered"][0]["left"] == ["b: another program has changed it since"]
    assert works.files() == {"a": b"1", "b": b"mine"}
    assert states(desk) == {1: "discarded"}


def test_a_record_that_cannot_be_read_is_said_and_the_rest_can_be_undone(works: Works, desk: Desk, log: Path) -> None:
    (record,) = log.parent.rglob("0003.jsonl")
    record.write_bytes(b"\n")
    ran = desk.run("undo", "--yes")
    assert ran.code == 0
    assert ran.err.startswith(f"callgate: {record} cannot be read")
    assert works.get("b") == LINES


# ---- shown --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [30, 60])
def test_nothing_is_wider_than_the_window_and_nothing_steers_the_terminal(
    columns: int, works: Works, desk: Desk
) -> None:
    evil = f"{HOSTILE} {'long ' * 20}"
    works.put("x", b"1\n")
    log = works.session(ran("a1", f"c{HOSTILE}", f"Bash{HOSTILE}", command=evil))
    works.apply(
        log, FileChange(HOSTILE, None, f"{evil}\x1b\n".encode()), FileChange("x", b"1\n", b"2\n"), label=evil, tool=evil
    )
    works.put("x", b"3\n")
    desk.wide(columns)
    for words in (("--dry-run", "--partly"), ("--yes",), ("--dry-run", "--json")):
        shown = desk.run("undo", *words)
        assert not BAD.search(shown.out + shown.err)
        assert "\u202e" not in shown.out + shown.err
        if "--json" not in words:
            assert max(width(line) for line in shown.lines) <= columns
    assert desk.run("undo", "--partly", "--yes").code == 0
    assert works.files() == {"x": b"3\n"}


# ---- misspelt -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trun",), "argument call|turn|session: there is no 'trun'; did you mean turn?"),
        (("all",), "argument call|turn|session: there is no 'all'; did you mean call?"),
        (("turn", "--change", "1"), "say a scope, or --change"),
        (("--change", "0"), "argument --change: must be a whole number above 0, not '0'"),
        (("--dry-rum",), "--dry-rum is not known here, did you mean --dry-run"),
        (("--json",), "--json cannot ask: add --yes, or --dry-run to see the changes"),
        ((), "this is not a terminal: add --yes, or --dry-run to see the changes"),
    ],
    ids=str,
)
def test_a_fault_is_one_line_that_says_what_to_do(words: tuple[str, ...], said: str, desk: Desk) -> None:
    assert desk.run("undo", *words) == (2, "", f"callgate undo: {said}; see callgate undo --help\n")

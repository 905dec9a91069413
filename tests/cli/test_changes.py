"""``callgate changes``: what a session did to files, listed and shown."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.changes.history import ChangeHistory
from callgate.cli.terminal import width
from callgate.words.changes import ChangeSet, FileChange
from tests.cli.changes_kit import AT, HOSTILE, LINES, Works
from tests.cli.session_kit import BAD, Desk


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Works:
    return Works(Desk(tmp_path, monkeypatch, capsys), monkeypatch)


@pytest.fixture
def desk(works: Works) -> Desk:
    return works.desk


# ---- listed -------------------------------------------------------------------------------------------------------


def test_changes_are_listed_newest_first_with_what_became_of_them(works: Works, desk: Desk) -> None:
    works.put("a.py", LINES)
    log = works.session()
    works.edit(log, "a.py", b"line 3", b"LINE 3", label="shout")
    works.apply(log, FileChange("b.py", None, b"1\n"), by="a2/c2", label="new", tool="Write")
    desk.good("undo", "--yes")
    assert desk.good("changes").lines == [
        f"3 changes of session {log.stem}",
        "  3  applied           now  undo: new",
        "     undo, 1 file, +0 −1: b.py",
        "  2  reverted          now  new",
        "     Write, 1 file, +1 −0: b.py",
        "  1  applied           now  shout",
        "     Edit, 1 file, +1 −1: a.py",
    ]


def test_a_session_without_changes_says_so(works: Works, desk: Desk) -> None:
    log = works.session()
    assert desk.good("changes").out == f"Session {log.stem} has no stored changes.\n"
    assert desk.good("changes", "--all").out == "No session of this folder has changed a file.\n"
    assert desk.good("changes", "--json").out == ""


def test_a_folder_without_sessions_is_a_failure(desk: Desk) -> None:
    assert desk.run("changes") == (1, "", "callgate: this workspace has no sessions yet\n")
    gone = desk.run("changes", "./gone.jsonl")
    assert (gone.code, gone.err) == (1, "callgate: gone.jsonl cannot be opened: No such file or directory\n")


def test_another_session_is_named_as_everywhere(works: Works, desk: Desk) -> None:
    first = works.session()
    works.apply(first, FileChange("a", None, b"1"), label="in the first")
    second = works.session()
    works.apply(second, FileChange("b", None, b"1"), label="in the second")
    assert "in the first" in desk.good("changes", first.stem).out
    assert "in the first" in desk.good("changes", str(first)).out
    both = desk.good("changes", "--all").lines
    assert [line for line in both if "session" in line] == [
        f"1 change of session {log.stem}" for log in (second, first)
    ]


def test_programs_get_an_object_a_line(works: Works, desk: Desk) -> None:
    works.put("a", b"1")
    log = works.session()
    works.apply(log, FileChange("b", b"1", b"2", source="a"), FileChange(HOSTILE, None, b"x"), by="a3/c7")
    (told,) = map(json.loads, desk.good("changes", "--json").lines)
    assert told.pop("at") > 0
    assert told == {
        "session": log.stem,
        "number": 1,
        "id": "a3/c7",
        "turn": "a3",
        "state": "applied",
        "label": "edit",
        "tool": "Edit",
        "summary": "2 files, +2 −1",
        "files": [
            {"path": "b", "source": "a", "kind": "rename"},
            {"path": HOSTILE, "source": None, "kind": "create"},
        ],
    }


def test_what_cannot_be_read_is_said_on_the_side_and_the_rest_is_shown(works: Works, desk: Desk) -> None:
    log = works.session()
    for number in (1, 2):
        works.apply(log, FileChange(f"{number}.txt", None, b"1"), label=f"number {number}")
    (record,) = log.parent.rglob("0001.jsonl")
    record.write_bytes(b"{}\n")
    for words in ((), ("--json",), ("--all",)):
        ran = desk.run("changes", *words)
        assert ran.code == 1
        assert "number 2" in ran.out
        assert "number 1" not in ran.out
        assert ran.err.startswith(f"callgate: {record} cannot be read")
        assert len(ran.err.splitlines()) == 1
    shown = desk.run("changes", "show", "1")
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.splitlines()[1] == f"callgate: there is no change 1 in session {log.stem}; there is 2"
    assert desk.good("changes", "show", "2").out


@pytest.mark.parametrize("columns", [30, 60, 200])
def test_nothing_is_wider_than_the_window_and_nothing_steers_the_terminal(
    columns: int, works: Works, desk: Desk
) -> None:
    log = works.session()
    files = [FileChange(f"{HOSTILE}{number}", None, f"\x1b[31m\tlong {'word ' * 40}\n".encode()) for number in range(9)]
    works.apply(log, *files, label=f"{HOSTILE} {'long ' * 40}", tool=f"Bad{HOSTILE}")
    desk.wide(columns)
    for words in ((), ("--all",), ("show", "1")):
        ran = desk.good("changes", *words)
        assert not BAD.search(ran.out)
        assert "\u202e" not in ran.out
        assert max(width(line) for line in ran.lines) <= columns
    assert "and 4 more" in " ".join(desk.good("changes").out.split())


# ---- one of them --------------------------------------------------------------------------------------------------


def test_one_change_is_shown_as_a_diff(works: Works, desk: Desk) -> None:
    works.put("a.py", LINES)
    log = works.session()
    works.edit(log, "a.py", b"line 3\n", b"\tLINE 3\n", label="shout")
    head, about, *rest = desk.good("changes", "show", "1").lines
    assert head == f"change 1 of session {log.stem}: shout"
    assert about.startswith("  applied, ")
    assert about.endswith(", Edit, call a1/c1, 1 file, +1 −1")
    assert rest[:2] == ["  replace a.py  +1 −1", "diff --git a/a.py b/a.py"]
    assert rest[-6:] == [" line 2", "-line 3", "+    LINE 3", " line 4", " line 5", " line 6"]


def test_a_diff_names_files_from_the_workspace_on(works: Works, desk: Desk) -> None:
    log = works.session()
    works.apply(log, FileChange(str(works.root / "a"), None, b"1\n"))
    for words in (("changes", "show", "1"), ("undo", "--dry-run")):
        assert "diff --git a/a b/a" in desk.good(*words).lines


def test_a_patch_is_what_git_takes(works: Works) -> None:
    before, after = b"\xe9 one\r\n\x1b[2J\n", b"\xe9 two\r\n\x1b[2J\n\ttab"
    works.put("a", before)
    log = works.session()
    works.apply(log, FileChange("a", before, after))
    works.put("a", before)
    command = [sys.executable, "-m", "callgate", "changes", "show", "1", "--patch"]
    shown = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (shown.returncode, shown.stderr) == (0, b"")
    done = subprocess.run(["git", "apply", "-"], input=shown.stdout, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert works.get("a") == after


def test_a_terminal_gets_the_patch_made_harmless(works: Works, desk: Desk) -> None:
    log = works.session()
    works.apply(log, FileChange("a", None, b"\x1b[2J\n"))
    works.answers("")
    shown = desk.good("changes", "show", "1", "--patch")
    assert shown.lines[0] == "diff --git a/a b/a"
    assert shown.lines[-1] == "+<U+001B>[2J"


def test_a_change_that_looks_like_a_header_is_none(works: Works, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    works.put("a", b"-- a\nx\n")
    log = works.session()
    works.apply(log, FileChange("a", b"-- a\nx\n", b"++ b\nx\n"))
    works.answers("")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    lines = desk.good("changes", "show", "1").lines
    assert "\x1b[1m--- a/a\x1b[0m" in lines
    assert "\x1b[31m--- a\x1b[0m" in lines
    assert "\x1b[32m+++ b\x1b[0m" in lines


@pytest.mark.parametrize(
    ("numbers", "there"), [(0, "there are none"), (1, "there is 1"), (3, "there are 1 to 3")], ids=["0", "1", "3"]
)
def test_a_number_that_is_none_is_told_those_that_are(numbers: int, there: str, works: Works, desk: Desk) -> None:
    log = works.session()
    for number in range(numbers):
        works.apply(log, FileChange(f"{number}", None, b""))
    said = f"callgate: there is no change 9 in session {log.stem}; {there}\n"
    assert desk.run("changes", "show", "9") == (1, "", said)


def test_contents_that_are_gone_are_a_failure(works: Works, desk: Desk) -> None:
    log = works.session()
    works.apply(log, FileChange("a", None, b"1"))
    for pack in log.parent.rglob("*.pack"):
        pack.write_bytes(b"2")
    ran = desk.run("changes", "show", "1")
    assert (ran.code, ran.err) == (1, f"callgate: the contents of change {log.stem}/1 are damaged\n")


# ---- misspelt -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show",), "add the number of the change: show NUMBER"),
        (("show", "x"), "NUMBER must be a whole number above 0, not 'x'"),
        (("shwo", "3"), "there is no 'shwo'; did you mean show?"),
        (("show", "3", "a", "b"), "b is not known here"),
        (("one", "two"), "two is not known here"),
        (("--all", "x"), "say --all, or which one"),
        (("--patch",), "--patch works only with show NUMBER"),
        (("show", "1", "--json"), "--json works only with the list; use --patch to print a diff"),
        (("--jsno",), "--jsno is not known here, did you mean --json"),
    ],
    ids=str,
)
def test_a_fault_is_one_line_that_says_what_to_do(words: tuple[str, ...], said: str, desk: Desk) -> None:
    assert desk.run("changes", *words) == (2, "", f"callgate changes: {said}; see callgate changes --help\n")


def test_a_change_that_is_half_applied_is_shown_as_such(works: Works, desk: Desk) -> None:
    log = works.session()
    half = ChangeSet("half", (FileChange("a", b"1", b"2"), FileChange("b", b"1", b"2")), "Edit", "a9/c9")
    ChangeHistory(log.parent).save(half, log.stem, now=AT, state="applying")
    told = " ".join(desk.good("changes").out.split())
    assert "1 applying" in told
    assert (
        "partly applied, or still running: the next session or `callgate undo` in this folder completes or reverts it"
        in told
    )

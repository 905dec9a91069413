"""One line about a ChangeSet, and the diff as people are shown it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.diff import display, summary, unified
from callgate.words.changes import ChangeSet, FileChange, Stored
from tests.rows import rows

ONE = FileChange("a", b"1\n2\n3\n", b"1\n3\n4\n5\n")
NEW = FileChange("b", None, b"1\n2")
BINARY = FileChange("c", b"\0", b"\1\0")
LARGE = FileChange("d", None, Stored("00" * 32, 2_000_000, "kept"))
MOVED = FileChange("f", b"x\n", b"x\n", "e")
NOTHING = FileChange("g", b"x", b"x")


def set_of(*files: FileChange, count: int | None = None) -> ChangeSet:
    return ChangeSet("Rename things", files, count=count)


@rows(
    ("changes", "expected"),
    [
        (set_of(ONE), "1 file, +2 −1"),
        (set_of(ONE, NEW), "2 files, +4 −1"),
        (set_of(ONE, NEW, MOVED, count=14), "3 files, 14 replacements, +4 −1"),
        (set_of(ONE, count=1), "1 file, 1 replacement, +2 −1"),
        (set_of(ONE, count=0), "1 file, 0 replacements, +2 −1"),
        (set_of(MOVED), "1 file, +0 −0"),
        (set_of(BINARY), "1 file, 1 binary"),
        (set_of(ONE, BINARY, LARGE), "3 files, +2 −1, 1 binary, 1 large"),
        (set_of(NOTHING, ONE), "1 file, +2 −1"),
        (set_of(NOTHING), "no changes"),
        (set_of(), "no changes"),
    ],
    ids=range(11),
)
def test_the_summary(changes: ChangeSet, expected: str) -> None:
    assert summary(changes) == expected


def test_people_see_the_label_the_summary_and_the_diff() -> None:
    changes = set_of(ONE, NEW)
    shown = display(changes)
    assert (shown.kind, shown.title) == ("diff", "Rename things: 2 files, +4 −1")
    assert shown.body == unified(changes)


def test_paths_are_shown_from_the_root() -> None:
    assert display(set_of(FileChange("/srv/a", None, b"")), root="/srv").body.startswith("diff --git a/a b/a\n")


@given(st.integers(0, 40))
def test_lines_that_are_left_out_are_counted(most: int) -> None:
    changes = set_of(ONE, NEW, BINARY, MOVED)
    whole = unified(changes).splitlines()
    lines = display(changes, most=most).body.splitlines()
    assert lines[:most] == whole[:most]
    left = len(whole) - most
    expected = [] if left <= 0 else [f"… {left} more line{'s' * (left > 1)}"]
    assert lines[most:] == expected


def test_a_very_long_line_is_cut_and_says_so() -> None:
    body = display(set_of(FileChange("min.js", None, b"x" * 5_000 + b"\n"))).body
    assert body.splitlines()[-1] == f"+{'x' * 1_999}… 3,001 more characters"


def test_what_is_shown_can_be_written_as_json_whatever_the_bytes_are() -> None:
    shown = display(ChangeSet("odd \ud83d", (FileChange("\udce9", b"caf\xe9\n", b"caf\xe8\n"),)))
    assert shown.title == "odd \\ud83d: 1 file, +1 −1"
    assert shown.body.endswith("-caf\\xe9\n+caf\\xe8\n")
    assert json.dumps([shown.title, shown.body], ensure_ascii=False).encode()


@pytest.mark.spec("CHG-1")
def test_a_preview_says_which_files_have_hard_links(tmp_path: Path) -> None:
    for name in ("one", "two", "gone"):
        (tmp_path / name).write_bytes(b"1\n")
    (tmp_path / "other").hardlink_to(tmp_path / "two")
    files = (FileChange("one", b"1\n", b"2\n"), FileChange("two", b"1\n", b"2\n"), FileChange("new", None, b""))
    first, second, *_ = display(ChangeSet("edit", files), root=str(tmp_path)).body.splitlines()
    assert first == "note: two has 1 other name (hard links), which keep the old content"
    assert second.startswith("diff --git")

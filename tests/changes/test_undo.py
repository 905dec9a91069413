"""Taking changes back: exactly those, with later edits of others merged or named."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.history import LARGE, ChangeHistory, Kept
from callgate.changes.undo import UndoPlan, plan, reader
from callgate.host.applying.apply import apply_changes
from callgate.words.changes import ChangeSet, FileChange
from tests.crash.changed import World, seen
from tests.host.test_applying_kinds import changed, put

LINES = "".join(f"line {number}\n" for number in range(1, 21)).encode()


class Stage:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.history = ChangeHistory(folder / "changes")
        self.now = 0.0

    def apply(self, *files: FileChange, label: str = "edit") -> Kept:
        self.now += 1
        changes = ChangeSet(label, files, "Edit", f"call_{self.now:g}")
        kept = self.history.save(changes, "s1", now=self.now)
        return self.history.mark(kept, "applied", now=self.now, applied=apply_changes(changes, self.root))

    def plan(self, *kept: Kept) -> UndoPlan:
        return plan(self.history, kept, reader(self.root))

    def undo(self, *kept: Kept) -> Sequence[str]:
        """Do it, and give the conflicts."""
        found = self.plan(*kept)
        apply_changes(found.changes, self.root)
        return found.conflicts

    def files(self) -> World:
        return {name: found for name, found in seen(self.root).items() if found[0] != "folder"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_an_edit_is_taken_back(stage: Stage) -> None:
    put(stage.root, "a", b"1")
    kept = stage.apply(FileChange("a", b"1", b"2"), label="better")
    found = stage.plan(kept)
    assert found.changes == ChangeSet("undo: better", (FileChange("a", b"2", b"1", mode_before=0o644),), "undo")
    assert found.undone == (kept,)
    assert stage.undo(kept) == ()
    assert stage.files() == {"a": ("644", b"1")}


@pytest.mark.spec("CHG-3")
def test_an_edit_is_taken_back_from_below_a_later_one_of_somebody_else(stage: Stage) -> None:
    put(stage.root, "a", LINES)
    kept = stage.apply(FileChange("a", LINES, LINES.replace(b"line 3\n", b"changed\n")))
    now = (stage.root / "a").read_bytes().replace(b"line 15\n", b"mine\n")
    (stage.root / "a").write_bytes(now)
    assert stage.undo(kept) == ()
    assert (stage.root / "a").read_bytes() == LINES.replace(b"line 15\n", b"mine\n")


@pytest.mark.spec("CHG-3")
def test_an_edit_that_somebody_has_changed_again_is_a_conflict_with_its_lines(stage: Stage) -> None:
    put(stage.root, "a", LINES)
    put(stage.root, "b", b"1")
    kept = stage.apply(FileChange("a", LINES, LINES.replace(b"line 3\n", b"changed\n")), FileChange("b", b"1", b"2"))
    (stage.root / "a").write_bytes(LINES.replace(b"line 3\n", b"mine\n"))
    assert stage.undo(kept) == ("a: line 3 was changed by both",)
    assert (stage.root / "a").read_bytes() == LINES.replace(b"line 3\n", b"mine\n")
    assert (stage.root / "b").read_bytes() == b"1"


@pytest.mark.spec("CHG-3")
@pytest.mark.parametrize(
    ("first", "change", "later", "conflict"),
    [
        (
            {},
            FileChange("a", None, b"1"),
            {"a": b"2"},
            "a: the file was created by this change, and has changed since then",
        ),
        ({}, FileChange("a", None, b"1"), {"a": None}, None),
        (
            {"a": b"1"},
            FileChange("a", b"1", None),
            {"a": b"2"},
            "a: the file was deleted by this change, and another",
        ),
        ({"a": b"1"}, FileChange("a", b"1", None), {"a": b"1"}, None),
        ({"a": b"1"}, FileChange("a", b"1", b"2"), {"a": None}, "a: the file does not exist any more"),
        (
            {"a": b"1"},
            FileChange("b", b"1", b"1", source="a"),
            {"a": b"9"},
            "a: the file was moved away by this change",
        ),
        ({"a": b"1"}, FileChange("b", b"1", b"2", source="a"), {"b": None}, "b: the file does not exist any more"),
        (
            {"a": b"1\0"},
            FileChange("a", b"1\0", b"2\0"),
            {"a": b"3\0"},
            "a: both sides changed the file, and it is not text",
        ),
    ],
)
def test_what_others_did_since_is_never_lost(
    stage: Stage, first: dict[str, bytes], change: FileChange, later: dict[str, bytes | None], conflict: str | None
) -> None:
    for name, data in first.items():
        put(stage.root, name, data)
    kept = stage.apply(change)
    for name, data in later.items():
        (stage.root / name).unlink(missing_ok=True)
        if data is not None:
            put(stage.root, name, data)
    before = stage.files()
    conflicts = stage.undo(kept)
    if conflict is None:
        assert conflicts == ()
    else:
        assert [each[: len(conflict)] for each in conflicts] == [conflict]
        assert stage.files() == before


def test_a_renamed_file_with_later_edits_goes_back_with_them(stage: Stage) -> None:
    put(stage.root, "a", LINES, 0o755)
    kept = stage.apply(FileChange("b", LINES, LINES, source="a"))
    (stage.root / "b").write_bytes(LINES + b"mine\n")
    assert stage.undo(kept) == ()
    assert stage.files() == {"a": ("755", LINES + b"mine\n")}


def test_several_changes_of_one_file_go_back_together(stage: Stage) -> None:
    put(stage.root, "a", b"1\n")
    every = [
        stage.apply(FileChange("a", b"1\n", b"2\n")),
        stage.apply(FileChange("a", b"2\n", b"3\n")),
        stage.apply(FileChange("b", b"3\n", b"3\n", source="a")),
        stage.apply(FileChange("b", b"3\n", None)),
    ]
    assert stage.plan(*every).changes.label == "undo 4 changes"
    assert stage.undo(*every) == ()
    assert stage.files() == {"a": ("644", b"1\n")}


def test_the_older_of_two_changes_goes_back_alone(stage: Stage) -> None:
    put(stage.root, "a", LINES)
    later = LINES.replace(b"line 3\n", b"three\n")
    first = stage.apply(FileChange("a", LINES, later))
    stage.apply(FileChange("a", later, later.replace(b"line 10\n", b"ten\n")))
    assert stage.undo(first) == ()
    assert (stage.root / "a").read_bytes() == LINES.replace(b"line 10\n", b"ten\n")


def test_what_a_conflict_holds_back_holds_back_what_was_before_it(stage: Stage) -> None:
    put(stage.root, "a", b"1\n")
    every = [stage.apply(FileChange("a", b"1\n", b"2\n")), stage.apply(FileChange("a", b"2\n", b"3\n"))]
    (stage.root / "a").write_bytes(b"mine\n")
    conflicts = stage.undo(*every)
    assert conflicts == ("a: line 1 was changed by both", "a: a later change of the file could not be undone")
    assert (stage.root / "a").read_bytes() == b"mine\n"


def test_large_files_go_back_whole_or_not_at_all(stage: Stage) -> None:
    old, new = os.urandom(LARGE + 1), os.urandom(LARGE + 2)
    put(stage.root, "a", old)
    kept = stage.apply(FileChange("a", old, new))
    (stage.root / "a").write_bytes(new + b"1")
    assert stage.undo(kept) == ("a: the file has changed since then, and is too large to merge",)
    (stage.root / "a").write_bytes(new)
    assert stage.undo(kept) == ()
    assert (stage.root / "a").read_bytes() == old


def test_links_go_back_too(stage: Stage) -> None:
    (stage.root / "a").symlink_to("old")
    kept = stage.apply(FileChange("a", b"old", b"new", link=True))
    (stage.root / "a").unlink()
    (stage.root / "a").symlink_to("mine")
    assert stage.undo(kept) == ("a: the target of the link has changed since then",)
    (stage.root / "a").unlink()
    put(stage.root, "a", b"file")
    assert stage.undo(kept) == ("a: it is no symbolic link any more",)
    (stage.root / "a").unlink()
    (stage.root / "a").symlink_to("new")
    assert stage.undo(kept) == ()
    assert os.readlink(stage.root / "a") == "old"


def test_a_path_that_leads_out_is_not_read(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (stage.root / "link").symlink_to(tmp_path / "out")
    with pytest.raises(PermissionError, match="outside the workspace"):
        reader(stage.root)("link/x")


@pytest.mark.spec("CHG-3")
@given(changed())
def test_any_change_goes_back_from_the_history(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[dict[str, tuple[bytes, int]], tuple[FileChange, ...]]
) -> None:
    tree, changes = case
    stage = Stage(tmp_path_factory.mktemp("any"))
    for name, (content, mode) in tree.items():
        put(stage.root, name, content, mode)
    before = stage.files()
    kept = stage.apply(*changes)
    assert stage.undo(kept) == ()
    assert stage.files() == before


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=12).map(b"".join)


@given(lines, lines, lines)
def test_after_edits_of_others_it_is_merged_or_named_and_no_byte_is_lost(
    tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes, later: bytes
) -> None:
    stage = Stage(tmp_path_factory.mktemp("any"))
    put(stage.root, "a", old)
    kept = stage.apply(FileChange("a", old, new))
    put(stage.root, "a", later)
    conflicts = stage.undo(kept)
    found = (stage.root / "a").read_bytes()
    if conflicts:
        assert found == later
    elif later == new:
        assert found == old


def test_something_else_than_a_file_is_a_conflict_and_the_rest_goes_back(stage: Stage) -> None:
    put(stage.root, "a", b"1")
    put(stage.root, "b", b"1")
    first = stage.apply(FileChange("b", b"1", b"2"))
    second = stage.apply(FileChange("a", b"1", b"2"))
    (stage.root / "a").unlink()
    (stage.root / "a").mkdir()
    found = stage.plan(first, second)
    assert found.undone == (first,)
    assert found.conflicts == ("a: is not a regular file",)
    assert stage.undo(first, second) == found.conflicts
    assert (stage.root / "b").read_bytes() == b"1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_deleted_file_comes_back_with_its_owner(stage: Stage) -> None:
    for name in ("a", "b"):
        put(stage.root, name, b"1", 0o640)
        os.chown(stage.root / name, 1234, 2345)
    kept = [
        stage.apply(FileChange("a", b"1", None)),
        stage.apply(FileChange("b", b"1", b"2"), FileChange("c", None, b"")),
    ]
    kept.append(stage.apply(FileChange("b", b"2", None)))
    again = [stage.history.numbered("s1", each.number) for each in kept]  # as a later process reads it
    assert stage.undo(*(each for each in again if each is not None)) == ()
    for name in ("a", "b"):
        found = (stage.root / name).stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 2345, 0o640)

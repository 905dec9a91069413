"""Change sets on real files: all or nothing, and never outside."""

import os
import stat
from pathlib import Path

import pytest

from callgate.host.applying.apply import apply_changes
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from tests.rows import rows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def apply(root: Path, *changes: FileChange) -> None:
    apply_changes(ChangeSet("change", changes), root)


def snapshot(folder: Path) -> dict[str, str]:
    """Everything there is, with symlinks as their targets, so that litter shows."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = "folder" if path.is_dir() else path.read_bytes().decode()
    return found


def refused(root: Path, *changes: FileChange, match: str) -> None:
    before = snapshot(root.parent)
    with pytest.raises(ToolFailure, match=match):
        apply(root, *changes)
    assert snapshot(root.parent) == before, "a refused change set leaves everything as it was"


def test_files_are_created_replaced_and_deleted_together(root: Path) -> None:
    (root / "old").write_bytes(b"old")
    (root / "gone").write_bytes(b"gone")
    apply(
        root,
        FileChange("deep/er/new", None, b"new"),
        FileChange("old", b"old", b"newer"),
        FileChange("gone", b"gone", None),
    )
    assert snapshot(root) == {"deep": "folder", "deep/er": "folder", "deep/er/new": "new", "old": "newer"}


def test_absolute_paths_inside_the_workspace_are_fine(root: Path) -> None:
    apply(root, FileChange(str(root / "a"), None, b"1"))
    assert snapshot(root) == {"a": "1"}


def test_every_difference_is_named_and_nothing_is_written(root: Path) -> None:
    for name in ("same", "longer", "other", "there"):
        (root / name).write_bytes(b"now")
    with pytest.raises(ToolFailure) as caught:
        apply(
            root,
            FileChange("same", b"now", b"new"),
            FileChange("longer", b"before", b"new"),
            FileChange("other", b"was", b"new"),
            FileChange("there", None, b"new"),
            FileChange("missing", b"was", b"new"),
        )
    text = str(caught.value)
    assert "same" not in text
    for difference in (
        "longer: has different content: line 1 is now 'now', was 'before'",
        "other: has different content",
        "there: exists already",
        "missing: does not exist",
    ):
        assert difference in text
    assert set(snapshot(root).values()) == {"now"}


def test_many_differences_are_told_in_short(root: Path) -> None:
    changes = [FileChange(f"file{number}", b"was", b"new") for number in range(100)]
    with pytest.raises(ToolFailure, match="and 95 more") as caught:
        apply(root, *changes)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/etc/callgate", "link/out", "link/../out"])
def test_a_path_that_leaves_the_workspace_is_refused(root: Path, path: str) -> None:
    (root.parent / "elsewhere").mkdir()
    (root / "link").symlink_to("../elsewhere")
    refused(root, FileChange("fine", None, b"x"), FileChange(path, None, b"x"), match="outside the workspace")


@rows("path", ["", ".", "..", "a/", "a/..", "\0", "a\0b", "\ud800"])
def test_what_is_no_file_name_is_refused(root: Path, path: str) -> None:
    refused(root, FileChange(path, None, b"x"), match="does not name a file|not a valid path")


def test_an_absurdly_long_name_is_refused(root: Path) -> None:
    refused(root, FileChange("n" * 300, None, b"x"), match="too long")


def test_a_symlink_is_never_replaced_or_followed(root: Path) -> None:
    secret = root.parent / "secret"
    secret.write_bytes(b"secret")
    (root / "out").symlink_to(secret)
    (root / "in").symlink_to("real")
    (root / "real").write_bytes(b"real")
    (root / "dangling").symlink_to("nowhere")
    refused(root, FileChange("out", b"secret", b"x"), match="out: is a symbolic link")
    refused(root, FileChange("in", b"real", b"x"), match="in: is a symbolic link")
    refused(root, FileChange("dangling", None, b"x"), match="dangling: is a symbolic link")
    refused(root, FileChange("in", b"real", None), match="in: is a symbolic link")


def test_a_linked_folder_inside_the_workspace_may_be_used(root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    apply(root, FileChange("link/a", None, b"1"))
    assert (root / "real/a").read_bytes() == b"1"
    refused(root, FileChange("link/a", b"1", b"2"), FileChange("real/a", b"1", b"3"), match="changed twice")


def test_only_regular_files_are_touched(root: Path) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolFailure, match="folder: is not a regular file; pipe: is not a regular file"):
        apply(root, FileChange("folder", None, b"x"), FileChange("pipe", b"", b"x"))


def test_a_parent_that_is_a_file_is_refused(root: Path) -> None:
    (root / "file").write_bytes(b"1")
    refused(root, FileChange("other", None, b"x"), FileChange("file/below", None, b"x"), match="file/below")


def test_a_failure_half_way_puts_everything_back(root: Path) -> None:
    (root / "replaced").write_bytes(b"old")
    (root / "replaced").chmod(0o751)
    (root / "deleted").write_bytes(b"old")
    inode = (root / "replaced").stat().st_ino
    refused(
        root,
        FileChange("replaced", b"old", b"new"),
        FileChange("deleted", b"old", None),
        FileChange("new/deep/file", None, b"new"),
        FileChange("new", None, b"is a folder by now"),
        match="Could not write new: File exists; nothing was changed",
    )
    assert stat.S_IMODE((root / "replaced").stat().st_mode) == 0o751
    assert (root / "replaced").stat().st_ino == inode, "the very same file is back"


def test_a_failure_while_staging_leaves_no_litter(root: Path) -> None:
    refused(
        root,
        FileChange("made/here/a", None, b"1"),
        FileChange("b", None, b"1"),
        FileChange("c" * 240 + "/" + "d" * 300, None, b"1"),
        match="too long",
    )


def test_a_file_system_without_hard_links_will_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    (root / "a").write_bytes(b"1")
    (root / "a").chmod(0o640)
    refused(root, FileChange("a", b"1", b"2"), FileChange("n/m", None, b"1"), FileChange("n", None, b""), match="n: ")
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640
    apply(root, FileChange("a", b"1", b"2"), FileChange("b", None, b"1"))
    assert snapshot(root) == {"a": "2", "b": "1"}


def test_a_change_by_somebody_else_between_check_and_write_is_noticed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"1")
    (root / "b").write_bytes(b"1")
    replace = os.replace

    def replaced_while_b_changes(source: str, target: str, **where: int) -> None:
        replace(source, target, **where)
        (root / "b").write_bytes(b"theirs")

    monkeypatch.setattr(os, "replace", replaced_while_b_changes)
    with pytest.raises(ToolFailure, match=r"Could not write b: .*another program"):
        apply(root, FileChange("a", b"1", b"2"), FileChange("b", b"1", b"2"))
    assert snapshot(root) == {"a": "1", "b": "theirs"}


def test_what_cannot_be_put_back_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_bytes(b"1")
    replace, count = os.replace, iter(range(10))

    def only_once(source: str, target: str, **where: int) -> None:
        if next(count):
            raise OSError("the disk is gone")
        replace(source, target, **where)

    monkeypatch.setattr(os, "replace", only_once)
    with pytest.raises(ToolFailure, match="could not restore a"):
        apply(root, FileChange("a", b"1", b"2"), FileChange("n/m", None, b"1"), FileChange("n", None, b""))


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o444])
def test_the_mode_is_kept(root: Path, mode: int) -> None:
    (root / "a").write_bytes(b"1")
    (root / "a").chmod(mode)
    apply(root, FileChange("a", b"1", b"2"))
    assert stat.S_IMODE((root / "a").stat().st_mode) == mode
    assert (root / "a").read_bytes() == b"2"


def test_new_files_get_the_usual_mode(root: Path) -> None:
    before = os.umask(0o027)
    try:
        apply(root, FileChange("a", None, b"1"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_an_empty_change_set_is_fine(root: Path) -> None:
    apply(root)
    apply(root, FileChange("never/there", None, None))
    assert snapshot(root) == {}

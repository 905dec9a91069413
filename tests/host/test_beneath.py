"""Opening beneath a folder, also while another program swaps folders."""

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given

from callgate.host import beneath
from callgate.host.applying.apply import apply_changes
from callgate.host.beneath import OpenFolder
from callgate.host.files import write_new
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from tests.host.test_paths import PARTS, TREES, grow
from tests.rows import rows

pytestmark = pytest.mark.spec("GATE-3a")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/file").write_bytes(b"deep")
    (folder / "file").write_bytes(b"top")
    (folder.parent / "secret").write_bytes(b"secret")
    return folder


def read(root: Path, path: str) -> bytes:
    *folders, name = path.split("/")
    with OpenFolder.held(str(root)) as top, top.below(folders) as folder, open(folder.opened(name), "rb") as file:
        return file.read()


def refused(root: Path, path: str, code: int, words: str) -> None:
    with pytest.raises(OSError, match=words) as caught:
        read(root, path)
    assert caught.value.errno == code


@contextmanager
def no_descriptor_is_left() -> Iterator[None]:
    probe = os.dup(0)
    os.close(probe)
    yield
    again = os.dup(0)
    os.close(again)
    assert again == probe


def test_a_file_beneath_is_opened(root: Path) -> None:
    with no_descriptor_is_left():
        assert (read(root, "file"), read(root, "deep/file")) == (b"top", b"deep")


@rows("path", ["../secret", "deep/../../secret", "/etc/passwd", "./file", "deep//file", "deep/", ".", "..", ""])
def test_what_is_no_name_is_refused(root: Path, path: str) -> None:
    with no_descriptor_is_left():
        refused(root, path, errno.EINVAL, "is not a valid name")


@rows("path", ["a\0b", "file\0", "\ud800", "deep\0/file", "\ud800/file"])
def test_a_name_that_no_system_has_is_refused(root: Path, path: str) -> None:
    refused(root, path, errno.EINVAL, "is not a valid name")


@rows("target", ["file", "deep/er", "../secret", "/etc/passwd", "/etc", "link", "nowhere"])
def test_links_are_refused_wherever_they_lead(root: Path, target: str) -> None:
    link = root / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    with no_descriptor_is_left():
        refused(root, "link", errno.ELOOP, "contains a symbolic link")
        refused(root, "link/file", errno.ELOOP, "contains a symbolic link")


def test_what_is_no_regular_file_is_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with no_descriptor_is_left():
        for path in ("pipe", "deep", "deep/er"):
            refused(root, path, errno.EINVAL, "is not a regular file")


def test_a_file_is_no_folder_and_what_is_missing_is_missing(root: Path) -> None:
    with no_descriptor_is_left():
        refused(root, "file/x", errno.ENOTDIR, "Not a directory")
        refused(root, "none", errno.ENOENT, "No such file")
        refused(root, "none/x", errno.ENOENT, "No such file")
    with pytest.raises(NotADirectoryError):
        read(root / "file", "x")


def test_a_folder_is_held_whatever_becomes_of_its_name(root: Path) -> None:
    with OpenFolder.held(str(root)) as top, top.below(("deep",)) as deep:
        (root / "deep").rename(root / "moved")
        (root / "deep").symlink_to("..")
        with open(deep.opened("file"), "rb") as file:
            assert file.read() == b"deep"
        assert deep.status("file").st_size == 4
        with pytest.raises(OSError, match="symbolic link"), top.below(("deep",)):
            pass
    with OpenFolder.held(str(root)) as top, top.below(()) as same:
        assert same.status("file").st_size == 3


def test_where_folders_cannot_be_held_paths_will_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "HOLDS_FOLDERS", False)
    with OpenFolder.held(str(root)) as top, top.below(("deep",)) as deep:
        assert (top.descriptor, deep.descriptor) == (None, None)
        assert deep.of("file") == f"{root}/deep/file"
        with open(deep.opened("file"), "rb") as file:
            assert file.read() == b"deep"
    change_everything(root)


def change_everything(root: Path) -> None:
    changes = (
        FileChange("new/er/file", None, b"new"),
        FileChange("deep/file", b"deep", b"changed"),
        FileChange("file", b"top", None),
    )
    apply_changes(ChangeSet("all", changes), root)
    assert (root / "new/er/file").read_bytes() == b"new"
    assert (root / "deep/file").read_bytes() == b"changed"
    assert sorted(path.name for path in root.rglob("*")) == ["deep", "er", "er", "file", "file", "new"]


def test_a_change_set_is_applied_beneath(root: Path) -> None:
    with no_descriptor_is_left():
        change_everything(root)


def test_a_workspace_that_is_not_there_is_said(root: Path) -> None:
    with pytest.raises(ToolFailure, match="cannot be opened: No such file"):
        apply_changes(ChangeSet("c", (FileChange("a", None, b""),)), root / "none")


def test_a_folder_swapped_half_way_is_not_followed_to_put_things_back(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"outside")
    replace = os.replace

    def swapping(source: str, target: str, **where: int) -> None:
        replace(source, target, **where)
        (root / "deep").rename(root / "away")
        (root / "deep").symlink_to(outside)
        (root / "file").write_bytes(b"theirs")

    monkeypatch.setattr(os, "replace", swapping)
    changes = (
        FileChange("never", None, None),
        FileChange("deep/file", b"deep", b"1"),
        FileChange("file", b"top", b"1"),
    )
    with pytest.raises(
        ToolFailure, match=r"Could not write file: another program has just changed it.* restore deep/file"
    ):
        apply_changes(ChangeSet("c", changes), root)
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_bytes() == b"outside"
    assert (root / "file").read_bytes() == b"theirs"


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can give files away")
def test_a_file_keeps_its_owner(root: Path) -> None:
    os.chown(root / "file", 65534, 65533)
    apply_changes(ChangeSet("c", (FileChange("file", b"top", b"1"),)), root)
    assert ((root / "file").stat().st_uid, (root / "file").stat().st_gid) == (65534, 65533)


def test_a_new_file_that_cannot_be_finished_is_not_left(root: Path) -> None:
    def fails(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        write_new(root / "new", b"1", 0o600, prepare=fails)
    assert not (root / "new").exists()


@given(TREES, PARTS.map("/".join))
def test_a_file_is_opened_if_and_only_if_its_path_is_its_real_one(tree: list[tuple[str, str, str]], path: str) -> None:
    with tempfile.TemporaryDirectory() as name, no_descriptor_is_left():
        root = grow(tree, Path(os.path.realpath(name)))
        whole = root / path
        plain = os.path.realpath(whole) == f"{root}/{path}" and whole.is_file()
        try:
            found = read(root, path)
        except OSError:
            assert not plain
        else:
            assert plain
            assert found == whole.read_bytes()


SWAPS = 200


@contextmanager
def somebody_swapping(root: Path) -> Iterator[None]:
    """``d`` is now the folder, now a link out, now nothing, as fast as it goes."""
    done = threading.Event()

    def swap() -> None:
        moves: list[Callable[[], object]] = [
            lambda: (root / "d").rename(root / "away"),
            lambda: (root / "d").symlink_to(root.parent / "outside"),
            lambda: (root / "d").unlink(),
            lambda: (root / "away").rename(root / "d"),
            lambda: shutil.rmtree(root / "away"),  # whoever writes may have made the folder anew meanwhile
        ]
        while not done.is_set():
            for move in moves:
                with suppress(OSError):
                    move()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_nobody_gets_a_reader_out_by_swapping_folders(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/file").write_bytes(b"inside")
    (root.parent / "outside").mkdir()
    (root.parent / "outside/file").write_bytes(b"outside")
    seen: set[bytes | int | None] = set()
    with somebody_swapping(root):
        for _ in range(SWAPS * 10):
            try:
                seen.add(read(root, "d/file"))
            except OSError as error:
                seen.add(error.errno)
    assert b"outside" not in seen


def test_nobody_gets_a_writer_out_by_swapping_folders(root: Path) -> None:
    (root / "d").mkdir()
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "old").write_bytes(b"old")
    with somebody_swapping(root):
        for number in range(SWAPS):
            for change in (
                FileChange(f"d/new/{number}", None, b"new"),
                FileChange("d/old", None, b"old"),
                FileChange("d/old", b"old", b"new"),
                FileChange("d/old", b"new", None),
            ):
                with suppress(ToolFailure):
                    apply_changes(ChangeSet("c", (change,)), root)
    assert [path.name for path in outside.rglob("*")] == ["old"]
    assert (outside / "old").read_bytes() == b"old"

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
from callgate.host.applying import apply_changes
from callgate.host.beneath import Links, OpenFolder, open_beneath
from callgate.host.files import write_new
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from tests.host.test_paths import PARTS, TREES, grow

pytestmark = pytest.mark.spec("GATE-3a")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/file").write_bytes(b"deep")
    (folder / "file").write_bytes(b"top")
    (folder.parent / "secret").write_bytes(b"secret")
    return folder


def read(root: int | str | Path, path: str, links: Links = "follow") -> bytes:
    with open(open_beneath(root, path, os.O_RDONLY, links=links), "rb") as file:
        return file.read()


def refused(root: int | str | Path, path: str, code: int, words: str, links: Links = "follow") -> None:
    with pytest.raises(OSError, match=words) as caught:
        read(root, path, links)
    assert caught.value.errno == code
    assert caught.value.filename == path


@contextmanager
def no_descriptor_is_left() -> Iterator[None]:
    probe = os.dup(0)
    os.close(probe)
    yield
    again = os.dup(0)
    os.close(again)
    assert again == probe


@pytest.mark.parametrize(
    "path", ["deep/file", "./deep/./file", "deep//file", "deep/er/../file", "deep/er/../../deep/file"]
)
def test_a_file_beneath_is_opened(root: Path, path: str) -> None:
    with no_descriptor_is_left():
        assert read(root, path) == read(str(root), path, "refuse") == b"deep"
        top = os.open(root, os.O_RDONLY)
        assert read(top, path) == b"deep"
        os.close(top)


@pytest.mark.parametrize("links", ["follow", "refuse"])
@pytest.mark.parametrize(
    "path", ["..", "../secret", "deep/../../secret", "../root/file", "/etc/passwd", "deep/er/../../.."]
)
def test_what_leaves_is_refused(root: Path, path: str, links: Links) -> None:
    with no_descriptor_is_left():
        refused(root, path, errno.EXDEV, "leads out of the folder", links)


def test_an_absolute_path_may_spell_the_root(root: Path) -> None:
    assert read(root, f"{root}/deep/file") == b"deep"
    refused(root, f"{root}-evil/file", errno.EXDEV, "leads out")
    top = os.open(root, os.O_RDONLY)
    refused(top, f"{root}/deep/file", errno.EXDEV, "leads out")
    os.close(top)


@pytest.mark.parametrize(
    ("target", "rest"),
    [
        ("file", ""),
        ("./deep/file", ""),
        ("ROOT/deep/file", ""),
        ("deep", "/file"),
        ("ROOT/deep", "/file"),
        ("ROOT", "/file"),
    ],
)
def test_links_that_stay_beneath_are_followed_or_refused(root: Path, target: str, rest: str) -> None:
    (root / "deep/link").symlink_to(
        "../" + target if not target.startswith("ROOT") else target.replace("ROOT", str(root))
    )
    with no_descriptor_is_left():
        assert read(root, f"deep/link{rest}") in (b"top", b"deep")
        refused(root, f"deep/link{rest}", errno.ELOOP, "leads over a symbolic link", "refuse")


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "deep/../../secret", "ROOT-evil/x"])
@pytest.mark.parametrize("links", ["follow", "refuse"])
def test_links_that_leave_are_refused(root: Path, target: str, links: Links) -> None:
    (root / "link").symlink_to(target.replace("ROOT", str(root)))
    code = errno.EXDEV if links == "follow" else errno.ELOOP
    with no_descriptor_is_left():
        refused(root, "link", code, "leads", links)


def test_a_loop_ends(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "again").symlink_to("deep/../again/x")
    with no_descriptor_is_left():
        refused(root, "loop", errno.ELOOP, "too many links")
        refused(root, "loop/x", errno.ELOOP, "too many links")
        refused(root, "again", errno.ELOOP, "too many links")


def test_what_is_no_regular_file_is_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("pipe")
    with no_descriptor_is_left():
        for path in ("pipe", "link", "deep", ".", "deep/", "deep/.", "deep/er/.."):
            refused(root, path, errno.EINVAL, "is not a regular file")
        with pytest.raises(OSError, match="No such device or address"):
            open_beneath(root, "pipe", os.O_WRONLY)


def test_a_folder_is_opened_if_one_is_asked_for(root: Path) -> None:
    (root / "link").symlink_to("deep/er")
    for path in ("deep", "deep/", "deep/er/..", "link/.."):
        found = open_beneath(root, path, os.O_RDONLY | os.O_DIRECTORY)
        assert os.listdir(found)
        os.close(found)
    with pytest.raises(NotADirectoryError):
        open_beneath(root, "file", os.O_RDONLY | os.O_DIRECTORY)


@pytest.mark.parametrize("path", ["file/", "file/x", "file/.", "file/../file"])
def test_a_file_is_no_folder(root: Path, path: str) -> None:
    refused(root, path, errno.ENOTDIR, "Not a directory")


@pytest.mark.parametrize("path", ["a\0b", "file\0", "\ud800"])
def test_a_name_that_no_system_has_is_refused(root: Path, path: str) -> None:
    refused(root, path, errno.EINVAL, "is not a usable path")


def test_what_is_missing_is_missing_unless_it_is_made(root: Path) -> None:
    refused(root, "none", errno.ENOENT, "No such file")
    refused(root, "none/x", errno.ENOENT, "No such file")
    made = open_beneath(root, "deep/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
    assert os.get_blocking(made)
    assert not os.get_inheritable(made)
    os.close(made)
    assert (root / "deep/new").stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileExistsError):
        open_beneath(root, "deep/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    (root / "dangling").symlink_to("deep/made")
    os.close(open_beneath(root, "dangling", os.O_WRONLY | os.O_CREAT))
    assert (root / "deep/made").exists()
    (root / "out").symlink_to("../made")
    with pytest.raises(OSError, match="leads out"):
        open_beneath(root, "out", os.O_WRONLY | os.O_CREAT)
    assert not (root.parent / "made").exists()


def test_whoever_wants_not_to_wait_need_not(root: Path) -> None:
    found = open_beneath(root, "file", os.O_RDONLY | os.O_NONBLOCK)
    assert not os.get_blocking(found)
    os.close(found)


def test_a_root_that_is_no_folder_is_refused(root: Path) -> None:
    with pytest.raises(NotADirectoryError):
        open_beneath(root / "file", "x", os.O_RDONLY)


def test_an_error_without_words_gets_some() -> None:
    assert beneath._why(OSError("gone"), "follow") == "gone"  # pyright: ignore[reportPrivateUsage]


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
        ToolFailure, match=r"Could not write file: it was changed by another program .* put back deep/file"
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
def test_a_file_is_opened_if_and_only_if_its_real_path_is_beneath(tree: list[tuple[str, str, str]], path: str) -> None:
    with tempfile.TemporaryDirectory() as name, no_descriptor_is_left():
        folder = Path(os.path.realpath(name))
        root = grow(tree, folder)
        real = Path(os.path.realpath(root / path))
        found = opened(root, path, "follow")
        assert found != b"outside"
        if found is not None:
            assert real.is_relative_to(root)
            assert found == real.read_bytes()
        assert opened(root, path, "refuse") in (None, found)


def opened(root: Path, path: str, links: Links) -> bytes | None:
    try:
        return read(root, path, links)
    except OSError:
        return None


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


@pytest.mark.parametrize("links", ["follow", "refuse"])
def test_nobody_gets_a_reader_out_by_swapping_folders(root: Path, links: Links) -> None:
    (root / "d").mkdir()
    (root / "d/file").write_bytes(b"inside")
    (root.parent / "outside").mkdir()
    (root.parent / "outside/file").write_bytes(b"outside")
    seen: set[bytes | int | None] = set()
    with somebody_swapping(root):
        for _ in range(SWAPS * 10):
            try:
                seen.add(read(root, "d/file", links))
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

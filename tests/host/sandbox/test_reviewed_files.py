"""Files count as changed after the last review, by a time that no program can set."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.host.sandbox.reviewed_files import ReviewedFiles
from tests.rows import rows


def reviewed(base: Path) -> ReviewedFiles:
    """The files of a workspace with a few files, as a session that begins now finds them."""
    root = base / "work"
    for folder in ("src/deep", ".git/hooks", "old"):
        (root / folder).mkdir(parents=True)
    for name in ("Makefile", "src/a.py", "src/deep/b.py", "old/c.py"):
        (root / name).write_text("old")
    files = ReviewedFiles(str(root), base / "data")
    files.advance(time.time_ns() + 10_000_000)  # later than the clock of the file system
    return files


def settled(root: Path) -> None:
    """Wait until the clock of the file system is later than the review."""
    end = time.time_ns() + 10_000_000
    while (root / ".git" / "tick").write_text("x") and (root / ".git" / "tick").stat().st_ctime_ns <= end:
        pass


def back_in_time(root: Path) -> None:
    (root / "Makefile").write_text("new")
    os.utime(root / "Makefile", (1, 1))


CHANGES: list[tuple[Callable[[Path], object], str | None]] = [
    (lambda root: None, None),
    (lambda root: (root / ".git/hooks/x").write_text("x"), None),
    (lambda root: (root / "Makefile").write_text("new"), "Makefile changed"),
    (lambda root: (root / "src/deep/b.py").write_text("new"), "src/deep/b.py changed"),
    (lambda root: (root / "new.mk").write_text("new"), "new.mk changed"),
    (lambda root: (root / "src/.hidden").write_text("new"), "src/.hidden changed"),
    (back_in_time, "Makefile changed"),
    (lambda root: (root / "Makefile").chmod(0o755), "Makefile changed"),
    (lambda root: (root / "old/c.py").rename(root / "src/deep/d.py"), "src/deep/d.py changed"),
    (lambda root: (root / "old").rename(root / "src/old"), "src changed"),
    (lambda root: (root / "src/link").symlink_to("/etc"), "src/link changed"),
    (lambda root: (root / "src/hard").hardlink_to(root / "Makefile"), "Makefile changed"),
    (lambda root: (root / "src/a.py").unlink(), "src changed"),
    (lambda root: shutil.copytree(root / "old", root / "copy"), "copy/c.py changed"),
]


@pytest.mark.spec("GATE-18")
@rows("change, said", CHANGES)
def test_a_change_after_the_review_is_named(change: Callable[[Path], object], said: str | None, tmp_path: Path) -> None:
    base = tmp_path / str(time.time_ns())
    files = reviewed(base)
    settled(base / "work")
    change(base / "work")
    assert files.first_changed() == (said and f"{said} since the user last allowed this")


def test_the_next_session_continues_with_the_last_review(tmp_path: Path) -> None:
    files = reviewed(tmp_path)
    settled(tmp_path / "work")
    (tmp_path / "work/Makefile").write_text("new")
    again = ReviewedFiles(str(tmp_path / "work"), tmp_path / "data")
    assert again.first_changed() == "Makefile changed since the user last allowed this"
    files.advance(time.time_ns() + 10_000_000)
    assert again.first_changed() is None
    assert ReviewedFiles("/elsewhere", tmp_path / "data").root == "/elsewhere"


def test_a_session_in_a_folder_above_or_below_continues_with_the_earlier_review(tmp_path: Path) -> None:
    files = reviewed(tmp_path)
    files.advance(1)
    for folder in (tmp_path / "work/src", tmp_path):
        assert ReviewedFiles(str(folder), tmp_path / "data").first_changed() is not None
    (tmp_path / "link").symlink_to(tmp_path / "work")
    assert ReviewedFiles(str(tmp_path / "link"), tmp_path / "data").first_changed() is not None
    (tmp_path / "apart").mkdir()
    assert ReviewedFiles(str(tmp_path / "apart"), tmp_path / "data").first_changed() is None


def test_without_a_place_for_the_review_every_command_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert ReviewedFiles(str(tmp_path), tmp_path / "data").first_changed() == "the time of the last review is unknown"


@pytest.mark.spec("GATE-18")
@rows("name", ["", "src", "src/deep"])
def test_a_folder_that_cannot_be_listed_counts_as_changed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ``chmod 311`` a user cannot list a folder, and programs still open the files in it. Root can list it."""
    files = reviewed(tmp_path / f"base{len(name)}")
    closed, scandir = os.path.join(files.root, name).rstrip("/"), os.scandir
    os.makedirs(closed, exist_ok=True)
    files.advance(time.time_ns() + 10**12)
    assert files.first_changed() is None

    def denied(path: str) -> object:
        if path == closed:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as changed:
        changed.setattr(os, "scandir", denied)
        assert str(files.first_changed()).endswith("cannot be listed")

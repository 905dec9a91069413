"""What a program that died left half applied, and what others did to the files meanwhile."""

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.host.applying.apply import apply_changes
from callgate.host.applying.journal import lock_journal
from callgate.host.applying.recovery import Recovered, recover
from callgate.host.local import LocalHost
from callgate.testing import run_virtual
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import HalfApplied, ToolFailure
from tests.crash.changed import World, change, make, seen
from tests.crash.dying import dies_after

FILES = 6


class Stage:
    """A workspace, its journal, and an apply that dies at a chosen moment."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.journal = folder / "root", folder / "journal"
        self.root.mkdir()
        make(self.root, FILES)
        self.old = seen(self.root)
        self._patch = monkeypatch

    def die_after(self, commits: int) -> None:
        """It dies when so many files are in their places."""
        with dies_after(commits, self._patch):
            apply_changes(change(FILES), self.root, self.journal, "s1/1")

    def recover(self) -> Recovered:
        (found,) = recover(self.root, self.journal)
        assert (found.label, found.kept) == ("all at once", "s1/1")
        assert recover(self.root, self.journal) == []
        return found

    def new(self, folder: Path) -> World:
        folder.mkdir()
        make(folder, FILES)
        apply_changes(change(FILES), folder)
        return seen(folder)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize("commits", range(1, 7))
def test_what_was_ready_is_finished(stage: Stage, commits: int, tmp_path: Path) -> None:
    stage.die_after(commits)
    found = stage.recover()
    assert (found.outcome, found.left) == ("finished", ())
    assert len(found.paths) == FILES + 1
    assert seen(stage.root) == stage.new(tmp_path / "new")


@pytest.mark.parametrize("commits", range(1, 6))
def test_where_somebody_changed_a_file_meanwhile_all_others_go_back(stage: Stage, commits: int) -> None:
    """The last file of the change was still old when the program died, and is not any more."""
    stage.die_after(commits)
    (stage.root / "f1" / "5.txt").unlink()
    (stage.root / "f1" / "5.txt").write_bytes(b"mine")
    found = stage.recover()
    assert found.outcome == "undone"
    assert found.left == ("f1/5.txt: another program has changed it since",)
    now = seen(stage.root)
    assert now.pop("f1/5.txt")[1] == b"mine"
    del stage.old["f1/5.txt"]
    assert now == stage.old


def test_what_cannot_be_brought_back_is_named_and_nothing_of_it_is_lost(stage: Stage) -> None:
    stage.die_after(3)
    for kept in (*stage.root.rglob("*.old"), *stage.root.rglob("*.new")):
        kept.unlink()
    (stage.root / "f1" / "5.txt").unlink()
    (stage.root / "f1" / "5.txt").write_bytes(b"mine")
    found = stage.recover()
    assert found.outcome == "undone"
    assert "f0/0.txt: its old content is no longer stored" in found.left
    assert (stage.root / "f0" / "0.txt").read_bytes().startswith(b"new 0")


def test_the_next_apply_first_finishes_the_last_one(stage: Stage, tmp_path: Path) -> None:
    stage.die_after(2)
    apply_changes(ChangeSet("next", (FileChange("next", None, b"1"),)), stage.root, stage.journal)
    now = seen(stage.root)
    assert now.pop("next")[1] == b"1"
    assert now == stage.new(tmp_path / "new")


@pytest.mark.parametrize("text", [b"", b"{", b"{}\n", b"[]\nready\n", b'{"label": "x"}\nready\n'])
def test_a_journal_that_was_cut_off_had_changed_nothing(stage: Stage, text: bytes) -> None:
    stage.journal.mkdir()
    (stage.journal / "1.apply").write_bytes(text)
    (found,) = recover(stage.root, stage.journal)
    assert (found.outcome, found.paths) == ("undone", ())
    assert seen(stage.root) == stage.old
    assert not list(stage.journal.glob("*.apply"))


def test_one_that_was_done_is_only_tidied_up(stage: Stage) -> None:
    """The files have gone their own way since; nothing but what is beside them is touched."""
    stage.die_after(6)
    (file,) = stage.journal.glob("*.apply")
    with file.open("ab") as out:
        out.write(b"finished\n")
    (stage.root / "f0" / "0.txt").write_bytes(b"mine")
    assert recover(stage.root, stage.journal) == []
    assert (stage.root / "f0" / "0.txt").read_bytes() == b"mine"
    assert (stage.root / "new1" / "deep" / "1.txt").exists()
    assert not [name for name in seen(stage.root) if "callgate" in name]
    assert not list(stage.journal.glob("*.apply"))


def test_litter_that_cannot_be_removed_is_removed_the_next_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., None] = os.unlink

    def unlink(path: Any, *, dir_fd: int | None = None) -> None:
        if str(path).endswith(".old"):
            raise OSError(5, "Input/output error")
        real(path, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        apply_changes(change(FILES), stage.root, stage.journal)
    assert [name for name in seen(stage.root) if name.endswith(".old")]
    assert recover(stage.root, stage.journal) == []
    assert not [name for name in seen(stage.root) if "callgate" in name]


def test_a_journal_that_cannot_be_kept_changes_nothing(tmp_path: Path, stage: Stage) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ToolFailure, match="Nothing was changed: the journal cannot be written in"):
        apply_changes(change(FILES), stage.root, tmp_path / "file" / "journal")
    assert seen(stage.root) == stage.old


def test_the_journal_is_private_and_says_nothing_of_the_contents(stage: Stage) -> None:
    stage.die_after(1)
    (file,) = stage.journal.glob("*.apply")
    assert stage.journal.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    told = json.loads(file.read_bytes().split(b"\n")[0])
    assert "new 0" not in json.dumps(told)


def test_two_who_apply_wait_for_each_other(stage: Stage) -> None:
    begun, ended = threading.Event(), list[str]()

    def other() -> None:
        begun.set()
        apply_changes(ChangeSet("other", (FileChange("other", None, b""),)), stage.root, stage.journal)
        ended.append("other")

    thread = threading.Thread(target=other)
    with lock_journal(stage.journal):
        thread.start()
        begun.wait()
        ended.append("first")
    thread.join()
    assert ended == ["first", "other"]


def test_a_host_recovers_what_it_has_a_journal_of(stage: Stage) -> None:
    stage.die_after(2)
    host = LocalHost(stage.root, journal=stage.journal)
    (found,) = run_virtual(host.recover())
    assert found.outcome == "finished"
    assert run_virtual(LocalHost(stage.root).recover()) == []
    assert recover(stage.root, stage.journal / "none") == []


def test_what_was_cut_short_in_another_workspace_is_left_to_who_works_there(stage: Stage, tmp_path: Path) -> None:
    stage.die_after(2)
    other = tmp_path / "other"
    other.mkdir()
    assert recover(other, stage.journal) == []
    assert list(stage.journal.glob("*.apply"))
    assert stage.recover().outcome == "finished"


class ReadOnly:
    """A disk on which no name can be changed, as the kernel says it of a read-only one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: str = "") -> None:
        self._patch = monkeypatch.context()
        self._folder = folder

    def __enter__(self) -> None:
        patch = self._patch.__enter__()
        for name in ("replace", "link", "unlink", "mkdir", "rmdir", "symlink"):
            patch.setattr(os, name, self._refusing(getattr(os, name)))

    def __exit__(self, *_: object) -> None:
        self._patch.__exit__(None, None, None)

    def _refusing(self, real: Callable[..., None]) -> Callable[..., None]:
        def refuse(path: Any, *more: Any, **where: Any) -> None:
            at = next((each for key, each in where.items() if key.endswith("dir_fd") and each is not None), None)
            if at is not None and self._folder in os.readlink(f"/proc/self/fd/{at}"):
                raise OSError(errno.EROFS, "Read-only file system", str(path))
            real(path, *more, **where)

        return refuse


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize("commits", range(1, 7))
def test_recovery_that_cannot_be_done_stays_due_until_it_can(
    stage: Stage, commits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.die_after(commits)
    half = seen(stage.root)
    for _ in range(2):
        with ReadOnly(monkeypatch):
            (found,) = recover(stage.root, stage.journal)
        assert found.outcome == "unfinished"
        assert "Read-only file system" in found.left[0]
        assert seen(stage.root) == half
    assert stage.recover().outcome == "finished"
    assert seen(stage.root) == stage.new(tmp_path / "new")


def test_while_a_change_is_half_applied_no_other_one_of_its_files_is_applied(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.die_after(2)
    half = seen(stage.root)
    now = (stage.root / "f0" / "0.txt").read_bytes()
    with ReadOnly(monkeypatch, folder="/root/f"):
        with pytest.raises(ToolFailure, match="an earlier change of the same files, all at once, is partly applied"):
            apply_changes(ChangeSet("same", (FileChange("f0/0.txt", now, b"1"),)), stage.root, stage.journal)
        assert seen(stage.root) == half
        apply_changes(ChangeSet("other", (FileChange("third.txt", None, b"1"),)), stage.root, stage.journal)
    assert stage.recover().outcome == "finished"


@pytest.mark.spec("CHG-1")
def test_an_apply_that_failed_half_way_says_so_and_is_put_back_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails at the third file, and at putting back the first two."""
    real, done = os.replace, list[str]()

    def replace(source: Any, target: Any, **where: Any) -> None:
        if done:
            raise OSError(errno.EIO, "Input/output error")
        real(source, target, **where)
        done.append(target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(HalfApplied, match=r"could not restore .*f0/0\.txt: this happens when"):
            apply_changes(change(FILES), stage.root, stage.journal, "s1/1")
    found = stage.recover()
    assert (found.outcome, found.left) == ("undone", ())
    assert seen(stage.root) == stage.old


def test_where_all_files_are_new_a_later_edit_does_not_undo_the_others(stage: Stage) -> None:
    stage.die_after(7)
    for kept in stage.root.rglob("*.old"):
        kept.unlink()
    (stage.root / "f1" / "5.txt").unlink()
    (stage.root / "f1" / "5.txt").write_bytes(b"mine")
    found = stage.recover()
    assert (found.outcome, found.left) == ("finished", ("f1/5.txt: another program has changed it since",))
    assert (stage.root / "f0" / "0.txt").read_bytes().startswith(b"new 0")
    assert (stage.root / "f1" / "5.txt").read_bytes() == b"mine"


def test_folders_that_could_not_be_removed_are_removed_the_next_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.die_after(0)
    (file,) = stage.journal.glob("*.apply")
    file.write_bytes(file.read_bytes().replace(b"ready\n", b""))
    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
        (found,) = recover(stage.root, stage.journal)
    assert found.outcome == "undone"
    assert (stage.root / "new1" / "deep").is_dir()
    assert recover(stage.root, stage.journal) == []
    assert seen(stage.root) == stage.old
    assert not list(stage.journal.glob("*.apply"))

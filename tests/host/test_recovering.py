"""What a program that died left half applied, and what others did to the files meanwhile."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.host import applying
from callgate.host.applying import Recovered, apply_changes, recover, replacing
from callgate.host.applying.journal import alone
from callgate.host.local import LocalHost
from callgate.testing import run_virtual
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from tests.crash.changed import World, change, make, seen

FILES = 6


class Died(BaseException):
    """Nothing is tidied up after it: as if the program were gone."""


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
        real, done = replacing.Replacement.commit, 0

        def commit(self: replacing.Replacement) -> None:
            nonlocal done
            if done == commits:
                raise Died
            real(self)
            done += 1

        with self._patch.context() as patch:
            patch.setattr(replacing.Replacement, "commit", commit)
            patch.setattr(replacing.Replacement, "undo", lambda self: False)
            with pytest.raises(Died):
                apply_changes(change(FILES), self.root, self.journal, "s1/1")
        if not commits:  # then everything could be put back, and was
            assert not list(self.journal.glob("*.apply"))

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
    assert found.left == ("f1/5.txt: somebody else has changed it since",)
    now = seen(stage.root)
    assert now.pop("f1/5.txt")[1] == b"mine"
    del stage.old["f1/5.txt"]
    assert now == stage.old


def test_what_cannot_be_brought_back_is_named_and_nothing_of_it_is_lost(stage: Stage) -> None:
    stage.die_after(3)
    for backup in stage.root.rglob("*.old"):
        backup.unlink()
    (stage.root / "f1" / "5.txt").unlink()
    (stage.root / "f1" / "5.txt").write_bytes(b"mine")
    found = stage.recover()
    assert found.outcome == "undone"
    assert "f0/0.txt: what it was is not kept any more" in found.left
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
        out.write(b"done\n")
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
    with pytest.raises(ToolFailure, match="Nothing was changed: no journal can be kept in"):
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
    with alone(stage.journal):
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
    assert applying.recover(stage.root, stage.journal / "none") == []


def test_what_was_cut_short_in_another_workspace_is_left_to_who_works_there(stage: Stage, tmp_path: Path) -> None:
    stage.die_after(2)
    other = tmp_path / "other"
    other.mkdir()
    assert recover(other, stage.journal) == []
    assert list(stage.journal.glob("*.apply"))
    assert stage.recover().outcome == "finished"

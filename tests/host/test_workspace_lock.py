"""Whoever applies is alone, also without a journal and in workspaces inside each other."""

import fcntl
import os
from pathlib import Path

import pytest

from callgate.host.applying import journal
from callgate.host.applying.apply import apply_changes
from callgate.host.applying.journal import lock_workspace
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

CHANGE = ChangeSet("write a", (FileChange("a", None, b"1"),))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_SECONDS", 0.0)


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize(
    ("theirs", "alone"),
    [("w", False), ("w/in", False), ("w/in/deep", False), (".", False), ("other", True)],
)
def test_who_applies_to_the_same_workspace_or_one_around_or_inside_it_waits(
    tmp_path: Path, theirs: str, alone: bool
) -> None:
    for name in ("w/in/deep", "other"):
        (tmp_path / name).mkdir(parents=True)
    with lock_workspace(os.path.realpath(tmp_path / theirs)):
        if alone:
            apply_changes(CHANGE, tmp_path / "w")
        else:
            with pytest.raises(ToolFailure, match="Nothing was changed: another program has locked the folder"):
                apply_changes(CHANGE, tmp_path / "w")
    assert (tmp_path / "w" / "a").exists() is alone
    if not alone:
        apply_changes(CHANGE, tmp_path / "w")


def test_nothing_is_held_afterwards_even_if_it_failed(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="changed since the preview"):
        apply_changes(ChangeSet("x", (FileChange("a", b"0", b"1"),)), tmp_path)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_a_file_system_without_locks_is_no_reason_not_to_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, how: int) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    apply_changes(CHANGE, tmp_path)
    assert (tmp_path / "a").read_bytes() == b"1"


def test_folders_of_other_people_are_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with lock_workspace(os.path.realpath(tmp_path)), lock_workspace(os.path.realpath(tmp_path)):
        pass

"""A power cut at any moment of an apply, by two models of a disk: recovery makes all files old or all new."""

import asyncio
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from callgate.changes.history import ChangeHistory
from callgate.changes.history_host import HistoryHost
from callgate.words.changes import ChangeSet, FileChange
from tests.crash.changed import World, change, make, seen
from tests.crash.power_loss import Model, Recorder

SESSION = "s1"


def kept_host(world: Path) -> HistoryHost:
    data = world / "data"
    return HistoryHost(ChangeHistory(data), SESSION, world / "root", journal=data / "applying")


class Cut:
    """A world before a change, the recording of its apply, and the two worlds that may be found."""

    def __init__(self, folder: Path, changes: ChangeSet, files: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = folder / "world"
        (self.world / "root").mkdir(parents=True)
        make(self.world / "root", files)
        self.old = seen(self.world / "root")
        self.recorder = Recorder(self.world)
        with self.recorder.recording(monkeypatch):
            asyncio.run(kept_host(self.world).apply(changes))
        self.new = seen(self.world / "root")
        self._patch = monkeypatch

    def sweep(
        self, model: Model, each: int, part: slice = slice(None), recorder: Recorder | None = None
    ) -> tuple[Counter[str], list[str]]:
        """How many images came out old and new, and what is bad."""
        recorder = recorder or self.recorder
        found: Counter[str] = Counter()
        bad: list[str] = []
        for name, names, time in [*recorder.images(model, 1, each)][part]:
            shutil.rmtree(self.world)
            recorder.write(names, time, self.world)
            outcome = self._recovered(self.world)
            found[outcome] += 1
            bad += [f"{name}: {outcome}"[:300]] if outcome not in ("old", "new") else []
        return found, bad

    def _recovered(self, image: Path) -> str:
        (image / "root").mkdir(exist_ok=True)
        with self._patch.context() as patch:
            patch.setattr(os, "fsync", lambda descriptor: None)
            host = kept_host(image)
            asyncio.run(host.recover())
            states = [kept.state for kept in host.history.all(SESSION)]
        after = seen(image / "root")
        if after == self.new:
            fits, outcome = states == ["applied"], "new"
        elif after == self.old:
            fits, outcome = states in ([], ["discarded"]), "old"
        else:
            return f"half: {_differences(after, self.old, self.new)}"
        left = [each.name for each in (image / "data" / "applying").glob("*") if each.name != "lock"]
        return outcome if fits and not left else f"{outcome}, but the history says {states}, left: {left}"


def _differences(after: World, old: World, new: World) -> str:
    names = sorted({*after, *old, *new})
    odd = [name for name in names if not after.get(name) == old.get(name) == new.get(name)]
    return ", ".join(
        f"{name} {'old' if after.get(name) == old.get(name) else 'new' if after.get(name) == new.get(name) else 'odd'}"
        for name in odd
    )


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize(("model", "each"), [("strict", 5), ("ext4", 0)])
def test_after_a_power_cut_anywhere_a_change_is_all_old_or_all_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model, each: int
) -> None:
    cut = Cut(tmp_path, change(6), 6, monkeypatch)
    found, bad = cut.sweep(model, each)
    assert not bad, "\n".join([f"{len(bad)} of {found.total()} images are bad", *bad[:20]])
    assert min(found["old"], found["new"]) > 0


def test_a_power_cut_leaves_no_folder_of_a_deletion_half_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo of a created file, which takes its folders with it."""
    changes = ChangeSet("undo", (FileChange("f0/0.txt", b"old 0\n", None),), "undo", emptied=("f0",))
    cut = Cut(tmp_path, changes, 1, monkeypatch)
    assert "f0" not in cut.new
    for model in ("strict", "ext4"):
        found, bad = cut.sweep(model, 6)
        assert not bad, "\n".join([f"{len(bad)} of {found.total()} images are bad", *bad[:20]])


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize("model", ["strict", "ext4"])
def test_a_power_cut_while_a_change_is_recovered_is_recovered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model
) -> None:
    cut = Cut(tmp_path, change(6), 6, monkeypatch)
    images = [*cut.recorder.images(model, 1, 2)]
    bad: list[str] = []
    tried = 0
    for name, names, time in images[5 :: max(len(images) // 6, 1)]:
        shutil.rmtree(cut.world)
        cut.recorder.write(names, time, cut.world)
        again = Recorder(cut.world)
        with again.recording(monkeypatch):
            asyncio.run(kept_host(cut.world).recover())
        found, wrong = cut.sweep(model, 2, recorder=again)
        bad += [f"{name}, then {each}" for each in wrong]
        tried += found.total()
    assert not bad, "\n".join([f"{len(bad)} of {tried} images are bad", *bad[:20]])
    assert tried > 20


@pytest.mark.slow
@pytest.mark.parametrize("model", ["strict", "ext4"])
@pytest.mark.parametrize("part", range(4))
def test_many_images_of_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model, part: int) -> None:
    cut = Cut(tmp_path, change(12), 12, monkeypatch)
    found, bad = cut.sweep(model, 40, slice(part, None, 4))
    assert not bad, "\n".join([f"{len(bad)} of {found.total()} images are bad", *bad[:20]])

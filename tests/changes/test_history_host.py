"""A host that keeps what it applies: what is on record is what became of the files."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from callgate.changes.history import ChangeHistory
from callgate.changes.history_host import HistoryHost
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from tests.crash.dying import dies_after

CHANGE = ChangeSet("write a", (FileChange("a", None, b"1"),), "Write", "a1/call_1")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.applying = folder / "applying"
        self.history = ChangeHistory(folder / "kept")
        self.host = self.of("s1", self.applying)

    def of(self, session: str, journal: Path | None) -> HistoryHost:
        return HistoryHost(self.history, session, self.root, journal=journal)

    def states(self) -> list[str]:
        return [kept.state for kept in self.history.all("s1")]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.spec("CHG-3")
def test_what_is_applied_is_kept_and_what_is_refused_is_said_to_be(stage: Stage) -> None:
    async def main() -> None:
        assert await stage.host.apply(CHANGE) == CHANGE
        assert stage.states() == ["applied"]
        with pytest.raises(ToolFailure, match="exists already"):
            await stage.host.apply(CHANGE)
        assert stage.states() == ["discarded", "applied"]

    asyncio.run(main())


@pytest.mark.parametrize(("written", "state"), [(True, "applied"), (False, "discarded")])
@pytest.mark.parametrize("journal", [True, False])
def test_what_was_given_up_is_looked_into_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool, state: str, journal: bool
) -> None:
    """Somebody stopped waiting, and the apply may have gone on. Its journal knows; without one the files do."""
    stage = Stage(tmp_path)
    if not journal:
        stage.host = stage.of("s1", None)
    plain = stage.host.apply_kept

    async def apply(changes: ChangeSet, kept: str) -> ChangeSet:
        if written:
            await plain(changes, kept)
        raise asyncio.CancelledError

    async def main() -> None:
        monkeypatch.setattr(stage.host, "apply_kept", apply)
        with pytest.raises(asyncio.CancelledError):
            await stage.host.apply(CHANGE)
        assert stage.states() == ["applying"]
        await stage.host.recover()
        assert stage.states() == [state]

    asyncio.run(main())


@pytest.mark.spec("CHG-3")
def test_that_it_was_applied_is_known_whatever_others_do_to_the_files_since(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program died when all files were in place and before that was on record here."""

    async def main() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(stage.host.history, "mark", _dies)
            with pytest.raises(_Died):
                await stage.host.apply(CHANGE)
        (stage.root / "a").write_bytes(b"and then others came")
        await stage.host.recover()
        assert stage.states() == ["applied"]
        assert [file.name for file in stage.applying.iterdir()] == ["lock"]

    asyncio.run(main())


class _Died(BaseException):
    pass


def _dies(*_: object, **__: object) -> None:
    raise _Died


@pytest.mark.spec("CHG-3")
def test_that_another_session_finished_it_is_known_to_its_own(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    two = ChangeSet("both", (FileChange("a", None, b"1"), FileChange("b", None, b"1")), "Write", "a1/call_1")

    async def main() -> None:
        with dies_after(1, monkeypatch):
            await stage.host.apply(two)
        assert not (stage.root / "b").exists()
        other = stage.of("s2", stage.applying)
        await other.apply(ChangeSet("mine", (FileChange("a", b"1", b"2"),), "Write", "a1/call_1"))
        assert await stage.host.recover() == []
        assert [kept.state for session in ("s1", "s2") for kept in stage.history.all(session)] == ["applied"] * 2

    asyncio.run(main())


def test_a_change_that_cannot_be_kept_is_not_applied(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"")
    with pytest.raises(ToolFailure, match="Nothing was changed: the change cannot be stored"):
        asyncio.run(stage.host.apply(CHANGE))
    assert not (stage.root / "a").exists()


@pytest.mark.spec("CHG-3")
def test_the_modes_that_a_recovered_apply_found_come_back_with_its_undo(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (stage.root / name).write_bytes(b"1")
        (stage.root / name).chmod(0o600)
    both = ChangeSet("delete", tuple(FileChange(name, b"1", None) for name in "ab"), "Delete", "a1/c1")

    async def main() -> None:
        with dies_after(1, monkeypatch):
            await stage.host.apply(both)
        await stage.host.recover()
        assert stage.states() == ["applied"]
        await stage.host.apply_undo(await stage.host.undo(await stage.host.changes()))

    asyncio.run(main())
    assert [(stage.root / name).stat().st_mode & 0o777 for name in "ab"] == [0o600, 0o600]


@pytest.mark.spec("CHG-1")
def test_a_change_that_cannot_be_recovered_yet_stays_applying_and_is_said_each_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = ChangeSet("both", (FileChange("a", None, b"1"), FileChange("b", None, b"1")), "Write", "a1/call_1")

    async def main() -> None:
        with dies_after(1, monkeypatch):
            await stage.host.apply(two)
        for _ in range(2):
            with monkeypatch.context() as patch:
                patch.setattr(os, "link", _fails)
                patch.setattr(os, "replace", _fails)
                (found,) = await stage.host.recover()
            assert (found.kept, found.outcome) == ("s1/1", "unfinished")
            assert stage.host.unsettled
            assert stage.states() == ["applying"]
        (found,) = await stage.host.recover()
        assert (found.outcome, stage.states(), stage.host.unsettled) == ("finished", ["applied"], False)

    asyncio.run(main())


def _fails(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")

"""A host that keeps what it applies: what is on record is what became of the files."""

import asyncio
from pathlib import Path

import pytest

from callgate.changes.history import History
from callgate.changes.keeping import KeptHost
from callgate.host.local import LocalHost
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

CHANGE = ChangeSet("write a", (FileChange("a", None, b"1"),), "Write", "a1/call_1")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.local = LocalHost(self.root, journal=folder / "applying")
        self.host = KeptHost(self.local, History(folder / "kept"), "s1")

    def states(self) -> list[str]:
        return [kept.state for kept in self.host.history.all()]


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
def test_what_was_given_up_is_judged_by_the_files_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, written: bool, state: str
) -> None:
    """Somebody stopped waiting, and the apply may have gone on."""

    async def apply(changes: ChangeSet) -> ChangeSet:
        if written:
            (stage.root / "a").write_bytes(b"1")
        raise asyncio.CancelledError

    async def main() -> None:
        monkeypatch.setattr(stage.local, "apply", apply)
        with pytest.raises(asyncio.CancelledError):
            await stage.host.apply(CHANGE)
        assert stage.states() == ["applying"]
        await stage.host.recover()
        assert stage.states() == [state]

    asyncio.run(main())


def test_a_change_that_cannot_be_kept_is_not_applied(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"")
    with pytest.raises(ToolFailure, match="Nothing was changed: the change cannot be kept"):
        asyncio.run(stage.host.apply(CHANGE))
    assert not (stage.root / "a").exists()

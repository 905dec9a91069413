"""The example tool: a batch rename that is staged, and applied as it was shown."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from callgate.host.local import LocalHost
from callgate.tools.custom import Api, load_tools
from callgate.tools.custom.offers import CustomTool
from callgate.tools.staging import serving
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange, Stored
from callgate.words.errors import ToolFailure
from callgate.words.traits import reads
from tests.house.tree import ROOT
from tests.tools.custom_kit import Noting, Place
from tests.tools.fake_run import FakeRun


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.store = Noting()
        self._host = LocalHost(self.root)
        place = Place(folder)
        shutil.copy(ROOT / "examples" / "tools" / "batch_rename.py", place.path)
        loaded = asyncio.run(load_tools([place.folder()], Api(self.root)))
        assert loaded.problems == ()
        self.tool: CustomTool
        (self.tool,) = loaded.tools

    def files(self, *names: str) -> None:
        for name in names:
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)

    def listed(self) -> list[str]:
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())

    def rename(self, pattern: str, replacement: str, **more: Any) -> Result:
        arguments = {"pattern": pattern, "replacement": replacement, **more}
        run = FakeRun(host=self._host)
        with serving("batch_rename", run, self.store):
            return asyncio.run(self.tool.run(arguments, run))

    def refused(self, pattern: str, replacement: str, **more: Any) -> str:
        with pytest.raises(ToolFailure) as refusal:
            self.rename(pattern, replacement, **more)
        assert self.store.pushed == []
        return str(refusal.value)

    def staged(self) -> ChangeSet:
        (action,) = self.store.pushed
        assert isinstance(action.act, ChangeSet)
        return action.act

    def apply(self) -> None:
        asyncio.run(self._host.apply(self.staged()))


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_renames_are_staged_and_nothing_is_changed(work: Workspace) -> None:
    work.files("IMG_1.jpg", "trip/IMG_22.jpg", "notes.txt", ".git/IMG_3", "trip/.cache/IMG_4")
    before = work.listed()
    result = work.rename(r"^IMG_(\d+)", r"photo-\1")
    assert result.text == ("rename 2 files in .:\nIMG_1.jpg → photo-1.jpg\ntrip/IMG_22.jpg → photo-22.jpg")
    assert work.listed() == before
    assert work.staged() == ChangeSet(
        "rename 2 files in .",
        (
            FileChange("photo-1.jpg", b"IMG_1.jpg", b"IMG_1.jpg", source="IMG_1.jpg"),
            FileChange("trip/photo-22.jpg", b"trip/IMG_22.jpg", b"trip/IMG_22.jpg", source="trip/IMG_22.jpg"),
        ),
        "batch_rename",
        count=2,
    )
    (action,) = work.store.pushed
    assert (action.tool, action.call_id) == ("batch_rename", "call-1")
    assert action.details == {
        "renames": {"IMG_1.jpg": "photo-1.jpg", "trip/IMG_22.jpg": "trip/photo-22.jpg"},
    }


def test_it_needs_no_approval_and_reads_only_its_folder(work: Workspace) -> None:
    traits = work.tool.traits({"pattern": "a", "replacement": "b", "folder": "trip"})
    assert (traits.effects, traits.locks) == ("none", reads("trip"))


def test_what_was_staged_can_be_applied(work: Workspace) -> None:
    work.files("a.txt", "b.txt", "sub/ü 1.txt")
    work.rename(r"\.txt$", ".md")
    work.apply()
    assert work.listed() == ["a.md", "b.md", "sub/ü 1.md"]
    assert (work.root / "sub" / "ü 1.md").read_text() == "sub/ü 1.txt"


def test_names_may_be_passed_on(work: Workspace) -> None:
    work.files("1", "11")
    work.rename("^", "1")  # 1 → 11 and 11 → 111
    work.apply()
    assert {name: (work.root / name).read_text() for name in work.listed()} == {"11": "1", "111": "11"}


def test_only_the_folder_that_was_asked_for_is_looked_at(work: Workspace) -> None:
    work.files("a", "sub/a")
    work.rename("a", "b", folder="sub")
    assert list(work.staged().paths) == ["sub/a", "sub/b"]


def test_a_large_file_is_named_and_not_carried_along(work: Workspace) -> None:
    (work.root / "film.avi").write_bytes(b"x" * 1_000_001)
    work.rename("avi", "mpg")
    assert isinstance(work.staged().files[0].after, Stored)
    work.apply()
    assert work.listed() == ["film.mpg"]


def test_links_are_left_alone(work: Workspace, tmp_path: Path) -> None:
    work.files("a")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text("")
    (work.root / "a-link").symlink_to("a")
    (work.root / "folder").symlink_to(tmp_path / "outside")
    work.rename("a", "b")
    assert list(work.staged().paths) == ["a", "b"]


@pytest.mark.parametrize(
    ("pattern", "replacement", "told"),
    [
        pytest.param("[ab]", "c", "a → c: several files would get this name\nb → c: several", id="one name"),
        pytest.param("a", "kept", "Nothing was staged, because names collide:\na → kept: exists already", id="exists"),
        pytest.param("a", "", "a would be called '', which cannot be the name of a file", id="empty"),
        pytest.param("a", "..", "cannot be the name of a file", id="above"),
        pytest.param("a", "x/y", "cannot be the name of a file", id="folder"),
        pytest.param("(", "x", "the pattern or the replacement cannot be used: missing )", id="pattern"),
        pytest.param("a", r"\2", "the pattern or the replacement cannot be used: invalid group", id="group"),
        pytest.param("a", r"\g<x>", "the pattern or the replacement cannot be used: unknown group", id="group name"),
        pytest.param("zzz", "x", "no file name below work is changed by 'zzz'", id="none"),
    ],
)
def test_what_cannot_all_be_done_is_refused_whole(work: Workspace, pattern: str, replacement: str, told: str) -> None:
    work.files("a", "b", "kept")
    assert told in work.refused(pattern, replacement)


def test_too_many_files_are_refused(work: Workspace) -> None:
    work.files(*(f"a{number}" for number in range(501)))
    assert work.refused("a", "b").startswith("501 files would be renamed, more than 500")


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        pytest.param("..", "..: lies outside the workspace", id="above"),
        pytest.param("a", "a is not a folder", id="file"),
        pytest.param("none", "none is not a folder", id="missing"),
    ],
)
def test_a_folder_that_is_none_of_the_workspace_is_refused(work: Workspace, folder: str, told: str) -> None:
    work.files("a")
    assert work.refused("a", "b", folder=folder) == told

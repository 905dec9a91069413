"""The machine as a Host."""

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from callgate.host.local import LocalHost
from callgate.testing import ManualClock
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from tests.house.tree import SRC
from tests.rows import rows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "Workspace"
    folder.mkdir()
    return folder.resolve()


def test_the_workspace_is_the_current_folder_unless_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    host = LocalHost()
    monkeypatch.chdir("/")
    assert host.normal("a") == f"{root}/a"
    assert host.normal(".") == host.normal("") == str(root)
    assert host.root == root


def test_one_place_has_one_spelling(root: Path) -> None:
    host = LocalHost(root)
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    (root / "up").symlink_to("..")
    place = f"{root}/real/a.py"
    for spelling in ("real/a.py", "./real//a.py", "link/a.py", "link/../real/a.py", f"up/{root.name}/link/a.py", place):
        assert host.normal(spelling) == place
    assert host.normal("/" + place) == place, "two leading slashes mean nothing"
    assert host.normal("~/x") == f"{root}/~/x"


def test_a_linked_workspace_is_resolved_too(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    assert LocalHost(root.parent / "alias").normal("a") == LocalHost(root).normal("a")


def test_nonsense_gets_a_spelling_as_well(root: Path) -> None:
    host = LocalHost(root)
    (root / "loop").symlink_to("loop")
    assert host.normal("a/../\0") == f"{root}/\0"
    assert host.normal("\ud800/./b") == f"{root}/\ud800/b"
    assert host.normal("./" * 100_000 + "b") == f"{root}/b"
    assert host.normal("loop/x").startswith(str(root))


def test_where_case_does_not_count_places_are_folded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "samefile", lambda one, two: str(one).lower() == str(two).lower())
    host = LocalHost(root)
    assert host.normal("Straße.PY") == host.normal("STRASSE.py")
    assert host.normal("caf\u00e9") == host.normal("CAFE\u0301")
    assert host.normal(".") == str(root).casefold()


def test_case_counts_on_this_system_only_if_it_does(root: Path) -> None:
    (root / "probe").write_bytes(b"")
    assert (LocalHost(root).normal("probe") == LocalHost(root).normal("PROBE")) == (root / "PROBE").exists()


def test_artifacts_are_private_and_never_overwritten(root: Path) -> None:
    host = LocalHost(root, data=root / "data" / "artifacts")

    async def main() -> list[Path]:
        return [Path(await host.keep("out.txt", text)) for text in (b"one", b"two", b"three")]

    paths = asyncio.run(main())
    assert [path.read_bytes() for path in paths] == [b"one", b"two", b"three"]
    assert paths[0].name == "out.txt"
    assert {path.parent for path in paths} == {root / "data" / "artifacts"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o700


@rows("name", ["../../etc/passwd", "/abs", "", ".", "..", ".hidden", "a\0b", "é" * 999, "a\nb", "-rf"])
def test_artifact_names_are_made_harmless(root: Path, name: str) -> None:
    host = LocalHost(root, data=root / "data")
    path = Path(asyncio.run(host.keep(name, b"x")))
    assert path.parent == root / "data"
    assert path.is_file()
    assert len(path.name) <= 100
    assert path.name[0] not in ".-"


def test_without_a_data_folder_a_private_temporary_one_is_made_when_needed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = root / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    host = LocalHost(root)
    assert list(temporary.iterdir()) == []

    async def main() -> list[str]:
        return await asyncio.gather(*(host.keep("a.txt", b"x") for _ in range(20)))

    assert len(set(asyncio.run(main()))) == 20
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(list(folder.iterdir())) == 20


def test_no_file_is_written_on_the_loops_thread(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = LocalHost(root, data=root / "data")
    used: list[int] = []
    for name in ("open", "fsync", "link", "mkdir"):
        original = getattr(os, name)

        def noted(*args: object, original: object = original, **kwargs: object) -> object:
            used.append(threading.get_ident())
            return original(*args, **kwargs)  # type: ignore[operator]

        monkeypatch.setattr(os, name, noted)

    async def main() -> None:
        await host.keep("a", b"x")
        await host.apply(ChangeSet("c", (FileChange("n/a", None, b"1"),)))

    asyncio.run(main())
    assert used
    assert threading.get_ident() not in used


def test_apply_works_below_the_workspace(root: Path) -> None:
    host = LocalHost(root)

    async def main() -> None:
        await host.apply(ChangeSet("c", (FileChange("a", None, b"1"),)))
        with pytest.raises(ToolFailure, match="exists already"):
            await host.apply(ChangeSet("c", (FileChange("a", None, b"2"),)))

    asyncio.run(main())
    assert (root / "a").read_bytes() == b"1"


def test_a_cancelled_apply_still_ends_whole(root: Path) -> None:
    host = LocalHost(root)

    async def main() -> None:
        files = tuple(FileChange(f"f{number}", None, b"1") for number in range(20))
        task = asyncio.create_task(host.apply(ChangeSet("c", files)))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(main())
    assert len(list(root.iterdir())) == 20


def test_a_clock_can_be_given(root: Path) -> None:
    clock = ManualClock()
    assert LocalHost(root, clock=clock).clock is clock


LEAVE = """
import asyncio, os, sys
from pathlib import Path
from callgate.host.local import LocalHost

host = LocalHost(Path(sys.argv[1]))
print(asyncio.run(host.keep("a.txt", b"kept")))
if os.fork() == 0:
    sys.exit()
os.wait()
print(host.new_output("b.txt").path)
"""


def test_a_host_without_a_place_for_its_data_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LEAVE, str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=True,
    )
    places = [Path(line) for line in ran.stdout.splitlines() if line]
    assert {place.parent.parent for place in places} == {tmp_path}
    assert list(tmp_path.iterdir()) == []

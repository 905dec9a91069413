"""Programs that panic, die or take too long cost one file; a cancel ends them."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from callgate.tools.structural.examination import ScanRequest, examine
from callgate.tools.structural.scan_types import ScanLimits
from callgate.tools.structural.source_walk import SourceFile
from callgate.tools.structural.worker_pool import examine_all
from callgate.words.errors import ToolFailure
from tests.tools.structural.test_search import write

# A worker that does what the name of the file says, and otherwise says that it found as much as the name is long.
PLAYED = """
import os, sys, signal
sys.path[:] = sys.argv[1:]
from callgate.tools.structural import examination as worker
from callgate.tools.structural.examination import FileResult
asked = worker.receive(sys.stdin.buffer)
while (batch := worker.receive(sys.stdin.buffer)) is not None:
    for file in batch:
        if "dies" in file.path:
            os._exit(3)
        if "hangs" in file.path:
            signal.pause()
    worker.send(sys.stdout.buffer, [FileResult(file.path, "python", count=len(file.path)) for file in batch])
"""
ARGV = (sys.executable, "-c", PLAYED, *sys.path)


def files(*names: str) -> list[SourceFile]:
    return [SourceFile(name, "python", 10) for name in names]


def test_a_panic_of_the_engine_is_a_skipped_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"a.py": "x\n"})
    looked = examine(ScanRequest(str(tmp_path), ScanLimits(), "x"), SourceFile("a.py", "klingon", 2))
    assert "panicked" in capfd.readouterr().err
    assert looked.skipped is not None
    assert looked.skipped.kind == "crashed"
    assert 'LanguageNotSupported("klingon")' in looked.skipped.reason


async def test_a_panic_in_a_worker_leaves_the_others_alone(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x\n", "b.py": "x\n"})
    asked = ScanRequest(str(tmp_path), ScanLimits(), "x")
    one, other = await examine_all(asked, [SourceFile("a.py", "klingon", 2), SourceFile("b.py", "python", 2)])
    assert one.skipped is not None
    assert one.skipped.kind == "crashed"
    assert other.count == 1


async def test_a_file_on_which_a_worker_dies_is_named_and_the_rest_is_done() -> None:
    names = [f"f{n:03}" for n in range(100)]
    names[40], names[99] = "dies-early", "dies-late"
    looked = await examine_all(ScanRequest(".", ScanLimits(), "x"), files(*names), argv=ARGV)
    assert [each.path for each in looked] == names
    lost = {each.path: each.skipped.reason for each in looked if each.skipped}
    assert lost == dict.fromkeys(("dies-early", "dies-late"), "the engine crashed on the file, or took too long")
    assert all(each.count == 4 for each in looked if not each.skipped)


async def test_a_file_that_takes_too_long_is_given_up() -> None:
    limits = ScanLimits(file_seconds=0.5)
    looked = await examine_all(ScanRequest(".", limits, "x"), files("a", "hangs", "b"), argv=ARGV)
    assert [each.skipped.kind if each.skipped else each.count for each in looked] == [1, "crashed", 1]


async def test_a_worker_that_always_dies_is_not_started_for_every_file(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    argv = (sys.executable, "-c", "import sys; open(sys.argv[1], 'a').write('.')", str(mark))
    with pytest.raises(ToolFailure, match="exits as soon as it is started"):
        await examine_all(ScanRequest(".", ScanLimits(), "x"), files(*map(str, range(200))), argv=argv)
    assert len(mark.read_text(encoding="utf-8")) <= 5 * (os.cpu_count() or 1)


async def test_a_worker_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="cannot run on this machine"):
        await examine_all(
            ScanRequest(".", ScanLimits(), "x"), files(*map(str, range(200))), argv=[str(tmp_path / "gone")]
        )


async def test_beyond_the_limit_only_counts_are_kept(tmp_path: Path) -> None:
    write(tmp_path, {f"f{n:03}.py": "x\n" for n in range(200)})
    listed = [SourceFile(f"f{n:03}.py", "python", 2) for n in range(200)]
    looked = await examine_all(ScanRequest(str(tmp_path), ScanLimits(matches=1), "x"), listed)
    assert [each.count for each in looked] == [1] * 200
    assert looked[0].matches
    assert not looked[-1].matches


async def test_a_cancel_ends_the_workers_at_once(tmp_path: Path) -> None:
    going, loop = asyncio.Event(), asyncio.get_running_loop()

    def progress(*, current: int, total: int) -> None:
        loop.call_soon_threadsafe(going.set)

    names = ["a"] * 64 + ["hangs"] * 64
    asked = ScanRequest(".", ScanLimits(file_seconds=600), "x")
    task = asyncio.create_task(examine_all(asked, files(*names), progress, argv=ARGV))
    await going.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "ast_grep_py", raising=False)
    with pytest.raises(ToolFailure, match=r"pip install 'callgate\[edit\]'"):
        await examine_all(ScanRequest(".", ScanLimits(), "x"), files("a"))

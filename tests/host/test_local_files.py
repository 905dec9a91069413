"""The files of the local host: links, pipes, and programs that swap folders while they are read."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from callgate.host.beneath import OpenFolder, open_at_once
from callgate.host.local import LocalHost
from callgate.host.ports import Files, files_of
from callgate.words.errors import ToolFailure

pytestmark = pytest.mark.spec("BLT-1")

MOST = 1_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/file").write_bytes(b"inside")
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside/file").write_bytes(b"secret, and longer")
    return folder


def refused(work: Callable[[], object], *words: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        work()
    for word in words:
        assert word in str(caught.value)


def test_a_link_is_followed_inside_the_workspace_alone(root: Path) -> None:
    files = LocalHost(root).files
    (root / "near").symlink_to("deep")
    (root / "far").symlink_to("../outside")
    (root.parent / "outside/again").symlink_to("../root/deep")
    (root / "back").symlink_to("../outside/again")
    assert files.read("near/file", MOST) == b"inside"
    assert files.status("near/file").path == str(root / "deep/file")
    assert [entry.kind for entry in files.entries(".")] == ["other", "folder", "other", "other"]
    for work in (lambda: files.read("far/file", MOST), lambda: files.entries("far"), lambda: files.status("far/file")):
        refused(work, "far", "symbolic link", str(root.parent / "outside"))
    refused(lambda: files.read("back/file", MOST), "symbolic link")


def test_a_path_outside_is_read_by_its_own_name_and_over_no_link(root: Path) -> None:
    files = LocalHost(root).files
    outside = root.parent / "outside"
    assert files.read(str(outside / "file"), MOST) == b"secret, and longer"
    assert files.read("../outside/file", MOST) == b"secret, and longer"
    assert [entry.name for entry in files.entries(str(outside))] == ["file"]
    assert files.status("/").kind == "folder"
    assert files.entries("/")
    (root.parent / "alias").symlink_to("outside")
    refused(lambda: files.read(str(root.parent / "alias/file"), MOST), "symbolic link", str(outside / "file"))


def test_what_could_hang_is_refused(root: Path) -> None:
    files = LocalHost(root).files
    os.mkfifo(root / "pipe")
    assert files.status("pipe").kind == "device"
    refused(lambda: files.read("pipe", MOST), "pipe", "not a regular file")
    refused(lambda: files.read("/dev/zero", MOST), "not a regular file")


@pytest.mark.spec("GATE-3a")
def test_one_call_opens_what_is_beneath_and_leads_over_no_link(root: Path) -> None:
    (root / "a.txt").write_text("a")
    (root / "link").symlink_to("a.txt")
    (root / "folder").symlink_to("deep")
    (root.parent / "above").write_text("x")
    opened = open_at_once(str(root), "a.txt")
    if opened is None:
        pytest.skip("this system has no openat2")
    os.close(opened)
    for path in ("link", "folder/file", "../above", "/etc/passwd", "missing", "a.txt/x"):
        assert open_at_once(str(root), path) is None, path
    assert open_at_once(str(root / "missing"), "a.txt") is None
    files = LocalHost(root).files
    assert files.read("link", MOST) == b"a"  # in parts, over the link
    assert files.read(f"{root}/a.txt", MOST) == b"a"
    refused(lambda: files.read("../above", 0), "too large")


def test_a_file_is_open_so_that_reading_it_never_waits(root: Path) -> None:
    """Files of the kernel such as /proc/kmsg are regular files and wait for more at their end."""
    (root / "a.txt").write_text("a")
    with OpenFolder.held(str(root)) as folder:
        descriptor = folder.opened("a.txt")
        assert not os.get_blocking(descriptor)
        os.close(descriptor)


def test_a_file_that_has_no_size_is_read_to_its_end_and_no_further_than_asked(root: Path) -> None:
    files = LocalHost(root).files
    assert b"processor" in files.read("/proc/cpuinfo", MOST)
    refused(lambda: files.read("/proc/cpuinfo", 10), "too large")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said_so(root: Path) -> None:
    (root / "deep/file").chmod(0)
    refused(lambda: LocalHost(root).files.read("deep/file", MOST), "Permission denied")


def test_files_are_never_read_on_the_thread_of_a_loop(root: Path) -> None:
    files = LocalHost(root).files

    async def main() -> None:
        with pytest.raises(RuntimeError, match="worker thread"):
            files.read("deep/file", MOST)

    asyncio.run(main())


def test_a_host_without_files_is_said_in_words() -> None:
    refused(lambda: files_of(object()), "no files")


def race(root: Path, seconds: float) -> int:
    """Swap a folder of the workspace with a link that leads out, as fast as can be, and read meanwhile."""
    stop = threading.Event()
    (root / "link").symlink_to("../outside")
    (root / "swap").mkdir()
    (root / "swap/file").write_bytes(b"inside")

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("swap", "aside"), ("link", "swap"), ("swap", "link"), ("aside", "swap")):
                os.rename(root / one, root / other)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        return reads(LocalHost(root).files, time.monotonic() + seconds)
    finally:
        stop.set()
        swapper.join()


def reads(files: Files, end: float) -> int:
    good = 0
    while time.monotonic() < end:
        with suppress(ToolFailure):
            assert files.read("swap/file", MOST) == b"inside"
            good += 1
        with suppress(ToolFailure):
            assert files.status("swap/file").size in (0, 6)
        with suppress(ToolFailure):
            assert [entry.name for entry in files.entries("swap")] == ["file"]
    return good


def test_a_folder_that_is_swapped_for_a_link_never_leads_out(root: Path) -> None:
    assert race(root, 0.3) > 0


@pytest.mark.slow
def test_a_folder_that_is_swapped_for_ten_seconds_never_leads_out(root: Path) -> None:
    assert race(root, 10) > 0

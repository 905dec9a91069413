"""A program killed while it keeps a large content: the next start removes the half of it, and never one under way."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.changes.history import ChangeHistory
from callgate.changes.history_host import HistoryHost

KEEPS = """
import os, sys
from pathlib import Path
from callgate.changes.history import LARGE, ChangeHistory
from callgate.words.changes import ChangeSet, FileChange

plain = os.fsync

def fsync(descriptor):
    if os.fstat(descriptor).st_size > LARGE:
        print("written, and not synced", flush=True)
        sys.stdin.read()
    plain(descriptor)

os.fsync = fsync
large = ChangeSet("large", (FileChange("a", None, b"x" * (LARGE + 1)),))
ChangeHistory(Path(sys.argv[1])).save(large, "s1", now=0.0, state="applying")
"""


@pytest.mark.spec("CHG-1")
def test_the_half_of_a_content_is_removed_once_its_program_is_dead(tmp_path: Path) -> None:
    history = ChangeHistory(tmp_path / "kept")
    (tmp_path / "root").mkdir()

    def start() -> list[Path]:
        host = HistoryHost(history, "s1", tmp_path / "root", journal=tmp_path / "applying")
        assert asyncio.run(host.recover()) == []
        return [path for path in history.folder_of("s1").rglob("*") if path.is_file()]

    command = [sys.executable, "-c", KEEPS, str(history.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"written, and not synced\n"
        (half,) = start()
        assert half.stat().st_size > 1_000_000
        program.send_signal(signal.SIGKILL)
        program.wait()
    assert start() == []
    assert history.read("s1") == ([], [])

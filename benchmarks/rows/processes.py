"""The cost of a command: Bash with ``true``, without a sandbox, against ``subprocess`` alone."""

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Size, interleaved, spread
from benchmarks.report import Row
from callgate.host.local import LocalHost
from callgate.testing import PlainRun
from callgate.tools.builtin.bash import bash

LIMIT = 1.5


def rows(size: Size) -> list[Row]:
    with TemporaryDirectory(prefix="callgate-bench-") as folder:
        return [_start(Path(folder).resolve(), max(5, 12 * size.rounds))]


def _start(root: Path, rounds: int) -> Row:
    tool, host = bash(), LocalHost(root)
    argv = [shutil.which("bash") or "/bin/sh", "-c", "true"]

    def ours() -> float:
        async def timed() -> float:
            began = time.perf_counter()
            result = await tool.run({"command": "true"}, PlainRun(host))
            taken = time.perf_counter() - began
            assert not result.is_error, result.text
            return taken

        return asyncio.run(timed())

    def theirs() -> float:
        began = time.perf_counter()
        # In a session of its own like ours: on a busy machine the scheduler shares processors out by session.
        subprocess.run(
            argv,
            cwd=root,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=True,
        )
        return time.perf_counter() - began

    found = interleaved({"ours": ours, "theirs": theirs}, rounds)
    # The best of many: nearly all of it is waiting for the kernel, to which everything else on the machine adds.
    mine, other = min(found["ours"]), min(found["theirs"])
    return Row(
        name="bash_start",
        work="Bash with `true`, no sandbox",
        unit="ms",
        measured=mine * 1e3,
        yardstick=other * 1e3,
        ratio=mine / other,
        limit=LIMIT,
        spread=spread(found["ours"]),
        note=f"the best of {rounds}",
    )

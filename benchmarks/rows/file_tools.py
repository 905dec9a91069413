"""The cost of Read and Grep, against the plain work: reading, decoding and numbering a file, and ripgrep itself."""

import asyncio
import subprocess
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.report import Row
from benchmarks.rows.structural import write
from callgate.host.local import LocalHost
from callgate.host.ports import Command
from callgate.host.threads import in_thread
from callgate.testing import PlainRun
from callgate.tools.builtin.grep import grep
from callgate.tools.builtin.read import read
from callgate.tools.ripgrep.search_engine import search_engine

READ_LIMIT, PARALLEL_LIMIT, GREP_LIMIT = 2.0, 1.25, 1.2
PARALLEL = 100
LINE = "    total = sum(item.weight for item in kept)  # of step {}\n"
PATTERN = "def step_1"


def rows(size: Size) -> list[Row]:
    rounds = size.turn_rounds
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        return [_read(root, rounds), _parallel(root, rounds), _grep(root, rounds, size)]


def _clock(work: Callable[[], Coroutine[Any, Any, object]]) -> float:
    async def timed() -> float:
        began = time.perf_counter()
        await work()
        return time.perf_counter() - began

    return asyncio.run(timed())


def _read(root: Path, rounds: int) -> Row:
    """The whole file is read, decoded and hashed; 2,000 lines are shown."""
    file = root / "large.py"
    file.write_text("".join(LINE.format(number) for number in range(17_000)))
    tool = read()

    async def ours() -> None:
        await tool.run({"file_path": "large.py"}, PlainRun(LocalHost(root)))

    def plainly() -> str:
        lines = file.read_bytes().decode().split("\n")
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))

    async def theirs() -> None:
        await in_thread(plainly)

    found = interleaved({"ours": lambda: _clock(ours), "theirs": lambda: _clock(theirs)}, rounds * 3)
    return _row("read_1mb", "Read of a file of 1 MB", found, READ_LIMIT)


def _parallel(root: Path, rounds: int) -> Row:
    """Files from the cache of the disk, each in a thread: by the port, and by ``open``."""
    (root / "many").mkdir()
    paths = [f"many/{number}" for number in range(PARALLEL)]
    for path in paths:
        (root / path).write_bytes(b"x" * 1_000_000)
    host = LocalHost(root)

    async def every(one: Callable[[str], bytes]) -> None:
        await asyncio.gather(*(in_thread(lambda path=path: one(path), threads=host.threads) for path in paths))

    found = interleaved(
        {
            "ours": lambda: _clock(lambda: every(lambda path: host.files.read(path, 2_000_000))),
            "theirs": lambda: _clock(lambda: every(lambda path: (root / path).read_bytes())),
        },
        rounds,
    )
    return _row("read_parallel", f"{PARALLEL} files of 1 MB read at once", found, PARALLEL_LIMIT)


def _grep(root: Path, rounds: int, size: Size) -> Row:
    tree = root / "tree"
    tree.mkdir()
    write(tree, 3_000 if size.calls >= 1_000 else size.calls)
    engine = search_engine({"CALLGATE_RIPGREP": "packaged"})
    tool, host = grep(), LocalHost(tree)

    async def ours() -> None:
        await tool.run({"pattern": PATTERN, "output_mode": "content"}, PlainRun(host))

    async def start() -> None:
        process = await host.processes.start(Command(("true",), str(tree)), lambda _: None)
        await process.ended()

    def theirs() -> float:
        began = time.perf_counter()
        # In a session of its own like ours: on a busy machine the scheduler shares processors out by session.
        asked = [engine.path, "--line-number", PATTERN]
        subprocess.run(asked, cwd=tree, stdout=subprocess.PIPE, start_new_session=True, check=False)
        return time.perf_counter() - began

    found = interleaved({"ours": lambda: _clock(ours), "theirs": theirs, "start": lambda: _clock(start)}, rounds * 5)
    # The best of many: ripgrep runs on all processors, and waits for each of them when others use them too.
    mine, other, began = (min(found[name]) for name in ("ours", "theirs", "start"))
    return Row(
        name="grep",
        work="Grep over many files",
        unit="ms",
        measured=mine * 1e3,
        yardstick=other * 1e3,
        ratio=max(mine - began, 0.0) / other,
        limit=GREP_LIMIT,
        spread=spread(found["ours"]),
        note=f"the best of {len(found['ours'])}; the ratio is without the start of a process, {began * 1e3:.1f} ms",
    )


def _row(name: str, work: str, found: dict[str, list[float]], limit: float) -> Row:
    mine, other = found["ours"], found["theirs"]
    return Row(
        name=name,
        work=work,
        unit="ms",
        measured=median(mine) * 1e3,
        yardstick=median(other) * 1e3,
        ratio=ratio(mine, other),
        limit=limit,
        spread=spread(mine),
        note="by the clock",
    )

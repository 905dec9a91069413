"""What it costs to preview a rewrite over many files, against ast-grep's own command line on the same files."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.report import Row
from callgate.tools.structural.scan import rewrite
from callgate.tools.structural.scan_types import Op, ScanLimits

FILES = 3_000
LIMIT = 2.5
OP = Op("log($LEVEL, $$$ARGS)", "logger.log($LEVEL, $$$ARGS)")
PROGRAM = Path(sys.executable).with_name("ast-grep")

_PART = '''
def step_{n}(items, limit={n}):
    """What step {n} does to its items."""
    kept = [item for item in items if item.weight > limit]
    if not kept:
        log("warning", "nothing left of {{}}", len(items))
        return None
    try:
        total = sum(item.weight for item in kept) / max(1, len(kept))
    except ZeroDivisionError as error:
        log("error", str(error), step={n},
            total=len(kept))
        raise
    return {{"step": {n}, "total": total, "kept": [item.name for item in kept]}}
'''


def rows(size: Size) -> list[Row]:
    many = FILES if size.calls >= 1_000 else size.calls
    rounds = size.turn_rounds
    if not PROGRAM.exists():
        return [Row("structural_rewrite", f"preview a rewrite of {many} files", "ms", None, limit=LIMIT)]
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, many)
        clocks: dict[str, list[float]] = {"ours": [], "theirs": []}

        def timed(name: str, work: Callable[[], float]) -> float:
            began = time.perf_counter()
            cpu = work()
            clocks[name].append(time.perf_counter() - began)
            return cpu

        found = interleaved(
            {
                "ours": lambda: timed("ours", lambda: ours(root, many)),
                "theirs": lambda: timed("theirs", lambda: theirs(root)),
            },
            rounds,
        )
    mine, other = found["ours"], found["theirs"]
    seen, theirs_seen = clocks["ours"][-rounds:], clocks["theirs"][-rounds:]
    return [
        Row(
            "structural_rewrite",
            f"preview a rewrite of {many} files: CPU",
            "ms",
            median(mine) * 1e3,
            median(other) * 1e3,
            ratio(mine, other),
            LIMIT,
            spread(mine),
            "CPU of all processes; ours and theirs each use as many as there are processors",
        ),
        Row(
            "structural_rewrite_clock",
            "  the same by the clock",
            "ms",
            median(seen) * 1e3,
            median(theirs_seen) * 1e3,
            ratio(seen, theirs_seen),
            LIMIT,
            spread(seen),
        ),
    ]


def write(root: Path, many: int) -> None:
    for number in range(many):
        folder = root / f"part{number % 30}"
        folder.mkdir(exist_ok=True)
        parts = (_PART.format(n=number + at) for at in range(5))
        (folder / f"module{number}.py").write_text('"""Generated."""\n' + "".join(parts), encoding="utf-8")


def ours(root: Path, many: int) -> float:
    before = _cpu()
    made = asyncio.run(rewrite(root, [OP], limits=ScanLimits(matches=100 * many)))
    taken = _cpu() - before
    if len(made.changes.files) != many or made.changes.count != 10 * many:
        raise RuntimeError(f"{made.changes.count} replacements in {len(made.changes.files)} files")
    return taken


def theirs(root: Path) -> float:
    """Its own preview: what would change, shown and not written."""
    asked = [str(PROGRAM), "run", "-l", "python", "-p", OP.pattern, "-r", OP.rewrite, str(root)]
    before = _cpu()
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL)
    return _cpu() - before


def _cpu() -> float:
    """Of this process and of those that it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system

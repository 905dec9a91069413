"""What it costs to show a change of ten thousand lines: in one file, over many, and where hardly a line is unique."""

import gc
import time
from collections.abc import Sequence

from benchmarks.measure import Size
from benchmarks.report import Row
from callgate.changes.diff import display
from callgate.words.changes import ChangeSet, FileChange

LINES, FILES = 20_000, 500
LIMIT = 200.0
"""In milliseconds."""


def rows(size: Size) -> list[Row]:
    rounds = max(3, size.rounds // 3)
    made = {
        "preview_file": ("10,000 changed lines in one file", one_file),
        "preview_files": (f"10,000 changed lines over {FILES} files", many_files),
        "preview_worst": ("10,000 changed lines of a hundred kinds", few_kinds),
    }
    return [Row(name, f"show {work}", "ms", _least(make(), rounds), limit=LIMIT) for name, (work, make) in made.items()]


def one_file() -> ChangeSet:
    return ChangeSet("one file", (_change("module.py", _lines(), _changed()),))


def many_files() -> ChangeSet:
    share = LINES // FILES
    before, after = _lines(), _changed()
    parts = (slice(at, at + share) for at in range(0, LINES, share))
    files = tuple(_change(f"module_{at}.py", before[part], after[part]) for at, part in enumerate(parts))
    return ChangeSet("many files", files)


def few_kinds() -> ChangeSet:
    """Every line is on both sides, so the search has the whole file to look through and gives up."""
    before = [f"row {at * at % 101}\n" for at in range(LINES // 2)]
    after = [f"row {at * at * at % 101}\n" for at in range(LINES // 2)]
    return ChangeSet("few kinds", (_change("table.txt", before, after),))


def _lines() -> list[str]:
    return [f"value_{at} = compute({at}, 'some words')\n" for at in range(LINES)]


def _changed() -> list[str]:
    return [line.replace("compute", "measure") if at % 2 else line for at, line in enumerate(_lines())]


def _change(path: str, before: Sequence[str], after: Sequence[str]) -> FileChange:
    return FileChange(path, "".join(before).encode(), "".join(after).encode())


def _least(changes: ChangeSet, rounds: int) -> float:
    """The least of the rounds, in milliseconds of CPU: a shared machine only ever adds."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        before = time.process_time_ns()
        display(changes, most=4 * LINES)
        best = min(best, (time.process_time_ns() - before) / 1e6)
    return best

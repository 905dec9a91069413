"""What it costs to apply a change to many small files, against plain temporaries, renames and syncs."""

import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.report import Row
from callgate.changes.history import ChangeHistory
from callgate.host.applying.apply import apply_changes
from callgate.words.changes import ChangeSet, FileChange

FILES, FOLDERS = 1_000, 10
LIMIT = 2.0


def rows(size: Size) -> list[Row]:
    many = FILES if size.calls >= 1_000 else FILES // 10
    with TemporaryDirectory(prefix="callgate-bench-") as place:
        stage = _Stage(Path(place), many)
        taken = interleaved({"ours": stage.ours, "plain": stage.plain}, max(3, size.turn_rounds))
    found = ratio(taken["ours"], taken["plain"])
    work = f"apply a change to {many} files, kept and with a journal"
    measured, yardstick = median(taken["ours"]), median(taken["plain"])
    return [Row("apply", work, "s", measured, yardstick, found, LIMIT, spread(taken["ours"]))]


class _Stage:
    """The same files, again and again with other contents."""

    def __init__(self, folder: Path, many: int) -> None:
        self._root, self._journal = folder / "root", folder / "journal"
        self._history = ChangeHistory(folder / "kept")
        self._paths = [f"f{number % FOLDERS}/{number}.txt" for number in range(many)]
        self._round = 0
        for path in self._paths:
            (self._root / path).parent.mkdir(parents=True, exist_ok=True)
            (self._root / path).write_bytes(self._content(path))

    def _content(self, path: str) -> bytes:
        return f"{path} in round {self._round}\n".encode() * 40

    def _next(self) -> list[tuple[str, bytes, bytes]]:
        before = [(path, self._content(path)) for path in self._paths]
        self._round += 1
        return [(path, old, self._content(path)) for path, old in before]

    def ours(self) -> float:
        changes = ChangeSet("round", tuple(FileChange(path, old, new) for path, old, new in self._next()), id="1")
        os.sync()
        begun = time.perf_counter()
        kept = self._history.save(changes, "session", now=0.0, state="applying")
        applied = apply_changes(changes, self._root, self._journal)
        self._history.mark(kept, "applied", now=0.0, applied=applied)
        return time.perf_counter() - begun

    def plain(self) -> float:
        work = self._next()
        os.sync()
        begun = time.perf_counter()
        for path, _, new in work:
            file = self._root / path
            half = file.with_suffix(".half")
            with half.open("xb") as stream:
                stream.write(new)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(half, file)
        return time.perf_counter() - begun

"""Examines files in several worker processes and gives the results in the order of the files."""

import os
import subprocess
import sys
from asyncio import TaskGroup, get_running_loop
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from threading import Lock, Timer

from callgate.host.threads import in_thread
from callgate.tools.structural.examine import FileResult, ScanRequest, left_out
from callgate.tools.structural.files import File
from callgate.tools.structural.terms import Progress
from callgate.tools.structural.worker import START, receive, send
from callgate.words.errors import ToolFailure

BATCH_FILES = 32
BATCH_BYTES = 256_000
_TRIES = 5
"""After so many deaths in a row the engine itself is broken, not a file."""

Batch = tuple[File, ...]


async def examine_all(
    asked: ScanRequest, files: Sequence[File], progress: Progress | None = None, *, argv: Sequence[str] = ()
) -> list[FileResult]:
    """A cancel ends the programs at once. A file on which one of them dies, or takes too long, is skipped by name.

    ``argv`` is the program to run, if it is not this package's own.
    """
    if not argv and find_spec("ast_grep_py") is None:
        raise ToolFailure("Structural tools need a package that is not installed: pip install 'callgate[edit]'")
    work = _Work(_batches(files), asked.limits.matches, _on_loop(progress))
    workers = [_Worker(asked, argv or _own_program()) for _ in range(min(os.cpu_count() or 1, work.batches))]
    async with TaskGroup() as group:
        for worker in workers:
            group.create_task(in_thread(lambda worker=worker: worker.work(work), on_cancel=worker.stop))
    if workers and all(worker.gave_up for worker in workers):
        raise ToolFailure("The engine of structural search cannot be run here: it ends as soon as it is started.")
    return work.looked()


def _own_program() -> tuple[str, ...]:
    # Isolated: neither the current folder nor the environment has a say in what is imported.
    return sys.executable, "-I", "-S", "-X", "utf8", "-c", START, *(path for path in sys.path if os.path.isabs(path))


def _on_loop(progress: Progress | None) -> Progress:
    if progress is None:
        return lambda done, total: None
    loop, tell = get_running_loop(), progress
    return lambda done, total: _told(lambda: loop.call_soon_threadsafe(tell, done, total))


def _told(tell: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the loop was closed first
        tell()


def _batches(files: Sequence[File]) -> Iterator[Batch]:
    batch: list[File] = []
    size = 0
    for file in files:
        if batch and (len(batch) == BATCH_FILES or size + file.size > BATCH_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield tuple(batch)


class _Work:
    """The batches, taken by the workers in turn. Beyond the limit of matches only counts are kept, to save memory."""

    def __init__(self, batches: Iterator[Batch], most: int, progress: Progress) -> None:
        self._todo = list(batches)
        self._results: list[list[FileResult]] = [[] for _ in self._todo]
        self._counts = [0] * len(self._todo)
        self._next = 0
        self._done = 0
        self._total = sum(map(len, self._todo))
        self._most = most
        self._progress = progress
        self._lock = Lock()

    @property
    def batches(self) -> int:
        return len(self._todo)

    def take(self) -> tuple[int, Batch] | None:
        with self._lock:
            at = self._next
            self._next += 1
        return (at, self._todo[at]) if at < len(self._todo) else None

    def put(self, at: int, looked: list[FileResult]) -> None:
        with self._lock:
            self._counts[at] = sum(each.count for each in looked)
            beyond = sum(self._counts[:at]) >= self._most
            self._results[at] = list(map(_counted, looked)) if beyond else looked
            self._done += len(looked)
            self._progress(self._done, self._total)

    def looked(self) -> list[FileResult]:
        return [each for batch in self._results for each in batch]


def _counted(looked: FileResult) -> FileResult:
    return replace(looked, matches=(), replacements=(), before=None, after=None)


class _Worker:
    """One worker process at a time, and the thread that feeds it. Only ``stop`` may be called from other threads."""

    def __init__(self, asked: ScanRequest, argv: Sequence[str]) -> None:
        self._asked = asked
        self._argv = argv
        self._lock = Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._deaths = 0

    @property
    def gave_up(self) -> bool:
        return self._deaths >= _TRIES

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._program is not None:
                self._program.kill()

    def work(self, work: _Work) -> None:
        try:
            while not self._stopped and (taken := work.take()) is not None:
                at, batch = taken
                looked = self._examined(batch)
                if looked is None:
                    looked = [each for file in batch for each in self._alone(file)]
                if not self._stopped:
                    work.put(at, looked)
        finally:
            self._end()

    def _alone(self, file: File) -> list[FileResult]:
        """One of a batch on which the program died: the others need not suffer for it."""
        if self._stopped:
            return []
        looked = self._examined((file,))
        return [left_out(file, "crashed", "the engine died of it, or took too long")] if looked is None else looked

    def _examined(self, batch: Batch) -> list[FileResult] | None:
        """None when the program did not live to answer."""
        try:
            program = self._running()
        except OSError:
            self._deaths += 1
            return None
        if program is None:
            return None
        assert program.stdin is not None
        assert program.stdout is not None
        patience = Timer(self._asked.limits.file_seconds + len(batch) / 10, program.kill)
        patience.daemon = True
        patience.start()
        try:
            send(program.stdin, batch)
            looked: list[FileResult] | None = receive(program.stdout)
        except OSError:
            looked = None
        finally:
            patience.cancel()
        self._deaths = self._deaths + 1 if looked is None else 0
        if looked is None:
            self._end()
        return looked

    def _running(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._program is None and not self._stopped and not self.gave_up:
                self._program = subprocess.Popen(
                    self._argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "RUST_BACKTRACE": "0"},
                    start_new_session=True,
                )
                assert self._program.stdin is not None
                with suppress(OSError):  # it died at once; reading from it will tell
                    send(self._program.stdin, self._asked)
            return self._program

    def _end(self) -> None:
        with self._lock:
            program, self._program = self._program, None
        if program is None:
            return
        assert program.stdin is not None
        assert program.stdout is not None
        program.kill()
        program.wait()
        program.stdout.close()
        with suppress(OSError):  # what was never sent cannot be flushed any more
            program.stdin.close()

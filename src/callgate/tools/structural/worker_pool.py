"""Examines files in several worker processes and returns the results in the order of the files."""

import os
import subprocess
import sys
from asyncio import TaskGroup
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from threading import Lock, Timer

from callgate.host.threads import in_thread
from callgate.tools.structural.examination import START, ScanRequest, left_out, receive, send
from callgate.tools.structural.scan_types import FileResult, ScanProgress, silent
from callgate.tools.structural.source_walk import SourceFile
from callgate.words.errors import ToolFailure

BATCH_FILES = 32
BATCH_BYTES = 256_000
_TRIES = 5
"""The number of consecutive crashes after which a worker gives up."""

Batch = tuple[SourceFile, ...]


async def examine_all(
    request: ScanRequest, files: Sequence[SourceFile], progress: ScanProgress = silent, *, argv: Sequence[str] = ()
) -> list[FileResult]:
    """Return the results of examining all files. A cancel kills the workers at once. A file that crashes a worker or
    takes too long is skipped, and its name is reported.

    argv  the program to run instead of this package's worker
    """
    if not argv and find_spec("ast_grep_py") is None:
        raise ToolFailure("Structural tools need a package that is not installed: pip install 'callgate[edit]'")
    work = _Work(list(_batches(files)), request.limits.matches, progress)
    workers = [_Worker(request, argv or _own_program()) for _ in range(min(os.cpu_count() or 1, len(work.results)))]
    async with TaskGroup() as group:
        for worker in workers:
            group.create_task(in_thread(lambda worker=worker: worker.work(work), on_cancel=worker.stop))
    tried = [worker for worker in workers if worker.tried]  # another worker may have taken everything
    if tried and all(worker.gave_up for worker in tried):
        told = "The engine of structural search cannot run on this machine"
        raise ToolFailure(f"{told}: it exits as soon as it is started.")
    return [each for batch in work.results for each in batch]


def _own_program() -> tuple[str, ...]:
    # Isolated: neither the current folder nor the environment affects imports.
    return sys.executable, "-I", "-S", "-X", "utf8", "-c", START, *(path for path in sys.path if os.path.isabs(path))


def _batches(files: Sequence[SourceFile]) -> Iterator[Batch]:
    batch: list[SourceFile] = []
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
    """The queue of batches, shared by the threads of the workers. Beyond the limit on matches only the number of
    matches is stored, to save memory."""

    def __init__(self, batches: Sequence[Batch], most: int, progress: ScanProgress) -> None:
        self.todo = deque(enumerate(batches))
        self.results: list[list[FileResult]] = [[] for _ in batches]
        self._total = sum(map(len, batches))
        self._most = most
        self._progress = progress
        self._lock = Lock()

    def put(self, at: int, results: list[FileResult]) -> None:
        with self._lock:
            before = sum(each.count for batch in self.results[:at] for each in batch)
            if before >= self._most:
                results = [replace(each, matches=(), before=None, after=None) for each in results]
            self.results[at] = results
            self._progress(current=sum(map(len, self.results)), total=self._total)


class _Worker:
    """A worker process and the thread that sends batches to it. A new process is started after a crash. Only ``stop``
    may be called from other threads."""

    def __init__(self, request: ScanRequest, argv: Sequence[str]) -> None:
        self._request = request
        self._argv = argv
        self._program: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._deaths = 0
        self.tried = False
        """True once it has taken a batch."""

    @property
    def gave_up(self) -> bool:
        return self._deaths >= _TRIES

    def stop(self) -> None:
        self._stopped = True
        if self._program is not None:
            self._program.kill()

    def work(self, work: _Work) -> None:
        try:
            while not self._stopped and work.todo:
                with suppress(IndexError):  # another worker took the last one
                    at, batch = work.todo.popleft()
                    self.tried = True
                    results = self._examined(batch)
                    # If the process died on one file of a batch, examine each file alone.
                    work.put(at, [self._alone(file) for file in batch] if results is None else results)
        finally:
            self._end()

    def _alone(self, file: SourceFile) -> FileResult:
        results = self._examined((file,))
        return results[0] if results else left_out(file, "crashed", "the engine crashed on the file, or took too long")

    def _examined(self, batch: Batch) -> list[FileResult] | None:
        """Return the results of a batch, or None if the process ended first."""
        results: list[FileResult] | None = None
        with suppress(OSError):
            program = self._program or self._start()
            if program is None:
                return None
            assert program.stdin is not None
            assert program.stdout is not None
            patience = Timer(self._request.limits.file_seconds + len(batch) / 10, program.kill)
            patience.daemon = True
            patience.start()
            try:
                send(program.stdin, batch)
                results = receive(program.stdout)
            finally:
                patience.cancel()
        self._deaths = self._deaths + 1 if results is None else 0
        if results is None:
            self._end()
        return results

    def _start(self) -> subprocess.Popen[bytes] | None:
        if self._stopped or self.gave_up:
            return None
        self._program = subprocess.Popen(
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "RUST_BACKTRACE": "0"},
            start_new_session=True,
        )
        if self._stopped:  # while it was being started
            self._program.kill()
        assert self._program.stdin is not None
        send(self._program.stdin, self._request)
        return self._program

    def _end(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.kill()
            with suppress(OSError), program:  # closes its streams, where unsent data may be left, and waits for it
                pass

"""Runs blocking work in threads. A blocked thread does not delay the others.

A tool may never return. So workers are daemon threads and their number is not limited. A limited number of idle workers
is kept for reuse.
"""

from asyncio import AbstractEventLoop, CancelledError, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar, cast

from callgate.core.capabilities import host_part

T = TypeVar("T")


async def in_thread(
    fn: Callable[[], T], *, on_cancel: Callable[[], None] | None = None, threads: "Threads | None" = None
) -> T:
    """Run ``fn`` in a thread, wait until it has ended, and return its result or raise its error.

    A cancel does not end the wait: it calls ``on_cancel``, which should make ``fn`` return soon and must not raise. A
    second cancel, which a loop sends when the program exits, ends the wait; the daemon thread is left running.

    threads  the pool that runs ``fn``; by default a new thread runs it
    """
    job = _Job(fn, get_running_loop())
    if threads is None:
        _spawn(job.work_alone)
    else:
        threads.begin(job)
    try:
        await job.ended(on_cancel)
        return job.outcome()
    finally:
        del job  # the traceback of an error refers to this frame: avoid a cycle


class Threads:
    """A pool of workers for short jobs, used from one event loop.

    One worker, the leader, runs the jobs one after the other, because twenty threads reading small files would spend
    most of their time switching the interpreter's lock. If the leader takes no new job for ``patience`` seconds,
    another worker replaces it, and waiting jobs get workers of their own, twice as many each time.
    """

    def __init__(self, *, keep_idle: int = 16, idle_seconds: float = 30.0, patience: float = 0.005) -> None:
        self._keep_idle = keep_idle
        self._idle_seconds = idle_seconds
        self._patience = patience
        self._lock = Lock()
        self._idle: list[_Inbox] = []
        self._leader: _Inbox | None = None
        self._waiting: deque[_Job[Any]] = deque()
        self._taken = 0  # the number of waiting jobs that leaders have taken
        self._watching: AbstractEventLoop | None = None
        self._ended: dict[AbstractEventLoop, list[_Job[Any]]] = {}  # not yet reported to their loop

    @property
    def idle(self) -> int:
        return len(self._idle)

    def begin(self, job: "_Job[Any]") -> None:
        """Give the job to the leader. If there is no leader, an idle or new worker becomes the leader."""
        with self._lock:
            if is_led := self._leader is not None:
                self._waiting.append(job)
            else:
                self._lead(job)
        if is_led and self._watching is not job.loop:
            self._watch(job.loop, 1)

    def _lead(self, job: "_Job[Any]") -> None:
        """Give the job to an idle or new worker, which becomes the leader."""
        if self._idle:
            self._leader = self._idle.pop()
            self._leader.put(job)
        else:
            inbox = self._leader = SimpleQueue[_Job[Any]]()
            _spawn(lambda: self._serve(inbox, job))

    def _watch(self, loop: AbstractEventLoop, most: int) -> None:
        self._watching = loop
        loop.call_later(self._patience, self._check_leader, loop, self._taken, most)

    def _check_leader(self, loop: AbstractEventLoop, taken: int, most: int) -> None:
        """Start workers for up to ``most`` waiting jobs if the leader has taken no job since the last check."""
        with self._lock:
            slow = self._taken == taken
            for _ in range(min(most, len(self._waiting)) if slow else 0):
                self._lead(self._waiting.popleft())
            waits = bool(self._waiting)
        self._watching = None
        if waits:
            self._watch(loop, most * 2 if slow else 1)

    def _serve(self, inbox: "_Inbox", job: "_Job[Any] | None") -> None:
        while job is not None:
            job.work()
            following, stay = self._next_role(inbox)
            self._report(job)  # after the worker became idle, so that the caller can reuse it
            job = None  # an idle worker must not keep the last call alive
            job = self._next(inbox) if stay else following
            del following

    def _next_role(self, inbox: "_Inbox") -> tuple["_Job[Any] | None", bool]:
        with self._lock:
            if self._leader is inbox and self._waiting:
                self._taken += 1
                return self._waiting.popleft(), False
            if self._leader is inbox:
                self._leader = None
            stay = len(self._idle) < self._keep_idle
            if stay:
                self._idle.append(inbox)
            return None, stay

    def _report(self, job: "_Job[Any]") -> None:
        """Wake the event loop, once for all jobs that end before the loop runs."""
        with self._lock:
            ended = self._ended.setdefault(job.loop, [])
            ended.append(job)
            if len(ended) > 1:
                return
        try:
            job.loop.call_soon_threadsafe(self._end_jobs, job.loop)
        except RuntimeError:  # the loop was closed, so no caller waits
            self._ended.pop(job.loop, None)

    def _end_jobs(self, loop: AbstractEventLoop) -> None:
        with self._lock:
            ended = self._ended.pop(loop, [])
        for job in ended:
            job.end()

    def _next(self, inbox: "_Inbox") -> "_Job[Any] | None":
        try:
            return inbox.get(timeout=self._idle_seconds)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
            return inbox.get()  # a job was assigned at the last moment


def threads_of(host: object) -> Threads | None:
    """Return the threads of a host; None if it has none, because the Host port does not require them."""
    threads = host_part(host, "threads")
    return threads if isinstance(threads, Threads) else None


class _Job(Generic[T]):
    """One function call in a thread. ``work`` and ``work_alone`` run in the thread; all other methods run in the event
    loop's thread."""

    def __init__(self, fn: Callable[[], T], loop: AbstractEventLoop) -> None:
        self._fn: Callable[[], T] | None = fn
        self.loop = loop
        self._context = copy_context()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._over = False
        self._waiter: Future[None] | None = None

    def work(self) -> None:
        fn, self._fn = self._fn, None
        if fn is None:  # abandoned before it began
            return
        try:
            self._value = self._context.run(fn)
        except BaseException as error:
            self._error = error

    def work_alone(self) -> None:
        self.work()
        # RuntimeError: the loop was closed, so no caller waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.end)

    async def ended(self, on_cancel: Callable[[], None] | None) -> None:
        cancelled = False
        while not self._over:
            waiter = self._waiter = self.loop.create_future()
            try:
                await waiter
            except CancelledError:
                if cancelled:
                    self._fn = None
                    raise
                cancelled = True
                if on_cancel is not None and not self._over:
                    self._call_on_cancel(on_cancel)

    def outcome(self) -> T:
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame
        return cast(T, self._value)

    def end(self) -> None:
        self._over = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _call_on_cancel(self, on_cancel: Callable[[], None]) -> None:
        try:
            on_cancel()
        except Exception as error:
            # Ending now would abandon the thread: report the error and continue to wait.
            self.loop.call_exception_handler({"message": "on_cancel of a thread raised", "exception": error})


def _spawn(work: Callable[[], None]) -> None:
    Thread(target=work, name="callgate-worker", daemon=True).start()


_Inbox = SimpleQueue[_Job[Any]]

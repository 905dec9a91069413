"""Runs blocking work in threads, one of which may hang without holding up the others.

A tool may never return. So workers are daemons (the interpreter can exit), their number has no limit (a stuck one
takes no place from another), and only the idle ones are counted and kept for reuse.
"""

from asyncio import AbstractEventLoop, CancelledError, Future, get_running_loop
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


async def in_thread(
    fn: Callable[[], T], *, on_cancel: Callable[[], None] | None = None, threads: "Threads | None" = None
) -> T:
    """Run ``fn`` in a thread and wait until it has really ended.

    A cancel does not end the wait: it calls ``on_cancel`` (which should make ``fn`` return soon, and must not raise),
    and the value or error of ``fn`` is what comes out. Only a second cancel, as a loop sends it when the program
    ends, leaves the thread behind as a daemon. Without ``threads`` the call gets a thread of its own.
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
        del job  # an error's traceback holds this frame: no cycle through the error


class Threads:
    """A cache of idle workers. Used from one event loop, dropped with its owner."""

    def __init__(self, *, keep_idle: int = 16, idle_seconds: float = 30.0) -> None:
        self._keep_idle = keep_idle
        self._idle_seconds = idle_seconds
        self._lock = Lock()
        self._idle: list[SimpleQueue[_Job[Any]]] = []

    @property
    def idle(self) -> int:
        return len(self._idle)

    def begin(self, job: "_Job[Any]") -> None:
        """Hand the job to an idle worker, or to a new one."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(job)
        else:
            _spawn(lambda: self._serve(job))

    def _serve(self, job: "_Job[Any] | None") -> None:
        inbox: SimpleQueue[_Job[Any]] = SimpleQueue()
        while job is not None:
            job.work()
            with self._lock:
                stay = len(self._idle) < self._keep_idle
                if stay:
                    self._idle.append(inbox)
            job.report()  # after joining the idle ones, so that the waiting caller finds this worker free
            job = None  # an idle worker must not keep the last call alive
            if stay:
                job = self._next(inbox)

    def _next(self, inbox: "SimpleQueue[_Job[Any]]") -> "_Job[Any] | None":
        try:
            return inbox.get(timeout=self._idle_seconds)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
            return inbox.get()  # taken at the last moment: the job is on its way


def threads_of(host: object) -> Threads | None:
    """The threads a host lends, if it does: the Host port does not ask for any."""
    threads = getattr(host, "threads", None)
    return threads if isinstance(threads, Threads) else None


class _Job(Generic[T]):
    """One function's trip through a thread: ``work`` and ``report`` belong to it, all else to the loop's thread."""

    def __init__(self, fn: Callable[[], T], loop: AbstractEventLoop) -> None:
        self._fn: Callable[[], T] | None = fn
        self._loop = loop
        self._context = copy_context()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._over = False
        self._waiter: Future[None] | None = None

    def work(self) -> None:
        fn, self._fn = self._fn, None
        assert fn is not None
        try:
            self._value = self._context.run(fn)
        except BaseException as error:
            self._error = error

    def work_alone(self) -> None:
        self.work()
        self.report()

    def report(self) -> None:
        # RuntimeError: the loop was closed first, so no caller waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    async def ended(self, on_cancel: Callable[[], None] | None) -> None:
        cancelled = False
        while not self._over:
            waiter = self._waiter = self._loop.create_future()
            try:
                await waiter
            except CancelledError:
                if cancelled:
                    raise
                cancelled = True
                if on_cancel is not None and not self._over:
                    self._tell(on_cancel)

    def outcome(self) -> T:
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        return cast(T, self._value)

    def _end(self) -> None:
        self._over = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _tell(self, on_cancel: Callable[[], None]) -> None:
        try:
            on_cancel()
        except Exception as error:
            # Ending now would leave the thread alone with its effects: report and go on waiting.
            self._loop.call_exception_handler({"message": "on_cancel of a thread raised", "exception": error})


def _spawn(work: Callable[[], None]) -> None:
    Thread(target=work, name="callgate-worker", daemon=True).start()

"""The thread that writes a log, with group commit, backpressure and error reports.

The event loop only appends to a queue. The thread encodes, writes and syncs all queued lines together.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import finalize

from callgate.conversation.ports import Drafted
from callgate.core.ports import Maybe
from callgate.host.threads import in_thread
from callgate.transcript.tape import PATIENCE, patiently
from callgate.words.decisions import Confirmation
from callgate.words.errors import JournalError, StateError, in_words
from callgate.words.events import CallArrived, Durable, MessageAdded, PromptQueued

T = TypeVar("T")

_BATCH = 1 << 20
_CROWDED = 4096
_IDLE_SYNC = 1.0
_AT_EXIT = 10.0


class Lines(Protocol):
    """Protocol: encodes events as lines for a Writer. Only the thread of the Writer calls the methods."""

    draft: tuple[str, Drafted] | None
    """The newest draft that is not written yet; set by the loop."""

    @property
    def path(self) -> Path: ...

    def open(self) -> Sink:
        """Open the file to write to. Called before the first line, and again after a failure."""
        ...

    def line(self, event: Durable, at: int) -> bytes:
        """Return the line of an event, which is written at this offset. Must not raise."""
        ...

    def aside(self) -> None:
        """Write data whose loss is acceptable, such as a draft. Called each time the thread wakes up. Must not
        raise."""

    def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        """Return all events after the event with this number, with their numbers."""
        ...

    def rest(self) -> None:
        """Do deferred work. Called when all events are on disk and no caller waits. Must not raise."""

    def close(self) -> None:
        """Close the file. Must not raise."""


class Sink(Protocol):
    """Protocol of the file that receives the lines, such as a Tape. After an OSError the writer tries again."""

    @property
    def path(self) -> Path: ...
    @property
    def end(self) -> int: ...
    @property
    def unsynced(self) -> bool: ...
    @property
    def crowded(self) -> bool: ...
    def put(self, data: bytes) -> None: ...
    def write(self) -> None: ...
    def sync(self) -> None: ...


class _Waiter(NamedTuple):
    """A caller that waits until ``upto`` events are on disk, or for the result of ``work`` in the thread."""

    loop: AbstractEventLoop
    future: Future[Any]
    upto: int = 0
    work: Callable[[], Any] = bool


class Writer:
    def __init__(self, lines: Lines, *, name: str = "", patience: tuple[float, ...] | None = None) -> None:
        self._lines = lines
        self._name = name
        self._patience = PATIENCE if patience is None else patience
        self._queue: deque[Durable] = deque()
        self._lock = Lock()  # guards the waiters and the failure
        self._stop = Event()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._awake = False  # the thread was woken and has not read the queue yet
        self._due: AbstractEventLoop | None = None  # the loop that will wake the thread in its next iteration
        self._thread: Thread | None = None
        self._tape: Sink | None = None
        self._appended = 0  # events; counted by the loop
        self._encoded = self._synced = 0  # counted by the thread
        self._waiters: list[_Waiter] = []
        self._crowd: list[_Waiter] = []  # producers that wait for room
        self._jobs: deque[_Waiter] = deque()
        self._failure: JournalError | None = None

    # ---- the loop's side ----------------------------------------------------------------------------------------

    def append(self, event: Durable) -> None:
        self._queue.append(event)
        self._appended += 1
        self._begin_soon()

    def barrier(self) -> Awaitable[None] | None:
        """Return None if all appended events are on disk, otherwise an awaitable that returns when they are on disk.

        The awaitable raises JournalError if the events cannot be written. Another call tries to write the events
        again.
        """
        return None if self._synced >= self._appended else self._wait(self._waiters, upto=self._appended)

    def room(self) -> Awaitable[None] | None:
        """Return None if the queue is short, otherwise an awaitable that returns when the queue is short again. The
        awaitable raises JournalError like ``barrier``."""
        if self._failure is None and len(self._queue) < _CROWDED:
            return None
        return self._wait(self._crowd, upto=self._appended)

    def call(self, work: Callable[[], T]) -> Awaitable[T]:
        """Run ``work`` in the thread after all appended events are on disk. The awaitable returns the result and
        raises JournalError like ``barrier``, or the exception of ``work``."""
        return self._wait(self._jobs, work=work)

    def nudge(self) -> None:
        """Wake the thread to write a draft."""
        self._begin()

    def finish(self) -> JournalError | None:
        """Write all events and end the thread. Return the error if the write failed, otherwise None.

        The method blocks, so it must not run on the event loop.
        """
        if self._thread is not None:
            _end(self._stop, self._wake, self._thread, None)
        return self._failure

    def _wait(self, waiters: list[_Waiter] | deque[_Waiter], **wanted: Any) -> Awaitable[Any]:
        loop = get_running_loop()
        waiter = _Waiter(loop, loop.create_future(), **wanted)
        if self._stop.is_set():
            _resolve((waiter.future,), self._failure or JournalError("the journal is closed"))
            return waiter.future
        with self._lock:
            self._failure = None
            waiters.append(waiter)
        if waiters is self._jobs:
            self._begin()
        else:
            self._begin_soon()
        return waiter.future

    def _begin_soon(self) -> None:
        """Wake the thread in the next iteration of the event loop, so that the end of a call and the start of the
        next call share a sync."""
        if self._awake:
            return
        try:
            loop = get_running_loop()
        except RuntimeError:
            loop = None
        if loop is None or self._thread is None:  # at once, because there may be no next iteration
            self._begin()
        elif loop is not self._due:
            self._due = loop
            loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._due = None
        if self._thread is None:
            self._thread = Thread(target=self._run, name=f"callgate-journal {self._name}", daemon=True)
            # Writes the log of a program that exits without closing its session.
            finalize(self, _end, self._stop, self._wake, self._thread, _AT_EXIT)
            self._thread.start()
        if not self._awake:
            self._awake = True
            self._wake.put(None)

    # ---- the thread's side --------------------------------------------------------------------------------------

    def _run(self) -> None:
        stopping = False
        while not stopping:
            unsynced = self._tape is not None and self._tape.unsynced
            woken = self._woken(_IDLE_SYNC if unsynced else None)
            stopping = self._stop.is_set()
            if self._failure is not None and not stopping:
                continue  # until a caller asks for a retry
            self._failure = None
            try:
                self._work(sync=stopping or not woken or bool(self._jobs))
                self._lines.aside()
                self._do_jobs()
            except JournalError as failure:
                self._fail(failure)
            except BaseException as error:  # a bug; fail the waiters, which would wait forever
                self._fail(JournalError(f"the record cannot be written: {in_words(error)}"))
        self._lines.close()

    def _woken(self, timeout: float | None) -> bool:
        try:
            self._wake.get(timeout=timeout)
        except Empty:
            return False
        self._awake = False
        return True

    def _work(self, *, sync: bool) -> None:
        if self._tape is None:
            if not self._queue:
                return
            self._tape = patiently(self._lines.open, self._patience, self._stop.wait, self._lines.path)
        tape = self._tape
        while True:
            self._encode(tape)
            patiently(tape.write, self._patience, self._stop.wait, tape.path)
            if sync or self._waiters or tape.crowded:
                patiently(lambda: _again(tape), self._patience, self._stop.wait, tape.path)
                self._synced = self._encoded
                self._release(self._waiters, self._synced)
            if len(self._queue) <= _CROWDED // 2:
                self._release(self._crowd, self._appended)
            if not self._queue:
                break
        if not tape.unsynced:
            self._lines.rest()

    def _do_jobs(self) -> None:
        while self._jobs and self._synced == self._encoded and not self._queue:
            job = self._jobs.popleft()  # only this thread removes jobs
            try:
                _end_waits((job,), None, job.work())
            except Exception as error:
                _end_waits((job,), error)
        if self._jobs:
            self._wake.put(None)

    def _encode(self, tape: Sink) -> None:
        begin = tape.end
        while self._queue and tape.end - begin < _BATCH:
            tape.put(self._lines.line(self._queue[0], tape.end))
            self._queue.popleft()
            self._encoded += 1

    def _release(self, waiters: list[_Waiter], upto: int) -> None:
        with self._lock:
            ready = [each for each in waiters if each.upto <= upto]
            waiters[:] = [each for each in waiters if each.upto > upto]
        _end_waits(ready)

    def _fail(self, failure: JournalError) -> None:
        """Raise the error in all waiters. The waiters are removed under the lock, because a later request starts a
        retry."""
        with self._lock:
            self._failure = failure
            waiting = [*self._waiters, *self._crowd, *self._jobs]
            self._waiters.clear()
            self._crowd.clear()
            self._jobs.clear()
        _end_waits(waiting, failure)


def _again(tape: Sink) -> None:
    tape.write()
    tape.sync()


def _end(stop: Event, wake: SimpleQueue[None], thread: Thread, timeout: float | None) -> None:
    stop.set()
    wake.put(None)
    thread.join(timeout)


def _end_waits(waiting: Iterable[_Waiter], failure: Exception | None = None, result: Any = None) -> None:
    futures: dict[AbstractEventLoop, list[Future[Any]]] = {}
    for each in waiting:
        futures.setdefault(each.loop, []).append(each.future)
    for loop, those in futures.items():
        try:
            loop.call_soon_threadsafe(_resolve, those, failure, result)
        except RuntimeError:  # that loop is closed
            continue


def _resolve(futures: Iterable[Future[Any]], failure: Exception | None, result: Any = None) -> None:
    for future in futures:
        if future.done():
            continue
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
            future.exception()  # no warning if the waiter was cancelled


class WrittenJournal:
    """A journal written by a Writer. Nothing is written before the first message. Answers of other programs are not
    supported; subclasses may add them."""

    def __init__(self, path: Path, lines: Lines, *, exists: bool, number: int, draft: tuple[str, Drafted]) -> None:
        self.path = path
        self.number = number
        self._lines = lines
        self._writer = Writer(lines, name=path.stem)
        self._held: list[Durable] | None = None if exists else []  # before the first message or call
        self._draft = draft
        self._closed = False

    @property
    def session(self) -> str:
        return self.path.stem

    def append(self, event: Durable) -> None:
        if self._closed:
            raise StateError(f"the journal of session {self.session} is closed")
        self.number += 1
        if self._held is None:
            self._writer.append(event)
            return
        self._held.append(event)
        if isinstance(event, MessageAdded | PromptQueued | CallArrived):
            held, self._held = self._held, None
            for each in held:
                self._writer.append(each)

    def barrier(self) -> Awaitable[None] | None:
        return self._writer.barrier()

    def room(self) -> Awaitable[None] | None:
        return self._writer.room()

    def draft(self, message_id: str, text: Drafted) -> None:
        if self._held is None and not self._closed:
            self._lines.draft = (message_id, text)
            self._writer.nudge()

    def drafted(self, message_id: str) -> Drafted:
        found, text = self._draft
        return text if found == message_id else ()

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        if self._held is not None:
            return list(enumerate(self._held[number:], number + 1))
        return await self._writer.call(partial(self._lines.after, number))

    async def answers(self) -> Sequence[Confirmation]:
        return ()

    def answer_faults(self) -> Sequence[str]:
        return ()

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        return None

    async def aclose(self) -> None:
        """Write all events and release the lock. Raise JournalError if writing failed."""
        if self._closed:
            return
        self._closed = True
        failure = await in_thread(self._finish)
        if failure is not None:
            raise failure

    def _finish(self) -> Exception | None:
        failure = self._writer.finish()
        self._lines.close()
        return failure

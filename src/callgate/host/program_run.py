"""Runs one program in a thread of its own, for ``host.processes``.

The thread starts the program through the launcher, writes its input, delivers its output, sends orders to the guard
and receives reports of the guard.
"""

import os
import selectors
import signal
import time
from _thread import start_new_thread
from asyncio import FIRST_COMPLETED, Future, get_running_loop, wait
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from threading import Lock
from typing import Literal

from callgate.host import command_launcher, guard
from callgate.host.command_launcher import GuardLine
from callgate.host.ports import Command, GuardLost, Sink

_CHUNK = 65536
LINGER = 1.0
"""Seconds during which the output of an exited program is still read."""
_LOST = -9  # the exit code if the guard was killed

Order = Literal[0, 1, 2]
NO_ORDER, END, KILL = 0, 1, 2


class ProgramRun:
    """The run of one program. ``run`` is called in the program's own thread; ``order`` and ``outlive`` are thread-safe.

    releases  True if child processes left after a normal exit are detached instead of killed
    """

    def __init__(
        self,
        command: Command,
        out: Sink,
        err: Sink | None,
        *,
        linger: float = LINGER,
        releases: bool = False,
    ) -> None:
        self._command = command
        self._sinks = (out,) if err is None else (out, err)
        self._unsent = memoryview(command.stdin)
        self._linger = linger
        self._releases = releases
        self._lock = Lock()
        self._ordered: Order = NO_ORDER
        self._outlives: Mapping[str, str] | None = None
        self._line: GuardLine | None = None
        self.tree_has_ended = self.guard_was_lost = False
        self.pid = self.guard = -1
        self.returncode: int | None = None
        self.was_ended = False
        """True if Callgate ended the program."""

    def order(self, order: Order) -> None:
        with self._lock:
            if order > self._ordered:
                self._ordered = order
                self._pass_on()

    def outlive(self, *, output: str, status: str) -> None:
        with self._lock:
            self._outlives = {"output": output, "status": status}
            if self._line is not None:
                self._line.order(guard.OUTLIVE, self._outlives)

    def on_started(self) -> None:
        """Called after the program was started, in the program's thread."""

    def on_ended(self) -> None:
        """Called after the program has exited and its output has ended, in the program's thread."""

    def _pass_on(self) -> None:
        if self._line is not None and self._ordered:
            self.was_ended = self.was_ended or self.returncode is None
            self._line.order(guard.KILL if self._ordered == KILL else guard.TERMINATE)

    def run(self) -> int:
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            line = self._start(selector, stack)
            try:
                self._serve(line, selector)
            except BaseException:
                self.order(KILL)
                while not self.tree_has_ended:
                    self._receive(line)
                raise
            finally:
                with self._lock:
                    self._line = None
            assert self.returncode is not None
            return self.returncode

    # ---- the start ----------------------------------------------------------------------------------------------

    def _start(self, selector: selectors.BaseSelector, stack: ExitStack) -> GuardLine:
        with ExitStack() as theirs:
            for handed in self._command.handed_fds:
                theirs.callback(os.close, handed)
            descriptors: dict[int, int] = {0: self._input(selector, stack, theirs)}
            if self._command.output_fd is not None:
                theirs.callback(os.close, self._command.output_fd)
                descriptors[1] = self._command.output_fd
            readers: list[int] = []
            for number, sink in enumerate(self._sinks, len(descriptors)):
                reader, descriptors[number] = _pipe(stack, theirs)
                readers.append(reader)
                selector.register(reader, selectors.EVENT_READ, partial(self._read, selector, reader, sink))
            descriptors.setdefault(2, descriptors[1])
            kept = None if self._releases else readers[0]
            line = command_launcher.LAUNCHER.start(self._command, descriptors, kept)
        stack.callback(line.close)
        (letter, number), *later = line.reports() or [(b"", 0)]
        if letter == guard.FAILED:
            raise _fault(number, self._command)
        if not letter:  # the guard was killed before its first report, perhaps by the command itself
            give_up = time.monotonic() + self._linger
            while self._open(line, selector) and (ready := selector.select(max(0.0, give_up - time.monotonic()))):
                for key, _ in ready:
                    key.data()
            raise GuardLost
        self.pid = number
        self._handle(later)
        selector.register(line.fileno(), selectors.EVENT_READ, partial(self._receive, line))
        with self._lock:
            self._line = line
            self._pass_on()
            if self._outlives is not None:
                line.order(guard.OUTLIVE, self._outlives)
        self.on_started()
        return line

    def _input(self, selector: selectors.BaseSelector, stack: ExitStack, theirs: ExitStack) -> int:
        if self._command.input_fd is not None:
            theirs.callback(os.close, self._command.input_fd)
            return self._command.input_fd
        if not self._unsent:
            reader = os.open(os.devnull, os.O_RDONLY)
            theirs.callback(os.close, reader)
            return reader
        reader, writer = os.pipe()
        theirs.callback(os.close, reader)
        os.set_blocking(writer, False)
        closing = stack.enter_context(ExitStack())
        closing.callback(os.close, writer)
        selector.register(writer, selectors.EVENT_WRITE, partial(self._feed, selector, writer, closing))
        return reader

    # ---- while it runs ------------------------------------------------------------------------------------------

    @staticmethod
    def _read(selector: selectors.BaseSelector, reader: int, sink: Sink) -> None:
        data = os.read(reader, _CHUNK)
        if data:
            sink(data)
        else:
            selector.unregister(reader)

    def _feed(self, selector: selectors.BaseSelector, writer: int, closing: ExitStack) -> None:
        try:
            self._unsent = self._unsent[os.write(writer, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the program has closed its input
            self._unsent = self._unsent[:0]
        if not self._unsent:
            selector.unregister(writer)
            closing.close()

    def _receive(self, line: GuardLine) -> None:
        reports = line.reports()
        self._handle(reports)
        if not reports and not self.tree_has_ended:  # the guard was killed: only the session of the program is known
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self.guard_was_lost = self.returncode is None
            self.returncode = _LOST if self.returncode is None else self.returncode
            self.tree_has_ended = True

    def _handle(self, reports: "list[tuple[bytes, int]]") -> None:
        for letter, number in reports:
            if letter == guard.GUARDED:
                self.guard = number
            elif letter == guard.EXITED:
                self.returncode = number
            elif letter == guard.GONE:
                self.tree_has_ended = True

    def _serve(self, line: GuardLine, selector: selectors.BaseSelector) -> None:
        give_up: float | None = None  # the deadline for the output of an exited program
        ended = False
        while not self.tree_has_ended:
            pause = None
            if self.returncode is not None and not ended:
                now = time.monotonic()
                give_up = now + self._linger if give_up is None else give_up
                if now > give_up or not self._open(line, selector):
                    ended = True
                    self.on_ended()
                    if self._releases and not self._ordered:
                        break
                else:
                    pause = give_up - now
            for key, _ in selector.select(pause):
                key.data()
        self._drain(line, selector)
        if not ended:  # before anything is closed, because the caller waits
            self.on_ended()

    @staticmethod
    def _open(line: GuardLine, selector: selectors.BaseSelector) -> bool:
        return any(
            key.events == selectors.EVENT_READ and key.fd != line.fileno() for key in selector.get_map().values()
        )

    def _drain(self, line: GuardLine, selector: selectors.BaseSelector) -> None:
        if not self.tree_has_ended:
            line.order(guard.RELEASE)
        selector.unregister(line.fileno())
        while self._open(line, selector) and (ready := selector.select(0)):
            for key, _ in ready:
                key.data()
            if not self.tree_has_ended:
                break


class LocalProcess(ProgramRun):
    """A Process of the local machine. Its thread ends when the process tree has ended."""

    def __init__(self, command: Command, out: Sink, err: Sink | None) -> None:
        super().__init__(command, out, err)
        self._loop = get_running_loop()
        self._start_event, self._exit_event, self._tree_event = (self._loop.create_future() for _ in range(3))
        self._fault: BaseException | None = None
        start_new_thread(self._work, ())  # Thread.start would wait for the thread

    @property
    def running(self) -> bool:
        return not (self.tree_has_ended or self._tree_event.done())

    async def started(self) -> None:
        await wait((self._start_event, self._tree_event), return_when=FIRST_COMPLETED)
        if not self._start_event.done() and self._fault is not None:
            raise self._fault

    async def ended(self) -> int:
        await wait((self._exit_event, self._tree_event), return_when=FIRST_COMPLETED)
        if self._fault is not None:
            raise self._fault
        if self.guard_was_lost:
            raise GuardLost
        assert self.returncode is not None
        return self.returncode

    async def gone(self) -> None:
        await wait((self._tree_event,))
        if self._fault is not None:
            raise self._fault

    def terminate(self) -> None:
        self.order(END)

    def kill(self) -> None:
        self.order(KILL)

    def on_started(self) -> None:
        self._set(self._start_event)

    def on_ended(self) -> None:
        self._set(self._exit_event)

    def _work(self) -> None:
        try:
            self.run()
        except BaseException as error:
            self._fault = error
        self._set(self._tree_event)

    def _set(self, event: Future[None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(lambda: None if event.done() else event.set_result(None))


def _pipe(stack: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    stack.callback(os.close, reader)
    theirs.callback(os.close, writer)
    return reader, writer


def _fault(number: int, command: Command) -> OSError:
    number, name = (number - guard.FOLDER, command.cwd) if number >= guard.FOLDER else (number, command.argv[0])
    return OSError(number, os.strerror(number), name)

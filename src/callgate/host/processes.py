"""Programs that are run to their end: bounded in time and in what they say, and ended with all they started.

One thread looks after one program, so that starting, feeding, reading, signalling and reaping never touch the event
loop's thread. The loop only tells it when to end.
"""

import os
import selectors
import signal
import subprocess
import time
from asyncio import CancelledError, current_task
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Lock, Thread
from typing import IO, Literal, NamedTuple, cast

from callgate.core.ports import Clock, Timer
from callgate.host.threads import in_thread
from callgate.words.errors import UsageError
from callgate.words.noun import noun

_MARK = "CALLGATE_TREE"
"""A variable with a value of its own for every run: found again in whatever inherits it, wherever that has moved."""

_CHUNK = 65536
_LOOK_AGAIN = 0.02  # seconds; only while something is being ended
_PATIENCE = 5.0  # seconds for the system to take away what was killed

_PS = "/bin/ps"

_Order = Literal[0, 1, 2]
_GO_ON, _END, _KILL = 0, 1, 2


@noun
class Finished:
    """The end of a program. ``returncode`` is negative for a signal; ``cut`` says that it wrote more than the limit, of
    which the beginning was kept."""

    returncode: int
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    cut: bool = False


async def run_process(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    clock: Clock,
    stdin: bytes = b"",
    timeout: float | None = None,
    limit: int = 1_000_000,
    grace: float = 2.0,
    linger: float = 1.0,
) -> Finished:
    """Run a program in a session of its own and wait for its end. OSError when it cannot be started.

    After ``timeout``, or when the caller is cancelled, it and everything it started is told to end, and is killed
    ``grace`` seconds later; when this returns or raises, nothing of it is left. Only a second cancel does not wait for
    that. A program that ends by itself may leave others behind: should they hold its output open, it is read for
    ``linger`` more seconds. ``limit`` is for each of the two outputs, in bytes.
    """
    if not hasattr(os, "killpg"):
        raise UsageError("programs can be run on Linux and macOS, not on this system")
    running = _Running(argv, str(cwd), env, stdin, limit, linger)
    timers: list[Timer] = []
    expired = False
    task = current_task()
    cancels = task.cancelling() if task else 0

    def end() -> None:
        running.order(_END)
        timers.append(clock.call_later(grace, partial(running.order, _KILL)))

    def expire() -> None:
        nonlocal expired
        expired = True
        end()

    if timeout is not None:
        timers.append(clock.call_later(timeout, expire))
    try:
        returncode = await in_thread(running.run, on_cancel=end)
    finally:
        running.order(_KILL)  # still there only if a second cancel ended the wait
        for timer in timers:
            timer.cancel()
    if task and task.cancelling() > cancels:
        raise CancelledError
    out, err = running.stdout, running.stderr
    return Finished(returncode, bytes(out.kept), bytes(err.kept), expired and running.ended, out.cut or err.cut)


class _Output:
    """One stream of a program: read to its end, kept up to the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.kept = bytearray()
        self.cut = False

    def take(self, data: bytes) -> None:
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        self.cut = self.cut or len(data) > room


class _Running:
    """One program; ``run`` belongs to a thread, ``order`` may be called from any."""

    def __init__(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bytes, limit: int, linger: float
    ) -> None:
        self._argv = list(argv)
        self._cwd = cwd
        self._mark = token_hex(16)
        self._env = {**env, _MARK: self._mark}
        self._unsent = memoryview(stdin)
        self._linger = linger
        self._lock = Lock()
        self._ordered: _Order = _GO_ON
        self._gone = False
        self._wake: int | None = None
        self.stdout = _Output(limit)
        self.stderr = _Output(limit)
        self.ended = False
        """True if it was told to end, rather than having ended by itself."""

    def order(self, order: _Order) -> None:
        with self._lock:
            self._ordered = max(self._ordered, order)
            self._wake_up()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for the end in a thread of its own. Where the system allows it the program stays unreaped until its
        children were looked for, so that its number is not reused."""
        with suppress(ChildProcessError):
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            else:
                process.wait()
        with self._lock:
            self._gone = True
            self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None:
            with suppress(BlockingIOError):  # it has not woken up yet from earlier orders
                os.write(self._wake, b".")

    def run(self) -> int:
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            self._listen(selector, stack)
            process = subprocess.Popen(
                self._argv,
                cwd=self._cwd,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
            Thread(target=self._wait, args=(process,), name="callgate-process", daemon=True).start()
            tree = _Tree(process, self._mark)
            try:
                stdin, *outputs = cast("list[IO[bytes]]", [process.stdin, process.stdout, process.stderr])
                for stream, output in zip(outputs, (self.stdout, self.stderr), strict=True):
                    ready = partial(self._read, selector, stream, output)
                    _attach(stream, selectors.EVENT_READ, ready, selector, stack)
                _attach(stdin, selectors.EVENT_WRITE, partial(self._feed, selector, stdin), selector, stack)
                self._attend(outputs, selector, tree)
                for key, _ in selector.select(0):  # its last words
                    key.data()
            except BaseException:
                tree.kill()
                raise
            finally:
                with suppress(subprocess.TimeoutExpired):  # not even killing helped: it hangs in the system
                    process.wait(_PATIENCE)
            return -signal.SIGKILL if process.returncode is None else process.returncode

    def _listen(self, selector: selectors.BaseSelector, stack: ExitStack) -> None:
        """Orders, and the end of the program, reach the selector as bytes in a pipe."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        stack.callback(os.close, reader)
        stack.callback(self._stop_listening, writer)
        selector.register(reader, selectors.EVENT_READ, partial(os.read, reader, _CHUNK))
        with self._lock:
            self._wake = writer

    def _stop_listening(self, writer: int) -> None:
        with self._lock:
            self._wake = None
            os.close(writer)

    @staticmethod
    def _read(selector: selectors.BaseSelector, stream: IO[bytes], output: _Output) -> None:
        data = os.read(stream.fileno(), _CHUNK)
        output.take(data)
        if not data:
            selector.unregister(stream)

    def _feed(self, selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
        try:
            self._unsent = self._unsent[os.write(stream.fileno(), self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want to know the rest
            self._unsent = self._unsent[:0]
        if not self._unsent:
            selector.unregister(stream)
            stream.close()

    def _attend(self, outputs: Sequence[IO[bytes]], selector: selectors.BaseSelector, tree: "_Tree") -> None:
        give_up: float | None = None  # waiting for the output of a program that has ended
        while True:
            if self._ordered:
                self.ended = True
                if not tree.end() and self._gone:
                    return
            if self._ordered == _KILL:
                tree.kill()
                return
            pause = _LOOK_AGAIN if self.ended else None
            if not self.ended and self._gone:
                now = time.monotonic()
                give_up = now + self._linger if give_up is None else give_up
                listening = selector.get_map()
                if now > give_up or not any(stream in listening for stream in outputs):
                    return
                pause = give_up - now
            for key, _ in selector.select(pause):
                key.data()


def _attach(
    stream: IO[bytes], event: int, ready: Callable[[], None], selector: selectors.BaseSelector, stack: ExitStack
) -> None:
    os.set_blocking(stream.fileno(), False)
    selector.register(stream, event, ready)
    stack.callback(stream.close)


class _Seen(NamedTuple):
    """One line of the system's list of processes. Its number together with its beginning is never given twice."""

    pid: int
    parent: int
    group: int
    session: int
    began: str


class _Tree:
    """A program and all it started, also what has left its group and its session since."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process
        self._mark = f"{_MARK}={mark}".encode()
        self._known: dict[int, str] = {}
        self._told: set[tuple[int, str]] | None = None

    def alive(self) -> dict[int, _Seen]:
        leader = self._process.pid
        everybody = {seen.pid: seen for seen in everybody_running() if seen.pid != os.getpid()}
        found = {
            pid: seen
            for pid, seen in everybody.items()
            if leader in (pid, seen.group, seen.session)
            or self._known.get(pid) == seen.began
            or (pid not in self._known and self._marked(pid))
        }
        more = True
        while more:
            more = {pid: seen for pid, seen in everybody.items() if seen.parent in found and pid not in found}
            found |= more
        self._known = {pid: seen.began for pid, seen in found.items()}
        return found

    def end(self) -> bool:
        """Signal every process that is left, each once; False if there is none.

        Called until it gives False: a process that left the group between the look and the signal got none, and is
        found outside of the group by the next look.
        """
        members = self.alive()  # before it is told: what it leaves behind could not be traced back to it afterwards
        if self._told is None:
            self._told = set()
            self._signal_group(signal.SIGTERM, members)
        outside = {pid: seen.began for pid, seen in members.items() if seen.group != self._process.pid}
        self._signal_each(signal.SIGTERM, [pid for pid, began in outside.items() if (pid, began) not in self._told])
        self._told |= outside.items()
        return bool(members)

    def kill(self) -> None:
        """Kills every process until none is left; some may start others while they are being killed."""
        until = time.monotonic() + _PATIENCE
        members = self.alive()
        while True:
            self._signal_group(signal.SIGKILL, members)
            self._signal_each(signal.SIGKILL, members)
            if not (members := self.alive()) or time.monotonic() > until:
                return
            time.sleep(_LOOK_AGAIN / 4)

    def _signal_group(self, number: int, members: Mapping[int, _Seen]) -> None:
        leader = self._process.pid
        # Once the leader is reaped and its group is empty, the number may belong to another process.
        if self._process.returncode is None or any(seen.group == leader for seen in members.values()):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, number)

    @staticmethod
    def _signal_each(number: int, pids: Iterable[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _marked(self, pid: int) -> bool:
        try:
            return self._mark in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # gone, another user's, or a system without such files
            return False


def everybody_running() -> list[_Seen]:
    """All processes that are not dead yet, as far as the system shows them; none where it shows nothing."""
    return _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()


def _from_proc() -> list[_Seen]:
    found: list[_Seen] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError, ValueError):  # it ended while we looked
                fields = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    found.append(_Seen(int(entry), int(fields[1]), int(fields[2]), int(fields[3]), fields[19]))
    return found


def _from_ps() -> list[_Seen]:
    found: list[_Seen] = []
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        listing = subprocess.run(
            [_PS, "-axo", "pid=,ppid=,pgid=,stat=,lstart="],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        for line in listing.stdout.decode(errors="replace").splitlines():
            pid, parent, group, state, began = line.split(None, 4)
            if state[0] != "Z":
                found.append(_Seen(int(pid), int(parent), int(group), 0, began))
    return found

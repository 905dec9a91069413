"""The launcher and the guards of commands. Run as a script, so it imports nothing of Callgate.

    Callgate ──starts once──▶ launcher ──forks──▶ guard ──spawns──▶ command ──▶ its child processes

Each process of Callgate has one launcher, and each running command one guard. A guard whose command has ended serves
the next command; if no guard is free, the launcher forks one in advance. On Linux a guard is a child subreaper:
processes that leave the command's group or session, or lose their parent, become children of the guard, so it can end
them. If Callgate ends, the guard ends the process tree, unless the command may outlive Callgate: then the guard writes
its output and exit status to files.
"""

import errno
import fcntl
import gc
import marshal
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress

Request = tuple[list[bytes], dict[bytes, bytes], bytes, list[int]]
"""Arguments, environment, folder, and the number of each sent descriptor in the command, or a negative number below."""
Process = tuple[int, int, int, str]
"""Parent, group, session and start time of a process."""

HEAD = 8  # bytes of the length of a request
RECORD = 9  # bytes of a report: a letter and a number

STARTED, GUARDED, FAILED, EXITED, GONE = b"s", b"w", b"f", b"x", b"g"
"""Reports of a guard: the command was started (its pid), the pid of the guard, the start failed (errno, plus FOLDER if
the folder is the reason), the command has exited (its code), the whole tree has ended (0)."""
TERMINATE, KILL, RELEASE, OUTLIVE = b"t", b"k", b"r", b"o"
"""Orders to a guard: terminate the tree, kill it, detach what is left, continue without Callgate. A SIGTERM to a guard
that continues without Callgate ends its tree."""
FOLDER = 1 << 32

OUTPUT, WORKING_FOLDER, RULESET = -1, -2, -3
"""Descriptors for the guard: the read end of the output, the working folder, the Landlock ruleset of the command."""

_POLL_SECONDS = 0.02  # seconds between checks while a tree is being ended
_PATIENCE = 5.0  # seconds to wait for killed processes
_IDLE = 30.0  # seconds after which an idle guard ends
_GRACE = 1.0  # seconds between SIGTERM and SIGKILL after Callgate has ended
_CHUNK = 65536
_MOST_FDS = 250
_PS = "/bin/ps"
_CHILD_SUBREAPER, _NO_NEW_PRIVS, _RESTRICT_SELF = 36, 38, 446  # two options of prctl, a system call of Landlock
_LINUX = sys.platform.startswith("linux")

_libc = None  # the C library, loaded on Linux only


def launch() -> None:
    """Run the launcher until Callgate ends: keep one free guard ready for the next command."""
    os.setsid()  # Ctrl-C in the terminal is meant for Callgate
    os.closerange(3, 65536)  # descriptors that an embedding program left open
    requests = socket.socket(fileno=0)
    callgate = _process_watcher(int(sys.argv[1]))
    wake = _wake_on_child()
    notices, notify = os.pipe()
    os.set_blocking(notices, False)
    gc.freeze()
    gc.disable()
    poll = select.poll()
    poll.register(requests, 0)
    for number in (notices, wake, callgate):
        if number is not None:
            poll.register(number, select.POLLIN)
    free: set[int] = set()
    while True:
        if not free:
            try:
                pid = os.fork()
            except OSError:  # the process limit is reached
                time.sleep(_POLL_SECONDS)
                continue
            if pid == 0:
                _IdleGuard(requests, notify, callgate).serve()
                os._exit(0)
            free.add(pid)
        for number, _ in poll.poll():
            if number == wake:
                with suppress(BlockingIOError):
                    if signal.SIGTERM in os.read(wake, _CHUNK):
                        os._exit(0)
                free -= _reap_children()[0].keys()
            elif number == notices:
                for notice in memoryview(os.read(notices, _CHUNK)).cast("i"):
                    (free.add if notice > 0 else free.discard)(abs(notice))
            else:
                os._exit(0)


def _process_watcher(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends. A closed socket does not show the end
    reliably, because forks may keep the socket open."""
    try:
        found = os.pidfd_open(pid)
    except (AttributeError, OSError):
        found = None
    if os.getppid() != pid:  # it ended before it was watched
        os._exit(0)
    return found


def _wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)  # without a handler nothing is written to the pipe
    return reader


def _reap_children() -> tuple[dict[int, int], bool]:
    """Return the exit codes of ended children by pid, and True if no children are left."""
    found: dict[int, int] = {}
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return found, False
            found[pid] = os.waitstatus_to_exitcode(status)
    return found, True


class _IdleGuard:
    def __init__(self, requests: socket.socket, notify: int, callgate: int | None) -> None:
        self._requests = requests
        self._notify = notify
        self._callgate = callgate
        os.close(signal.set_wakeup_fd(-1))  # the launcher's pipe, inherited by the fork
        self._wake = _wake_on_child()
        if _libc:
            _libc.prctl(_CHILD_SUBREAPER, 1)

    def serve(self) -> None:
        """Run commands until a process tree could not be ended, or no command arrives within the idle timeout."""
        space, pid = socket.CMSG_SPACE(4 * _MOST_FDS), os.getpid()
        while True:
            data, ancillary, _, _ = self._requests.recvmsg(1, space)
            if not data:
                return
            self._notify_launcher(-pid)
            control_fd, *sent = (number for _, _, packed in ancillary for number in memoryview(packed).cast("i"))
            for number in (control_fd, *sent):
                os.set_inheritable(number, False)
            with socket.socket(fileno=control_fd) as control:
                if not self._serve(control, sent):
                    return
            os.chdir("/")
            self._notify_launcher(pid)
            if not select.select([self._requests], [], [], _IDLE)[0]:
                return

    def _notify_launcher(self, notice: int) -> None:
        os.write(self._notify, notice.to_bytes(4, sys.byteorder, signed=True))

    def _serve(self, control: socket.socket, sent: list[int]) -> bool:
        request: Request = marshal.loads(_receive_sized(control))
        started = _start(request, sent)
        output = None
        for number, wanted in zip(sent, request[3], strict=False):
            if wanted == OUTPUT:
                output = number
            else:
                os.close(number)
        if isinstance(started, OSError):
            fault = (started.errno or 0) + (0 if started.filename else FOLDER)
            with suppress(OSError):  # Callgate has ended meanwhile
                control.sendall(_record(FAILED, fault))
            whole = True
        else:
            guard = _Guard(started, control, self._callgate, self._wake, output)
            try:
                guard.watch()
            except BaseException:
                guard.kill()
                raise
            whole, output = guard.whole, guard.output
        if output is not None:
            os.close(output)
        return whole


def _record(letter: bytes, number: int) -> bytes:
    return letter + number.to_bytes(RECORD - 1, "big", signed=True)


def _receive_sized(control: socket.socket) -> bytes:
    return _receive_exactly(control, int.from_bytes(_receive_exactly(control, HEAD), "big"))


def _receive_exactly(control: socket.socket, size: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < size:
        pieces += control.recv(min(size - len(pieces), 1 << 20)) or os._exit(0)
    return bytes(pieces)


def _start(request: Request, descriptors: list[int]) -> int | OSError:
    """Start a command with ``posix_spawn``, which is faster than fork and exec, and return its pid or the error."""
    argv, env, folder, numbers = request
    given = dict(zip(numbers, descriptors, strict=False))
    if len(given) < len(numbers):  # the kernel passes no more descriptors than the limit permits
        return OSError(errno.EMFILE, "", argv[0])
    try:
        os.chdir(given.get(WORKING_FOLDER, folder))
    except OSError as error:
        return OSError(error.errno, "")  # no file name: the error refers to the working folder
    actions: list[tuple[int, int, int]] = []
    reset = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)

    def spawn() -> int | OSError:
        fault: OSError = FileNotFoundError(errno.ENOENT, "", argv[0])
        for searched in [b"."] if b"/" in argv[0] else env.get(b"PATH", b"/usr/bin:/bin").split(b":"):
            path = os.path.join(searched or b".", argv[0])
            try:
                return os.posix_spawn(path, argv, env, file_actions=actions, setsid=True, setsigdef=reset)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                fault = OSError(error.errno, "", path)
        return fault

    try:
        for number, each in given.items():
            if number >= 0:  # moved above all wanted numbers first
                moved = fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, max(numbers) + 1)
                actions.append((os.POSIX_SPAWN_DUP2, moved, number))
        return _restricted(spawn, given[RULESET]) if RULESET in given else spawn()
    except OSError:  # the number is above the limit, or the limit is reached
        return OSError(errno.EMFILE, "", argv[0])
    finally:
        for _, moved, _ in actions:
            os.close(moved)


def _restricted(spawn: Callable[[], int | OSError], ruleset: int) -> int | OSError:
    """Call ``spawn`` in a thread that Landlock restricts. The started process inherits the restriction."""
    from threading import Thread  # rarely needed

    results: list[int | OSError] = [OSError(errno.EPERM, "", "Landlock")]

    def work() -> None:
        assert _libc is not None
        if _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and _libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0:
            results[0] = spawn()

    (thread := Thread(target=work)).start()
    thread.join()
    return results[0]


class _Guard:
    """The guard of one command: sends reports to Callgate, executes orders, and ends the process tree."""

    def __init__(
        self, leader: int, control: socket.socket, callgate: int | None, wake: int, output: int | None
    ) -> None:
        self._leader = leader
        self._control = control
        self._wake = wake
        self._callgate = callgate
        self.output = output
        """The read end of the command's output, until it was read completely in place of Callgate."""
        self._code: int | None = None
        self._ending = self._killing = self._is_orphan = self._is_detached = False
        self.whole = False
        """True if the whole tree has ended and Callgate is still running."""
        self._outlives: dict[str, str] | None = None
        self._kill_at: float | None = None
        self._terminated: set[tuple[int, str]] = set()
        self._known: dict[int, str] = {}

    def watch(self) -> None:
        poll = select.poll()
        for number in (self._control.fileno(), self._wake, self._callgate):
            if number is not None:
                poll.register(number, select.POLLIN)
        self._poll = poll
        self._report(_record(STARTED, self._leader) + _record(GUARDED, os.getpid()))
        while True:
            for number, _ in poll.poll(_POLL_SECONDS * 1000 if self._ending else None):
                if number == self._wake:
                    self._take_signals()
                elif number == self._control.fileno() and not self._is_orphan:
                    self._take_order()
                elif number == self.output and self._is_orphan:
                    self._copy_output()
                else:
                    self._on_callgate_ended()
            if self._is_detached or self._check():
                return

    def _check(self) -> bool:
        """Reap children and, if requested, continue to end the process tree. Return True if no process is left."""
        empty = self._reap()
        if not empty:
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._killing = True
            if self._killing:
                empty = self.kill()
            elif self._ending:
                self._end()
        if empty:
            self._finish()
        return empty

    def _reap(self) -> bool:
        """Reap children. Return True if the command has exited and no process of its tree is left."""
        codes, childless = _reap_children()
        ended = self._leader in codes
        if ended:
            self._code = codes[self._leader]
        empty = self._code is not None and childless and (_LINUX or not self._ending or not self._running_processes())
        if ended and not empty:
            self._report(_record(EXITED, codes[self._leader]))
        return empty

    def _finish(self) -> None:
        if self._is_orphan and self.output is not None:
            while self._copy_output():
                pass
        self._code = -signal.SIGKILL if self._code is None else self._code
        if self._is_orphan and self._outlives is not None:
            self._write_status(self._outlives)
        self.whole = not self._is_orphan and not self._is_detached
        self._report(_record(EXITED, self._code) + _record(GONE, 0))

    def _report(self, records: bytes) -> None:
        if not self._is_orphan:
            try:
                self._control.sendall(records)
            except OSError:
                self._on_callgate_ended()

    # ---- orders -------------------------------------------------------------------------------------------------

    def _take_order(self) -> None:
        try:
            order = self._control.recv(1)
        except OSError:
            order = b""
        if order == TERMINATE:
            self._ending = True
        elif order == KILL:
            self._ending = self._killing = True
        elif order == RELEASE:
            self._is_detached = True
        elif order == OUTLIVE:
            self._outlives = marshal.loads(_receive_sized(self._control))
        else:
            self._on_callgate_ended()

    def _take_signals(self) -> None:
        with suppress(BlockingIOError):
            if signal.SIGTERM in os.read(self._wake, _CHUNK) and self._is_orphan:
                self._end_soon()

    def _end_soon(self) -> None:
        self._ending = True
        self._kill_at = time.monotonic() + _GRACE

    def _on_callgate_ended(self) -> None:
        if self._is_orphan:
            return
        self._is_orphan = True
        for number in (self._control.fileno(), self._callgate):
            if number is not None:
                self._poll.unregister(number)
        if self._outlives is None:
            self._end_soon()
        elif self.output is not None:
            self._file = os.open(self._outlives["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.set_blocking(self.output, False)
            self._poll.register(self.output, select.POLLIN)

    def _copy_output(self) -> bool:
        """Copy a piece of output to the file after Callgate has ended. Return False if there is no more output."""
        assert self.output is not None
        try:
            data = os.read(self.output, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._poll.unregister(self.output)
            os.close(self.output)
            self.output = None
            return False
        with suppress(OSError):  # the disk is full: the output is lost
            while data:
                data = data[os.write(self._file, data) :]
        return True

    def _write_status(self, where: dict[str, str]) -> None:
        made = where["status"] + ".new"
        with suppress(OSError), open(made, "w", encoding="utf-8") as file:
            file.write(f'{{"code": {self._code}, "ended": {time.time()}}}')
            file.flush()
            os.replace(made, where["status"])

    # ---- the tree -----------------------------------------------------------------------------------------------

    def _running_processes(self) -> dict[int, str]:
        """Return the start times of the running processes of the tree, by pid. A pid with its start time is unique."""
        processes = _from_proc() if _LINUX else _from_ps()
        root = os.getpid()
        found = {
            pid: began
            for pid, (parent, group, session, began) in processes.items()
            if pid != root
            and (parent == root or self._leader in (pid, group, session) or self._known.get(pid) == began)
        }
        while below := {
            pid: each[3] for pid, each in processes.items() if each[0] in found and pid not in found and pid != root
        }:
            found.update(below)
        self._known = found
        return found

    def _end(self) -> None:
        for pid, began in self._running_processes().items():
            if (pid, began) not in self._terminated:
                self._terminated.add((pid, began))
                _signal(pid, signal.SIGTERM)

    def kill(self) -> bool:
        """Stop all processes of the tree, so that they start no more, then kill them. Return True if none is left."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            stopped: set[int] = set()
            for _ in range(100):
                new = self._running_processes().keys() - stopped
                if not new:
                    break
                for pid in new:
                    _signal(pid, signal.SIGSTOP)
                stopped |= new
            for pid in stopped:
                _signal(pid, signal.SIGKILL)
            if self._reap():
                return True
            time.sleep(_POLL_SECONDS / 10)
        self._is_detached = True  # a process hangs in the kernel, or belongs to another user
        return True


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _from_proc() -> dict[int, Process]:
    found: dict[int, Process] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            if fields[0] not in (b"Z", b"X"):
                found[int(entry)] = (int(fields[1]), int(fields[2]), int(fields[3]), fields[19].decode())
    return found


def _from_ps() -> dict[int, Process]:
    """Return all processes as ``ps`` lists them, for systems without /proc; their sessions are unknown."""
    import subprocess  # slow to import, not needed on Linux

    found: dict[int, Process] = {}
    try:
        listing = subprocess.run(
            [_PS, "-axo", "pid=,ppid=,pgid=,stat=,lstart="],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return found
    for line in listing.decode(errors="replace").splitlines():
        pid, parent, group, state, began = line.split(None, 4)
        if state[0] != "Z":
            found[int(pid)] = (int(parent), int(group), 0, began)
    return found


if __name__ == "__main__":
    if _LINUX:
        import ctypes

        _libc = ctypes.CDLL(None)
    launch()

"""Starts commands through the launcher process, which runs the script ``host/guard.py``."""

import atexit
import marshal
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from callgate.host import guard
from callgate.host.environment import OWN_ENVIRONMENT, scrubbed
from callgate.host.ports import Command
from callgate.words.errors import UsageError

_GUARD = str(Path(__file__).with_name("guard.py"))
_ARGUMENTS = ("-I", "-S", "-B", _GUARD)


class Launcher:
    """The connection to the launcher process. The process is started with the first command, and again after a fork
    or if it was killed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: socket.socket | None = None
        self._owner = self._pid = -1

    def close(self) -> None:
        with self._lock:
            if self._requests is not None:
                self._requests.close()
                self._requests = None

    def start(self, command: Command, descriptors: Mapping[int, int], kept: int | None) -> "GuardLine":
        """Request the start of a command and return the connection to its guard.

        descriptors  descriptors of this process, by their numbers in the command
        kept         the read end of the output, passed to the guard of a command that may outlive Callgate
        """
        wanted = {**descriptors, **{number: number for number in (*command.pass_fds, *command.handed_fds)}}
        sent, numbers = [*wanted.values()], [*wanted]
        for number, purpose in (
            (kept, guard.OUTPUT),
            (command.folder_fd, guard.WORKING_FOLDER),
            (command.ruleset_fd, guard.RULESET),
        ):
            if number is not None:
                sent, numbers = [*sent, number], [*numbers, purpose]
        env = {os.fsencode(name): os.fsencode(value) for name, value in command.env.items()}
        request: guard.Request = ([*map(os.fsencode, command.argv)], env, os.fsencode(command.cwd), numbers)
        if any(b"\0" in text for text in (*request[0], *env, *env.values(), request[2])):
            raise ValueError("a NUL character cannot be passed to a program")
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._send(theirs.fileno(), sent)
                ours.sendall(_sized(request))
            except BaseException:
                ours.close()
                raise
        return GuardLine(ours)

    def _send(self, control: int, sent: list[int]) -> None:
        with self._lock:
            for _ in range(2):
                if self._requests is None or self._owner != os.getpid():
                    self._begin()
                assert self._requests is not None
                with suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(self._requests, [b"."], [control, *sent])
                    return
                self._requests.close()
                self._requests = None
                with suppress(ChildProcessError):
                    os.waitpid(self._pid, 0)
            raise OSError("the process that starts commands exited immediately; check its Python installation")

    def _begin(self) -> None:
        if self._owner < 0:
            atexit.register(self.close)
        if not sys.executable:
            raise UsageError("commands are started by a Python interpreter, but sys.executable is not one")
        OWN_ENVIRONMENT.before_commands()
        ours, theirs = socket.socketpair()
        with theirs:
            actions = [
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ]
            argv = [sys.executable, *_ARGUMENTS, str(os.getpid())]
            self._pid = os.posix_spawn(sys.executable, argv, scrubbed(os.environ), file_actions=actions)
        self._requests, self._owner = ours, os.getpid()


class GuardLine:
    """The connection to the guard of one command: returns reports of the guard and sends orders to it."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._partial = b""

    def fileno(self) -> int:
        return self._control.fileno()

    def reports(self) -> list[tuple[bytes, int]]:
        """Wait for reports and return them; return an empty list if the guard process has ended."""
        while len(self._partial) < guard.RECORD:
            try:
                data = self._control.recv(16 * guard.RECORD)
            except OSError:
                data = b""
            if not data:
                return []
            self._partial += data
        whole = len(self._partial) // guard.RECORD * guard.RECORD
        records, self._partial = self._partial[:whole], self._partial[whole:]
        cut = [records[at : at + guard.RECORD] for at in range(0, whole, guard.RECORD)]
        return [(record[:1], int.from_bytes(record[1:], "big", signed=True)) for record in cut]

    def order(self, letter: bytes, about: Mapping[str, str] | None = None) -> None:
        """Send an order to the guard. Do nothing if the guard process has ended."""
        with suppress(OSError):
            self._control.sendall(letter if about is None else letter + _sized(dict(about)))

    def close(self) -> None:
        self._control.close()


def _sized(value: guard.Request | dict[str, str]) -> bytes:
    packed = marshal.dumps(value)
    return len(packed).to_bytes(guard.HEAD, "big") + packed


LAUNCHER = Launcher()
"""One per process, because it holds a process of the system, not state of a session."""

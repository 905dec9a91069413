"""The arena of the attacks: the folders, listeners and process that are attacked, and the detection of successful
attacks."""

import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from callgate.host.ports import Command
from callgate.host.sandbox import attacks
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.proxy import HostProxy
from callgate.host.sandbox.proxy_connection import ProxyRules
from callgate.host.sandbox.sandbox import places_in_empty_folders

Reports = Mapping[str, tuple[str, str]]
"""The outcome of each attack as it reports it (did, tried, failed, absent), and the reason."""

HostRules = Callable[[Sequence[str]], ProxyRules]
"""Returns the rules of a host proxy for hosts as written in the settings."""

_REBOUND = "rebound.callgate.example"
_UNTOUCHED = "as it was"
_VICTIM = "import sys; sys.stdin.read()"


class Arena:
    """The targets of the attacks in a new folder. The context manager creates the folder, and removes it when the
    ``with`` block ends.

    program  the script that runs the attacks
    names    the names of its attacks; words in a name determine the files of an attack (see ``attacks.Spot``)
    """

    program = Path(attacks.__file__)
    names: Collection[str] = attacks.ATTACKS.keys()
    timeout = 120.0  # seconds for all attacks together; usually less than one

    def __init__(self, folder: Path, rules: HostRules) -> None:
        self._folder = folder
        self.rules = rules
        self.token = secrets.token_hex(16)
        self._requests: list[str] = []  # paths requested from the allowed host
        self._stack = ExitStack()
        self._listeners: list[socket.socket] = []
        self.facts: dict[str, Any] = {}
        self.proxy: HostProxy | None = None

    def __enter__(self) -> "Arena":
        with ExitStack() as stack:
            self.furnish(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def furnish(self, stack: ExitStack) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="arena-", dir=self._folder)))
        stack.callback(shutil.rmtree, self.base, ignore_errors=True)
        self.workspace, self.outside = self.base / "workspace", self.base / "outside"
        for name in self.names:
            self._add_files(name)
        for folder in (self.base / "scratch", (self.workspace / attacks.WORK_FILE).parent):
            folder.mkdir()
        self.leftovers = [os.open(self.outside, os.O_RDONLY)]
        """Descriptors that a command without a sandbox inherits."""
        stack.callback(os.close, self.leftovers[0])
        port = self.listen(stack, socket.AF_INET, ("127.0.0.1", 0))
        # Addresses of Unix sockets must be short.
        self.listen(stack, socket.AF_UNIX, f"/proc/self/fd/{self.leftovers[0]}/socket")
        victim = self.start_victim(stack)
        self.facts = {
            "outside": str(self.outside),
            "workspace": str(self.workspace),
            "token": self.token,
            "port": port,
            "socket": str(self.outside / "socket"),
            "allowed": 0,
            "rebound": _REBOUND,
            "victim": victim,
            "victim_started": attacks.started(victim),
        }
        self.serve(stack, port)

    def serve(self, stack: ExitStack, port: int) -> None:
        """Start the HTTP server of the allowed host, and the proxy. ``port`` is the port of the attacked listener."""
        allowed = self.facts["allowed"] = self._serve_pages(stack)
        hosts = (f"localhost:{allowed}", f"{_REBOUND}:{port}", *self.more_hosts)
        self.proxy = HostProxy(self.rules(hosts), self.resolve)
        stack.callback(self.proxy.close)

    more_hosts: tuple[str, ...] = ()
    """More hosts that the proxy allows."""

    def resolve(self, name: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    def _add_files(self, name: str) -> None:
        outside, kept = self.outside / name, self.workspace / f"{name}.kept"
        (self.workspace / name / "free").mkdir(parents=True)
        outside.mkdir(parents=True)
        files = {outside / "target": _UNTOUCHED}
        if "kept" in name:
            (kept / "hooks").mkdir(parents=True)
            files[kept / "config"] = _UNTOUCHED
        if "secret" in name:
            (outside / "secrets").mkdir()
            files |= dict.fromkeys((outside / "secret", outside / "secrets" / "key"), self.token)
        for file, text in files.items():
            file.write_text(text)
            file.chmod(0o600)

    def listen(self, stack: ExitStack, family: int, address: Any, kind: int = socket.SOCK_STREAM) -> int:
        """Open a listener, to which attacks send their names, and return its port."""
        listener = stack.enter_context(socket.socket(family, kind))
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen(len(self.names))
        listener.setblocking(False)
        self._listeners.append(listener)
        return listener.getsockname()[1] if family == socket.AF_INET else 0

    def _serve_pages(self, stack: ExitStack) -> int:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        Thread(target=_answer_requests, args=(listener, self._requests), daemon=True).start()
        stack.callback(listener.shutdown, socket.SHUT_RDWR)
        return listener.getsockname()[1]

    def start_victim(self, stack: ExitStack) -> int:
        """Start the attacked process and return its pid."""
        with ExitStack() as files:
            opened = [files.enter_context(open(file)) for file in self.victim_files()]
            victim = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _VICTIM],
                stdin=subprocess.PIPE,
                cwd=self.outside,
                env={"SECRET": self.token},
                pass_fds=tuple(file.fileno() for file in opened),
            )
        stack.callback(victim.communicate)
        stack.callback(victim.kill)
        return victim.pid

    def victim_files(self) -> Sequence[Path]:
        """Return the files that the attacked process keeps open."""
        return ()

    # ---- running ----------------------------------------------------------------------------------------------------

    def command(self) -> Command:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.base), "LANG": "C.UTF-8"}
        argv = (sys.executable, "-I", "-S", str(self.program), json.dumps(self.facts))
        return Command(argv, str(self.workspace), env)

    def profile(self) -> Profile:
        return Profile(
            root=str(self.workspace),
            read_only=(
                *(str(self.workspace / f"{name}.kept") for name in self.names if "kept" in name),
                # The attacks run with these, which may be in a folder that is empty inside.
                *places_in_empty_folders(*map(str, self.sources()), sys.prefix, sys.base_prefix),
            ),
            reserved=tuple(str(self.workspace / f"{name}.new") for name in self.names if "new" in name),
            unreadable=tuple(
                str(self.outside / name / secret)
                for name in self.names
                for secret in ("secret", "secrets")
                if "secret" in name
            ),
            scratch=str(self.base / "scratch"),
        )

    def sources(self) -> Sequence[Path]:
        """Return the folders from which the attack program is loaded."""
        return (self.program.parent,)

    def run(self, command: Command) -> tuple[Reports, str]:
        """Run the attacks. Return their reports, and the error message if they could not be run."""
        with subprocess.Popen(
            command.argv,
            cwd=self.workspace,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*command.pass_fds, *command.handed_fds),
        ) as process:
            for number in command.handed_fds:
                os.close(number)
            try:
                out, error = process.communicate(timeout=self.timeout)
            except BaseException:
                process.kill()
                raise
        rows = [line.split("\t") for line in out.decode(errors="replace").splitlines()]
        reports = {name: (outcome, why) for name, outcome, why in (row for row in rows if len(row) == 3)}
        if process.returncode == 0 and reports:
            return reports, ""
        lines = error.decode(errors="replace").strip().splitlines()
        return reports, lines[-1] if lines else f"the escape tests ended with exit code {process.returncode}"

    # ---- judging ----------------------------------------------------------------------------------------------------

    @property
    def was_written(self) -> bool:
        """True if the attack program wrote a file in the workspace."""
        return (self.workspace / attacks.WORK_FILE).is_file()

    @property
    def was_reached(self) -> bool:
        """True if the attack program reached the allowed host."""
        return "" in self._requests

    def succeeded(self, reports: Reports) -> frozenset[str]:
        """Return the names of the attacks that report success, changed a protected file, or reached a listener."""
        reached = self.reached()
        return frozenset(
            name
            for name in self.names
            if reports.get(name, ("", ""))[0] == "did" or name in reached or self._changed(name)
        )

    def reached(self) -> set[str]:
        """Return the names of the attacks that reached a listener."""
        return {*self._requests, *(name for each in self._listeners for name in self.received(each))}

    def received(self, listener: socket.socket) -> Iterator[str]:
        with suppress(OSError):
            while True:
                with listener.accept()[0] as caller:
                    caller.settimeout(1)
                    yield attack_name(caller.recv(200))

    def _changed(self, name: str) -> bool:
        outside, kept = self.outside / name, self.workspace / f"{name}.kept"
        return (
            [*_listed(outside)] != (["secret", "secrets", "target"] if "secret" in name else ["target"])
            or not _is_untouched(outside / "target")
            or ("kept" in name and [*_listed(kept), *_listed(kept / "hooks")] != ["config", "hooks"])
            or ("kept" in name and not _is_untouched(kept / "config"))
            or ("new" in name and _exists(self.workspace / f"{name}.new"))
        )


class SmallArena(Arena):
    """The arena of the self-test: without a proxy, and with this process as the process to attack."""

    names = attacks.SELF_TEST
    timeout = 20.0

    def serve(self, stack: ExitStack, port: int) -> None:
        self.facts["names"] = list(self.names)

    def start_victim(self, stack: ExitStack) -> int:
        return os.getpid()


def attack_name(data: bytes) -> str:
    """Return the name of an attack from the received bytes, which are the name or a request with the name as its
    path."""
    words = data.decode(errors="replace").split()
    return words[1].strip("/") if len(words) > 2 and words[2].startswith("HTTP/") else " ".join(words)


def _answer_requests(listener: socket.socket, paths: list[str]) -> None:
    with suppress(OSError):
        while True:
            with listener.accept()[0] as caller, suppress(OSError):
                caller.settimeout(1)
                received = b""
                while data := caller.recv(10_000):
                    received += data
                    while (end := received.find(b"\r\n\r\n")) >= 0:
                        paths.append(attack_name(received[:end]))
                        received = received[end + 4 :]
                        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
                        caller.shutdown(socket.SHUT_WR)


def _is_untouched(file: Path) -> bool:
    with suppress(OSError):
        status = file.stat()
        return file.read_text() == _UNTOUCHED and stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 1
    return False


def _listed(folder: Path) -> Iterator[str]:
    with suppress(OSError):
        yield from sorted(os.listdir(folder))


def _exists(path: Path) -> bool:
    """Return True if the path exists and is not an empty folder, which a killed command may leave."""
    return path.is_symlink() or path.is_file() or any(_listed(path))

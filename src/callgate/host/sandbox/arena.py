"""The arena of the attacks: folders, listeners and a process to attack, and the marks that successful attacks leave."""

import ctypes
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from callgate.host.ports import Command
from callgate.host.sandbox.attacks import LIBC, load
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.proxy import HostProxy
from callgate.host.sandbox.proxy_connection import ProxyRules
from callgate.host.sandbox.sandbox import emptied_places

Said = Mapping[str, tuple[str, str]]
"""For each attack its own word (did, tried, failed, absent) and why."""

HostRules = Callable[[Sequence[str]], ProxyRules]
"""Makes rules for a proxy of hosts as they are written in the settings."""

ATTACKS = load()
_REBOUND, _METADATA = "rebound.callgate.example", "metadata.callgate.example"
_LEADS_TO = {_METADATA: "169.254.169.254"}
_PROGRAM = Path(__file__).with_name("attacks") / "__main__.py"
_BEFORE = "as it was"
_TIME = 120.0  # seconds for all attacks together; they take about one
_VICTIM = "import sys; sys.stdin.read()"
_FIRST = "works"
"""The folder of the workspace in which a command inside writes a file, to prove that it worked at all."""


class Arena:
    """Everything is made in a new folder in ``folder`` and removed on leaving."""

    def __init__(self, folder: Path, rules: HostRules) -> None:
        self._folder = folder
        self._rules = rules
        self._looked_up: list[str] = []
        self._served: list[str] = []  # paths of requests to the allowed host
        self._stack = ExitStack()
        self._channels: list[socket.socket] = []
        self._addresses: dict[str, Any] = {}

    def __enter__(self) -> "Arena":
        with ExitStack() as stack:
            self._make(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _make(self, stack: ExitStack) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="arena-", dir=self._folder)))
        stack.callback(shutil.rmtree, self.base, ignore_errors=True)
        self.workspace, self.outside = self.base / "workspace", self.base / "outside"
        self._token = secrets.token_hex(16)
        for name in ATTACKS:
            self._furnish(name)
        for folder in (self.base / "scratch", self.workspace / _FIRST):
            folder.mkdir()
        self.leftover = os.open(self.outside, os.O_RDONLY)
        """A descriptor of the folder outside."""
        stack.callback(os.close, self.leftover)
        self._listen(stack)
        self._make_proxies(stack)
        self._share_memory(stack)
        self._start_victim(stack)

    def _furnish(self, name: str) -> None:
        outside, kept = self.outside / name, self.workspace / f"{name}.kept"
        (self.workspace / name / "free").mkdir(parents=True)
        outside.mkdir(parents=True)
        files = {outside / "target": _BEFORE}
        if "kept" in name:
            (kept / "hooks").mkdir(parents=True)
            files[kept / "config"] = _BEFORE
        if "secret" in name:
            (outside / "secrets").mkdir()
            files |= dict.fromkeys((outside / "secret", outside / "secrets" / "key"), self._token)
        for file, text in files.items():
            file.write_text(text)
            file.chmod(0o600)

    def _listen(self, stack: ExitStack) -> None:
        abstract, own = f"callgate-{secrets.token_hex(8)}", _own_address()
        folders = {"outside": self.leftover, "workspace": os.open(self.workspace, os.O_RDONLY)}
        stack.callback(os.close, folders["workspace"])

        def at(folder: str, name: str) -> str:  # short, as an address of a socket must be
            return f"/proc/self/fd/{folders[folder]}/{name}"

        stream, datagrams = socket.SOCK_STREAM, socket.SOCK_DGRAM
        port = self._open(stack, socket.AF_INET, stream, ("127.0.0.1", 0))
        udp = self._open(stack, socket.AF_INET, datagrams, ("127.0.0.1", 0))
        home = self._open(stack, socket.AF_INET, stream, (own, 0)) if own else 0
        self._open(stack, socket.AF_UNIX, stream, at("outside", "socket"))
        self._open(stack, socket.AF_UNIX, datagrams, at("outside", "datagrams"))
        self._open(stack, socket.AF_UNIX, stream, at("workspace", "socket"))
        self._open(stack, socket.AF_UNIX, stream, f"\0{abstract}")
        self._addresses = {
            "port": port,
            "udp": udp,
            "home": own,
            "home_port": home,
            "socket": str(self.outside / "socket"),
            "datagrams": str(self.outside / "datagrams"),
            "inner": str(self.workspace / "socket"),
            "abstract": abstract,
            "services": [*_services()],
        }

    def _make_proxies(self, stack: ExitStack) -> None:
        """The proxy of the sandbox, with a listener that it allows, and another one that allows what is not allowed."""
        allowed = self._serve_page(stack)
        self._addresses |= {"allowed": allowed, "rebound": _REBOUND, "metadata": _METADATA}
        hosts = (f"localhost:{allowed}", _METADATA, f"{_REBOUND}:{self._addresses['port']}")
        self.proxy = HostProxy(self._rules(hosts), self._resolve)
        other = HostProxy(self._rules((f"localhost:{self._addresses['port']}",)), self._resolve)
        for each in (self.proxy, other):
            stack.callback(each.close)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._addresses["other_proxy"] = listener.getsockname()[1]
        line = stack.enter_context(socket.socket(fileno=other.line(lambda decision: None).descriptor))
        socket.send_fds(line, [b"."], [listener.fileno()])
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._channels.append(stack.enter_context(ours))
        self.line = stack.enter_context(theirs).fileno()
        """A connected socket, as a line to a proxy is."""

    def _serve_page(self, stack: ExitStack) -> int:
        """A server that keeps connections open, so that it takes every request that reaches it."""
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        Thread(target=_serve_pages, args=(listener, self._served), daemon=True).start()
        stack.callback(listener.shutdown, socket.SHUT_RDWR)
        return listener.getsockname()[1]

    def _resolve(self, name: str, port: int) -> list[str]:
        self._looked_up.append(name.partition(".")[0])
        return [_LEADS_TO.get(name, "127.0.0.1")]

    def _open(self, stack: ExitStack, family: int, kind: int, address: Any) -> int:
        channel = stack.enter_context(socket.socket(family, kind))
        channel.bind(address)
        if kind == socket.SOCK_STREAM:
            channel.listen(len(ATTACKS))
        channel.setblocking(False)
        self._channels.append(channel)
        return channel.getsockname()[1] if family == socket.AF_INET else 0

    def _share_memory(self, stack: ExitStack) -> None:
        """The secret in memory that every process of this user can attach."""
        key = secrets.randbelow(1 << 30) + 1
        LIBC.shmat.restype = ctypes.c_void_p
        made = LIBC.shmget(key, ctypes.c_size_t(4096), 0o3600)  # new, for this user
        if made >= 0:
            stack.callback(LIBC.shmctl, made, 0, None)
            place = LIBC.shmat(made, None, 0)
            ctypes.memmove(place, self._token.encode(), len(self._token))
            LIBC.shmdt(ctypes.c_void_p(place))
        self._addresses["memory"] = key

    def _start_victim(self, stack: ExitStack) -> None:
        """A process of the same user, with a secret in its environment and in an open file."""
        name = "read_secret_of_victim_descriptor"
        with open(self.outside / name / "secret") as file:
            self._victim = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _VICTIM],
                stdin=subprocess.PIPE,
                cwd=self.outside,
                env={"SECRET": self._token},
                pass_fds=(file.fileno(),),
            )
        stack.callback(self._victim.communicate)
        stack.callback(self._victim.kill)

    # ---- running ----------------------------------------------------------------------------------------------------

    def command(self) -> Command:
        arena = {
            "outside": str(self.outside),
            "workspace": str(self.workspace),
            "victim": self._victim.pid,
            "token": self._token,
            **self._addresses,
        }
        script = f'echo works > {_FIRST}/file && exec "$0" "$@"'
        program = (sys.executable, "-I", "-S", str(_PROGRAM), json.dumps(arena))
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.base), "LANG": "C.UTF-8"}
        return Command(("/bin/sh", "-c", script, *program), str(self.workspace), env)

    def profile(self) -> Profile:
        return Profile(
            root=str(self.workspace),
            read_only=(*(str(self.workspace / f"{name}.kept") for name in ATTACKS if "kept" in name), *_programs()),
            reserved=tuple(str(self.workspace / f"{name}.new") for name in ATTACKS if "new" in name),
            unreadable=tuple(
                str(self.outside / name / place)
                for name in ATTACKS
                for place in ("secret", "secrets")
                if "secret" in name
            ),
            scratch=str(self.base / "scratch"),
        )

    def run(self, command: Command) -> tuple[Said, str]:
        """The words of the attacks, and why they could not be run, if so."""
        with subprocess.Popen(
            command.argv,
            cwd=self.workspace,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*command.pass_fds, *command.handed_fds),
        ) as ran:
            for number in command.handed_fds:
                os.close(number)
            try:
                out, error = ran.communicate(timeout=_TIME)
            except BaseException:
                ran.kill()
                raise
        rows = [line.split("\t") for line in out.decode(errors="replace").splitlines()]
        said = {name: (word, why) for name, word, why in (row for row in rows if len(row) == 3)}
        if ran.returncode == 0 and said:
            return said, ""
        words = error.decode(errors="replace").strip().splitlines()
        return said, words[-1] if words else f"the attacks ended with {ran.returncode}"

    # ---- judging ----------------------------------------------------------------------------------------------------

    def worked(self) -> bool:
        with suppress(OSError):
            return (self.workspace / _FIRST / "file").read_text() == "works\n"
        return False

    @property
    def was_reached(self) -> bool:
        """True if the proxy passed on what is allowed: the first of two requests of an attack."""
        return "" in self._served

    def succeeded(self, said: Said) -> frozenset[str]:
        """Attacks that saw themselves succeed, changed something that they must not, or reached a listener."""
        heard = self._heard()
        return frozenset(
            name for name in ATTACKS if said.get(name, ("", ""))[0] == "did" or name in heard or self._changed(name)
        )

    def _changed(self, name: str) -> bool:
        outside, kept = self.outside / name, self.workspace / f"{name}.kept"
        return (
            [*_listed(outside)] != (["secret", "secrets", "target"] if "secret" in name else ["target"])
            or not _is_untouched(outside / "target")
            or ("kept" in name and [*_listed(kept), *_listed(kept / "hooks")] != ["config", "hooks"])
            or ("kept" in name and not _is_untouched(kept / "config"))
            or ("new" in name and _is_there(self.workspace / f"{name}.new"))
        )

    def _heard(self) -> frozenset[str]:
        found = {*self._looked_up, *self._served}
        for channel in self._channels:
            with suppress(OSError):
                while True:
                    if channel.type == socket.SOCK_DGRAM or not _listens(channel):
                        heard = channel.recv(200)
                        found.add(_named(heard))
                        if not heard:
                            break
                    else:
                        with channel.accept()[0] as caller:
                            caller.settimeout(1)
                            found.add(_named(caller.recv(200)))
        return frozenset(found)


def _named(heard: bytes) -> str:
    """The name of the attack in what a listener heard: all of it, or the path of a request."""
    words = heard.decode(errors="replace").split()
    return words[1].strip("/") if len(words) > 2 and words[2].startswith("HTTP/") else " ".join(words)


def _listens(channel: socket.socket) -> bool:
    return bool(channel.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _serve_pages(listener: socket.socket, served: list[str]) -> None:
    """Answers every request of every connection, one at a time, and notes the paths."""
    with suppress(OSError):
        while True:
            with listener.accept()[0] as caller, suppress(OSError):
                caller.settimeout(1)
                heard = b""
                while data := caller.recv(10_000):
                    heard += data
                    while (end := heard.find(b"\r\n\r\n")) >= 0:
                        served.append(_named(heard[:end]))
                        heard = heard[end + 4 :]
                        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
                        caller.shutdown(socket.SHUT_WR)


def _is_untouched(file: Path) -> bool:
    with suppress(OSError):
        return file.read_text() == _BEFORE and stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_nlink == 1
    return False


def _listed(folder: Path) -> Iterator[str]:
    with suppress(OSError):
        yield from sorted(os.listdir(folder))


def _is_there(place: Path) -> bool:
    """An empty folder may be left by a command that was killed."""
    return place.is_symlink() or place.is_file() or any(_listed(place))


def _own_address() -> str:
    """An address of this machine that is not the loopback's; empty if it has none. Nothing is sent."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.connect(("192.0.2.1", 9))  # an address for documents
        return channel.getsockname()[0]
    return ""


def _services() -> Iterator[str]:
    """Sockets of services that run programs for whoever asks."""
    user = os.getuid()
    session = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    yield from filter(
        _is_socket,
        (
            session.removeprefix("unix:path=").partition(",")[0],
            "/run/dbus/system_bus_socket",
            f"/run/user/{user}/bus",
            "/run/systemd/private",
            f"/run/user/{user}/systemd/private",
            "/run/docker.sock",
            f"/run/user/{user}/docker.sock",
            f"/run/user/{user}/podman/podman.sock",
            f"/tmp/tmux-{user}/default",
            "/tmp/.X11-unix/X0",
        ),
    )


def _is_socket(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISSOCK(os.stat(path).st_mode)
    return False


def _programs() -> tuple[str, ...]:
    """Callgate and the interpreter, where they lie in a folder that is empty inside: the attacks are run by them."""
    return emptied_places(str(_PROGRAM.parents[4]), sys.prefix, sys.base_prefix)

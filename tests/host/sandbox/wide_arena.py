"""The arena with everything that only the attacks of the tests need."""

import ctypes
import os
import secrets
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

from callgate.host.ports import Command
from callgate.host.sandbox.attacks import LIBC, started
from callgate.host.sandbox.prover import Arena
from callgate.host.sandbox.proxy import HostProxy
from callgate.host.sandbox.proxy_connection import ProxyRules
from callgate.host.sandbox.sandbox import Sandbox
from callgate.policy.hosts import proxy_rules
from tests.host.sandbox.attacks import program as all_attacks

_METADATA = "metadata.callgate.example"
_REBOUND = "rebound.callgate.example"
_VICTIM = "import sys; sys.stdin.read()"


class WideArena(Arena):
    """An arena with these facts besides:

    udp, datagrams            listeners for datagrams, of the Internet and a Unix socket
    home, home_port           a listener at this machine's own address, empty without one
    inner, abstract           Unix sockets in the workspace and without a file
    services                  sockets of services of this machine
    memory                    the key of shared memory with the secret
    allowed                   the port of localhost that the proxy allows
    rebound                   a name that the proxy allows and that resolves to this machine
    metadata                  a host that the proxy allows and that leads to the address of a cloud's keys
    other_proxy               the port of a proxy that allows what is not allowed
    """

    program = Path(all_attacks.__file__)
    names = all_attacks.ALL_ATTACKS.keys()

    def furnish(self, stack: ExitStack) -> None:
        self._looked_up: list[str] = []
        self._requests: list[str] = []  # paths requested from the allowed host
        super().furnish(stack)
        allowed, victim = self._serve_pages(stack), self._start_victim(stack)
        hosts = (f"localhost:{allowed}", f"{_REBOUND}:{self.facts['port']}", _METADATA)
        self.proxy = HostProxy(self.rules(hosts), self.resolve)
        stack.callback(self.proxy.close)
        inner = os.open(self.workspace, os.O_RDONLY)
        stack.callback(os.close, inner)
        abstract, home = f"callgate-{secrets.token_hex(8)}", _own_address()
        self.facts |= {
            "allowed": allowed,
            "rebound": _REBOUND,
            "victim": victim,
            "victim_started": started(victim),
            "udp": self.listen(stack, socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM),
            "datagrams": str(self.outside / "datagrams"),
            "home": home,
            "home_port": self.listen(stack, socket.AF_INET, (home, 0)) if home else 0,
            "inner": str(self.workspace / "socket"),
            "abstract": abstract,
            "services": [*_services()],
            "memory": self._share_memory(stack),
            "metadata": _METADATA,
            "other_proxy": self._make_other_proxy(stack),
        }
        self.listen(stack, socket.AF_UNIX, f"/proc/self/fd/{self.leftovers[0]}/datagrams", socket.SOCK_DGRAM)
        self.listen(stack, socket.AF_UNIX, f"/proc/self/fd/{inner}/socket")
        self.listen(stack, socket.AF_UNIX, f"\0{abstract}")
        self._received, line = (stack.enter_context(each) for each in socket.socketpair())
        self._received.setblocking(False)
        self.leftovers.append(line.fileno())  # a connected socket, as the line to a proxy is

    def rules(self, hosts: Sequence[str]) -> ProxyRules:
        return proxy_rules(hosts)

    def wrapped(self, sandbox: Sandbox) -> Command:
        self._has_proxy = sandbox.has_network
        line = self.proxy.line(lambda decision: None) if sandbox.has_network else None
        return sandbox.wrap(self.command(), self.profile(), line)

    def fault(self) -> str:
        fault = super().fault()
        is_reached = not self._has_proxy or "" in self._requests
        return fault or ("" if is_reached else "a command in the sandbox cannot reach an allowed host")

    def _serve_pages(self, stack: ExitStack) -> int:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        Thread(target=_answer_requests, args=(listener, self._requests), daemon=True).start()
        stack.callback(listener.shutdown, socket.SHUT_RDWR)
        return listener.getsockname()[1]

    def _start_victim(self, stack: ExitStack) -> int:
        """Start the attacked process, which keeps a file open, and return its pid."""
        with open(self.outside / "read_secret_of_victim_descriptor" / "secret") as opened:
            victim = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _VICTIM],
                stdin=subprocess.PIPE,
                cwd=self.outside,
                env={"SECRET": self.token},
                pass_fds=(opened.fileno(),),
            )
        stack.callback(victim.communicate)
        stack.callback(victim.kill)
        return victim.pid

    def sources(self) -> Sequence[Path]:
        return all_attacks.SOURCES

    def resolve(self, name: str, port: int) -> list[str]:
        self._looked_up.append(name.partition(".")[0])
        return ["169.254.169.254" if name == _METADATA else "127.0.0.1"]

    def reached(self) -> set[str]:
        return super().reached() | {*self._requests, *self._looked_up, *_messages(self._received)}

    def received(self, listener: socket.socket) -> Iterator[str]:
        names = _messages(listener) if listener.type == socket.SOCK_DGRAM else super().received(listener)
        return map(attack_name, names)

    def _make_other_proxy(self, stack: ExitStack) -> int:
        proxy = HostProxy(self.rules((f"localhost:{self.facts['port']}",)), self.resolve)
        stack.callback(proxy.close)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        line = stack.enter_context(socket.socket(fileno=proxy.line(lambda decision: None).descriptor))
        socket.send_fds(line, [b"."], [listener.fileno()])
        return listener.getsockname()[1]

    def _share_memory(self, stack: ExitStack) -> int:
        """Put the secret into memory that every process of this user can attach. Return its key."""
        key = secrets.randbelow(1 << 30) + 1
        LIBC.shmat.restype = ctypes.c_void_p
        made = LIBC.shmget(key, ctypes.c_size_t(4096), 0o3600)  # new, for this user
        if made >= 0:
            stack.callback(LIBC.shmctl, made, 0, None)
            memory = LIBC.shmat(made, None, 0)
            ctypes.memmove(memory, self.token.encode(), len(self.token))
            LIBC.shmdt(ctypes.c_void_p(memory))
        return key


def _messages(channel: socket.socket) -> Iterator[str]:
    """Yield what was sent to a socket that keeps messages, up to its end."""
    with suppress(OSError):
        while data := channel.recv(200):
            yield data.decode(errors="replace")


def attack_name(text: str) -> str:
    """Return the name of an attack from received text, which is the name or a request with the name as its path."""
    words = text.split()
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
                        paths.append(attack_name(received[:end].decode(errors="replace")))
                        received = received[end + 4 :]
                        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
                        caller.shutdown(socket.SHUT_WR)


def _own_address() -> str:
    """Return an address of this machine that is not the loopback's, or an empty text. Sends nothing."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.connect(("192.0.2.1", 9))  # an address for documents
        return channel.getsockname()[0]
    return ""


def _services() -> Iterator[str]:
    """Yield sockets of services that run programs for every caller."""
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

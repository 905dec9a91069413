"""The arena with everything that only the attacks of the tests need."""

import ctypes
import os
import secrets
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from callgate.host.sandbox.arena import Arena, attack_name
from callgate.host.sandbox.attacks import LIBC
from callgate.host.sandbox.proxy import HostProxy
from tests.host.sandbox.attacks import program as all_attacks

_METADATA = "metadata.callgate.example"


class WideArena(Arena):
    """An arena with these facts besides:

    udp, datagrams            listeners for datagrams, of the Internet and a Unix socket
    home, home_port           a listener at this machine's own address, empty without one
    inner, abstract           Unix sockets in the workspace and without a file
    services                  sockets of services of this machine
    memory                    the key of shared memory with the secret
    metadata                  a host that the proxy allows and that leads to the address of a cloud's keys
    other_proxy               the port of a proxy that allows what is not allowed
    """

    program = Path(all_attacks.__file__)
    names = all_attacks.ALL_ATTACKS.keys()
    more_hosts = (_METADATA,)

    def furnish(self, stack: ExitStack) -> None:
        self._looked_up: list[str] = []
        super().furnish(stack)
        inner = os.open(self.workspace, os.O_RDONLY)
        stack.callback(os.close, inner)
        abstract, home = f"callgate-{secrets.token_hex(8)}", _own_address()
        self.facts |= {
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

    def victim_files(self) -> Sequence[Path]:
        return (self.outside / "read_secret_of_victim_descriptor" / "secret",)

    def sources(self) -> Sequence[Path]:
        return all_attacks.SOURCES

    def resolve(self, name: str, port: int) -> list[str]:
        self._looked_up.append(name.partition(".")[0])
        return ["169.254.169.254"] if name == _METADATA else super().resolve(name, port)

    def reached(self) -> set[str]:
        return super().reached() | {*self._looked_up, *_messages(self._received)}

    def received(self, listener: socket.socket) -> Iterator[str]:
        return _messages(listener) if listener.type == socket.SOCK_DGRAM else super().received(listener)

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
            yield attack_name(data)


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

"""A proxy with a listener on this machine's own loopback, and servers for it to reach."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread

from callgate.host.ports import HostDecision
from callgate.host.sandbox.proxy import HostProxy
from callgate.policy.hosts import proxy_rules


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that hands each connection to ``answer``, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    with listener.accept()[0] as caller, suppress(OSError):
                        answer(caller)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def echo(caller: socket.socket) -> None:
    """Sends back everything, to the end."""
    while data := caller.recv(65536):
        caller.sendall(data)


def page(caller: socket.socket) -> None:
    """Answers one request with the bytes that it got, as far as they come without a pause."""
    caller.settimeout(0.3)
    heard = b""
    with suppress(TimeoutError):
        while data := caller.recv(65536):
            heard += data
    caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(heard), heard))


class Proxied:
    """A proxy that serves a listener of ours, as it serves one of a sandbox."""

    def __init__(self, hosts: Sequence[str], names: dict[str, list[str]]) -> None:
        self.told: list[HostDecision] = []
        self.looked_up: list[str] = []

        def resolve(name: str, port: int) -> list[str]:
            self.looked_up.append(name)
            if name not in names:
                raise OSError("no such name")
            return names[name]

        self.proxy = HostProxy(proxy_rules(hosts), resolve)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.line = socket.socket(fileno=self.proxy.line(self.told.append).descriptor)
        socket.send_fds(self.line, [b"."], [self.listener.fileno()])

    def ask(self, text: str) -> str:
        """The whole answer to a request."""
        with self.connect() as channel:
            channel.sendall(text.replace("\n", "\r\n").encode())
            return everything(channel)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.listener.getsockname(), timeout=10)

    def close(self) -> None:
        self.proxy.close()
        self.line.close()
        self.listener.close()


def everything(channel: socket.socket) -> str:
    parts: list[bytes] = []
    while data := channel.recv(65536):
        parts.append(data)
    return b"".join(parts).decode(errors="replace")


@contextmanager
def proxied(hosts: Sequence[str], **names: str) -> Iterator[Proxied]:
    """``names`` with ``_`` for dots are all that can be resolved, besides localhost."""
    found = {name.replace("_", "."): [address] for name, address in {"localhost": "127.0.0.1", **names}.items()}
    made = Proxied(hosts, found)
    try:
        yield made
    finally:
        made.close()

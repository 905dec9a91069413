"""Attacks that reach a listener outside."""

import os
import socket
import subprocess

from callgate.host.sandbox.attacks import ArenaFacts, Spot, send_name, short_path
from tests.host.sandbox.attacks.table import NothingToAttack, attack


@attack
def connect_tcp_by_address(arena: ArenaFacts, at: Spot) -> None:
    if not arena["home"]:
        raise NothingToAttack("this machine has no address of its own")
    send_name(socket.AF_INET, socket.SOCK_STREAM, (arena["home"], arena["home_port"]), at)


@attack
def send_udp(arena: ArenaFacts, at: Spot) -> None:
    send_name(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", arena["udp"]), at)


@attack
def connect_unix_in_workspace(arena: ArenaFacts, at: Spot) -> None:
    send_name(socket.AF_UNIX, socket.SOCK_STREAM, short_path(arena["inner"]), at)


@attack
def connect_unix_abstract(arena: ArenaFacts, at: Spot) -> None:
    send_name(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + arena["abstract"], at)


@attack
def send_unix_datagram(arena: ArenaFacts, at: Spot) -> None:
    send_name(socket.AF_UNIX, socket.SOCK_DGRAM, short_path(arena["datagrams"]), at)


@attack
def send_unix_datagram_from_pair(arena: ArenaFacts, at: Spot) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(at.name.encode(), short_path(arena["datagrams"]))


@attack
def open_netlink(arena: ArenaFacts, at: Spot) -> bool:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    return True


@attack
def open_packets(arena: ArenaFacts, at: Spot) -> bool:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    return True


@attack
def reach_services(arena: ArenaFacts, at: Spot) -> bool:
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
def run_by_systemd(arena: ArenaFacts, at: Spot) -> None:
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

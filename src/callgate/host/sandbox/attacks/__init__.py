"""The attacks on a sandbox, by their names. ``__main__`` tries them, inside and outside.

Each attack has folders of its own and does nothing that would harm a machine on which it succeeds. One that returns
true saw itself succeed; one that returns nothing leaves that to the outside, because a write may end in a private copy.
"""

import ctypes
import os
from collections.abc import Callable
from typing import Any

Arena = dict[str, Any]
"""``outside`` and ``workspace`` (each with a folder for every attack), ``victim`` (a process), ``token`` (the secret),
``port``, ``udp``, ``home`` with ``home_port`` (this machine's own address), ``socket``, ``datagrams``, ``inner`` and
``abstract`` (listeners), ``services`` (sockets of the machine's own), ``memory`` (the key of shared memory); of the
proxy ``allowed`` (the port of localhost that may be reached), ``rebound`` and ``metadata`` (allowed names that lead to
this machine and to the address of a cloud's keys), ``other_proxy`` (the port of another one)."""

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.name == "posix" and os.uname().machine == "x86_64"


class NothingToAttack(Exception):
    """This machine does not have the thing that the attack is about."""


class Spot:
    """The folders of one attack: ``target`` and ``secret`` are files outside; ``free`` is a writable folder; ``kept`` a
    read-only folder in the workspace; ``new`` a reserved place there that does not exist. Each of the last three and
    ``secret`` are there for attacks with that word in their name."""

    def __init__(self, arena: Arena, name: str) -> None:
        self.name = name
        self.outside = os.path.join(arena["outside"], name)
        self.target = os.path.join(self.outside, "target")
        self.secret = os.path.join(self.outside, "secret")
        self.inside = os.path.join(arena["workspace"], name)
        self.free = os.path.join(self.inside, "free")
        self.kept = f"{self.inside}.kept"
        self.new = f"{self.inside}.new"


Attack = Callable[[Arena, Spot], object]
ATTACKS: dict[str, Attack] = {}
"""Filled by the modules of this package, all of which ``load`` imports."""


def attack(function: Attack) -> Attack:
    ATTACKS[function.__name__] = function
    return function


def load() -> dict[str, Attack]:
    from callgate.host.sandbox.attacks import kernel, network, proxy, reading, writing  # they need the names above

    assert all((kernel, network, proxy, reading, writing))
    return ATTACKS


def write(path: str, text: str = "attacked") -> None:
    with open(path, "w") as file:
        file.write(text)


def read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


def called(outcome: int) -> bool:
    if outcome < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


def exited(child: int) -> bool:
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise PermissionError("refused")
    return True


def in_child(work: Callable[[], object]) -> bool:
    """For what cannot be taken back."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(1)
    return exited(child)

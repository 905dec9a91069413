"""The attacks that prove a sandbox, and the program that runs them inside and outside.

    attacks.py ARENA        (JSON: see ArenaFacts)

It runs isolated and imports nothing of Callgate. It prints a line for each attack: ``name<TAB>did`` if the attack
detected its success, ``name<TAB>tried`` if only the arena can detect it, and ``name<TAB>failed<TAB>why`` if it failed.

Each attack has its own folders and does no harm to a machine on which it succeeds. The tests of the sandbox run about
eighty more attacks in the same way.
"""

import ctypes
import fcntl
import json
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

ArenaFacts = dict[str, Any]
"""The data of an arena.

  outside, workspace  contain a folder for every attack
  victim              the pid of a process to attack
  victim_started      the start time of this process, which identifies it in another pid namespace
  token               the secret
  port, socket        listeners outside
"""
WORK_FILE = "works/file"
"""The file that the program writes first, in the workspace."""

LIBC = ctypes.CDLL(None, use_errno=True)


class Spot:
    """The files and folders of one attack. "Outside" means outside the workspace.

    name     the name of the attack
    target   a file outside
    secret   an unreadable file outside, for attacks with ``secret`` in their name
    free     a writable folder in the workspace
    kept     a read-only folder in the workspace, for attacks with ``kept`` in their name
    new      a reserved, missing path in the workspace, for attacks with ``new`` in their name
    """

    def __init__(self, arena: ArenaFacts, name: str) -> None:
        self.name = name
        self.outside = os.path.join(arena["outside"], name)
        self.target = os.path.join(self.outside, "target")
        self.secret = os.path.join(self.outside, "secret")
        self.inside = os.path.join(arena["workspace"], name)
        self.free = os.path.join(self.inside, "free")
        self.kept = f"{self.inside}.kept"
        self.new = f"{self.inside}.new"


Attack = Callable[[ArenaFacts, Spot], object]
"""Returns True if it detected its success, and None if only the arena can: a write may go to a private copy."""


# ---- files outside, and protected places ----------------------------------------------------------------------------


def write_outside(arena: ArenaFacts, at: Spot) -> None:
    write(at.target)


def create_outside(arena: ArenaFacts, at: Spot) -> None:
    write(os.path.join(at.outside, "created"))


def write_over_leftover_descriptor(arena: ArenaFacts, at: Spot) -> None:
    for handle in range(3, 256):
        try:
            found = os.open(os.path.join(at.name, "target"), os.O_WRONLY | os.O_TRUNC, dir_fd=handle)
        except OSError:
            continue
        os.write(found, b"attacked")


def write_kept(arena: ArenaFacts, at: Spot) -> None:
    write(os.path.join(at.kept, "config"))


def create_new(arena: ArenaFacts, at: Spot) -> None:
    os.makedirs(at.new, exist_ok=True)
    write(os.path.join(at.new, "hook"))


# ---- secrets --------------------------------------------------------------------------------------------------------


def read_secret(arena: ArenaFacts, at: Spot) -> bool:
    return arena["token"] in read(at.secret)


# ---- network --------------------------------------------------------------------------------------------------------


def connect_tcp(arena: ArenaFacts, at: Spot) -> None:
    send_name(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", arena["port"]), at)


def connect_unix(arena: ArenaFacts, at: Spot) -> None:
    send_name(socket.AF_UNIX, socket.SOCK_STREAM, short_path(arena["socket"]), at)


# ---- processes ------------------------------------------------------------------------------------------------------


def signal_victim(arena: ArenaFacts, at: Spot) -> bool:
    os.kill(arena["victim"], 0)
    return started(arena["victim"]) == arena["victim_started"]


def type_into_terminal(arena: ArenaFacts, at: Spot) -> bool:
    """Inject input into the controlling terminal of the process."""

    def work() -> bool:
        os.setsid()
        _, end = os.openpty()
        fcntl.ioctl(end, 0x540E, 0)  # TIOCSCTTY
        fcntl.ioctl(end, 0x5412, b"x")  # TIOCSTI
        return True

    return in_child(work)


# ---- kernel ---------------------------------------------------------------------------------------------------------


def trace_child(arena: ArenaFacts, at: Spot) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.ptrace(0, 0, None, None) == 0 else 1)
    return exited(child)


def new_user_namespace(arena: ArenaFacts, at: Spot) -> bool:
    return in_child(lambda: called(LIBC.unshare(0x10000000)))


def make_file_with_rights_of_its_owner(arena: ArenaFacts, at: Spot) -> bool:
    path = os.path.join(at.free, "file")
    write(path)
    os.chmod(path, 0o4755)
    return bool(os.stat(path).st_mode & stat.S_ISUID)


def write_kernel_setting(arena: ArenaFacts, at: Spot) -> bool:
    path = "/proc/sys/vm/overcommit_memory"
    write(path, read(path))  # the same value
    return True


ATTACKS: Mapping[str, Attack] = {
    each.__name__: each
    for each in (
        *(write_outside, create_outside, write_over_leftover_descriptor, write_kept, create_new, read_secret),
        *(connect_tcp, connect_unix, signal_victim, type_into_terminal),
        *(trace_child, new_user_namespace, make_file_with_rights_of_its_owner, write_kernel_setting),
    )
}


# ---- steps of attacks -----------------------------------------------------------------------------------------------


def write(path: str, text: str = "attacked") -> None:
    with open(path, "w") as file:
        file.write(text)


def read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


def send_name(family: int, kind: int, address: Any, at: Spot) -> None:
    """Send the name of the attack to a socket of the arena, which identifies the attack by its name."""
    with socket.socket(family, kind) as channel:
        channel.settimeout(2)
        channel.connect(address)
        channel.send(at.name.encode())


def short_path(path: str) -> str:
    """Change to the folder of a socket and return the socket's name: addresses of Unix sockets are limited to about
    100 characters."""
    os.chdir(os.path.dirname(path))
    return os.path.basename(path)


def called(outcome: int) -> bool:
    """Return True if a function of the C library succeeded. Raise OSError if it failed."""
    if outcome < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


def started(pid: int) -> str:
    """Return the start time of a process as the kernel writes it; empty if the process is not visible."""
    with suppress(OSError):
        return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19]
    return ""


def exited(child: int) -> bool:
    """Return True if the child process succeeded. Raise PermissionError if it failed."""
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise PermissionError("refused")
    return True


def in_child(work: Callable[[], object]) -> bool:
    """Call a function in a child process, because its effects cannot be undone. Raise PermissionError if the
    function fails."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(1)
    return exited(child)


# ---- the program ----------------------------------------------------------------------------------------------------


def run_all(attacks: Mapping[str, Attack], arena: ArenaFacts) -> None:
    """Write the file that a command in the sandbox can write; then run the attacks and print their outcomes."""
    with suppress(OSError):
        write(os.path.join(arena["workspace"], WORK_FILE), "works")
    for row in _outcomes(attacks, arena):
        os.write(1, ("\t".join(row).replace("\n", " ") + "\n").encode(errors="replace"))


def _outcomes(attacks: Mapping[str, Attack], arena: ArenaFacts) -> Iterator[tuple[str, str, str]]:
    for name, attack in attacks.items():
        try:
            outcome = attack(arena, Spot(arena, name))
        except Exception as error:
            yield name, "failed", f"{type(error).__name__}: {error}"
        else:
            yield name, "tried" if outcome is None else "did" if outcome else "failed", ""


if __name__ == "__main__":
    run_all(ATTACKS, json.loads(sys.argv[1]))

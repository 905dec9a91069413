"""Runs commands inside bubblewrap, with namespaces of their own, read-only mounts, no capabilities, and the seccomp
filter."""

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from callgate.host.environment import find_program
from callgate.host.sandbox.profile import Binding, Profile, bindings

NAME = "bwrap"
INSTALL = "install the package bubblewrap (apt, dnf, pacman and apk have it under that name)"
_SHELL = "/bin/sh"
_FLAGS = ("--unshare-user", "--unshare-all", "--cap-drop", "ALL", "--disable-userns", "--die-with-parent")
_SINGLE_DIGITS = range(9, 2, -1)  # POSIX shells only support single digits

# /run contains the sockets of system services; some systems also keep programs there.
EMPTIED = ("/run", "/var/tmp")
KEPT = ("/run/current-system", "/run/opengl-driver")

# Owned by root even without capabilities; other users cannot write to them.
_KERNEL = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "mtrr", "scsi"))

# bubblewrap's first process keeps the descriptor of the lock file open. Over ``/proc/1/fd`` a command could open this
# file again, outside the mounts of the sandbox, and write to it.
_FIRST_PROCESS = "/proc/1"


def sandboxed_argv(
    argv: tuple[str, ...],
    cwd: str,
    profile: Profile,
    *,
    filter_file: str,
    closed: str,
    lock: str,
    variables: Mapping[str, str],
    descriptors: Collection[int] = (),
    stays: bool = False,
) -> tuple[str, ...]:
    """Return the arguments that run ``argv`` inside the sandbox.

    filter_file  the seccomp filter; a shell opens it for each command, because bubblewrap takes a descriptor
    closed       a file without permissions, mounted over hidden files
    lock         a lock file, see below
    variables    additional environment variables
    descriptors  the descriptors with which the command is started
    stays        True if the shell keeps the descriptors open until the sandbox has ended

    A mount needs a mount point. For missing reserved paths bubblewrap creates folders in the workspace. The shell
    removes these folders when the sandbox has ended, unless another command still needs them: bubblewrap's first
    process in each sandbox holds a shared lock on the lock file, and the command does not get the descriptor of the
    lock file.

    The shell runs outside the sandbox, so every program is named by its absolute path, in a folder that no command
    can write to.
    """
    bound = bindings(profile)
    held = [each.path for each in bound if each.kind == "hold"]
    filter_fd, lock_fd, *_ = (each for each in _SINGLE_DIGITS if each not in descriptors)
    locked = ("--sync-fd", str(lock_fd)) if held else ()
    words = (
        _path(NAME),
        *_FLAGS,
        "--new-session",
        "--seccomp",
        str(filter_fd),
        *locked,
        *_mounts(profile, bound, closed),
    )
    named = (word for name, value in variables.items() for word in ("--setenv", name, value))
    inner = shlex.join((*words, *named, "--chdir", cwd, "--", *argv))
    opened = f"{filter_fd}<{shlex.quote(filter_file)}"
    if not held and not stays:
        return (_SHELL, "-c", f"exec {inner} {opened}")
    lines = ["trap : TERM INT HUP", f"{inner} {opened}", "status=$?", "trap '' TERM INT HUP", "exit $status"]
    if held:
        flock = _path("flock")
        lines[1:1] = [f"exec {lock_fd}>>{shlex.quote(lock)}", f"{flock} -s {lock_fd} || exit 125"]
        lines[-1:-1] = [f"{flock} -n -x {lock_fd} && {{ {_removal(held)}; }} 2>/dev/null"]
    return (_SHELL, "-c", "\n".join(lines))


def _removal(held: Sequence[str]) -> str:
    """Return the shell command that removes mount points. In a folder of the user without write permission, where
    bubblewrap could create them as root of its namespace, the folder is writable meanwhile."""
    rmdir, chmod = _path("rmdir"), _path("chmod")
    commands: list[str] = []
    for folder in dict.fromkeys(map(os.path.dirname, held)):
        name, removal = shlex.quote(folder), f"{rmdir} {shlex.join(p for p in held if os.path.dirname(p) == folder)}"
        opened = f"{chmod} u+w {name}; {removal}; {chmod} u-w {name}"
        is_open = os.access(folder, os.W_OK)
        commands.append(removal if is_open else f"if [ -w {name} ]; then {removal}; else {opened}; fi")
    return "; ".join(commands)


LONGEST_SCRIPT = 120_000
"""The limit of Linux for one argument is 128 KiB."""


def _path(name: str) -> str:
    """Return the absolute path of a program. For a missing program return a path in a system folder, so that its
    start fails."""
    return find_program(name) or f"/usr/bin/{name}"


def _mounts(profile: Profile, bound: tuple[Binding, ...], closed: str) -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    yield from _hidden_folder(_FIRST_PROCESS)
    yield from ("--bind", profile.scratch, "/tmp") if profile.scratch else ("--tmpfs", "/tmp")
    for folder in EMPTIED:
        yield from ("--tmpfs", folder)
    for folder in (*KEPT, *(_KERNEL if os.getuid() == 0 else ())):
        yield from ("--ro-bind-try", folder, folder)
    for each in bound:
        match each.kind:
            case "write":
                yield from ("--bind", each.path, each.path)
            case "read":
                # A concurrent command may move a folder further down, together with its protected places.
                moves = os.path.dirname(each.path) not in profile.tops
                yield from ("--ro-bind-try" if moves else "--ro-bind", each.path, each.path)
            case "hide file":
                yield from ("--ro-bind", closed, each.path)
            case "hide folder" | "hold":
                yield from _hidden_folder(each.path)


def _hidden_folder(path: str) -> tuple[str, ...]:
    return ("--perms", "0555", "--tmpfs", path, "--remount-ro", path)

"""Commands inside bubblewrap: namespaces of their own, read-only mounts, no capabilities, the seccomp filter."""

import os
import shlex
from collections.abc import Iterator, Mapping

from callgate.host.environment import find_program
from callgate.host.sandbox.profile import Binding, Profile, bindings

NAME = "bwrap"
INSTALL = "install the package bubblewrap (apt, dnf, pacman and apk have it under that name)"
_SHELL = "/bin/sh"
_FLAGS = ("--unshare-user", "--unshare-all", "--cap-drop", "ALL", "--disable-userns", "--die-with-parent")
_FILTER_FD, _LOCK_FD = 9, 8

# Sockets of the system's services are in /run; some systems keep their programs there too.
EMPTIED = ("/run", "/var/tmp")
KEPT = ("/run/current-system", "/run/opengl-driver")

# root owns these, with or without capabilities; other users cannot write them
_KERNEL = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "mtrr", "scsi"))


def wrapped(
    argv: tuple[str, ...], cwd: str, profile: Profile, *, filter_file: str, lock: str, variables: Mapping[str, str]
) -> tuple[str, ...]:
    """The words that run ``argv`` inside, with these variables besides those that everything here gets.
    ``filter_file`` holds the seccomp filter: a shell opens it anew for each command, because bubblewrap wants it as a
    descriptor.

    Mounts need something to be mounted on. bubblewrap makes folders for places that are held, in the workspace itself;
    the shell removes them afterwards, unless another command still needs them: bubblewrap's first process in each
    sandbox holds ``lock`` shared, and the command itself does not have the descriptor.

    All of this runs outside the sandbox, so every program is named by its whole path, in a folder that no command can
    write to.
    """
    bound = bindings(profile)
    held = [each.path for each in bound if each.kind == "hold"]
    locked = ("--sync-fd", str(_LOCK_FD)) if held else ()
    words = (_path(NAME), *_FLAGS, "--new-session", "--seccomp", str(_FILTER_FD), *locked, *_mounts(profile, bound))
    named = (word for name, value in variables.items() for word in ("--setenv", name, value))
    inner = shlex.join((*words, *named, "--chdir", cwd, "--", *argv))
    opened = f"{_FILTER_FD}<{shlex.quote(filter_file)}"
    if not held:
        return (_SHELL, "-c", f"exec {inner} {opened}")
    script = f"""\
trap : TERM INT HUP
exec {_LOCK_FD}>>{shlex.quote(lock)}
{_path("flock")} -s {_LOCK_FD} || exit 125
{inner} {opened}
status=$?
trap '' TERM INT HUP
{_path("flock")} -n -x {_LOCK_FD} && {_path("rmdir")} {shlex.join(held)} 2>/dev/null
exit $status"""
    return (_SHELL, "-c", script)


def _path(name: str) -> str:
    """The whole path of a program; one that is not there fails by its name in a folder of the system."""
    return find_program(name) or f"/usr/bin/{name}"


def _mounts(profile: Profile, bound: tuple[Binding, ...]) -> Iterator[str]:
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
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
                yield from ("--ro-bind", each.path, each.path)
            case "hide file":
                yield from ("--ro-bind", "/dev/null", each.path)
            case "hide folder" | "hold":
                yield from ("--perms", "0555", "--tmpfs", each.path, "--remount-ro", each.path)

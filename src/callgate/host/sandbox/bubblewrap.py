"""Commands inside bubblewrap: namespaces of their own, read-only mounts, no capabilities, the seccomp filter."""

import os
import shlex
from collections.abc import Iterator

from callgate.host.sandbox.profile import Binding, Profile, bindings

NAME = "bwrap"
INSTALL = (
    "install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap)"
)
_SHELL = "/bin/sh"
_FLAGS = ("--unshare-user", "--unshare-all", "--cap-drop", "ALL", "--disable-userns", "--die-with-parent")
_FILTER_FD, _LOCK_FD = 9, 8

# Sockets of the system's services are in /run; some systems keep their programs there too.
EMPTIED = ("/run", "/var/tmp")
KEPT = ("/run/current-system", "/run/opengl-driver")

# root owns these, with or without capabilities; other users cannot write them
_KERNEL = tuple(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "mtrr", "scsi"))


def wrapped(
    argv: tuple[str, ...], cwd: str, profile: Profile, *, program: str, filter_file: str, lock: str
) -> tuple[str, ...]:
    """The words that run ``argv`` inside; ``program`` is bubblewrap. ``filter_file`` holds the seccomp filter: a shell
    opens it anew for each command, because bubblewrap wants it as a descriptor.

    Mounts need something to be mounted on. bubblewrap makes folders for places that are held, in the workspace itself;
    the shell removes them afterwards, unless another command still needs them: each holds ``lock`` shared.
    """
    bound = bindings(profile)
    words = (program, *_FLAGS, "--new-session", "--seccomp", str(_FILTER_FD), *_mounts(profile, bound))
    inner = shlex.join((*words, "--chdir", cwd, "--", *argv))
    held = [each.path for each in bound if each.kind == "hold"]
    opened = f"{_FILTER_FD}<{shlex.quote(filter_file)}"
    if not held:
        return (_SHELL, "-c", f"exec {inner} {opened}")
    script = f"""\
trap : TERM INT HUP
exec {_LOCK_FD}>>{shlex.quote(lock)}
flock -s {_LOCK_FD} || exit 125
{inner} {opened} {_LOCK_FD}>&-
status=$?
flock -n -x {_LOCK_FD} && rmdir {shlex.join(held)} 2>/dev/null
exit $status"""
    return (_SHELL, "-c", script)


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

"""Runs a command in a sandbox without bubblewrap. Run as a script, so it imports nothing of Callgate.

    launcher.py --filter FILE --chdir FOLDER [--lock FILE --closed FILE] [--scratch FOLDER] [--empty FOLDER]…
                [--write|--read|--hide-folder|--hide-file|--hold PATH]… [--keep DESCRIPTOR]… [--setenv NAME=VALUE]…
                [--unset NAME]… [--line DESCRIPTOR --port PORT] -- COMMAND…
    launcher.py --line DESCRIPTOR --port PORT [--unset NAME] -- COMMAND…

Landlock restricts where the command can write and read; the seccomp filter refuses system calls that bypass it. With
``--lock`` the command also gets its own users, mounts, processes and network, and paths are protected by mounts, as
with bubblewrap. Landlock rules only grant access to a folder and everything below it. So without mounts, a folder
that contains a protected path is opened child by child, and nothing new can be created in it directly.

With ``--line`` the program creates a listening socket on this port inside and sends it over the descriptor to the
proxy. It keeps the line open until the sandbox has ended; the command does not get it. Without ``--filter`` the program
only does this and executes the command: it then runs inside bubblewrap.
"""

import ctypes
import errno
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NoReturn

FAILED = 125
"""The exit status if the sandbox could not be created; the command was not run."""

_libc = ctypes.CDLL(None, use_errno=True)

# Landlock rights of files and folders, and the first ABI version that supports each.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_KNOWN_SINCE = {1: (1 << 13) - 1, 2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_TCP, _SCOPED = 0b11, 0b11  # bind and connect; abstract sockets and signals
_TCP_SINCE, _SCOPED_SINCE = 4, 6
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

_KINDS = ("write", "read", "hide-folder", "hide-file", "hold")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "stdin", "stdout", "stderr")
_SHARED_MEMORY = "/dev/shm"

_NEW_NAMESPACES = 0x7E020000
_MOUNT_SETATTR = 442
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_BIND, _REC, _PRIVATE = 1 << 12, 1 << 14, 1 << 18
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_OPENAT2, _NO_LINKS = 437, 4

_SET_PDEATHSIG, _SET_SECCOMP, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 1, 22, 24, 38, 47
_SECCOMP_FILTER, _CLEAR_ALL = 2, 4
_CAPABILITIES_VERSION = 0x20080522
_UP_AND_RUNNING, _SET_INTERFACE_FLAGS = 0x41, 0x8914


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _check(outcome: int, what: str) -> int:
    if outcome < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return outcome


class Plan:
    """The parsed options.

    places  paths with their treatment, parents first
    """

    def __init__(self, words: Sequence[str]) -> None:
        cut = words.index("--")
        self.argv = list(words[cut + 1 :])
        pairs = [(option[2:], value) for option, value in zip(words[:cut:2], words[1:cut:2], strict=True)]
        single = dict(pairs)
        self.filter, self.chdir, self.lock, self.scratch, self.line, self.port, self.closed = (
            single.get(name, "") for name in ("filter", "chdir", "lock", "scratch", "line", "port", "closed")
        )
        self.places = [(path, kind) for kind, path in pairs if kind in _KINDS]
        self.emptied = [path for option, path in pairs if option == "empty"]
        self.kept = sorted(int(number) for option, number in pairs if option == "keep")
        self.variables = dict(value.split("=", 1) for option, value in pairs if option == "setenv")
        self.unset = [name for option, name in pairs if option == "unset"]
        self.namespaces = bool(self.lock)

    def paths(self, *kinds: str) -> list[str]:
        return [path for path, kind in self.places if kind in kinds]


def main() -> int:
    plan = Plan(sys.argv[1:])
    if not plan.filter:
        _send_socket(int(plan.line), int(plan.port))
        _execute(plan)
    with open(plan.filter, "rb") as file:
        instructions = file.read()
    if not plan.namespaces:
        _restrict(plan, instructions)
        _execute(plan)
    held = plan.paths("hold")
    lock = os.open(plan.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)  # the folders are not removed while another command needs them
    for path in held:
        _make_folder(path)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the command gets its own signals; afterwards the folders are removed
    status = _in_child(lambda: _enter(plan, instructions))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return status
    for path in held:
        with suppress(OSError):
            os.rmdir(path)
    return status


def _in_child(work: Callable[[], int]) -> int:
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        status = FAILED
        try:
            _check(_libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
            # In its own namespace the first process sees no parent.
            if os.getppid() in (parent, 0):
                status = work()
        except BaseException as error:
            _print_error(error)
        os._exit(status)
    return _status_of(child)


def _status_of(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _enter(plan: Plan, instructions: bytes) -> int:
    """Create the namespaces and run the command in them. A child of this process becomes the first process of the
    new pid namespace: it reaps orphans, and when it ends, the kernel kills all other processes of the namespace."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW_NAMESPACES), "new namespaces")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return _in_child(lambda: _inside(plan, instructions))


def _inside(plan: Plan, instructions: bytes) -> int:
    os.setsid()
    _mount_all(plan)
    _raise_loopback()
    if plan.line:
        _send_socket(int(plan.line), int(plan.port))
    _restrict(plan, instructions)
    child = os.fork()
    if child == 0:
        _execute(plan)
    return _status_of(child)


# ---- mounts -------------------------------------------------------------------------------------------------------


def _mount_all(plan: Plan) -> None:
    tops = plan.paths("write")
    opened: dict[str, int] = {}  # opened before other mounts cover them
    for path in [*plan.paths("write", "read"), plan.closed, *([plan.scratch] if plan.scratch else [])]:
        try:
            opened[path] = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            # A concurrent command may move a folder further down, together with its protected places.
            if path not in plan.paths("read") or os.path.dirname(path) in tops:
                raise
    _attributes("/", set_=_RDONLY | _NOSUID, propagation=_PRIVATE)
    if plan.scratch:
        _cover("/tmp", opened[plan.scratch])
    else:
        _mount_empty("/tmp", "mode=1777")
    for folder in (*plan.emptied, _SHARED_MEMORY):
        if os.path.isdir(folder) and not os.path.islink(folder):
            _mount_empty(folder, "mode=1777")
    for path, kind in plan.places:
        if kind == "write":
            _cover(path, opened[path])
        elif kind == "read" and path not in opened:
            continue
        elif kind == "read":
            _bind(path, opened[path])
            _attributes(path, set_=_RDONLY | _NOSUID | _NODEV)
        elif kind != "hold" and not os.path.lexists(path):
            continue  # it is in a folder that is covered now
        elif kind == "hide-file":
            _bind(path, opened[plan.closed])
            _attributes(path, set_=_RDONLY | _NODEV)
        else:
            _mount_empty(path, "mode=0555", flags=_RDONLY)
    _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC, "")
    os.chdir(plan.chdir)


def _mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    what, where, how = source.encode(), os.fsencode(target), kind.encode() or None
    made = _libc.mount(what, where, how, ctypes.c_ulong(flags), data.encode())
    _check(made, f"mounting {target}")


def _mount_empty(folder: str, mode: str, flags: int = 0) -> None:
    _mount("tmpfs", folder, "tmpfs", flags | _NOSUID | _NODEV, mode)


def _bind(path: str, source: int) -> None:
    """Bind-mount an open descriptor on a path, because another mount may cover the path now."""
    if not os.path.lexists(path):
        _make_folder(path)
    _mount(f"/proc/self/fd/{source}", path, "", _BIND | _REC, "")


def _cover(path: str, source: int) -> None:
    """Bind-mount a writable path on itself; the mount stays read-only if the file system is read-only."""
    _bind(path, source)
    with suppress(PermissionError):
        _attributes(path, set_=_NOSUID | _NODEV, clear=_RDONLY)


def _attributes(path: str, *, set_: int, clear: int = 0, propagation: int = 0) -> None:
    wanted = (ctypes.c_uint64 * 4)(set_, clear, propagation, 0)  # and no user namespace
    done = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(path),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.byref(wanted),
        ctypes.c_size_t(ctypes.sizeof(wanted)),
    )
    _check(done, f"changing the mount {path}")


def _make_folder(path: str) -> None:
    with suppress(FileExistsError):
        os.makedirs(path, 0o755)


def _raise_loopback() -> None:
    """Activate the loopback interface, the only interface of the new network; tests of servers need it."""
    channel = _check(_libc.socket(2, 2, 0), "socket")
    request = b"lo".ljust(16, b"\0") + _UP_AND_RUNNING.to_bytes(2, sys.byteorder) + bytes(22)
    _libc.ioctl(channel, ctypes.c_ulong(_SET_INTERFACE_FLAGS), request)
    os.close(channel)


def _send_socket(line: int, port: int) -> None:
    import _socket  # the module socket takes longer to import than creating the sandbox

    made = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    made.bind(("127.0.0.1", port))
    made.listen(128)
    sent = made.fileno().to_bytes(4, sys.byteorder)
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, line)
    channel.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, sent)])
    made.close()
    channel.close()


# ---- restrictions -------------------------------------------------------------------------------------------------


def _restrict(plan: Plan, instructions: bytes) -> None:
    os.chdir(plan.chdir)
    at = 3
    for kept in plan.kept:
        os.closerange(at, kept)
        at = kept + 1
    os.closerange(at, 1 << 20)
    _drop_capabilities()
    _check(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _landlock(plan)
    program = _Program(len(instructions) // 8, instructions)
    _check(_libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program), 0, 0), "seccomp")


def _drop_capabilities() -> None:
    _libc.prctl(_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    number = 0
    # fails after the last capability, or at once without permission
    while _libc.prctl(_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(none)), "capset")


def _landlock(plan: Plan) -> None:
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    _check(version, "Landlock")
    known = sum(rights for since, rights in _KNOWN_SINCE.items() if since <= version)
    tcp = _TCP if version >= _TCP_SINCE and not plan.namespaces else 0
    rules = (ctypes.c_uint64 * 3)(known, tcp, _SCOPED if version >= _SCOPED_SINCE else 0)
    # Older kernels know a shorter structure; the remaining fields are zero there.
    size = 8 if version < _TCP_SINCE else 16 if version < _SCOPED_SINCE else 24
    ruleset = _check(_libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0), "Landlock")
    closed = ["/dev", *(() if plan.namespaces else plan.paths("hide-folder", "hide-file"))]
    for path in open_places("/", closed):
        _allow(ruleset, path, _READING & known)
    _allow(ruleset, "/", _READ_DIR)  # only names
    for path in _written(plan):
        _allow(ruleset, path, known)
    for name in _DEVICES:
        _allow(ruleset, f"/dev/{name}", (_READING | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV) & known)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _written(plan: Plan) -> list[str]:
    tops = plan.paths("write")
    if plan.namespaces:
        return [*tops, "/tmp", *plan.emptied, _SHARED_MEMORY]
    closed = plan.paths("read", "hold", "hide-folder", "hide-file")
    found = [place for top in tops for place in open_places(top, [*closed, *(each for each in tops if each != top)])]
    return [*found, *([plan.scratch] if plan.scratch else [])]


def open_places(top: str, closed: Iterable[str]) -> list[str]:
    """Return the smallest list of files and folders that contains everything below ``top`` except the closed paths
    and links."""
    inside = [path for path in closed if path == top or path.startswith(top.rstrip("/") + "/")]
    if not inside:
        return [top]
    if top in inside:
        return []
    try:
        with os.scandir(top) as listed:
            children = [entry.path for entry in listed if not entry.is_symlink()]
    except OSError:
        return []
    return [place for child in children for place in open_places(child, inside)]


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Grant rights for a path. Links on the path are not followed, because a concurrent command may have created
    them."""
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, 0 if path.startswith("/dev/") else _NO_LINKS)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    place = _libc.syscall(_OPENAT2, _AT_FDCWD, os.fsencode(path), ctypes.byref(how), size)
    if place < 0:
        return  # missing, a link, or not visible to this user
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= _ON_FILES
    rule = _PathBeneath(rights, place)
    added = _libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
    if added < 0 and ctypes.get_errno() != errno.EBADFD:  # a pipe, which needs no rule
        _check(added, f"Landlock for {path}")
    os.close(place)


def _execute(plan: Plan) -> NoReturn:
    for name in plan.unset:
        os.environ.pop(name, None)
    os.environ.update(plan.variables)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and the command would inherit that
    try:
        os.execvp(plan.argv[0], plan.argv)
    except OSError as error:
        _print_error(error)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _print_error(error: BaseException) -> None:
    os.write(2, f"sandbox: {error}\n".encode(errors="replace"))


if __name__ == "__main__":
    try:
        code = main()
    except OSError as failure:
        _print_error(failure)
        code = FAILED
    os._exit(code)

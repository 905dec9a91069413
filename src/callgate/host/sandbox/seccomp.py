"""The seccomp filter of the sandbox: one table of system calls, assembled into the bytes of a BPF program.

A filter sees the numbers in the registers and never a path, so it only closes ways around the other walls: other
processes' memory, mounts and namespaces, kernel interfaces that ordinary programs do not use, kinds of sockets, and
typing into the terminal. A call that is refused fails with an error number; nothing is killed but programs of another
processor mode, whose calls have other numbers.
"""

import errno
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class _Call(NamedTuple):
    """A system call's numbers on x86-64 and aarch64; None where it does not exist."""

    x86_64: int | None
    aarch64: int | None


REFUSED: Mapping[str, _Call] = {
    # memory and descriptors of other processes
    "ptrace": _Call(101, 117),
    "process_vm_readv": _Call(310, 270),
    "process_vm_writev": _Call(311, 271),
    "pidfd_getfd": _Call(438, 438),
    "kcmp": _Call(312, 272),
    # keys that the kernel keeps for the whole session of a person
    "add_key": _Call(248, 217),
    "request_key": _Call(249, 218),
    "keyctl": _Call(250, 219),
    # mounts, roots and namespaces
    "mount": _Call(165, 40),
    "umount2": _Call(166, 39),
    "pivot_root": _Call(155, 41),
    "chroot": _Call(161, 51),
    "setns": _Call(308, 268),
    "open_tree": _Call(428, 428),
    "move_mount": _Call(429, 429),
    "fsopen": _Call(430, 430),
    "fsconfig": _Call(431, 431),
    "fsmount": _Call(432, 432),
    "fspick": _Call(433, 433),
    "mount_setattr": _Call(442, 442),
    "open_tree_attr": _Call(467, 467),
    "open_by_handle_at": _Call(304, 265),
    # large interfaces of the kernel; io_uring also does what other entries of this table refuse
    "bpf": _Call(321, 280),
    "perf_event_open": _Call(298, 241),
    "io_uring_setup": _Call(425, 425),
    "io_uring_enter": _Call(426, 426),
    "io_uring_register": _Call(427, 427),
    "userfaultfd": _Call(323, 282),
    "fanotify_init": _Call(300, 262),
    "lookup_dcookie": _Call(212, 18),
    "modify_ldt": _Call(154, None),
    "move_pages": _Call(279, 239),
    "migrate_pages": _Call(256, 238),
    # the machine as a whole
    "kexec_load": _Call(246, 104),
    "kexec_file_load": _Call(320, 294),
    "init_module": _Call(175, 105),
    "finit_module": _Call(313, 273),
    "delete_module": _Call(176, 106),
    "iopl": _Call(172, None),
    "ioperm": _Call(173, None),
    "swapon": _Call(167, 224),
    "swapoff": _Call(168, 225),
    "reboot": _Call(169, 142),
    "settimeofday": _Call(164, 170),
    "clock_settime": _Call(227, 112),
    "clock_adjtime": _Call(305, 266),
    "acct": _Call(163, 89),
    "quotactl": _Call(179, 60),
    "quotactl_fd": _Call(443, 443),
    "syslog": _Call(103, 116),
    "vhangup": _Call(153, 58),
    "sethostname": _Call(170, 161),
    "setdomainname": _Call(171, 162),
}
"""Calls that fail with EPERM."""

ATTRIBUTES: Mapping[str, _Call] = {
    "chmod": _Call(90, None),
    "fchmod": _Call(91, 52),
    "fchmodat": _Call(268, 53),
    "fchmodat2": _Call(452, 452),
    "chown": _Call(92, None),
    "fchown": _Call(93, 55),
    "lchown": _Call(94, None),
    "fchownat": _Call(260, 54),
    "setxattr": _Call(188, 5),
    "lsetxattr": _Call(189, 6),
    "fsetxattr": _Call(190, 7),
    "removexattr": _Call(197, 14),
    "lremovexattr": _Call(198, 15),
    "fremovexattr": _Call(199, 16),
    "setxattrat": _Call(463, 463),
    "removexattrat": _Call(466, 466),
    "file_setattr": _Call(469, 469),
}
"""Calls that change a file's mode, owner or attributes. Landlock does not cover them, so without mounts of its own a
sandbox refuses them everywhere."""

SHARED_MEMORY: Mapping[str, _Call] = {
    "shmget": _Call(29, 194),
    "shmat": _Call(30, 196),
    "shmctl": _Call(31, 195),
    "semget": _Call(64, 190),
    "semop": _Call(65, 193),
    "semctl": _Call(66, 191),
    "semtimedop": _Call(220, 192),
    "msgget": _Call(68, 186),
    "msgsnd": _Call(69, 189),
    "msgrcv": _Call(70, 188),
    "msgctl": _Call(71, 187),
    "mq_open": _Call(240, 180),
    "mq_unlink": _Call(241, 181),
}
"""Calls that reach memory, semaphores and queues of other programs, where no namespace keeps them apart."""

_MODES: Mapping[str, tuple[_Call, int]] = {
    "chmod": (_Call(90, None), 1),
    "fchmod": (_Call(91, 52), 1),
    "fchmodat": (_Call(268, 53), 2),
    "fchmodat2": (_Call(452, 452), 2),
    "creat": (_Call(85, None), 1),
    "mknod": (_Call(133, None), 1),
    "mknodat": (_Call(259, 33), 2),
}
"""Calls that give a file a mode, and which argument that is. A file that runs with its owner's rights must not come out
of a sandbox: other users of the machine could run it."""
_OPENING: Sequence[tuple[_Call, int]] = ((_Call(2, None), 1), (_Call(257, 56), 2))
"""open and openat, and which argument holds the flags; the mode is behind it."""
_OPENAT2, _PRLIMIT = _Call(437, 437), _Call(302, 261)

_CLONE, _UNSHARE, _CLONE3 = _Call(56, 220), _Call(272, 97), _Call(435, 435)
_SOCKET, _SOCKETPAIR, _IOCTL = _Call(41, 198), _Call(53, 199), _Call(16, 29)

_NEW_TIME = 0x80
_NEW_NAMESPACES = 0x7E020000  # user, pid, net, ipc, uts, cgroup, mount
_OWNERS_RIGHTS = 0o4000
_CREATING = 0x400040  # O_CREAT, O_TMPFILE
_UNIX, _INET, _INET6 = 1, 2, 10
_STREAM, _PACKETS = 1, 5
_TYPING = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX put characters into the terminal's own input

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

MACHINES: Mapping[str, tuple[str, int]] = {
    "x86_64": ("x86_64", 0xC000003E),
    "aarch64": ("aarch64", 0xC00000B7),
    "arm64": ("aarch64", 0xC00000B7),
}
"""The column of the table and the kernel's number for each machine, by the name that uname gives."""

Instruction = tuple[int, int, int, int]
"""Code, steps to skip if true, steps to skip if false, operand."""


def filter_for(machine: str, *, namespaces: bool = True) -> bytes:
    """The filter as bytes, for a machine of MACHINES. Sockets of the Unix kind cannot be made at all: a listener
    outside could be reached by its path. Connected pairs of them can, but for datagrams, which may be sent to any path.

    Without ``namespaces`` nothing else keeps the network, other processes and their memory apart: then no internet
    socket can be made, no mode or owner of a file changed, and no memory shared."""
    return b"".join(struct.pack("<HBBI", *each) for each in program(machine, namespaces=namespaces))


def program(machine: str, *, namespaces: bool) -> list[Instruction]:
    column, architecture = MACHINES[machine]
    families = (_INET, _INET6) if namespaces else ()
    refused = {**REFUSED, **({} if namespaces else {**ATTRIBUTES, **SHARED_MEMORY})}
    made: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == "x86_64":  # the x32 mode has the same architecture and other numbers
        made += [(_AT_LEAST, 0, 1, 0x40000000), _fails(errno.ENOSYS)]
    rules: list[tuple[_Call, Sequence[Instruction]]] = [
        *((call, (_fails(errno.EPERM),)) for call in refused.values()),
        # Their arguments are behind a pointer, where a filter cannot look; programs go on with clone and openat.
        *((call, (_fails(errno.ENOSYS),)) for call in (_CLONE3, _OPENAT2)),
        *((call, _unless_any(_OWNERS_RIGHTS, index)) for call, index in _MODES.values()),
        *((call, _opening(index)) for call, index in _OPENING),
        *(() if namespaces else ((_PRLIMIT, _of_itself()),)),
        (_CLONE, _unless_any(_NEW_NAMESPACES)),
        (_UNSHARE, _unless_any(_NEW_NAMESPACES | _NEW_TIME)),
        (_SOCKET, [*_argument(0), *_allowing(families), _fails(errno.EAFNOSUPPORT)]),
        (_SOCKETPAIR, _pairs()),
        (_IOCTL, [*_argument(1), *_failing(_TYPING), (_RETURN, 0, 0, _ALLOW)]),
    ]
    for call, body in rules:
        number = getattr(call, column)
        if number is not None:
            made += [(_EQUAL, 0, len(body), number), *body]
    return [*made, (_RETURN, 0, 0, _ALLOW)]


def _fails(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | number)


def _argument(index: int) -> list[Instruction]:
    """Loads the lower half: the kernel takes these arguments as 32 bits."""
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * index)]


def _unless_any(bits: int, index: int = 0) -> list[Instruction]:
    return [*_argument(index), (_ANY_BIT, 0, 1, bits), _fails(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]


def _opening(index: int) -> list[Instruction]:
    """The mode counts only if a file may be created; otherwise it is whatever the register held."""
    creating = [*_argument(index), (_ANY_BIT, 1, 0, _CREATING), (_RETURN, 0, 0, _ALLOW)]
    return [*creating, *_unless_any(_OWNERS_RIGHTS, index + 1)]


def _of_itself() -> list[Instruction]:
    """A process is named by 0 if it is the caller; limits of another one could end it."""
    return [*_argument(0), (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW), _fails(errno.EPERM)]


def _allowing(values: Sequence[int]) -> Iterator[Instruction]:
    for value in values:
        yield (_EQUAL, 0, 1, value)
        yield (_RETURN, 0, 0, _ALLOW)


def _failing(values: Sequence[int]) -> Iterator[Instruction]:
    for value in values:
        yield (_EQUAL, 0, 1, value)
        yield _fails(errno.EPERM)


def _pairs() -> list[Instruction]:
    return [
        *_argument(0),
        (_EQUAL, 1, 0, _UNIX),
        _fails(errno.EAFNOSUPPORT),
        *_argument(1),
        (_AND, 0, 0, 0xF),  # without the flags for blocking and closing
        *_allowing((_STREAM, _PACKETS)),
        _fails(errno.EPERM),
    ]

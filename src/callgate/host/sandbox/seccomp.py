"""The seccomp filter of the sandbox: one table of system calls, assembled into a BPF program.

A filter reads the numbers in the registers and no paths. So it only refuses calls that bypass the other
restrictions: access to memory of other processes, mounts and namespaces, kernel interfaces that ordinary programs do
not use, kinds of sockets, and input injected into the terminal. A refused call fails with an error number. Programs
of another processor mode are killed, because their calls have other numbers.
"""

import errno
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class SystemCall(NamedTuple):
    """The numbers of a system call on x86-64 and aarch64; None on a machine without the call."""

    x86_64: int | None
    aarch64: int | None


def _table(**numbers: tuple[int | None, int | None]) -> dict[str, SystemCall]:
    return {name: SystemCall(*pair) for name, pair in numbers.items()}


REFUSED: Mapping[str, SystemCall] = {
    # memory and descriptors of other processes
    **_table(ptrace=(101, 117), process_vm_readv=(310, 270), process_vm_writev=(311, 271)),
    **_table(pidfd_getfd=(438, 438), kcmp=(312, 272), move_pages=(279, 239), migrate_pages=(256, 238)),
    # keys that the kernel stores for all sessions of a user
    **_table(add_key=(248, 217), request_key=(249, 218), keyctl=(250, 219)),
    # mounts, roots and namespaces
    **_table(mount=(165, 40), umount2=(166, 39), pivot_root=(155, 41), chroot=(161, 51), setns=(308, 268)),
    **_table(open_tree=(428, 428), move_mount=(429, 429), mount_setattr=(442, 442), open_tree_attr=(467, 467)),
    **_table(fsopen=(430, 430), fsconfig=(431, 431), fsmount=(432, 432), fspick=(433, 433)),
    **_table(open_by_handle_at=(304, 265)),
    # large interfaces of the kernel; io_uring also performs calls that other rows refuse
    **_table(bpf=(321, 280), perf_event_open=(298, 241), userfaultfd=(323, 282), modify_ldt=(154, None)),
    **_table(io_uring_setup=(425, 425), io_uring_enter=(426, 426), io_uring_register=(427, 427)),
    **_table(fanotify_init=(300, 262), lookup_dcookie=(212, 18)),
    # settings of the whole machine
    **_table(kexec_load=(246, 104), kexec_file_load=(320, 294), reboot=(169, 142), iopl=(172, None)),
    **_table(init_module=(175, 105), finit_module=(313, 273), delete_module=(176, 106), ioperm=(173, None)),
    **_table(settimeofday=(164, 170), clock_settime=(227, 112), clock_adjtime=(305, 266), syslog=(103, 116)),
    **_table(swapon=(167, 224), swapoff=(168, 225), acct=(163, 89), quotactl=(179, 60), quotactl_fd=(443, 443)),
    **_table(vhangup=(153, 58), sethostname=(170, 161), setdomainname=(171, 162)),
}
"""Calls that fail with EPERM."""

ATTRIBUTES: Mapping[str, SystemCall] = {
    **_table(chmod=(90, None), fchmod=(91, 52), fchmodat=(268, 53), fchmodat2=(452, 452), file_setattr=(469, 469)),
    **_table(chown=(92, None), fchown=(93, 55), lchown=(94, None), fchownat=(260, 54)),
    **_table(setxattr=(188, 5), lsetxattr=(189, 6), fsetxattr=(190, 7), setxattrat=(463, 463)),
    **_table(removexattr=(197, 14), lremovexattr=(198, 15), fremovexattr=(199, 16), removexattrat=(466, 466)),
}
"""Calls that change a file's mode, owner or attributes. Landlock does not cover them, so a sandbox without its own
mounts refuses them everywhere."""

SHARED_MEMORY: Mapping[str, SystemCall] = {
    **_table(shmget=(29, 194), shmat=(30, 196), shmctl=(31, 195), mq_open=(240, 180), mq_unlink=(241, 181)),
    **_table(semget=(64, 190), semop=(65, 193), semctl=(66, 191), semtimedop=(220, 192)),
    **_table(msgget=(68, 186), msgsnd=(69, 189), msgrcv=(70, 188), msgctl=(71, 187)),
}
"""Calls that reach memory, semaphores and queues of other programs. Refused where no namespace separates them."""

_MODES: Mapping[SystemCall, int] = {
    **{ATTRIBUTES[name]: at for name, at in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2))},
    SystemCall(85, None): 1,
    SystemCall(133, None): 1,
    SystemCall(259, 33): 2,  # creat, mknod, mknodat
}
"""Calls that set the mode of a file, and the index of the argument. A file that runs with its owner's rights must not
be created in a sandbox: other users of the machine could run it."""
_OPENING: Mapping[SystemCall, int] = {SystemCall(2, None): 1, SystemCall(257, 56): 2}
"""open and openat, and the index of the flags; the mode is the next argument."""
_OPENAT2, _PRLIMIT = SystemCall(437, 437), SystemCall(302, 261)

_CLONE, _UNSHARE, _CLONE3 = SystemCall(56, 220), SystemCall(272, 97), SystemCall(435, 435)
_SOCKET, _SOCKETPAIR, _IOCTL = SystemCall(41, 198), SystemCall(53, 199), SystemCall(16, 29)

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
"""The column of the table and the kernel's architecture number, by the machine name of uname."""

Instruction = tuple[int, int, int, int]
"""Code, instructions to skip if true, instructions to skip if false, operand."""


def filter_for(machine: str, *, namespaces: bool = True) -> bytes:
    """Return the BPF program of the filter for a machine of MACHINES.

    Unix sockets cannot be created, because a socket could connect to a listener outside the sandbox by its path.
    Connected pairs can be created, except pairs of datagram sockets, which can send to any path.

    Without ``namespaces`` nothing else isolates the network, other processes and their memory. Then internet
    sockets, changes of mode or owner, and shared memory are refused too.
    """
    column, architecture = MACHINES[machine]
    families = (_INET, _INET6) if namespaces else ()
    refused = {**REFUSED, **({} if namespaces else {**ATTRIBUTES, **SHARED_MEMORY})}
    made: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == "x86_64":  # the x32 mode has the same architecture number and different call numbers
        made += [(_AT_LEAST, 0, 1, 0x40000000), _fails(errno.ENOSYS)]
    rules: list[tuple[SystemCall, Sequence[Instruction]]] = [
        *((call, (_fails(errno.EPERM),)) for call in refused.values()),
        # A filter cannot read arguments behind a pointer; programs fall back to clone and openat.
        *((call, (_fails(errno.ENOSYS),)) for call in (_CLONE3, _OPENAT2)),
        *((call, _unless_any(_OWNERS_RIGHTS, index)) for call, index in _MODES.items()),
        *((call, _opening(index)) for call, index in _OPENING.items()),
        *(() if namespaces else ((_PRLIMIT, _of_itself()),)),
        (_CLONE, _unless_any(_NEW_NAMESPACES)),
        (_UNSHARE, _unless_any(_NEW_NAMESPACES | _NEW_TIME)),
        (_SOCKET, [*_argument(0), *_if_any(families, _ALLOW), _fails(errno.EAFNOSUPPORT)]),
        (_SOCKETPAIR, _pairs()),
        (_IOCTL, [*_argument(1), *_if_any(_TYPING, _ERROR | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]),
    ]
    for call, body in rules:
        number = getattr(call, column)
        if number is not None:
            made += [(_EQUAL, 0, len(body), number), *body]
    return b"".join(struct.pack("<HBBI", *each) for each in (*made, (_RETURN, 0, 0, _ALLOW)))


def _fails(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | number)


def _argument(index: int) -> list[Instruction]:
    """Return the instruction that loads the lower half of an argument, because the kernel treats these arguments as
    32-bit values."""
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * index)]


def _unless_any(bits: int, index: int = 0) -> list[Instruction]:
    return [*_argument(index), (_ANY_BIT, 0, 1, bits), _fails(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]


def _opening(index: int) -> list[Instruction]:
    """Return instructions that check the mode of an open call if its flags can create a file. Without such flags the
    register of the mode is undefined."""
    creating = [*_argument(index), (_ANY_BIT, 1, 0, _CREATING), (_RETURN, 0, 0, _ALLOW)]
    return [*creating, *_unless_any(_OWNERS_RIGHTS, index + 1)]


def _of_itself() -> list[Instruction]:
    """Return instructions that allow prlimit only for the calling process (pid 0), because a limit could end another
    process."""
    return [*_argument(0), (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW), _fails(errno.EPERM)]


def _if_any(values: Sequence[int], outcome: int) -> Iterator[Instruction]:
    """Yield instructions that return the outcome if the argument has one of the values."""
    for value in values:
        yield (_EQUAL, 0, 1, value)
        yield (_RETURN, 0, 0, outcome)


def _pairs() -> list[Instruction]:
    return [
        *_argument(0),
        (_EQUAL, 1, 0, _UNIX),
        _fails(errno.EAFNOSUPPORT),
        *_argument(1),
        (_AND, 0, 0, 0xF),  # without SOCK_NONBLOCK and SOCK_CLOEXEC
        *_if_any((_STREAM, _PACKETS), _ALLOW),
        _fails(errno.EPERM),
    ]

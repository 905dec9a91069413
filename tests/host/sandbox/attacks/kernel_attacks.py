"""Attacks on other processes and on the kernel."""

import ctypes
import os
import resource
import signal
import stat
import struct

from callgate.host.sandbox.attacks import LIBC, ArenaFacts, Spot, called, exited, in_child
from tests.host.sandbox.attacks.table import X86, attack


@attack
def limit_victim(arena: ArenaFacts, at: Spot) -> bool:
    resource.prlimit(arena["victim"], resource.RLIMIT_CORE, (0, 0))
    return True


@attack
def share_memory(arena: ArenaFacts, at: Spot) -> bool:
    LIBC.shmat.restype = ctypes.c_void_p
    found = LIBC.shmget(arena["memory"], ctypes.c_size_t(0), 0)
    called(found)
    place = LIBC.shmat(found, None, 0o10000)  # to read
    return ctypes.string_at(place, len(arena["token"])) == arena["token"].encode()


@attack
def create_file_with_rights_of_its_owner(arena: ArenaFacts, at: Spot) -> bool:
    path = os.path.join(at.free, "file")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o4755))
    return bool(os.stat(path).st_mode & stat.S_ISUID)


@attack
def trace_victim(arena: ArenaFacts, at: Spot) -> bool:
    return called(LIBC.ptrace(0x4206, arena["victim"], None, None))  # PTRACE_SEIZE, which does not stop it


@attack
def read_victim_memory_by_call(arena: ArenaFacts, at: Spot) -> bool:
    with open(f"/proc/{os.getpid()}/maps") as file:
        start = int(file.readline().split("-")[0], 16)
    number = 310 if X86 else 270
    buffer = ctypes.create_string_buffer(16)
    local = struct.pack("PN", ctypes.addressof(buffer), 16)
    remote = struct.pack("PN", start, 16)
    one = ctypes.c_ulong(1)
    got = LIBC.syscall(number, arena["victim"], local, one, remote, one, ctypes.c_ulong(0))
    # A bad address in another process is an answer as well: the call was let through.
    return got >= 0 or ctypes.get_errno() == 14 or called(got)


@attack
def take_descriptor_of_victim(arena: ArenaFacts, at: Spot) -> bool:
    process = os.pidfd_open(arena["victim"])
    return called(LIBC.syscall(438, process, 0, 0))


@attack
def new_mount_namespace(arena: ArenaFacts, at: Spot) -> bool:
    return in_child(lambda: called(LIBC.unshare(0x10000000 | 0x20000)))


@attack
def new_namespace_by_clone(arena: ArenaFacts, at: Spot) -> bool:
    number = 56 if X86 else 220
    pid = LIBC.syscall(number, ctypes.c_ulong(0x10000000 | signal.SIGCHLD), None, None, None, None)
    if pid == 0:
        os._exit(0)
    called(pid)
    return exited(pid)


@attack
def new_namespace_by_clone3(arena: ArenaFacts, at: Spot) -> bool:
    arguments = struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = LIBC.syscall(435, arguments, ctypes.c_size_t(len(arguments)))
    if pid == 0:
        os._exit(0)
    called(pid)
    return exited(pid)


@attack
def join_namespace(arena: ArenaFacts, at: Spot) -> bool:
    handle = os.open(f"/proc/{arena['victim']}/ns/uts", os.O_RDONLY)
    return in_child(lambda: called(LIBC.setns(handle, 0)))


@attack
def mount_something(arena: ArenaFacts, at: Spot) -> bool:
    def work() -> bool:
        LIBC.unshare(0x20000)  # as root, in a namespace of its own, so that the machine keeps its mounts
        LIBC.mount(None, b"/", None, ctypes.c_ulong(0x44000), None)
        return called(LIBC.mount(b"x", at.free.encode(), b"tmpfs", ctypes.c_ulong(0), None))

    return in_child(work)


@attack
def change_root(arena: ArenaFacts, at: Spot) -> bool:
    return in_child(lambda: called(LIBC.chroot(at.free.encode())))


@attack
def keep_key(arena: ArenaFacts, at: Spot) -> bool:
    def work() -> bool:
        keyctl = 250 if X86 else 219
        called(LIBC.syscall(keyctl, 1, None))  # a keyring of its own
        return called(LIBC.syscall(248 if X86 else 217, b"user", b"callgate", b"x", ctypes.c_size_t(1), -3))

    return in_child(work)


@attack
def open_by_handle(arena: ArenaFacts, at: Spot) -> bool:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    path = arena["workspace"].encode()
    called(LIBC.name_to_handle_at(-100, path, handle, ctypes.byref(mount), 0))
    folder = os.open(arena["workspace"], os.O_RDONLY)
    return called(LIBC.open_by_handle_at(folder, handle, os.O_RDONLY))


@attack
def load_bpf(arena: ArenaFacts, at: Spot) -> bool:
    attributes = struct.pack("4I", 2, 4, 4, 1) + bytes(112)
    return called(LIBC.syscall(321 if X86 else 280, 0, attributes, len(attributes)))


@attack
def watch_performance(arena: ArenaFacts, at: Spot) -> bool:
    attributes = struct.pack("II5Q", 1, 64, 0, 0, 0, 0, 1 | 1 << 5 | 1 << 6) + bytes(16)
    return called(LIBC.syscall(298 if X86 else 241, attributes, 0, -1, -1, 0))


@attack
def use_io_uring(arena: ArenaFacts, at: Spot) -> bool:
    return called(LIBC.syscall(425, 2, ctypes.create_string_buffer(256)))


@attack
def use_userfaultfd(arena: ArenaFacts, at: Spot) -> bool:
    return called(LIBC.syscall(323 if X86 else 282, 1))


@attack
def make_control_group(arena: ArenaFacts, at: Spot) -> bool:
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        made = os.path.join(folder, f"callgate-{os.getpid()}")
        try:
            os.mkdir(made)
            os.rmdir(made)
        except OSError:
            continue
        return True
    raise PermissionError("no control group can be made")

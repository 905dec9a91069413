"""The filter does what its table says, on both machines: the program is run by an interpreter of BPF."""

import errno
import struct

import pytest

from callgate.host.sandbox.seccomp import ATTRIBUTES, MACHINES, REFUSED, SHARED_MEMORY, filter_for
from tests.rows import rows

X86, ARM = 0xC000003E, 0xC00000B7
ALLOWED, KILLED = "allowed", "killed"
NEW_USER, THREAD = 0x10000000, 0x3D0F00


def verdict(code: bytes, architecture: int, number: int, *arguments: int) -> int | str:
    """The error number, or what becomes of the call."""
    padded = [*arguments, *([0] * (6 - len(arguments)))]
    data = struct.pack("<iIQ6Q", number, architecture, 0, *padded)
    program = [struct.unpack_from("<HBBI", code, at) for at in range(0, len(code), 8)]
    value, at = 0, 0
    while True:
        what, if_true, if_false, operand = program[at]
        at += 1
        match what:
            case 0x20:
                value = struct.unpack_from("<I", data, operand)[0]
            case 0x54:
                value &= operand
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case 0x06:
                if operand == 0x7FFF0000:
                    return ALLOWED
                return KILLED if operand == 0x80000000 else operand & 0xFFFF
            case _:
                raise AssertionError(f"no such instruction: {what:#x}")


@pytest.mark.spec("BLT-2")
@rows("machine", ["x86_64", "aarch64"])
def test_every_call_of_the_table_is_refused_on_every_machine(machine: str) -> None:
    column, architecture = MACHINES[machine]
    code, strict = filter_for(machine), filter_for(machine, namespaces=False)
    for name, call in {**REFUSED, **ATTRIBUTES, **SHARED_MEMORY}.items():
        number = getattr(call, column)
        if number is not None:
            assert verdict(strict, architecture, number) == errno.EPERM, name
            assert verdict(code, architecture, number) == (errno.EPERM if name in REFUSED else ALLOWED), name
    assert len(code) // 8 < 4096


# name, x86-64, aarch64, arguments, outcome
CALLS = [
    ("read", 0, 63, (), ALLOWED),
    ("clone of a thread", 56, 220, (THREAD,), ALLOWED),
    ("clone into a namespace", 56, 220, (THREAD | NEW_USER,), errno.EPERM),
    ("clone with bits above", 56, 220, (1 << 40 | THREAD,), ALLOWED),
    ("clone3", 435, 435, (), errno.ENOSYS),
    ("unshare files", 272, 97, (0x400,), ALLOWED),
    ("unshare users", 272, 97, (NEW_USER,), errno.EPERM),
    ("unshare time", 272, 97, (0x80,), errno.EPERM),
    ("internet socket", 41, 198, (2, 1), ALLOWED),
    ("internet socket of version 6", 41, 198, (10, 2), ALLOWED),
    ("unix socket", 41, 198, (1, 1), errno.EAFNOSUPPORT),
    ("unix socket with bits above", 41, 198, (1 << 32 | 1, 1), errno.EAFNOSUPPORT),
    ("netlink socket", 41, 198, (16, 3), errno.EAFNOSUPPORT),
    ("vsock", 41, 198, (40, 1), errno.EAFNOSUPPORT),
    ("pair of streams", 53, 199, (1, 1), ALLOWED),
    ("pair of streams, closed on exec", 53, 199, (1, 0x80801), ALLOWED),
    ("pair of packets", 53, 199, (1, 5), ALLOWED),
    ("pair of datagrams", 53, 199, (1, 2), errno.EPERM),
    ("pair of raw ones, which are datagrams", 53, 199, (1, 3), errno.EPERM),
    ("mode of a file", 91, 52, (3, 0o755), ALLOWED),
    ("mode of a file that runs as its owner", 91, 52, (3, 0o4755), errno.EPERM),
    ("mode by name", 268, 53, (3, 0, 0o4755), errno.EPERM),
    ("opening to read, with anything for a mode", 257, 56, (3, 0, 0, 0o4755), ALLOWED),
    ("creating a file", 257, 56, (3, 0, 0x41, 0o644), ALLOWED),
    ("creating a file that runs as its owner", 257, 56, (3, 0, 0x41, 0o4755), errno.EPERM),
    ("creating one without a name that runs as its owner", 257, 56, (3, 0, 0x410001, 0o4755), errno.EPERM),
    ("openat2", 437, 437, (), errno.ENOSYS),
    ("limits of another process, in a namespace", 302, 261, (77,), ALLOWED),
    ("shared memory, in a namespace", 29, 194, (), ALLOWED),
    ("typing into the terminal", 16, 29, (0, 0x5412), errno.EPERM),
    ("typing with bits above", 16, 29, (0, 1 << 32 | 0x5412), errno.EPERM),
    ("pasting into the console", 16, 29, (0, 0x541C), errno.EPERM),
    ("size of the terminal", 16, 29, (0, 0x5413), ALLOWED),
]


@rows("name, x86, arm, arguments, outcome", CALLS)
def test_arguments_decide_about_some_calls(
    name: str, x86: int, arm: int, arguments: tuple[int, ...], outcome: int | str
) -> None:
    assert verdict(filter_for("x86_64"), X86, x86, *arguments) == outcome
    assert verdict(filter_for("aarch64"), ARM, arm, *arguments) == outcome


def test_another_mode_of_the_processor_has_no_calls_at_all() -> None:
    code = filter_for("x86_64")
    assert verdict(code, 0x40000003, 102) == KILLED  # 32 bits, where all sockets are one call
    assert verdict(code, X86, 0x40000000 | 41, 1, 1) == errno.ENOSYS  # x32
    assert verdict(filter_for("aarch64"), 0x40000028, 281) == KILLED


def test_without_namespaces_there_is_no_network_and_no_way_to_other_processes() -> None:
    code = filter_for("x86_64", namespaces=False)
    assert verdict(code, X86, 41, 2, 1) == errno.EAFNOSUPPORT
    assert verdict(code, X86, 53, 1, 1) == ALLOWED
    assert verdict(code, X86, 302, 0) == ALLOWED
    assert verdict(code, X86, 302, 77) == errno.EPERM
    assert verdict(code, X86, 29) == errno.EPERM

"""Faults at a chosen system call of a real program, by strace; and what the program did to its files, as strace saw it.

strace counts the calls of each name in each thread, and only those on the given paths: ``pwrite64`` number 7 is the
seventh of the journal's thread, which makes them all.
"""

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

WRITING = ("openat", "mkdir", "pwrite64", "write", "fdatasync", "fsync", "ftruncate", "unlink", "flock")
KILLED = -signal.SIGKILL
_LINE = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)(.*)")
_FAULTED = ("(INJECTED)", "(DELAYED)")
_LAST = re.compile(r"(\d+)$")


class Syscall(NamedTuple):
    """A call that returned: to the thread in whose trace it stands."""

    name: str
    arguments: str
    result: int
    faulted: bool

    @property
    def last(self) -> int:
        """The last argument, where that is a number: an offset, a length."""
        found = _LAST.search(self.arguments)
        assert found is not None, self
        return int(found[1])


class Place(NamedTuple):
    """The so-manieth call of that name."""

    call: str
    number: int

    def kill(self) -> str:
        """Instead of making it, die."""
        return f"{self.call}:signal=SIGKILL:when={self.number}"

    def fail(self, error: str) -> str:
        return f"{self.call}:error={error}:when={self.number}"

    def __str__(self) -> str:
        return f"{self.call}-{self.number}"


class Ran(NamedTuple):
    """A program that ended: its code (negative: the signal), what it said, what each thread called."""

    code: int
    said: tuple[str, ...]
    wrong: str
    threads: tuple[tuple[Syscall, ...], ...]

    @property
    def acks(self) -> set[str]:
        return {line.removeprefix("ack ") for line in self.said if line.startswith("ack ")}

    @property
    def errors(self) -> list[str]:
        return [line.removeprefix("error ") for line in self.said if line.startswith("error ")]

    @property
    def hit(self) -> bool:
        """Whether a fault that does not kill was there to be met."""
        return any(call.faulted for thread in self.threads for call in thread)

    @property
    def places(self) -> list[Place]:
        """Where a fault has something to hit: every call of the thread that made most."""
        counted = Counter(call.name for call in max(self.threads, key=len))
        return [Place(name, number) for name, times in counted.items() for number in range(1, times + 1)]

    def __str__(self) -> str:
        return f"code {self.code}, said {self.said[-12:]}, stderr: {self.wrong[-2_000:]}"


def traced(
    command: Sequence[str | Path],
    into: Path,
    *,
    paths: Iterable[Path] = (),
    calls: Sequence[str] = WRITING,
    faults: Sequence[str] = (),
) -> Ran:
    """Run it under strace, looking at these calls on these paths (on all without any), with these faults injected."""
    into.mkdir()
    words = ["strace", "-f", "-ff", "-qq", "-y", "-s", "0", "-o", str(into / "thread")]
    if not any("signal=" in fault for fault in faults):  # of which strace loses sight when the kernel filters for it
        words.append("--seccomp-bpf")
    words += ["-e", f"trace={','.join(calls)}", "-e", "signal=none"]
    for fault in faults:
        words += ["-e", f"inject={fault}"]
    for path in paths:
        words += ["-P", str(path)]
    ran = plain([*words, *command])
    threads = tuple(tuple(_read(file)) for file in sorted(into.iterdir()))
    shutil.rmtree(into)
    return ran._replace(threads=threads)


def plain(command: Sequence[str | Path]) -> Ran:
    """Run it as it is."""
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100
    )
    return Ran(done.returncode, tuple(done.stdout.splitlines()), done.stderr, ())


def synced_length(ran: Ran, log: Path, begin: int = 0) -> int:
    """How much of the log was on disk for certain when the program ended."""
    name = f"<{log}>"
    ends: list[int] = [begin]
    for thread in ran.threads:
        written = begin
        for call in thread:
            if name not in call.arguments or call.result < 0:
                continue
            if call.name == "pwrite64":
                written = call.last + call.result
            elif call.name == "ftruncate":
                written = call.last
            elif call.name in ("fdatasync", "fsync"):
                ends.append(written)
    return max(ends)


def need_strace() -> None:
    """Skip, or fail where tools must be there, if programs cannot be traced here."""
    why = _no_strace()
    if why is not None:
        missing(why)


def missing(why: str) -> None:
    """A tool or a permission of the machine is not there."""
    if os.environ.get("CALLGATE_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{why} (CALLGATE_REQUIRE_TOOLS=1)")
    pytest.skip(why)


@cache
def _no_strace() -> str | None:
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=mkdir", "-e", "inject=mkdir:error=EIO:when=1", "true"],
        capture_output=True,
        text=True,
    )
    return None if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.strip()[-200:]}"


def _read(file: Path) -> Iterable[Syscall]:
    for line in file.read_text(errors="replace").splitlines():
        found = _LINE.match(line)
        if found is not None:
            yield Syscall(found[1], found[2], int(found[3]), found[4].endswith(_FAULTED))

"""One writer per session: a lock on the log itself, which the system releases when its holder dies.

A file beside it says who holds it. That file is only for people: one left behind by a crash locks nobody out.
"""

import os
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from stat import S_ISREG
from time import gmtime, strftime
from typing import Any

from callgate.words.errors import JournalError, SessionLocked
from callgate.words.noun import noun

try:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

except ImportError:  # Windows: a byte far behind the end of any log
    import msvcrt

    def _try_lock(fd: int) -> bool:
        windows: Any = msvcrt
        at = os.lseek(fd, 0, os.SEEK_CUR)
        try:
            os.lseek(fd, 1 << 62, os.SEEK_SET)
            windows.locking(fd, windows.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(fd, at, os.SEEK_SET)
        return True


@noun
class Holder:
    """Who has a session open. Nothing is known of one that did not say."""

    pid: int | None = None
    since: float | None = None
    host: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return "a program that left no name"
        since = "" if self.since is None else f" since {strftime('%Y-%m-%d %H:%M:%S', gmtime(self.since))} UTC"
        return f"process {self.pid}{f' on {self.host}' if self.host else ''}{since}"


def lock_path(log: Path) -> Path:
    return log.with_suffix(".lock")


def take_lock(fd: int, log: Path, now: float) -> None:
    """Lock the open log for writing, and say so. SessionLocked names the holder."""
    try:
        got = _try_lock(fd)
    except OSError as error:
        raise JournalError(
            f"{log.stem} cannot be locked: {error.strerror}: is this file system made for that?"
        ) from None
    if not got:
        holder = read_holder(log)
        raise SessionLocked(
            f"session {log.stem} is open in {holder}: close it there, or fork the session, or open it read-only",
            pid=holder.pid,
            since=holder.since,
        )
    with suppress(OSError):  # only for people
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(lock_path(log), flags, 0o600), "w") as file:
            file.write(dumps({"pid": os.getpid(), "since": now, "host": os.uname().nodename}))


def drop_name(log: Path) -> None:
    """Before the lock is let go by closing the log."""
    with suppress(OSError):
        lock_path(log).unlink()


def read_holder(log: Path) -> Holder:
    """Who says to hold it; whether somebody does is for ``holder_of`` to find out."""
    try:
        fd = os.open(lock_path(log), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            said = loads(file.read(4096))
        return Holder(int(said["pid"]), float(said["since"]), str(said["host"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Holder()


def holder_of(log: Path) -> Holder | None:
    """Who holds the lock right now, or None."""
    fd = open_log(log, os.O_RDONLY)
    try:
        return None if _try_lock(fd) else read_holder(log)
    finally:
        os.close(fd)


def open_log(log: Path, flags: int) -> int:
    """A descriptor of a regular file, and nothing that only looks like one: JournalError. OSError as usual."""
    try:
        fd = os.open(log, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError:
        if log.is_symlink():
            raise JournalError(f"{log} is a symbolic link, and a log never is one: put the file in its place") from None
        raise
    if not S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise JournalError(f"{log} is not a regular file: remove it")
    return fd

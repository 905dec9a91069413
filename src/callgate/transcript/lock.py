"""Locks a session for one writer. The lock is on the log file; the system releases the lock when the process dies.

A file next to the log names the holder of the lock for messages to users. After a crash this file remains, but does
not lock the session.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from json import dumps, loads
from pathlib import Path
from time import gmtime, strftime

from callgate.host.files import NotRegular, lock_file
from callgate.transcript.side_files import drop_beside, is_at, open_beside, read_beside
from callgate.words.errors import JournalError, SessionLocked
from callgate.words.noun import noun

_held: dict[int, tuple[int, int]] = {}
"""Locked descriptors with their files; a number may have been reused for another file."""


def _close_in_child() -> None:
    """Redirect locked descriptors to /dev/null in a forked child. Otherwise the child would keep the lock after the
    death of its parent."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd, file in _held.items():
        with suppress(OSError):
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) == file:
                os.dup2(nowhere, fd, inheritable=False)
    os.close(nowhere)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


@noun
class LockHolder:
    """The process that holds the lock of a session. All fields are empty if the process is unknown."""

    pid: int | None = None
    since: float | None = None
    host: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return "an unknown program"
        since = "" if self.since is None else f" since {strftime('%Y-%m-%d %H:%M:%S', gmtime(self.since))} UTC"
        return f"process {self.pid}{f' on {self.host}' if self.host else ''}{since}"


def lock_path(log: Path) -> Path:
    return log.with_suffix(".lock")


def take_lock(fd: int, log: Path, now: float) -> None:
    """Lock the open log for writing and write the holder's file. If another process has the lock, raise
    SessionLocked with the holder."""
    try:
        got = lock_file(fd, waits=False)
    except OSError as error:
        raise JournalError(
            f"{log.stem} cannot be locked: {error.strerror}: check whether this file system supports locks"
        ) from None
    if got and not is_at(fd, log):
        raise JournalError(f"{log} was removed or replaced by another program at the same time")
    if not got:
        holder = read_holder(log)
        raise SessionLocked(
            f"session {log.stem} is open in {holder}: close it there, fork the session, or open it read-only",
            pid=holder.pid,
            since=holder.since,
        )
    status = os.fstat(fd)
    _held[fd] = (status.st_dev, status.st_ino)
    name = dumps({"pid": os.getpid(), "since": now, "host": os.uname().nodename})
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with suppress(OSError), open(open_beside(lock_path(log), flags), "wb") as file:  # only informative
        file.write(name.encode())


def drop_name(log: Path) -> None:
    """Remove the holder's file; the lock itself is released by closing the log."""
    drop_beside(lock_path(log))


def read_holder(log: Path) -> LockHolder:
    """Return the process named in the holder's file. The lock itself is not checked; ``holder_of`` does that."""
    try:
        said = loads(read_beside(lock_path(log)))
        since = float(said["since"])
        gmtime(since)  # raises for a time outside the calendar
        return LockHolder(int(said["pid"]), since, str(said["host"]))
    except (OSError, ValueError, OverflowError, LookupError, TypeError, RecursionError):
        return LockHolder()


def holder_of(log: Path) -> LockHolder | None:
    """Return the process that holds the lock, or None if the log is not locked."""
    fd = open_log(log, os.O_RDONLY)
    try:
        return None if lock_file(fd, waits=False) else read_holder(log)
    finally:
        os.close(fd)


def open_log(log: Path, flags: int) -> int:
    """Open a log and return its descriptor. Raise JournalError unless it is a regular file, and OSError if it cannot
    be opened."""
    try:
        return open_beside(log, flags)
    except NotRegular:
        raise JournalError(f"{log} is not a regular file, so it cannot be a log") from None
    except OSError:
        if log.is_symlink():
            raise JournalError(
                f"{log} is a symbolic link, but a log must be a regular file: replace the link by the file"
            ) from None
        raise


@contextmanager
def opened_log(log: Path) -> Generator[int]:
    """Open a log for reading, and close it when the ``with`` block ends. Raise JournalError if it cannot be opened."""
    try:
        fd = open_log(log, os.O_RDONLY)
    except OSError as error:
        raise unreadable(log, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


def unreadable(log: Path, error: OSError) -> JournalError:
    return JournalError(f"{log} cannot be opened: {error.strerror or error}")

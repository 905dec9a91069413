"""Repairs a damaged log before new lines are written to the log.

Intact lines are not changed. Damaged bytes are first copied to a file next to the log. Then an incomplete last line
is removed, so that the next line starts on a new line.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from json import dumps
from pathlib import Path

from callgate.transcript.loader import LoadedLog, load
from callgate.transcript.lock import drop_name, open_log, take_lock, unreadable
from callgate.transcript.reader import Damage
from callgate.transcript.side_files import open_beside
from callgate.words.events import LinesQuarantined
from callgate.words.turns import Counted


def broken_path(log: Path) -> Path:
    return log.with_name(f"{log.name}.broken")


def locked_log(log: Path, now: float) -> tuple[int, LoadedLog]:
    """Open, lock and load a log. Raise SessionLocked if another program has the log open, and JournalError if the
    log cannot be read."""
    try:
        fd = open_log(log, os.O_RDWR)
    except OSError as error:
        raise unreadable(log, error) from error
    with ExitStack() as failed:
        failed.callback(os.close, fd)
        take_lock(fd, log, now)
        failed.callback(drop_name, log)
        loaded = load(fd, log)
        failed.pop_all()
    return fd, loaded


def release(fd: int, log: Path) -> None:
    """Remove the holder's file and release the lock."""
    drop_name(log)
    os.close(fd)


def repair(fd: int, log: Path, loaded: LoadedLog, now: float) -> LinesQuarantined | None:
    """Prepare the log file for the next line. Return the event to record if bytes were lost, otherwise None.

    If the repair fails, release the log and raise JournalError.
    """
    damages = loaded.new_damages
    try:
        if damages:
            _keep_copy(fd, broken_path(log), damages, now)
        if loaded.size != loaded.end:
            os.ftruncate(fd, loaded.end)
        if not loaded.ended:
            loaded.end += os.pwrite(fd, b"\n", loaded.end)
            loaded.ended = True
        loaded.size = loaded.end
        if damages:
            os.fsync(fd)
    except OSError as error:
        release(fd, log)
        raise unreadable(log, error) from error
    if not damages:
        return None
    ranges = tuple((each.offset, each.length) for each in damages)
    messages, turns = loaded.chain.counted
    return LinesQuarantined(now, ranges, broken_path(log).name, Counted(messages, turns))


def _keep_copy(fd: int, path: Path, damages: Sequence[Damage], now: float) -> None:
    with open(open_beside(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as copy:
        os.fchmod(copy.fileno(), 0o600)
        for each in damages:
            about = {"at": now, "offset": each.offset, "length": each.length, "why": each.why}
            copy.write(f"\n{dumps(about)}\n".encode())
            copy.write(os.pread(fd, each.length, each.offset))
        copy.flush()
        os.fsync(copy.fileno())

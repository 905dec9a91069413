"""The repair of a damaged log before it is written to again. The intact part stays as it is, byte for byte.

Damaged bytes are copied beside the log first, for its owner alone; then a torn end is cut off, so that the next line
starts on a clean one.
"""

import os
from collections.abc import Sequence
from json import dumps
from pathlib import Path

from callgate.transcript.loader import LoadedLog, load
from callgate.transcript.lock import drop_name, open_log, take_lock, unreadable
from callgate.transcript.reader import Damage
from callgate.transcript.side_files import open_beside
from callgate.words.events import Counted, LinesQuarantined


def broken_path(log: Path) -> Path:
    return log.with_name(f"{log.name}.broken")


def locked_log(log: Path, now: float) -> tuple[int, LoadedLog]:
    """The log opened for writing, locked and loaded. SessionLocked when another program has it open, JournalError when
    it cannot be read."""
    try:
        fd = open_log(log, os.O_RDWR)
    except OSError as error:
        raise unreadable(log, error) from error
    try:
        take_lock(fd, log, now)
    except BaseException:
        os.close(fd)
        raise
    try:
        return fd, load(fd, log)
    except BaseException:
        let_go(fd, log)
        raise


def let_go(fd: int, log: Path) -> None:
    drop_name(log)
    os.close(fd)


def repair(fd: int, log: Path, loaded: LoadedLog, now: float) -> LinesQuarantined | None:
    """Make the file ready for the next line. What to put on record about it, if anything was lost. Where that is not
    possible the log is let go of: JournalError."""
    try:
        return _repaired(fd, log, loaded, now)
    except OSError as error:
        let_go(fd, log)
        raise unreadable(log, error) from error


def _repaired(fd: int, log: Path, loaded: LoadedLog, now: float) -> LinesQuarantined | None:
    damages = loaded.new_damages
    if damages:
        _keep_copy(fd, broken_path(log), damages, now)
    if loaded.size != loaded.end:
        os.ftruncate(fd, loaded.end)
    if not loaded.ended:
        loaded.end += os.pwrite(fd, b"\n", loaded.end)
        loaded.ended = True
    loaded.size = loaded.end
    if not damages:
        return None
    os.fsync(fd)
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

"""Removes files of crashed programs, sessions that were not used for a long time, or a named session.

A file is kept if a program has the file open, if a program may be creating it, or if Callgate did not create it.
Symbolic links are not followed.
"""

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from callgate.transcript.lock import holder_of, lock_path, open_log, take_lock
from callgate.transcript.repair import broken_path
from callgate.transcript.session_paths import agent_logs
from callgate.transcript.side_files import draft_path, index_path
from callgate.words.errors import JournalError, SessionLocked
from callgate.words.noun import noun

FRESH = 3600.0
"""Seconds; a younger file may still be in use by the program that creates it."""

_OF_LOG = re.compile(r"(.+)(\.index|\.lock|\.draft|\.jsonl\.broken)")
_DRAFT = re.compile(r".+\.\d+\.tmp")
_SESSION = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")


@noun
class Removed:
    """A removed file. ``session`` is the id of the session if the whole session was removed."""

    path: str
    size: int
    why: str
    session: str = ""
    used_at: float = 0.0


@noun
class Cleaned:
    """The result of a cleanup. ``kept`` has old sessions that are in use, ``failed`` the files that could not be
    removed, each with the reason in ``why``."""

    removed: tuple[Removed, ...]
    kept: tuple[Removed, ...]
    failed: tuple[Removed, ...]

    @property
    def size(self) -> int:
        return sum(each.size for each in self.removed)


def collect(
    data: Path, *, now: float, project: str | None = None, older_than: float | None = None, dry_run: bool = False
) -> Cleaned:
    """Clean up a data folder, or one project in the folder. ``older_than``: also remove sessions that were not
    changed for this number of seconds."""
    work = _Collection(now, dry_run)
    for folder in _entries(data / "projects"):
        if project not in (None, folder.name):
            continue
        with work.failures(folder):
            if S_ISDIR(_status(folder).st_mode):
                work.project(folder, older_than)
    return Cleaned(tuple(work.removed), tuple(work.kept), tuple(work.failed))


def remove_unused(log: Path, now: float) -> tuple[Removed, ...]:
    """Remove a session with all its files and return the removed files. If a program has the session open, raise
    SessionLocked and remove nothing."""
    # Listed before locking, which creates a file of our own.
    found = [(path, _size(path)) for path in _parts(log) if os.path.lexists(path)]
    with _unused(log, now):
        _remove_session(log)
    return tuple(Removed(str(path), size, "asked for", log.stem) for path, size in found)


def _remove_session(log: Path) -> None:
    # The log is removed first: an interruption then leaves files to clean up, not an incomplete session.
    for path in _parts(log):
        _remove(path)


def _parts(log: Path) -> tuple[Path, ...]:
    return log, index_path(log), draft_path(log), lock_path(log), broken_path(log), log.with_suffix("")


class _Collection:
    def __init__(self, now: float, dry_run: bool) -> None:
        self.removed: list[Removed] = []
        self.kept: list[Removed] = []
        self.failed: list[Removed] = []
        self._now = now
        self._dry_run = dry_run
        self._gone: set[Path] = set()

    def project(self, folder: Path, older_than: float | None) -> None:
        for path in _entries(folder):
            if path in self._gone:
                continue
            with self.failures(path):
                self._one(path, _status(path), older_than)

    @contextmanager
    def failures(self, path: Path) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:  # removed by another cleanup
            pass
        except OSError as error:
            self.failed.append(Removed(str(path), 0, _why(error)))

    def _one(self, path: Path, status: os.stat_result, older_than: float | None) -> None:
        age, of_log = self._now - status.st_mtime, _OF_LOG.fullmatch(path.name)
        if S_ISDIR(status.st_mode):
            if self._exists(path.with_name(f"{path.name}.jsonl")):
                self.project(path / "agents", None)
            elif _SESSION.fullmatch(path.name) and age >= FRESH:
                self._take(path, "the folder of a removed session")
        elif not S_ISREG(status.st_mode):
            return
        elif path.suffix == ".jsonl":
            if older_than is not None and age > older_than:
                self._session(path, "not used for a long time", older_than)
            elif status.st_size == 0 and age >= FRESH:
                self._session(path, "an empty log", FRESH)
        elif _DRAFT.fullmatch(path.name):
            if age >= FRESH:
                self._take(path, "an unfinished file")
        elif of_log is not None and not self._exists(path.with_name(f"{of_log[1]}.jsonl")):
            self._take(path, "its session was removed")

    def _session(self, log: Path, why: str, older_than: float) -> None:
        used_at, parts = _used_at(log), _parts(log)
        found = Removed(str(log), sum(map(_size, parts)), why, log.stem, used_at)
        try:
            with _unused(log, self._now, dry_run=self._dry_run):
                # Check again: the first check was before the lock.
                if self._now - _used_at(log) >= older_than:
                    if not self._dry_run:
                        _remove_session(log)
                    self._gone.update(parts)
                    self.removed.append(found)
        except (JournalError, OSError) as error:
            left = self.kept if isinstance(error, SessionLocked) else self.failed
            left.append(replace(found, why=_why(error)))

    def _take(self, path: Path, why: str) -> None:
        size = _size(path)
        if not self._dry_run:
            _remove(path)
        self._gone.add(path)
        self.removed.append(Removed(str(path), size, why))

    def _exists(self, log: Path) -> bool:
        return log not in self._gone and os.path.lexists(log)


@contextmanager
def _unused(log: Path, now: float, *, dry_run: bool = False) -> Generator[None]:
    """Hold the lock of a session inside the ``with`` block. Raise SessionLocked if the session or one of its nested
    sessions is open.

    dry_run  True to test the locks only
    """
    for each in (*agent_logs(log), *((log,) if dry_run else ())):
        if (holder := holder_of(each)) is not None:
            raise SessionLocked(f"session {each.stem} is open in {holder}", pid=holder.pid, since=holder.since)
    if dry_run:
        yield
        return
    fd = open_log(log, os.O_RDWR)
    try:
        take_lock(fd, log, now)
        try:
            yield
        finally:
            with suppress(OSError):
                lock_path(log).unlink()
    finally:
        os.close(fd)


def _used_at(log: Path) -> float:
    return max(_status(each).st_mtime for each in (log, *agent_logs(log)))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder))
    except FileNotFoundError:
        return []


def _status(path: Path) -> os.stat_result:
    return path.stat(follow_symlinks=False)


def _size(path: Path) -> int:
    try:
        status = _status(path)
        if not S_ISDIR(status.st_mode):
            return status.st_size
        return sum(_size(each) for each in _entries(path))
    except OSError:
        return 0


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        if S_ISDIR(_status(path).st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, JournalError) else f"{getattr(error, 'strerror', None) or error}"

"""Reads regular files without blocking, and writes files so that they survive a power failure.

Every written file and every new name is synced to disk.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from callgate.words.errors import UsageError

NEVER_BLOCK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Flags with which opening a pipe or terminal neither blocks nor has side effects."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 16
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


class NotRegular(OSError):
    """Raised if a path is a folder, pipe or device instead of a regular file."""


class ReadFile(NamedTuple):
    """The content of a regular file, and its status at the time of reading."""

    data: bytes
    status: os.stat_result
    is_cut: bool
    """True if the file is longer than ``data``."""

    @property
    def is_writable_by_others(self) -> bool:
        return os.name == "posix" and bool(self.status.st_mode & stat.S_IWOTH)


def open_regular(path: Path | str, flags: int = os.O_RDONLY, *, follow: bool = True, dir_fd: int | None = None) -> int:
    """Open a regular file without blocking and return its descriptor. Raise NotRegular for any other kind of file.

    flags   the flags of ``os.open``; a created file gets the mode 0600
    follow  True if ``path`` may be a link
    """
    try:
        # opening a device can have side effects
        _check_regular(os.stat(path, dir_fd=dir_fd, follow_symlinks=follow), path)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    flags |= NEVER_BLOCK | getattr(os, "O_CLOEXEC", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    descriptor = os.open(path, flags, 0o600, dir_fd=dir_fd)
    try:
        _check_regular(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path | str, most: int, *, follow: bool = True, dir_fd: int | None = None) -> ReadFile:
    """Return at most the first ``most`` bytes of a regular file. Raise NotRegular for any other kind of file."""
    with open(open_regular(path, follow=follow, dir_fd=dir_fd), "rb") as file:
        status, data = os.fstat(file.fileno()), file.read(most + 1)
        return ReadFile(data[:most], status, len(data) > most)


def _check_regular(status: os.stat_result, path: Path | str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "is a symbolic link", os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise NotRegular(errno.EINVAL, f"it is {what}", os.fspath(path))


def write_new(
    path: Path | str,
    data: bytes | Iterable[bytes],
    mode: int,
    *,
    dir_fd: int | None = None,
    prepare: Callable[[int], None] | None = None,
) -> None:
    """Create, write and sync a file that must not exist. A failure leaves no file.

    The name of the file is on disk only after ``sync_folder``.

    prepare  a callback that gets the open descriptor before the sync, to set owner, mode and attributes
    """
    descriptor = os.open(path, _NEW_FILE, mode, dir_fd=dir_fd)
    try:
        with open(descriptor, "wb") as file:
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            if prepare is not None:
                prepare(file.fileno())
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=dir_fd)
        raise


def replace_file(
    file: Path, data: bytes, mode: int, *, folders: int = 0o700, prepare: Callable[[int], None] | None = None
) -> None:
    """Replace the whole content of a file atomically, and sync it. Raise UsageError if the file cannot be written.

    folders  the mode of created parent folders
    prepare  see ``write_new``
    """
    draft = file.with_name(f".{file.name}.{os.urandom(8).hex()}.tmp")
    try:
        make_folders(file.parent, folders)
        write_new(draft, data, mode, prepare=prepare)
        try:
            os.replace(draft, file)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise
        sync_folder(file.parent)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}") from error


def append_line(path: Path | str, line: bytes) -> None:
    """Append one line to an existing file and sync it.

    If the write fails, the file is truncated to its complete lines. If the program is killed during the write, the
    next append truncates the file: an incomplete line was never acknowledged.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    try:
        size = _whole_lines(descriptor)
        data = line + b"\n"
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _whole_lines(descriptor: int) -> int:
    end = size = os.fstat(descriptor).st_size
    tail = b""
    while end and b"\n" not in tail:
        end = max(end - _CHUNK, 0)
        os.lseek(descriptor, end, os.SEEK_SET)
        tail = os.read(descriptor, _CHUNK)
    whole = end + tail.rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(descriptor, whole)
    return whole


def make_folders(folder: Path, mode: int = 0o777) -> None:
    """Create a folder with its missing parents, and sync each created folder into its parent."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode, exist_ok=True)  # another program may create it at the same time
        sync_folder(each.parent)


def sync_folder(folder: Path | str, *, dir_fd: int | None = None) -> None:
    """Sync the names in a folder. Do nothing on file systems that cannot sync folders."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def lock_file(descriptor: int, *, shared: bool = False, waits: bool = True) -> bool:
    """Lock an open file or folder until it is closed. Without ``waits``, return False if another program has locked
    it. Do nothing on a system without such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def is_running(pid: str) -> bool:
    """Return True if a process with this pid exists.

    Names of temporary files contain the pid of their program, so that files of a killed program can be recognised.
    """
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:  # a process of another user
        return True
    return True

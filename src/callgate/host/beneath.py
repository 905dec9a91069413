"""Opens folders and files beneath a folder part by part, so that nothing can be swapped between looking and opening.

Each folder is opened from the one before it, and a link is refused: what is opened was beneath the root when it was
opened. A path that may lead over links is resolved first (see ``paths``).
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache

from callgate.host.files import NEVER_BLOCK

HOLDS_FOLDERS = {os.open, os.stat, os.mkdir, os.rmdir, os.unlink, os.link, os.rename} <= os.supports_dir_fd
"""True if system calls take names relative to an open folder; not on Windows."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# To pass through a folder one need not be allowed to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY

_OPENAT2, _BENEATH_WITHOUT_LINKS = 437, 0x02 | 0x04 | 0x08  # no links of /proc, no links, nothing above the folder


class OpenFolder:
    """A folder held open: names are used in it without walking the way there again.

    ``of(name)`` with ``descriptor`` is how system calls take a name. Where they take no descriptors the folder is only
    its path.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    @contextmanager
    def held(cls, path: str) -> Generator["OpenFolder"]:
        """The folder at a path that is trusted."""
        if not HOLDS_FOLDERS:
            yield cls(path, None)
            return
        descriptor = os.open(path, _PASS)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def below(self, parts: Sequence[str]) -> Generator["OpenFolder"]:
        """A folder beneath this one, over no link at all; OSError if there is none. The parts are names."""
        path = os.path.join(self.path, *parts)
        if self.descriptor is None:
            os.stat(path)
            yield OpenFolder(path, None)
            return
        descriptor = os.open(".", _PASS, dir_fd=self.descriptor)
        try:
            for part in parts:
                step = _opened(part, _PASS, descriptor)
                os.close(descriptor)
                descriptor = step
            yield OpenFolder(path, descriptor)
        finally:
            os.close(descriptor)

    def of(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name

    def status(self, name: str) -> os.stat_result:
        return os.stat(self.of(name), dir_fd=self.descriptor, follow_symlinks=False)

    def listed(self) -> list[tuple[str, os.stat_result]]:
        """The names in it with their status, links not followed; one that vanishes meanwhile is left out."""
        if self.descriptor is None:
            with os.scandir(self.path) as entries:
                return list(_looked_at(entries))
        descriptor = os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=self.descriptor)
        try:
            with os.scandir(descriptor) as entries:
                return list(_looked_at(entries))
        finally:
            os.close(descriptor)

    def opened(self, name: str) -> int:
        """A regular file in it, for reading. Never waits, neither for a pipe nor, when it is read, for
        a file of the kernel such as /proc/kmsg that has no end. OSError says why not."""
        descriptor = _opened(self.of(name), os.O_RDONLY | NEVER_BLOCK, self.descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "is not a regular file", name)
        return descriptor


def open_at_once(folder: str, path: str) -> int | None:
    """A file beneath a folder, opened for reading by one system call that goes over no link. None where that cannot be
    done, for whatever reason: then it is opened part by part, which also finds the words for what is wrong."""
    call = _openat2()
    if call is None:
        return None
    try:
        top = os.open(folder, _PASS)
    except OSError:
        return None
    try:
        descriptor = call(top, os.fsencode(path))
    finally:
        os.close(top)
    return descriptor if descriptor >= 0 else None


@cache
def _openat2() -> Callable[[int, bytes], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    from ctypes import CDLL, c_char_p, c_int, c_long, c_size_t, c_uint64, c_void_p  # costly to load

    syscall = CDLL(None).syscall
    syscall.restype, syscall.argtypes = c_long, (c_long, c_int, c_char_p, c_void_p, c_size_t)
    how = (c_uint64 * 3)(os.O_RDONLY | os.O_CLOEXEC | NEVER_BLOCK, 0, _BENEATH_WITHOUT_LINKS)
    return lambda top, path: syscall(_OPENAT2, top, path, how, 24)


def _looked_at(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[str, os.stat_result]]:
    for entry in entries:
        with suppress(FileNotFoundError):
            yield entry.name, entry.stat(follow_symlinks=False)


def _opened(name: str, flags: int, folder: int | None) -> int:
    if folder is not None and (name in ("", ".", "..") or "/" in name or not _is_usable(name)):
        raise OSError(errno.EINVAL, "is not a usable name", name)
    try:
        return os.open(name, flags | _NO_LINK, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):  # what systems say of a link
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        raise OSError(errno.ELOOP, "leads over a symbolic link", name) from error


def _is_usable(name: str) -> bool:
    """False for a NUL, which would end the name early on its way to the kernel, and for half a character."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False

"""Opens folders and files below a folder one path component at a time, so that no component can be replaced between
check and use.

Each folder is opened relative to its parent, and links are refused, so an opened file is always below the root.
Paths that may contain links are resolved first (see ``paths``).
"""

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache

from callgate.host.files import NEVER_BLOCK

HOLDS_FOLDERS = {os.open, os.stat, os.mkdir, os.rmdir, os.unlink, os.link, os.rename} <= os.supports_dir_fd
"""True if system calls accept names relative to an open folder; False on Windows."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# O_PATH needs no permission to list the folder.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY

# RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH
_OPENAT2, _BENEATH_WITHOUT_LINKS = 437, 0x02 | 0x04 | 0x08

_CREATE_RULESET, _ADD_RULE, _PATH_BENEATH = 444, 445, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3


class OpenFolder:
    """An open folder. Names are resolved relative to its descriptor, or relative to its path where a system call
    accepts no descriptor."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    @contextmanager
    def held(cls, path: str) -> Generator["OpenFolder"]:
        """Open the folder at a trusted path, and close it when the ``with`` block ends."""
        if not HOLDS_FOLDERS:
            yield cls(path, None)
            return
        descriptor = os.open(path, _PASS)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    @classmethod
    @contextmanager
    def resolved(cls, path: str) -> Generator["OpenFolder"]:
        """Open the folder at a resolved path, and close it when the ``with`` block ends. Raise OSError if a component
        of the path was replaced by a link meanwhile."""
        top = os.path.splitdrive(path)[0] + "/"
        parts = [part for part in path[len(top) :].split("/") if part]
        with cls.held(top) as root, root.below(parts) as folder:
            yield folder

    @contextmanager
    def below(self, parts: Sequence[str]) -> Generator["OpenFolder"]:
        """Open a folder below this folder without following links, and close it when the ``with`` block ends. Raise
        OSError if it does not exist."""
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
        """Return the names in the folder with their status, without following links. Names that are removed during
        the call are left out."""
        found: list[tuple[str, os.stat_result]] = []
        with self.scanned() as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
        return found

    @contextmanager
    def scanned(self) -> Generator[Iterator[os.DirEntry[str]]]:
        """Iterate over the entries of the folder, whose status can be read until the ``with`` block ends."""
        if self.descriptor is None:
            with os.scandir(self.path) as entries:
                yield entries
            return
        descriptor = os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=self.descriptor)
        try:
            with os.scandir(descriptor) as entries:
                yield entries
        finally:
            os.close(descriptor)

    def opened(self, name: str) -> int:
        """Open a regular file for reading and return its descriptor. Raise OSError for any other kind of file.

        Neither opening nor reading blocks: pipes and endless kernel files such as /proc/kmsg are refused.
        """
        descriptor = _opened(self.of(name), os.O_RDONLY | NEVER_BLOCK, self.descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "is not a regular file", name)
        return descriptor


def open_at_once(folder: str, path: str) -> int | None:
    """Open a file below a folder by one system call that follows no links, and return its descriptor.

    Return None if the call fails for any reason; the caller then opens the path one component at a time, which gives
    a precise error.
    """
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
    from ctypes import CDLL, c_char_p, c_int, c_long, c_size_t, c_uint64, c_void_p  # slow to import

    syscall = CDLL(None).syscall
    syscall.restype, syscall.argtypes = c_long, (c_long, c_int, c_char_p, c_void_p, c_size_t)
    how = (c_uint64 * 3)(os.O_RDONLY | os.O_CLOEXEC | NEVER_BLOCK, 0, _BENEATH_WITHOUT_LINKS)
    return lambda top, path: syscall(_OPENAT2, top, path, how, 24)


def reading_ruleset(descriptors: Iterable[int]) -> int | None:
    """Return a Landlock ruleset that permits reading only these open files and folders, with everything below the
    folders. Return None if the system has no Landlock."""
    if not sys.platform.startswith("linux"):
        return None
    from ctypes import CDLL, addressof, c_int, c_long, c_size_t, c_uint64, create_string_buffer  # slow to import

    syscall = CDLL(None).syscall
    syscall.restype = c_long
    handled = c_uint64(_READ_FILE | _READ_DIR)
    ruleset: int = syscall(_CREATE_RULESET, c_size_t(addressof(handled)), c_size_t(8), c_int(0))
    if ruleset < 0:
        return None
    for descriptor in descriptors:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rights = _READ_FILE | _READ_DIR if is_folder else _READ_FILE
        rule = create_string_buffer(struct.pack("=Qi", rights, descriptor))
        if syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0):
            os.close(ruleset)
            return None
    return ruleset


def _opened(name: str, flags: int, folder: int | None) -> int:
    if folder is not None and (name in ("", ".", "..") or "/" in name or not _is_usable(name)):
        raise OSError(errno.EINVAL, "is not a valid name", name)
    try:
        return os.open(name, flags | _NO_LINK, dir_fd=folder)
    except OSError as error:
        # the error numbers that systems return for a link
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        raise OSError(errno.ELOOP, "contains a symbolic link", name) from error


def _is_usable(name: str) -> bool:
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False

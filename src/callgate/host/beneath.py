"""Opening files beneath a folder in one step, so that nothing can be swapped between looking and opening.

    kernel   ``openat2`` with RESOLVE_BENEATH, where Linux has it and lets us use it
    walk     part by part, each folder opened from the one before and no link followed by the system; elsewhere

Both keep the same promise: what is opened was beneath the root when it was opened.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal

from callgate.host.paths import MOST_LINKS

Links = Literal["follow", "refuse"]

HOLDS_FOLDERS = {os.open, os.stat, os.mkdir, os.rmdir, os.unlink, os.link, os.rename} <= os.supports_dir_fd
"""True if system calls take names relative to an open folder; not on Windows."""

_CLOSED = getattr(os, "O_CLOEXEC", 0)
_FOLDER_ONLY = getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
# To pass through a folder one need not be allowed to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER_ONLY | _CLOSED

_OPENAT2 = 437  # on every architecture that Python runs on
_NO_MAGIC_LINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08

KernelOpen = Callable[[int, str, int, int, Links], int]


def open_beneath(root: int | str | Path, path: str, flags: int, mode: int = 0o600, *, links: Links = "follow") -> int:
    """Open a regular file beneath ``root``, which is a folder or its descriptor; with O_DIRECTORY, a folder.

    ``path`` is relative, with ``/`` between its parts. Links are followed while they stay beneath (absolute ones only
    if ``root`` is a path, and they start with it), or refused. Never waits for a pipe. OSError says why not.
    """
    if isinstance(root, int):
        return _opened(root, "", path, flags, mode, links)
    top = os.open(root, _PASS)
    try:
        return _opened(top, os.path.realpath(root), path, flags, mode, links)
    finally:
        os.close(top)


class Folder:
    """A folder held open: names are used in it without walking the way there again.

    ``of(name)`` with ``descriptor`` is how system calls take a name. Where they take no descriptors the folder is only
    its path.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    @contextmanager
    def held(cls, path: str) -> Generator["Folder"]:
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
    def below(self, parts: Sequence[str]) -> Generator["Folder"]:
        """A folder beneath this one, over no link at all; OSError if there is none. The parts are names."""
        path = os.path.join(self.path, *parts)
        if self.descriptor is None:
            os.stat(path)
            yield Folder(path, None)
            return
        descriptor = open_beneath(self.descriptor, "/".join(parts) or ".", _PASS, links="refuse")
        try:
            yield Folder(path, descriptor)
        finally:
            os.close(descriptor)

    def of(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name

    def status(self, name: str) -> os.stat_result:
        return os.stat(self.of(name), dir_fd=self.descriptor, follow_symlinks=False)

    def opened(self, name: str) -> int:
        """A regular file in it, for reading; a link is refused."""
        if self.descriptor is None:
            return os.open(self.of(name), os.O_RDONLY | _NO_LINK | _NO_WAIT | getattr(os, "O_BINARY", 0))
        return open_beneath(self.descriptor, name, os.O_RDONLY, links="refuse")


def _opened(top: int, real: str, path: str, flags: int, mode: int, links: Links) -> int:
    _refuse_unusable(path)
    waits = not flags & _FOLDER_ONLY  # a folder cannot make anybody wait, and O_PATH goes with few other flags
    try:
        descriptor = _open_by_any_means(top, real, path, flags | _CLOSED | (_NO_WAIT if waits else 0), mode, links)
    except OSError as error:
        raise OSError(error.errno, _why(error, links), path) from error
    if waits:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "is not a regular file", path)
        os.set_blocking(descriptor, not flags & os.O_NONBLOCK)
    return descriptor


def _refuse_unusable(path: str) -> None:
    """A NUL would end the name early on its way to the kernel."""
    try:
        usable = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise OSError(errno.EINVAL, "is not a usable path", path)


def _why(error: OSError, links: Links) -> str:
    if error.errno == errno.EXDEV:
        return "leads out of the folder"
    if error.errno == errno.ELOOP:
        return "leads over a symbolic link" if links == "refuse" else "leads over too many links"
    return error.strerror or str(error)


def _open_by_any_means(top: int, real: str, path: str, flags: int, mode: int, links: Links) -> int:
    by_kernel = kernel_open()
    if by_kernel is not None:
        try:
            return by_kernel(top, path, flags, mode, links)
        except OSError as error:
            # The kernel takes any absolute link for an escape, and gives up when folders are moved meanwhile.
            if error.errno not in (errno.EXDEV, errno.EAGAIN):
                raise
    with _Steps(top, real, links) as steps:
        return steps.open(path, flags, mode)


class _Steps:
    """Walks part by part on open folders: ``held`` are those from the root to here, ``todo`` the parts ahead, the next
    one last."""

    def __init__(self, top: int, real: str, links: Links) -> None:
        self._held = [top]
        self._real = real
        self._links = links
        self._followed = 0
        self._todo: list[str] = []

    def __enter__(self) -> "_Steps":
        return self

    def __exit__(self, *_: object) -> None:
        self._back_to_root()

    def open(self, path: str, flags: int, mode: int) -> int:
        self._take_on(path)
        while self._todo:
            part = self._todo.pop()
            if part == "..":
                self._back()
            elif self._todo:
                self._held.extend(self._tried(part, _PASS, mode))
            elif part != ".":
                for descriptor in self._tried(part, flags, mode):
                    return descriptor
        return os.open(".", flags, mode, dir_fd=self._held[-1])

    def _take_on(self, path: str) -> None:
        """Put the parts of a path, or of a link's target, before what is ahead."""
        if path.startswith("/"):
            root = self._real.rstrip("/") + "/"
            if not self._real or not (path + "/").startswith(root):
                raise OSError(errno.EXDEV, "is elsewhere")
            path = path[len(root) :]
            self._back_to_root()
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if path.endswith(("/", "/.")) and not self._todo:
            parts.append(".")  # only a folder can stand before a slash
        self._todo.extend(reversed(parts))

    def _tried(self, part: str, flags: int, mode: int) -> tuple[int, ...]:
        """The opened part; nothing if it is a link, whose target is then put before the parts ahead."""
        try:
            return (os.open(part, flags | _NO_LINK, mode, dir_fd=self._held[-1]),)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):  # what systems say of a link
                raise
            try:
                target = os.readlink(part, dir_fd=self._held[-1])
            except OSError:
                raise error from None
        self._followed += 1
        if self._links == "refuse" or self._followed > MOST_LINKS:
            raise OSError(errno.ELOOP, "is a link")
        self._take_on(target)
        return ()

    def _back(self) -> None:
        if len(self._held) == 1:
            raise OSError(errno.EXDEV, "is elsewhere")
        os.close(self._held.pop())

    def _back_to_root(self) -> None:
        while len(self._held) > 1:
            os.close(self._held.pop())


@cache
def kernel_open() -> KernelOpen | None:
    """``openat2``, if this system has it and does not forbid it."""
    if sys.platform != "linux":
        return None
    top = os.open("/", _PASS)
    try:
        by_kernel = _by_openat2()
        os.close(by_kernel(top, ".", _PASS, 0, "refuse"))
    except (ImportError, OSError):  # a Python without ctypes; an old kernel; a sandbox that forbids the call
        return None
    finally:
        os.close(top)
    return by_kernel


def _by_openat2() -> KernelOpen:
    import ctypes  # costly, and only for whoever opens files

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    system = ctypes.CDLL(None, use_errno=True).syscall
    system.restype = ctypes.c_long

    def by_kernel(top: int, path: str, flags: int, mode: int, links: Links) -> int:
        how = How(
            flags,
            mode if flags & os.O_CREAT else 0,
            _BENEATH | _NO_MAGIC_LINKS | (_NO_SYMLINKS if links == "refuse" else 0),
        )
        number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(How))
        while True:
            found: int = system(number, ctypes.c_int(top), os.fsencode(path), ctypes.byref(how), size)
            if found >= 0:
                return found
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code))

    return by_kernel
